"""Where annotators differ: the conflicts by size, and a decision with its reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from core.errors import StudyError
from core.labels import Label
from core.review_types import Decision


class Because(StrEnum):
    """Why an adjudicator decides as they do. One has to be chosen, and said in words."""

    OVERLOOKED = "something in the dialogue was overlooked"
    MISREAD = "the rubric was read differently"
    RUBRIC = "the rubric leaves it open"
    BOTH = "both readings fit; the nearer one holds"
    UNCLEAR = "the dialogue does not allow a judgement"


@dataclass(frozen=True, slots=True)
class Conflict:
    """Blind labels of one dimension of one dialogue that differ. Annotators stay unnamed.

    `size` is the distance between the lowest and the highest value; a label that says "cannot
    judge" beside one that has a value counts as one point.
    """

    dialogue_id: str
    dimension: str
    labels: tuple[Label, ...]
    size: int
    decision: Decision | None

    @property
    def open(self) -> bool:
        return self.decision is None


def conflicts(labels: Iterable[Label], decisions: Sequence[Decision]) -> list[Conflict]:
    """The largest first, those that are decided last. Labels are the ones that stand."""
    together: dict[tuple[str, str, int | None], list[Label]] = {}
    for label in labels:
        together.setdefault((label.dialogue_id, label.dimension, label.turn), []).append(label)
    decided = {(d.dialogue_id, d.dimension): d for d in decisions}
    found = [
        Conflict(dialogue, dimension, tuple(several), size, decided.get((dialogue, dimension)))
        for (dialogue, dimension, _), several in together.items()
        if (size := _distance(several))
    ]
    return sorted(found, key=lambda c: (not c.open, -c.size, c.dialogue_id, c.dimension))


def _distance(labels: Sequence[Label]) -> int:
    values = [label.value for label in labels if label.value is not None]
    if len({label.annotator for label in labels}) < 2 or not values:
        return 0
    return max(max(values) - min(values), int(len(values) < len(labels)))


def decide(  # noqa: PLR0913 -- everything that a decision is made of
    conflict: Conflict,
    value: int | None,
    because: Because,
    reason: str,
    author: str,
    *,
    now: Callable[[], datetime],
    new_id: Callable[[], str],
) -> Decision:
    """Make the row that settles a conflict. Raises `StudyError` without a reason in words.

    Whoever labelled the dialogue cannot settle it.
    """
    if not reason.strip():
        raise StudyError("Nothing is saved yet: say in a sentence why.")
    if author in {label.annotator for label in conflict.labels}:
        raise StudyError("You have labelled this dialogue yourself; somebody else has to decide.")
    return Decision(
        id=new_id(),
        root_id=conflict.labels[0].root_id,
        dialogue_id=conflict.dialogue_id,
        dimension=conflict.dimension,
        value=value,
        reason_kind=str(because),
        reason=reason.strip(),
        author=author,
        created_at=now(),
        settles=tuple(label.id for label in conflict.labels),
    )
