"""Review designs, who has what before them, and the audit that is read from what was stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.errors import AlreadyDecided
from core.review_ports import Eligible
from core.review_types import (
    Assignment,
    Event,
    Method,
    ReviewDesign,
    ReviewItem,
    Stratum,
    Work,
)
from core.types import StopReason
from storage.database import AnyRow, Database
from storage.queries import superseded
from storage.review_tables import (
    ANNOTATION,
    ASSIGNMENT,
    DECISION,
    FAULT,
    REVIEW_DESIGN,
    REVIEW_ITEM,
    ROLE,
)
from storage.tables import ARM, DIALOGUE, JUDGEMENT, OVERRIDE

_JUDGED = [str(reason) for reason in StopReason if reason.judged]


class Reviews:
    """The part of the store that remembers what was drawn, and for whom."""

    _db: Database

    def eligible(
        self, study_id: str, arms: Sequence[str], dimensions: Sequence[str]
    ) -> list[Eligible]:
        """Dialogues of a study that can be judged, in the order in which they were stored.

        Branches and attempts that a later one replaced are no part of a frame.
        """
        d, j = DIALOGUE.c, JUDGEMENT.c
        columns = (d.id, d.persona_id, d.task_id, d.repetition, d.domains, ARM.c.name.label("arm"))
        later = DIALOGUE.alias()
        replaced = sa.exists().where(later.c.unit_id == d.unit_id, later.c.attempt > d.attempt)
        query = (
            sa.select(*columns)
            .join(ARM, ARM.c.id == d.arm_id)
            .where(d.study_id == study_id, d.stop_reason.in_(_JUDGED), d.parent_id.is_(None))
            .where(~replaced)
            .order_by(d.seq)
        )
        values = (
            sa.select(j.dialogue_id, j.dimension, sa.func.avg(j.value).label("value"))
            .where(j.study_id == study_id, j.dimension.in_(list(dimensions)), ~superseded())
            .where(j.value.is_not(None))
            .group_by(j.dialogue_id, j.dimension)
        )
        with self._db.read() as connection:
            rows = connection.execute(query).all()
            rated: dict[str, dict[str, float]] = {}
            for row in connection.execute(values):
                rated.setdefault(row.dialogue_id, {})[row.dimension] = float(row.value)
        wanted = set(arms)
        return [
            Eligible(
                dialogue_id=row.id,
                persona_id=row.persona_id,
                task_id=row.task_id,
                repetition=row.repetition,
                arm=row.arm,
                domain="|".join(row.domains),
                values={n: rated.get(row.id, {}).get(n) for n in dimensions},
            )
            for row in rows
            if not wanted or row.arm in wanted
        ]

    # --- designs ------------------------------------------------------------------------------

    def add_design(self, design: ReviewDesign, items: Sequence[ReviewItem]) -> None:
        """Store a draw whole. Raises `AlreadyDecided` when its parent has been extended."""
        try:
            with self._db.write() as connection:
                connection.execute(sa.insert(REVIEW_DESIGN), [_design_values(design)])
                rows = [_item_values(design.id, item) for item in items]
                connection.execute(sa.insert(REVIEW_ITEM), rows)
        except AlreadyDecided:
            raise AlreadyDecided(
                "Somebody has extended this design in the meantime; look at it again."
            ) from None

    def list_designs(self, study_id: str | None = None) -> list[ReviewDesign]:
        """Newest first; of a design and its extensions all."""
        query = sa.select(REVIEW_DESIGN).order_by(REVIEW_DESIGN.c.seq.desc())
        if study_id is not None:
            query = query.where(REVIEW_DESIGN.c.study_id == study_id)
        return [_design_of(row) for row in self._db.rows(query)]

    def get_design(self, design_id: str) -> ReviewDesign:
        """One design. Raises `NotFound`."""
        query = sa.select(REVIEW_DESIGN).where(REVIEW_DESIGN.c.id == design_id)
        return _design_of(self._db.one(query, f"There is no review design {design_id!r}."))

    def list_items(self, design_id: str, *, selected: bool = False) -> list[ReviewItem]:
        """Every row of the frame, or the drawn ones, by their random numbers."""
        i = REVIEW_ITEM.c
        query = sa.select(REVIEW_ITEM).where(i.design_id == design_id)
        if selected:
            query = query.where(i.selected)
        return [_item_of(row) for row in self._db.rows(query.order_by(i.prn, i.dialogue_id))]

    # --- who has what -------------------------------------------------------------------------

    def reserve(self, assignment: Assignment) -> bool:
        """Take a slot; False when somebody has it, or this person has the dialogue already."""
        try:
            with self._db.write() as connection:
                connection.execute(sa.insert(ASSIGNMENT), [_assignment_values(assignment)])
        except AlreadyDecided:
            return False
        return True

    def list_assignments(self, root_id: str) -> list[Assignment]:
        """By the time at which they were opened."""
        a = ASSIGNMENT.c
        query = sa.select(ASSIGNMENT).where(a.root_id == root_id)
        rows = self._db.rows(query.order_by(a.opened_at, a.dialogue_id, a.slot))
        return [_assignment_of(row) for row in rows]

    def keep_draft(
        self, root_id: str, dialogue_id: str, annotator: str, draft: Mapping[str, object]
    ) -> None:
        """Keep a rating in the making. Nothing happens once the assignment is not open."""
        a = ASSIGNMENT.c
        mine = (a.root_id == root_id, a.dialogue_id == dialogue_id, a.annotator == annotator)
        change = sa.update(ASSIGNMENT).where(*mine, a.work != str(Work.DONE))
        with self._db.write() as connection:
            connection.execute(change.values(draft=dict(draft)))

    # --- audit --------------------------------------------------------------------------------

    def list_events(
        self, *, author: str | None = None, since: datetime | None = None, limit: int = 500
    ) -> list[Event]:
        """Who did what, newest first: read from what was stored, kept nowhere else."""
        found = sa.union_all(*_EVENTS).subquery()
        query = sa.select(found)
        if author is not None:
            query = query.where(found.c.author == author)
        if since is not None:
            query = query.where(found.c.at >= since)
        rows = self._db.rows(query.order_by(found.c.at.desc(), found.c.subject).limit(limit))
        return [Event(row.at, row.author, row.act, row.subject, row.detail) for row in rows]

    def role_of(self, person: str) -> str | None:
        """The role that this person was given last, or None."""
        query = sa.select(ROLE.c.role).where(ROLE.c.person == person)
        rows = self._db.rows(query.order_by(ROLE.c.seq.desc()).limit(1))
        return str(rows[0].role) if rows else None

    def list_roles(self) -> dict[str, str]:
        """Everybody who was given a role, and the one that holds."""
        rows = self._db.rows(sa.select(ROLE.c.person, ROLE.c.role).order_by(ROLE.c.seq))
        return dict(sorted((str(row.person), str(row.role)) for row in rows))

    def give_role(self, person: str, role: str, author: str, at: datetime) -> None:
        """Let `person` do what `role` allows from now on."""
        row = {"person": person, "role": role, "author": author, "created_at": at}
        with self._db.write() as connection:
            connection.execute(sa.insert(ROLE), [row])


def _event(table: sa.Table, at: str, author: str, act: Any, subject: str, detail: Any) -> Any:
    c = table.c
    return sa.select(
        c[at].label("at"),
        c[author].label("author"),
        (act if isinstance(act, sa.ColumnElement) else sa.literal(act)).label("act"),
        c[subject].label("subject"),
        (detail if isinstance(detail, sa.ColumnElement) else sa.literal(detail)).label("detail"),
    )


_EVENTS = (
    _event(REVIEW_DESIGN, "created_at", "author", "drew a design", "id", REVIEW_DESIGN.c.name),
    _event(
        ANNOTATION, "submitted_at", "annotator", ANNOTATION.c.act, "dialogue_id",
        ANNOTATION.c.dimension,
    ),
    _event(
        DECISION, "created_at", "author", "adjudicated", "dialogue_id", DECISION.c.dimension
    ),
    _event(FAULT, "created_at", "author", "named a fault", "dialogue_id", FAULT.c.party),
    _event(OVERRIDE, "created_at", "author", "overrode", "dialogue_id", OVERRIDE.c.reason_kind),
    _event(ROLE, "created_at", "author", "gave a role", "person", ROLE.c.role),
)  # fmt: skip


# --- rows ---------------------------------------------------------------------------------------


def _design_values(design: ReviewDesign) -> dict[str, Any]:
    return {
        "id": design.id,
        "root_id": design.root_id,
        "parent_id": design.parent_id,
        "name": design.name,
        "study_id": design.study_id,
        "method": str(design.method),
        "stratum": str(design.by),
        "budget": design.budget,
        "overlap": design.overlap,
        "floor": design.floor,
        "seed": design.seed,
        "frame_hash": design.frame_hash,
        "author": design.author,
        "created_at": design.created_at,
        "arms": list(design.arms),
        "rubrics": dict(design.rubrics),
        "annotators": list(design.annotators),
    }


def _design_of(row: AnyRow) -> ReviewDesign:
    return ReviewDesign(
        id=row.id,
        root_id=row.root_id,
        parent_id=row.parent_id,
        name=row.name,
        study_id=row.study_id,
        arms=tuple(row.arms),
        rubrics=dict(row.rubrics),
        method=Method(row.method),
        by=Stratum(row.stratum),
        budget=row.budget,
        overlap=row.overlap,
        floor=row.floor,
        seed=row.seed,
        annotators=tuple(row.annotators),
        frame_hash=row.frame_hash,
        created_at=row.created_at,
        author=row.author,
    )


def _item_values(design_id: str, item: ReviewItem) -> dict[str, Any]:
    return {
        "design_id": design_id,
        "dialogue_id": item.dialogue_id,
        "stratum": item.stratum,
        "pi": item.pi,
        "prn": item.prn,
        "selected": item.selected,
        "doubled": item.doubled,
    }


def _item_of(row: AnyRow) -> ReviewItem:
    return ReviewItem(
        row.dialogue_id, row.stratum, row.pi, row.prn, bool(row.selected), bool(row.doubled)
    )


def _assignment_values(a: Assignment) -> dict[str, Any]:
    return {
        "root_id": a.root_id,
        "dialogue_id": a.dialogue_id,
        "slot": a.slot,
        "annotator": a.annotator,
        "work": str(a.work),
        "later": a.later,
        "opened_at": a.opened_at,
        "draft": dict(a.draft),
    }


def _assignment_of(row: AnyRow) -> Assignment:
    return Assignment(
        root_id=row.root_id,
        dialogue_id=row.dialogue_id,
        slot=row.slot,
        annotator=row.annotator,
        work=Work(row.work),
        later=row.later,
        opened_at=row.opened_at,
        draft=row.draft,
    )
