"""Tables of human review. All are appended to and never changed but `assignment`.

A design has one row of `review_item` for every dialogue of its frame, drawn or not.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Field

from core.review_types import Act, Method, Party, Reason, Work
from storage.fields import (
    Base,
    big_field,
    json_field,
    key_field,
    one_of,
    only_where,
    text_field,
    time_field,
)


class ReviewDesignRow(Base, table=True):
    __tablename__ = "review_design"
    __table_args__ = (
        one_of("method", Method),
        sa.Index(None, "study_id"),
        sa.Index(
            "uq_review_design_parent",
            "parent_id",
            unique=True,
            **only_where("parent_id IS NOT NULL"),
        ),
        {"sqlite_autoincrement": True},
    )

    seq: int = key_field()
    id: str = text_field(unique=True)
    root_id: str = text_field()
    parent_id: str | None = text_field(nullable=True, foreign_key="review_design.id")
    name: str = text_field()
    study_id: str = text_field(foreign_key="study.id")
    method: str = text_field()
    stratum: str = text_field()
    budget: int
    overlap: float
    floor: float
    seed: int = big_field()
    frame_hash: str = text_field()
    author: str = text_field()
    created_at: datetime = time_field()
    arms: Any = json_field()
    rubrics: Any = json_field()
    annotators: Any = json_field()


class ReviewItemRow(Base, table=True):
    __tablename__ = "review_item"
    __table_args__ = (
        sa.CheckConstraint("pi > 0 AND pi <= 1", name="pi_is_a_chance"),
        sa.CheckConstraint("prn >= 0 AND prn < 1", name="prn_in_range"),
        sa.Index(None, "design_id", **only_where("selected")),
        {"sqlite_with_rowid": False},
    )

    design_id: str = text_field(primary_key=True, foreign_key="review_design.id")
    dialogue_id: str = text_field(primary_key=True, foreign_key="dialogue.id")
    stratum: str = text_field()
    pi: float
    prn: float
    selected: bool
    doubled: bool


class AssignmentRow(Base, table=True):
    """Who has which dialogue before them: the one table here that changes."""

    __tablename__ = "assignment"
    __table_args__ = (
        one_of("work", Work),
        sa.UniqueConstraint("root_id", "dialogue_id", "annotator"),
    )

    root_id: str = text_field(primary_key=True)
    dialogue_id: str = text_field(primary_key=True, foreign_key="dialogue.id")
    slot: int = Field(primary_key=True)
    annotator: str = text_field()
    work: str = text_field()
    later: int
    opened_at: datetime = time_field()
    draft: Any = json_field()


class AnnotationRow(Base, table=True):
    __tablename__ = "annotation"
    __table_args__ = (
        one_of("act", Act),
        one_of("reason", Reason),
        sa.Index(None, "root_id", "seq"),
        sa.Index(None, "dialogue_id"),
        {"sqlite_autoincrement": True},
    )

    seq: int = key_field()
    id: str = text_field(unique=True)
    root_id: str = text_field()
    dialogue_id: str = text_field(foreign_key="dialogue.id")
    dimension: str = text_field()
    turn: int | None = Field(nullable=True)
    annotator: str = text_field()
    act: str = text_field()
    reason: str = text_field()
    value: int | None = Field(nullable=True)
    judge_visible_before: bool
    rubric: str = text_field()
    judgement_id: str | None = text_field(nullable=True)
    supersedes: str | None = text_field(nullable=True, foreign_key="annotation.id")
    opened_at: datetime = time_field()
    submitted_at: datetime = time_field()
    active_seconds: float
    source: str = text_field()
    cannot: str = text_field()
    why: str = text_field()
    marks: Any = json_field()
    note: str = text_field()


class DecisionRow(Base, table=True):
    __tablename__ = "decision"
    __table_args__ = (sa.Index(None, "root_id"), {"sqlite_autoincrement": True})

    seq: int = key_field()
    id: str = text_field(unique=True)
    root_id: str = text_field()
    dialogue_id: str = text_field(foreign_key="dialogue.id")
    dimension: str = text_field()
    value: int | None = Field(nullable=True)
    reason_kind: str = text_field()
    author: str = text_field()
    created_at: datetime = time_field()
    settles: Any = json_field()
    reason: str = text_field()


class FaultRow(Base, table=True):
    __tablename__ = "fault"
    __table_args__ = (
        one_of("party", Party),
        sa.Index(None, "dialogue_id"),
        {"sqlite_autoincrement": True},
    )

    seq: int = key_field()
    id: str = text_field(unique=True)
    dialogue_id: str = text_field(foreign_key="dialogue.id")
    party: str = text_field()
    turn: int | None = Field(nullable=True)
    author: str = text_field()
    confirmed: bool
    created_at: datetime = time_field()
    note: str = text_field()


class RoleRow(Base, table=True):
    """Who may do what, as it was given; the latest row of a person holds."""

    __tablename__ = "role_given"
    __table_args__ = (sa.Index(None, "person"), {"sqlite_autoincrement": True})

    seq: int = key_field()
    person: str = text_field()
    role: str = text_field()
    author: str = text_field()
    created_at: datetime = time_field()


REVIEW_APPEND_ONLY = (
    "review_design",
    "review_item",
    "annotation",
    "decision",
    "fault",
    "role_given",
)

REVIEW_DESIGN = Base.metadata.tables["review_design"]
REVIEW_ITEM = Base.metadata.tables["review_item"]
ASSIGNMENT = Base.metadata.tables["assignment"]
ANNOTATION = Base.metadata.tables["annotation"]
DECISION = Base.metadata.tables["decision"]
FAULT = Base.metadata.tables["fault"]
ROLE = Base.metadata.tables["role_given"]

# Two windows cannot both take back, or both answer, the same row.
sa.Index(
    "uq_annotation_chain",
    ANNOTATION.c.supersedes,
    ANNOTATION.c.act,
    unique=True,
    **only_where("supersedes IS NOT NULL"),
)
