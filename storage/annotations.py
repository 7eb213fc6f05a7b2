"""Labels, decisions and faults: what people said of dialogues, row after row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from core.errors import AlreadyDecided
from core.review_types import Act, Annotation, Decision, Fault, Party, Reason, Work
from storage.database import AnyRow, Database
from storage.review_tables import ANNOTATION, ASSIGNMENT, DECISION, FAULT
from storage.tables import DIALOGUE

# What an assignment must be before it may become what follows.
_BEFORE = {
    Work.OPEN: (Work.OPEN, Work.REVEALED, Work.DONE),
    Work.REVEALED: (Work.OPEN,),
    Work.DONE: (Work.OPEN, Work.REVEALED),
}


class Annotations:
    """The part of the store that remembers what annotators did."""

    _db: Database

    def add_annotations(
        self, rows: Sequence[Annotation], *, then: Work | None = None, later: bool = False
    ) -> None:
        """Append rows of one person and dialogue, and put the assignment `then`; all or none.

        `later` puts it behind everything else. Raises `AlreadyDecided` when a row supersedes
        one that another has superseded, or the assignment has moved on in another window.
        """
        if not rows:
            return
        try:
            with self._db.write() as connection:
                if then is not None:
                    _move(connection, rows[0], then, later)
                connection.execute(sa.insert(ANNOTATION), [_values(row) for row in rows])
        except AlreadyDecided:
            raise AlreadyDecided(
                "This was saved in another window in the meantime; nothing is lost, and the "
                "page shows how it stands."
            ) from None

    def list_annotations(
        self, *, root_id: str | None = None, dialogue_id: str | None = None
    ) -> list[Annotation]:
        """As they were stored."""
        query = sa.select(ANNOTATION).order_by(ANNOTATION.c.seq)
        if root_id is not None:
            query = query.where(ANNOTATION.c.root_id == root_id)
        if dialogue_id is not None:
            query = query.where(ANNOTATION.c.dialogue_id == dialogue_id)
        return [_annotation_of(row) for row in self._db.rows(query)]

    def recent_seconds(self, root_id: str, annotator: str, *, limit: int) -> list[float]:
        """How long somebody's latest ratings took, the newest first."""
        a = ANNOTATION.c
        mine = (a.root_id == root_id, a.annotator == annotator, a.act == str(Act.RATED))
        query = sa.select(a.active_seconds).where(*mine).order_by(a.seq.desc()).limit(limit)
        return [float(row.active_seconds) for row in self._db.rows(query)]

    def study_annotations(self, study_id: str) -> list[Annotation]:
        """Those of every dialogue of a study, as they were stored."""
        query = sa.select(ANNOTATION).join(DIALOGUE, DIALOGUE.c.id == ANNOTATION.c.dialogue_id)
        query = query.where(DIALOGUE.c.study_id == study_id).order_by(ANNOTATION.c.seq)
        return [_annotation_of(row) for row in self._db.rows(query)]

    def add_decision(self, decision: Decision) -> None:
        """Append an adjudicator's decision; the latest of a dialogue and dimension holds."""
        with self._db.write() as connection:
            connection.execute(sa.insert(DECISION), [_decision_values(decision)])

    def list_decisions(self, root_id: str) -> list[Decision]:
        """As they were stored."""
        query = sa.select(DECISION).where(DECISION.c.root_id == root_id)
        rows = self._db.rows(query.order_by(DECISION.c.seq))
        return [_decision_of(row) for row in rows]

    def add_fault(self, fault: Fault) -> None:
        """Append who is held to be at fault."""
        values = {
            "id": fault.id,
            "dialogue_id": fault.dialogue_id,
            "party": str(fault.party),
            "turn": fault.turn,
            "author": fault.author,
            "confirmed": fault.confirmed,
            "created_at": fault.created_at,
            "note": fault.note,
        }
        with self._db.write() as connection:
            connection.execute(sa.insert(FAULT), [values])

    def list_faults(self, study_id: str) -> list[Fault]:
        """Those of every dialogue of a study, as they were stored."""
        query = sa.select(FAULT).join(DIALOGUE, DIALOGUE.c.id == FAULT.c.dialogue_id)
        query = query.where(DIALOGUE.c.study_id == study_id).order_by(FAULT.c.seq)
        return [_fault_of(row) for row in self._db.rows(query)]


