"""The value shown for one judgement: a person's override if there is one, else the judge's.

For reading one dialogue. It never feeds an estimate: overrides are made on dialogues that
somebody picked, with the judge's value in view.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from core.types import Judgement, Override


@dataclass(frozen=True, slots=True)
class InForce:
    """A value (None: there is none), who it comes from, and the override if a person."""

    value: int | None
    source: Literal["judge", "person"]
    override: Override | None = None


def in_force(judgement: Judgement, overrides: Iterable[Override]) -> InForce:
    """What holds for `judgement`; `overrides` may hold those of other judgements too.

    An override without a value counts: the person says that no value can be given.
    """
    chain = history(judgement, overrides)
    if not chain:
        return InForce(judgement.value, "judge")
    return InForce(chain[-1].value, "person", chain[-1])


def history(judgement: Judgement, overrides: Iterable[Override]) -> list[Override]:
    """The overrides of `judgement`, first to last, as each supersedes the one before.

    An override whose predecessor is not among them begins a chain; chains stand by time.
    """
    own = sorted(
        (o for o in overrides if o.judgement_id == judgement.id),
        key=lambda o: (o.created_at, o.id),
    )
    followers: dict[str | None, list[Override]] = {}
    known = {o.id for o in own}
    for override in own:
        before = override.supersedes if override.supersedes in known else None
        followers.setdefault(before, []).append(override)
    return _walk(followers)


def _walk(followers: dict[str | None, list[Override]]) -> list[Override]:
    """Depth first from those that supersede nothing; what lies in a ring is never reached."""
    ordered: list[Override] = []
    waiting = followers.get(None, [])[::-1]
    while waiting:
        override = waiting.pop()
        ordered.append(override)
        waiting.extend(followers.get(override.id, [])[::-1])
    return ordered
