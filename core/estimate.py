"""What a study will take before it is run: calls, tokens, dollars and time. Pure.

Past dialogues and calls of the same dataset and models are used where there are some, and
stated assumptions elsewhere; `Estimate.basis` says in words which. Scripted parties call
nobody. A price that is not known makes the cost unknown, never 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from core.assets import load_rubric
from core.monitor import CallsSeen, Past, TurnsSeen
from core.ports import Store
from core.simulate import TURN_LIMIT
from core.study import check_study, study_scenarios
from core.study_file import Limits, StudySpec
from core.types import ModelSpec, ScenarioRef, Target, TaskKind

Price = Callable[[ModelSpec], tuple[float, float] | None]
"""Dollars of a token sent and of a token received, or None when they are not known."""

ENOUGH = 5  # past dialogues or calls, below which assumptions are the better guess
_SPREAD_SEEN = 0.2  # how far the mean of other calls may be from that of past ones
_SCRIPTED_SECONDS = 0.01  # of a scripted dialogue with its judgements
_MESSAGE = 60  # tokens of one message, assumed
_TURNS: Mapping[TaskKind, tuple[float, float, float]] = {
    TaskKind.SINGLE: (3, 6, 12),
    TaskKind.MULTI: (4, 9, 18),
}
_BRIEFING: Mapping[str, int] = {"user": 900, "assistant": 700, "judge": 1_500}
_ANSWER: Mapping[str, int] = {"user": _MESSAGE, "assistant": 120, "judge": 250}
_SECONDS: Mapping[str, float] = {"user": 2, "assistant": 4, "judge": 5}


@dataclass(frozen=True, slots=True)
class Range:
    """What is expected, and from where to where it may turn out."""

    low: float
    expected: float
    high: float

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.expected + other.expected, self.high + other.high)

    def __mul__(self, other: Range) -> Range:
        return Range(self.low * other.low, self.expected * other.expected, self.high * other.high)

    def times(self, factor: float) -> Range:
        return Range(self.low * factor, self.expected * factor, self.high * factor)

    def at_least(self, other: Range) -> Range:
        return Range(
            max(self.low, other.low),
            max(self.expected, other.expected),
            max(self.high, other.high),
        )

    @classmethod
    def about(cls, value: float, under: float, over: float) -> Range:
        return cls(value * under, value, value * over)


ZERO = Range(0, 0, 0)


@dataclass(frozen=True, slots=True)
class Extent:
    """What a selection of scenarios comes to."""

    scenarios: int
    personas: int
    single: int
    multi: int

    @classmethod
    def of(cls, refs: Sequence[ScenarioRef]) -> Extent:
        single = sum(r.kind is TaskKind.SINGLE for r in refs)
        people = len({r.persona_id for r in refs})
        return cls(len(refs), people, single, len(refs) - single)

    def of_kind(self, kind: TaskKind) -> int:
        return self.single if kind is TaskKind.SINGLE else self.multi


@dataclass(frozen=True, slots=True)
class Share:
    """What one model is asked for in one role. `cost_usd` is None when its price is unknown."""

    model: str
    role: str
    calls: Range
    tokens_in: Range
    tokens_out: Range
    seconds: Range
    cost_usd: Range | None
    seen: int

    @property
    def tokens(self) -> Range:
        return self.tokens_in + self.tokens_out


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a study will take. `unpriced` names the models that make `cost_usd` unknown."""

    study: str
    scenarios: int
    personas: int
    dialogues: int
    shares: tuple[Share, ...]
    seconds: Range
    cost_usd: Range | None
    unpriced: tuple[str, ...]
    basis: tuple[str, ...]
    budget_usd: float | None = None

    @property
    def calls(self) -> Range:
        return sum((s.calls for s in self.shares), ZERO)

    @property
    def tokens(self) -> Range:
        return sum((s.tokens for s in self.shares), ZERO)

    @property
    def warning(self) -> str:
        """What a person should know before starting it, in one sentence, or nothing."""
        if self.unpriced:
            models = ", ".join(self.unpriced)
            what = (
                "a budget cannot be kept"
                if self.budget_usd is not None
                else "nobody can say what this costs"
            )
            return (
                f"The price of {models} is unknown, so {what}: give input_cost_per_token and "
                "output_cost_per_token in its params."
            )
        if self.budget_usd is None or self.cost_usd is None:
            return ""
        budget = f"The budget of ${self.budget_usd:,.2f}"
        if self.budget_usd < self.cost_usd.expected:
            return (
                f"{budget} is below the expected cost of ${self.cost_usd.expected:,.2f}: the "
                "study will stop before its end."
            )
        if self.budget_usd < self.cost_usd.high:
            return f"{budget} may not suffice: the study could cost ${self.cost_usd.high:,.2f}."
        return ""

    @property
    def needs_consent(self) -> bool:
        """Whether it would spend nobody knows what, with nothing that stops it."""
        return bool(self.unpriced) and self.budget_usd is None


