"""The ledger of model calls that are out: what limits are kept by, over every process.

Before a call goes out it is written down, with the most that it can cost; when its answer is
stored it is struck out. What a dead process leaves open was perhaps paid for, and nobody can
know: it stays counted at the most that it can have cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from core.types import ModelSpec

MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call that wants to go out, or is out. `worst_usd` is None where nobody knows prices."""

    id: str
    study_id: str
    scope: str
    party: str
    seq: int
    request_hash: str
    provider: str
    owner: str
    worst_usd: float | None = None
    shared_as: str = ""  # the key under which other studies may have its answer


@dataclass(frozen=True, slots=True)
class Caps:
    """What the limits of a study are. They hold over all threads, processes and machines.

    Requests and tokens per minute are those of each provider, counted over every study of the
    database.
    """

    concurrency: int = 32
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    budget_usd: float | None = None

    @property
    def rated(self) -> bool:
        """Whether anything is limited by the minute."""
        return self.requests_per_minute is not None or self.tokens_per_minute is not None


@dataclass(slots=True)
class Standing:
    """What the ledger says now. Dollars are those of the study.

    `spent` is what answers have cost, `lost` the most that calls of unknown outcome may have,
    `reserved` the most that calls which are out may. `requests` and `tokens` are those of the
    last minute, by provider. `mine` are the calls in flight of the process that asks, `rivals`
    how many other processes wait for a place.
    """

    spent: float = 0.0
    lost: float = 0.0
    reserved: float = 0.0
    in_flight: int = 0
    mine: int = 0
    rivals: int = 0
    requests: Mapping[str, int] = field(default_factory=dict)
    tokens: Mapping[str, int] = field(default_factory=dict)


class Verdict(StrEnum):
    GO = "go"
    WAIT = "wait"
    OVER_BUDGET = "over_budget"


def decide(calls: Sequence[OpenCall], caps: Caps, standing: Standing) -> list[Verdict]:
    """What becomes of calls that want to go out, first come, first served.

    A call over the budget waits while calls that are out may turn out cheaper than the most
    they can cost, and is refused when that cannot help. While other processes wait, none
    takes more than its part of the places. Tokens count once they are known, so that a minute
    may end over its limit by the calls in flight; nothing else ever does.
    """
    verdicts = []
    requests, reserved, more = dict(standing.requests), standing.reserved, 0
    places = _places(caps, standing)
    for call in calls:
        verdict = _budget(call, caps, standing, reserved)
        busy = more >= places
        if verdict is Verdict.GO and (busy or _rate_reached(call, caps, requests, standing.tokens)):
            verdict = Verdict.WAIT
        if verdict is Verdict.GO:
            more += 1
            reserved += call.worst_usd or 0.0
            requests[call.provider] = requests.get(call.provider, 0) + 1
        verdicts.append(verdict)
    return verdicts


def _places(caps: Caps, standing: Standing) -> int:
    free = caps.concurrency - standing.in_flight
    if not standing.rivals:
        return free
    part = max(1, caps.concurrency // (1 + standing.rivals))
    return min(free, part - standing.mine)


def _budget(call: OpenCall, caps: Caps, standing: Standing, reserved: float) -> Verdict:
    if caps.budget_usd is None:
        return Verdict.GO
    for_certain = standing.spent + standing.lost + (call.worst_usd or 0.0)
    if for_certain > caps.budget_usd:
        return Verdict.OVER_BUDGET
    return Verdict.GO if for_certain + reserved <= caps.budget_usd else Verdict.WAIT


def _rate_reached(
    call: OpenCall, caps: Caps, requests: Mapping[str, int], tokens: Mapping[str, int]
) -> bool:
    rpm, tpm = caps.requests_per_minute, caps.tokens_per_minute
    if rpm is not None and requests.get(call.provider, 0) >= rpm:
        return True
    return tpm is not None and tokens.get(call.provider, 0) >= tpm


def provider_of(spec: ModelSpec) -> str:
    """Who is called: the model's prefix, and the server where one is named."""
    prefix = spec.model.partition("/")[0]
    return f"{prefix} {spec.api_base}" if spec.api_base else prefix
