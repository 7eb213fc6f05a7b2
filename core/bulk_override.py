"""Overriding many judgements at once: a preview first, then one reason for all of them.

What was previewed is what is saved. A judgement that somebody else overrode after the preview is
left to them and reported; nothing is changed that was once written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol, TypeAlias

from core.errors import AppError
from core.overrides import UNDONE, Why, new_override
from core.ports import DialogueFilter
from core.types import Judgement, Override
from core.value_in_force import InForce, in_force

MOST = 2_000
"""So many judgements one bulk override may touch: more is no list that somebody has read."""

RESTORED = "Undone: what was in force before holds again."


class Special(StrEnum):
    """What judgements may be given instead of a value of the scale."""

    NONE = "none"  # no value can be given
    JUDGE = "judge"  # the judge's own value again


Given: TypeAlias = int | Special


@dataclass(frozen=True, slots=True)
class Rater:
    """One instrument on one dimension, and how many judgements of it there are."""

    dimension: str
    instrument_id: str
    instrument: str  # its label
    judgements: int


class BulkStore(Protocol):
    """What overriding in bulk asks of the store."""

    def list_raters(self, where: DialogueFilter) -> list[Rater]:
        """Who rated what in the dialogues that fit, by dimension, then instrument."""
        ...

    def find_judgements(
        self, where: DialogueFilter, dimension: str, instrument_id: str, *, limit: int
    ) -> list[Judgement]:
        """Judgements in the dialogues that fit, as they were stored.

        Where the filter bounds the values of this very dimension, or asks that people differ on
        it, each judgement must fit by itself.
        """
        ...

    def list_overrides_of(self, judgement_ids: Iterable[str]) -> list[Override]:
        """The overrides of these judgements, oldest first."""
        ...

    def add_overrides(self, overrides: Sequence[Override]) -> list[Override]:
        """Append those that supersede the latest of their judgement; return the others.

        All of the first kind in one transaction. Raises `NotFound` for an unknown judgement;
        then nothing is stored.
        """
        ...


@dataclass(frozen=True, slots=True)
class BulkRow:
    """One judgement, what holds for it now, and the override that was in view, if any."""

    judgement: Judgement
    force: InForce

    @property
    def seen(self) -> str | None:
        return self.force.override.id if self.force.override else None

    @property
    def by_person(self) -> bool:
        """Whether a person's value holds, and not the judge's that was given back."""
        last = self.force.override
        return last is not None and not last.reason.startswith(UNDONE)


@dataclass(frozen=True, slots=True)
class BulkPlan:
    """What a bulk override would do, before anybody does it.

    `rows` are the judgements that would get `given`; `alike` others have it already.
    """

    dimension: str
    given: Given
    rows: tuple[BulkRow, ...]
    alike: int

    @property
    def over_people(self) -> int:
        """In how many rows a person's value would give way."""
        return sum(row.by_person for row in self.rows)

    @property
    def moves(self) -> list[tuple[int | None, int | None, int]]:
        """From which value in force, to which, how often; most frequent first."""
        found = Counter((row.force.value, self.value_of(row)) for row in self.rows)
        return [(old, new, n) for (old, new), n in found.most_common()]

    def value_of(self, row: BulkRow) -> int | None:
        """The value that a row would get."""
        if self.given is Special.JUDGE:
            return row.judgement.value
        return None if isinstance(self.given, Special) else self.given


@dataclass(frozen=True, slots=True)
class BulkResult:
    """What was saved, with what held before it, and what came too late."""

    saved: tuple[tuple[BulkRow, Override], ...]
    late: tuple[Override, ...]


def preview(
    store: BulkStore, where: DialogueFilter, dimension: str, instrument_id: str, given: Given
) -> BulkPlan:
    """Find what an override of these judgements would change. Stores nothing.

    Raises `AppError` for a value that the scale does not have, and for more than `MOST`
    judgements.
    """
    _on_scale(dimension, given)
    judgements = store.find_judgements(where, dimension, instrument_id, limit=MOST + 1)
    if len(judgements) > MOST:
        raise AppError(f"More than {MOST:,} judgements fit; filter further and override fewer.")
    rows = _rows(judgements, store.list_overrides_of(j.id for j in judgements))
    plan = BulkPlan(dimension, given, rows, 0)
    changed = tuple(row for row in rows if not _has_it(row, plan))
    return BulkPlan(dimension, given, changed, len(rows) - len(changed))


def override_all(
    plan: BulkPlan,
    why: Why,
    store: BulkStore,
    *,
    now: Callable[[], datetime],
    new_id: Callable[[], str],
) -> BulkResult:
    """Save what was previewed, with one author, one time and one reason.

    Raises `AppError` without an author or without a row.
    """
    if not why.author.strip():
        raise AppError("An override is signed: give your name first.")
    if not plan.rows:
        raise AppError("There is nothing to override; look at the preview.")
    at = now()
    if plan.given is Special.JUDGE:
        why = Why(why.author, why.kind, f"{UNDONE} {why.words}".strip())
    made = [
        new_override(
            row.judgement, plan.value_of(row), why, seen=row.seen, now=lambda: at, new_id=new_id
        )
        for row in plan.rows
    ]
    return _save(plan.rows, made, store)


def take_back(
    result: BulkResult,
    author: str,
    store: BulkStore,
    *,
    now: Callable[[], datetime],
    new_id: Callable[[], str],
) -> BulkResult:
    """Add a row for each that was saved which gives back what held before."""
    at = now()
    made = []
    for row, saved in result.saved:
        words = RESTORED if row.by_person else UNDONE
        why = Why(author, saved.reason_kind, words)
        made.append(
            new_override(
                row.judgement, row.force.value, why, seen=saved.id, now=lambda: at, new_id=new_id
            )
        )
    return _save([row for row, _ in result.saved], made, store)


def _save(rows: Sequence[BulkRow], made: Sequence[Override], store: BulkStore) -> BulkResult:
    late = store.add_overrides(made)
    lost = {override.id for override in late}
    pairs = zip(rows, made, strict=True)
    return BulkResult(tuple(p for p in pairs if p[1].id not in lost), tuple(late))


def _rows(judgements: Sequence[Judgement], overrides: Sequence[Override]) -> tuple[BulkRow, ...]:
    of: dict[str, list[Override]] = {}
    for override in overrides:
        of.setdefault(override.judgement_id, []).append(override)
    return tuple(BulkRow(j, in_force(j, of.get(j.id, ()))) for j in judgements)


def _has_it(row: BulkRow, plan: BulkPlan) -> bool:
    """Whether a row holds already what it would get: from the same side, too."""
    if plan.given is Special.JUDGE:
        return not row.by_person
    return row.force.value == plan.value_of(row)


def _on_scale(dimension: str, given: Given) -> None:
    from core.compare import rubric_ends

    ends = rubric_ends().get(dimension)
    if isinstance(given, Special) or ends is None:
        return
    if not ends.low <= given <= ends.high:
        raise AppError(
            f"{given} is no value of {dimension}: choose one from {ends.low} to {ends.high}."
        )