def estimate_study(spec: StudySpec, store: Store, price: Price) -> Estimate:
    """Estimate a study over what is stored. Raises `StudyError` for one that cannot run.

    Keys are not asked for: one may want to know what a model would cost before having one.
    """
    check_study(spec, store, lambda _: None)
    extent = Extent.of(study_scenarios(spec, store))
    return estimate(spec, extent, store.past(spec.dataset), price)


def estimate(spec: StudySpec, extent: Extent, past: Past, price: Price) -> Estimate:
    """Estimate what a study takes from the beginning to its end."""
    turns = _Turns(spec, extent, past.turns)
    shares = tuple(_share(demand, past.calls, price) for demand in _demands(spec, turns))
    unpriced = tuple(dict.fromkeys(s.model for s in shares if s.cost_usd is None))
    known = [s.cost_usd for s in shares if s.cost_usd is not None]
    dialogues = extent.scenarios * len(spec.arms) * spec.repetitions
    return Estimate(
        study=spec.name,
        scenarios=extent.scenarios,
        personas=extent.personas,
        dialogues=dialogues,
        shares=shares,
        seconds=_duration(shares, spec.limits, dialogues),
        cost_usd=None if unpriced else sum(known, ZERO),
        unpriced=unpriced,
        basis=_basis(turns, shares),
        budget_usd=spec.limits.budget_usd,
    )


# --- turns ------------------------------------------------------------------------------------


class _Turns:
    """How many turns the dialogues of each arm will have, all together."""

    def __init__(self, spec: StudySpec, extent: Extent, seen: Sequence[TurnsSeen]) -> None:
        self._spec, self._extent, self._seen = spec, extent, seen
        self.dialogues = extent.scenarios * spec.repetitions
        self.past = 0
        self.assumed: set[TaskKind] = set()
        self.by_arm = {arm.name: self._of_arm(arm.model) for arm in spec.arms}
        self.all = sum(self.by_arm.values(), ZERO)

    def _of_arm(self, model: str) -> Range:
        kinds = [kind for kind in TaskKind if self._extent.of_kind(kind)]
        totals = [
            self._of(model, kind).times(self._extent.of_kind(kind) * self._spec.repetitions)
            for kind in kinds
        ]
        return sum(totals, ZERO)

    def _of(self, model: str, kind: TaskKind) -> Range:
        """Turns of one dialogue: of this model's, else of anybody's, else as assumed."""
        most = self._spec.limits.max_turns or TURN_LIMIT[kind]
        if self._spec.instances is not None:
            most = 1  # one question, one answer
        of_kind = [s for s in self._seen if s.kind is kind]
        own = [s for s in of_kind if s.model == model]
        for found in (own, of_kind):
            n = sum(s.dialogues for s in found)
            if n >= ENOUGH:
                self.past = max(self.past, n)
                return _between(found, n, self._extent.of_kind(kind), most)
        self.assumed.add(kind)
        low, expected, high = _TURNS[kind]
        return Range(min(low, most), min(expected, most), min(high, most))


def _between(found: Sequence[TurnsSeen], n: int, ahead: int, most: int) -> Range:
    """The mean of what was seen, give or take two standard errors of the mean to come."""
    mean = sum(s.mean * s.dialogues for s in found) / n
    deviation = math.sqrt(sum(s.deviation**2 * s.dialogues for s in found) / n)
    margin = 2 * deviation * math.sqrt(1 / n + 1 / max(1, ahead))
    return Range(*(min(max(1.0, v), most) for v in (mean - margin, mean, mean + margin)))


# --- calls ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Demand:
    """Calls of one model in one role, and the turns of a dialogue that each is about."""

    spec: ModelSpec
    role: str
    calls: Range
    turns: Range


def _demands(spec: StudySpec, turns: _Turns) -> Iterable[_Demand]:
    """What each model is asked for. Scripted parties are asked for nothing."""
    if not spec.user_agent.spec.scripted:
        mean = turns.all.times(1 / max(1, turns.dialogues * len(spec.arms)))
        yield _Demand(spec.user_agent.spec, "user", turns.all, mean)
    for arm in spec.arms:
        if not arm.spec.scripted:
            total = turns.by_arm[arm.name]
            mean = total.times(1 / max(1, turns.dialogues))
            yield _Demand(arm.spec, "assistant", total, mean)
    everything = turns.dialogues * len(spec.arms)
    mean = turns.all.times(1 / max(1, everything))
    for judge in spec.judges:
        if not judge.spec.scripted:
            targets = [load_rubric(name).target for name in judge.rubrics]
            by_turn = sum(target is Target.TURN for target in targets)
            whole = everything * (len(targets) - by_turn)
            calls = Range(whole, whole, whole) + turns.all.times(by_turn)
            yield _Demand(judge.spec, "judge", calls, mean)


