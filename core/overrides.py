"""Overriding: the judgements of one dialogue as a person reads them, and new rows beside them.

An override repairs one judgement for reading and is never evidence. Nothing is changed: a
correction of a correction, and an undo, are one more row each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from core.types import Instrument, Judgement, Override, OverrideReason, Target
from core.value_in_force import InForce, history, in_force

UNDONE = "Undone: the judge's value holds again."

_READ_FIRST = (
    "personalization",
    "context_fairness",
    "task_completion",
    "grounding",
    "naturalness_user",
    "naturalness_assistant",
    "coherence_user",
    "coherence_assistant",
    "first_message_explicitness",
    "personalization_per_turn",
)


@dataclass(frozen=True, slots=True)
class Rated:
    """One judgement with everything that people did to it."""

    judgement: Judgement
    force: InForce
    history: tuple[Override, ...]

    @property
    def latest_id(self) -> str | None:
        """What a further override of this judgement supersedes."""
        return self.history[-1].id if self.history else None

    @property
    def undone(self) -> bool:
        """Whether the last thing a person did was to give the judge's value back."""
        return bool(self.history) and self.history[-1].reason.startswith(UNDONE)

    @property
    def corrected(self) -> bool:
        return bool(self.history) and not self.undone


@dataclass(frozen=True, slots=True)
class RatedDimension:
    """What one instrument said on one dimension: one judgement, or one for each turn."""

    dimension: str
    instrument: Instrument
    rated: tuple[Rated, ...]

    @property
    def per_turn(self) -> bool:
        return self.rated[0].judgement.target is Target.TURN


@dataclass(frozen=True, slots=True)
class Why:
    """Who overrides, and for what kind of reason; words are optional."""

    author: str
    kind: OverrideReason
    words: str = ""


def rated_dimensions(
    judgements: Sequence[Judgement], overrides: Iterable[Override]
) -> list[RatedDimension]:
    """Group judgements by judge and dimension: judges as they came, dimensions as one reads."""
    rows = tuple(overrides)
    groups: dict[tuple[str, str], list[Judgement]] = {}
    for judgement in judgements:
        groups.setdefault((judgement.instrument.id, judgement.dimension), []).append(judgement)
    judges = list(dict.fromkeys(j.instrument.judge for j in judgements))
    found = [
        RatedDimension(
            dimension, group[0].instrument, tuple(_rated(j, rows) for j in _turns(group))
        )
        for (_, dimension), group in groups.items()
    ]
    return sorted(
        found, key=lambda g: (judges.index(g.instrument.judge), _rank(g.dimension), g.dimension)
    )


def _turns(group: Sequence[Judgement]) -> list[Judgement]:
    return sorted(group, key=lambda j: j.turn or 0)


def _rated(judgement: Judgement, overrides: Sequence[Override]) -> Rated:
    chain = tuple(history(judgement, overrides))
    return Rated(judgement, in_force(judgement, overrides), chain)


def _rank(dimension: str) -> int:
    return _READ_FIRST.index(dimension) if dimension in _READ_FIRST else len(_READ_FIRST)


def new_override(
    judgement: Judgement,
    value: int | None,
    why: Why,
    *,
    seen: str | None,
    now: Callable[[], datetime],
    new_id: Callable[[], str],
) -> Override:
    """Make the row that gives `judgement` another value.

    `seen` is the id of the latest override that the person had in view, or None; the store
    refuses the row when another one has come since.
    """
    return Override(
        id=new_id(),
        judgement_id=judgement.id,
        dialogue_id=judgement.dialogue_id,
        value=value,
        reason_kind=why.kind,
        reason=why.words.strip(),
        author=why.author,
        created_at=now(),
        supersedes=seen,
    )


def undoing(
    judgement: Judgement,
    author: str,
    *,
    seen: str,
    now: Callable[[], datetime],
    new_id: Callable[[], str],
) -> Override:
    """Make the row that gives the judge's own value back."""
    why = Why(author, OverrideReason.OTHER, UNDONE)
    return new_override(judgement, judgement.value, why, seen=seen, now=now, new_id=new_id)