def _move(connection: sa.Connection, row: Annotation, then: Work, later: bool) -> None:
    a = ASSIGNMENT.c
    mine = (
        a.root_id == row.root_id,
        a.dialogue_id == row.dialogue_id,
        a.annotator == row.annotator,
        a.work.in_([str(work) for work in _BEFORE[then]]),
    )
    values: dict[str, Any] = {"work": str(then)}
    if then is Work.REVEALED or (then is Work.OPEN and not later):
        values["draft"] = {}
    if later:
        last = sa.select(sa.func.max(a.later)).where(a.root_id == row.root_id).scalar_subquery()
        values["later"] = sa.func.coalesce(last, 0) + 1
    moved = connection.execute(sa.update(ASSIGNMENT).where(*mine).values(**values))
    if moved.rowcount != 1:
        raise AlreadyDecided("")


# --- rows ---------------------------------------------------------------------------------------


def _values(a: Annotation) -> dict[str, Any]:
    return {
        "id": a.id,
        "root_id": a.root_id,
        "dialogue_id": a.dialogue_id,
        "dimension": a.dimension,
        "turn": a.turn,
        "annotator": a.annotator,
        "act": str(a.act),
        "reason": str(a.reason),
        "value": a.value,
        "judge_visible_before": a.judge_visible_before,
        "rubric": a.rubric,
        "judgement_id": a.judgement_id,
        "supersedes": a.supersedes,
        "opened_at": a.opened_at,
        "submitted_at": a.submitted_at,
        "active_seconds": a.active_seconds,
        "source": a.source,
        "cannot": a.cannot,
        "why": a.why,
        "marks": list(a.marks),
        "note": a.note,
    }


def _annotation_of(row: AnyRow) -> Annotation:
    return Annotation(
        id=row.id,
        root_id=row.root_id,
        dialogue_id=row.dialogue_id,
        dimension=row.dimension,
        turn=row.turn,
        annotator=row.annotator,
        act=Act(row.act),
        reason=Reason(row.reason),
        value=row.value,
        judge_visible_before=bool(row.judge_visible_before),
        rubric=row.rubric,
        judgement_id=row.judgement_id,
        supersedes=row.supersedes,
        opened_at=row.opened_at,
        submitted_at=row.submitted_at,
        active_seconds=row.active_seconds,
        source=row.source,
        cannot=row.cannot,
        why=row.why,
        marks=tuple(row.marks),
        note=row.note,
    )


def _decision_values(d: Decision) -> dict[str, Any]:
    return {
        "id": d.id,
        "root_id": d.root_id,
        "dialogue_id": d.dialogue_id,
        "dimension": d.dimension,
        "value": d.value,
        "reason_kind": d.reason_kind,
        "author": d.author,
        "created_at": d.created_at,
        "settles": list(d.settles),
        "reason": d.reason,
    }


def _decision_of(row: AnyRow) -> Decision:
    return Decision(
        id=row.id,
        root_id=row.root_id,
        dialogue_id=row.dialogue_id,
        dimension=row.dimension,
        value=row.value,
        reason_kind=row.reason_kind,
        reason=row.reason,
        author=row.author,
        created_at=row.created_at,
        settles=tuple(row.settles),
    )


def _fault_of(row: AnyRow) -> Fault:
    return Fault(
        id=row.id,
        dialogue_id=row.dialogue_id,
        party=Party(row.party),
        turn=row.turn,
        note=row.note,
        author=row.author,
        confirmed=bool(row.confirmed),
        created_at=row.created_at,
    )