def _share(demand: _Demand, seen: Sequence[CallsSeen], price: Price) -> Share:
    model, role = demand.spec.model, demand.role
    past = next((s for s in seen if (s.model, s.role) == (model, role) and s.calls >= ENOUGH), None)
    ins, outs, seconds = _per_call(demand, past)
    tokens_in, tokens_out = demand.calls * ins, demand.calls * outs
    found = price(demand.spec)
    cost = None if found is None else tokens_in.times(found[0]) + tokens_out.times(found[1])
    return Share(
        model=model,
        role=role,
        calls=demand.calls,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        seconds=demand.calls * seconds,
        cost_usd=cost,
        seen=past.calls if past else 0,
    )


def _per_call(demand: _Demand, past: CallsSeen | None) -> tuple[Range, Range, Range]:
    """Tokens sent, tokens received and seconds of one call."""
    role = demand.role
    # Half of a dialogue stands in the middle call of a party, the whole of it before a judge.
    messages = demand.turns.expected * (2 if role == "judge" else 1)
    tokens_in = Range.about(_BRIEFING[role] + _MESSAGE * messages, 0.5, 2)
    tokens_out = Range.about(_ANSWER[role], 0.5, 2)
    seconds = Range.about(_SECONDS[role], 0.5, 3)
    if past is not None:
        around = (1 - _SPREAD_SEEN, 1 + _SPREAD_SEEN)
        seconds = Range.about(past.seconds, *around)
        if past.tokens_in is not None and past.tokens_out is not None:
            tokens_in = Range.about(past.tokens_in, *around)
            tokens_out = Range.about(past.tokens_out, *around)
    return tokens_in, tokens_out, seconds


# --- time -------------------------------------------------------------------------------------


def _duration(shares: Sequence[Share], limits: Limits, dialogues: int) -> Range:
    """Seconds: work over concurrency, and never less than the limits of a minute allow."""
    if not shares:
        total = dialogues * _SCRIPTED_SECONDS
        return Range.about(total, 0.5, 3)
    work = sum((s.seconds for s in shares), ZERO)
    one_by_one = work.times(1 / max(1, dialogues))  # a dialogue's calls wait for each other
    found = work.times(1 / min(limits.concurrency, max(1, dialogues))).at_least(one_by_one)
    for model in {s.model for s in shares}:
        mine = [s for s in shares if s.model == model]
        if limits.requests_per_minute is not None:
            calls = sum((s.calls for s in mine), ZERO)
            found = found.at_least(calls.times(60 / limits.requests_per_minute))
        if limits.tokens_per_minute is not None:
            tokens = sum((s.tokens for s in mine), ZERO)
            found = found.at_least(tokens.times(60 / limits.tokens_per_minute))
    return found


# --- words ------------------------------------------------------------------------------------

_KINDS = {TaskKind.SINGLE: "in one domain", TaskKind.MULTI: "in several domains"}


def _basis(turns: _Turns, shares: Sequence[Share]) -> tuple[str, ...]:
    """What the estimate rests on, a sentence each."""
    told = []
    if not shares:
        return ("All parties and judges are scripted: no model is called, and nothing is paid.",)
    if turns.past:
        told.append(f"Turns as in up to {turns.past:,} past dialogues of this dataset.")
    for kind in sorted(turns.assumed):
        low, expected, high = _TURNS[kind]
        told.append(
            f"Assumed: {expected:g} turns for a task {_KINDS[kind]} ({low:g} to {high:g}), "
            "within the limit of turns."
        )
    told += [_basis_of(share) for share in shares]
    return tuple(dict.fromkeys(told))


def _basis_of(share: Share) -> str:
    if share.seen:
        return (
            f"{share.model} as {share.role}: tokens and seconds as in {share.seen:,} past calls, "
            "give or take a fifth."
        )
    per = 1 / share.calls.expected if share.calls.expected else 0
    return (
        f"Assumed of {share.model} as {share.role}: {share.tokens_in.expected * per:,.0f} tokens "
        f"sent, {share.tokens_out.expected * per:,.0f} received and {_SECONDS[share.role]:g} s a "
        "call; half of it to twice as much."
    )
