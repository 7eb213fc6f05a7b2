"""Tables, one per noun. What is filtered, joined or sorted is a column; the rest is JSON text.

Appended and never changed, by trigger: see `APPEND_ONLY`. `unit`, `study`, and those of
`ledger_tables` carry work in progress and do change; `dataset` carries counts. Heavy columns come
last, and those of dialogues are in a table of their own, so that lists read little.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Field

from core.types import JudgementStatus, StopReason, StudyState, Target, TaskKind
from storage import (  # noqa: F401 -- whoever asks for the schema gets all of it
    conversation_tables,
    ledger_tables,
    review_tables,
)
from storage.fields import (
    Base,
    big_field,
    json_field,
    key_field,
    one_of,
    only_where,
    ref_field,
    text_field,
    time_field,
)

APPEND_ONLY = (
    "arm",
    "dialogue",
    "dialogue_body",
    "model_call",
    "instrument",
    "judgement",
    "override",
    "import_report",
    "answer",
    *review_tables.REVIEW_APPEND_ONLY,
)


# --- datasets ----------------------------------------------------------------------------------


class DatasetRow(Base, table=True):
    __tablename__ = "dataset"

    key: int = key_field()
    name: str = text_field(unique=True)
    kind: str = text_field()
    sample: bool
    personas: int
    tasks: int
    scenarios: int
    changes: int
    imported_at: datetime = time_field()
    vocabulary: Any = json_field()


class ImportReportRow(Base, table=True):
    __tablename__ = "import_report"
    __table_args__ = ({"sqlite_autoincrement": True},)

    seq: int = key_field()
    dataset: str = text_field(index=True)
    kind: str = text_field()
    source: str = text_field()
    personas: int
    tasks: int
    scenarios: int
    dialogues: int
    added: int
    seconds: float
    at: datetime = time_field()
    irregularities: Any = json_field()


class PersonaRow(Base, table=True):
    __tablename__ = "persona"
    __table_args__ = (
        sa.UniqueConstraint("dataset_key", "persona_id"),
        sa.Index(None, "dataset_key", "number", "persona_id"),
    )

    key: int = key_field()
    dataset_key: int = ref_field("dataset.key")
    persona_id: str = text_field()
    number: int = big_field()
    content_hash: str = text_field()
    demographics: Any = json_field()
    interests: Any = json_field()
    affinities: Any = json_field()
    interactions: Any = json_field()


class PersonaTextRow(Base, table=True):
    """Case-folded text of one persona, in pieces, to search in."""

    __tablename__ = "persona_text"
    __table_args__ = (sa.Index(None, "persona_key"),)

    key: int = key_field()
    persona_key: int = ref_field("persona.key")
    folded: str = text_field()


class TaskRow(Base, table=True):
    __tablename__ = "task"
    __table_args__ = (
        sa.UniqueConstraint("dataset_key", "task_id"),
        one_of("kind", TaskKind),
    )

    key: int = key_field()
    dataset_key: int = ref_field("dataset.key")
    task_id: str = text_field()
    kind: str = text_field()
    domains: Any = json_field()
    number: int = big_field()
    content_hash: str = text_field()
    description: str = text_field()
    intent: str = text_field()
    goal: str = text_field()
    relevant: Any = json_field()


class ScenarioRow(Base, table=True):
    __tablename__ = "scenario"
    __table_args__ = (sa.Index(None, "task_key"), {"sqlite_with_rowid": False})

    persona_key: int = ref_field("persona.key", primary_key=True)
    task_key: int = ref_field("task.key", primary_key=True)
    situation: Any = json_field()


# --- studies -----------------------------------------------------------------------------------


class ArmRow(Base, table=True):
    """An arm by the digest of its content: 100,000 dialogues share a handful."""

    __tablename__ = "arm"

    id: str = text_field(primary_key=True)
    name: str = text_field(index=True)
    model: str = text_field()
    context: str = text_field()
    body: Any = json_field()


class StudyRow(Base, table=True):
    __tablename__ = "study"
    __table_args__ = (one_of("state", StudyState),)

    id: str = text_field(primary_key=True)
    name: str = text_field(unique=True)
    kind: str = text_field()
    state: str = text_field()
    message: str = text_field()
    changes: int
    created_at: datetime = time_field()
    started_at: datetime | None = time_field(nullable=True)
    heartbeat_at: datetime | None = time_field(nullable=True)
    spec: Any = json_field()


class UnitRow(Base, table=True):
    """A work unit. It is owed while `stop_reason` is null: no dialogue of this attempt yet."""

    __tablename__ = "unit"
    __table_args__ = (
        sa.Index(None, "study_id", "stop_reason", "seq"),
        sa.Index(None, "study_id", "owner", **only_where("owner IS NOT NULL")),
        one_of("stop_reason", StopReason),
        one_of("kind", TaskKind),
    )

    seq: int = key_field()
    id: str = text_field(unique=True)
    study_id: str = text_field(foreign_key="study.id")
    dataset: str = text_field()
    persona_id: str = text_field()
    task_id: str = text_field()
    kind: str = text_field()
    domains: Any = json_field()
    arm_id: str = text_field(foreign_key="arm.id")
    repetition: int
    seed: int = big_field()
    attempt: int
    stop_reason: str | None = text_field(nullable=True)
    owner: str | None = text_field(nullable=True)
    lease_until: float
    lease_seconds: float


# --- dialogues and calls -----------------------------------------------------------------------


class DialogueRow(Base, table=True):
    __tablename__ = "dialogue"
    __table_args__ = (
        sa.UniqueConstraint("unit_id", "attempt"),
        sa.Index(None, "study_id", "seq"),
        sa.Index(None, "study_id", "created_at"),
        sa.Index(None, "study_id", "stop_reason"),
        sa.Index(None, "created_at"),
        one_of("stop_reason", StopReason),
        one_of("kind", TaskKind),
        {"sqlite_autoincrement": True},
    )

    seq: int = key_field()
    id: str = text_field(unique=True)
    study_id: str = text_field(foreign_key="study.id")
    unit_id: str | None = text_field(nullable=True)
    attempt: int
    dataset: str | None = text_field(nullable=True)
    persona_id: str = text_field()
    persona_number: int = big_field()
    task_id: str = text_field()
    task_number: int = big_field()
    kind: str = text_field()
    domains: Any = json_field()
    arm_id: str = text_field(foreign_key="arm.id")
    repetition: int
    seed: int = big_field()
    turns: int
    stop_reason: str = text_field()
    created_at: datetime = time_field()
    seconds: float
    author: str = text_field()
    parent_id: str | None = text_field(nullable=True)
    parent_message: int | None = Field(nullable=True)
    stop_detail: str = text_field()
    intent: str = text_field()


class DialogueBodyRow(Base, table=True):
    """`messages` holds the texts alone, so that a search finds words and not roles."""

    __tablename__ = "dialogue_body"

    dialogue_id: str = text_field(primary_key=True, foreign_key="dialogue.id")
    user_agent: Any = json_field()
    prompts: Any = json_field()
    roles: str = text_field()
    stamps: Any = json_field()
    messages: Any = json_field()


class ModelCallRow(Base, table=True):
    __tablename__ = "model_call"
    __table_args__ = (
        sa.Index(
            "uq_model_call_answered",
            "scope",
            "party",
            "number",
            "request_hash",
            unique=True,
            **only_where("error = ''"),
        ),
        sa.Index(None, "scope"),
        sa.Index(None, "study_id", "cost_usd"),
        sa.Index("ix_model_call_retried", "study_id", "seq", **only_where("attempts > 1")),
        {"sqlite_autoincrement": True},
    )

    seq: int = key_field()
    scope: str = text_field()
    party: str = text_field()
    number: int
    request_hash: str = text_field()
    model: str = text_field()
    study_id: str = text_field()
    finish_reason: str = text_field()
    tokens_in: int | None = Field(nullable=True)
    tokens_out: int | None = Field(nullable=True)
    cost_usd: float | None = Field(nullable=True)
    seconds: float
    attempts: int
    cached: bool
    at: datetime = time_field()
    error: str = text_field()
    reply: str = text_field()


# --- judgements --------------------------------------------------------------------------------


class InstrumentRow(Base, table=True):
    __tablename__ = "instrument"

    id: str = text_field(primary_key=True)
    judge: str = text_field()
    rubric: str = text_field()
    prompt_hash: str = text_field()
    params: Any = json_field()


class JudgementRow(Base, table=True):
    __tablename__ = "judgement"
    __table_args__ = (
        sa.CheckConstraint("(value IS NULL) = (status <> 'ok')", name="value_iff_ok"),
        one_of("status", JudgementStatus),
        one_of("target", Target),
        sa.Index(None, "study_id", "status"),
        # Everything that a comparison reads, so that 600,000 long rationales stay unread.
        sa.Index(
            "ix_judgement_ratings",
            "study_id",
            "dimension",
            "seq",
            "dialogue_id",
            "target",
            "turn",
            "status",
            "value",
            "instrument_id",
        ),
        {"sqlite_autoincrement": True},
    )

    seq: int = key_field()
    id: str = text_field(unique=True)
    dialogue_id: str = text_field(foreign_key="dialogue.id")
    study_id: str = text_field(foreign_key="study.id")
    instrument_id: str = text_field(foreign_key="instrument.id")
    dimension: str = text_field()
    target: str = text_field()
    turn: int | None = Field(nullable=True)
    status: str = text_field()
    value: int | None = Field(nullable=True)
    created_at: datetime = time_field()
    evidence: Any = json_field()
    rationale: str = text_field()
    raw: str = text_field()


class OverrideRow(Base, table=True):
    __tablename__ = "override"
    __table_args__ = ({"sqlite_autoincrement": True},)

    seq: int = key_field()
    id: str = text_field(unique=True)
    judgement_id: str = text_field(foreign_key="judgement.id")
    dialogue_id: str = text_field(foreign_key="dialogue.id", index=True)
    value: int | None = Field(nullable=True)
    supersedes: str | None = text_field(nullable=True, foreign_key="override.id")
    reason_kind: str = text_field()
    author: str = text_field()
    created_at: datetime = time_field()
    reason: str = text_field()


def _table(row: type[Base]) -> sa.Table:
    return Base.metadata.tables[str(row.__tablename__)]


DATASET = _table(DatasetRow)
IMPORT_REPORT = _table(ImportReportRow)
PERSONA = _table(PersonaRow)
PERSONA_TEXT = _table(PersonaTextRow)
TASK = _table(TaskRow)
SCENARIO = _table(ScenarioRow)
ARM = _table(ArmRow)
STUDY = _table(StudyRow)
UNIT = _table(UnitRow)
DIALOGUE = _table(DialogueRow)
DIALOGUE_BODY = _table(DialogueBodyRow)
MODEL_CALL = _table(ModelCallRow)
INSTRUMENT = _table(InstrumentRow)
JUDGEMENT = _table(JudgementRow)
OVERRIDE = _table(OverrideRow)

# Null turns and null predecessors count as equal here, which a plain unique key would not do.
sa.Index(
    "uq_judgement_target",
    JUDGEMENT.c.dialogue_id,
    JUDGEMENT.c.instrument_id,
    JUDGEMENT.c.dimension,
    JUDGEMENT.c.target,
    sa.func.coalesce(JUDGEMENT.c.turn, sa.text("-1")),
    unique=True,
    # A judge that could not be reached may be asked again; what it then says stands beside.
    **only_where("status <> 'model_error'"),
)
sa.Index(
    "uq_override_chain",
    OVERRIDE.c.judgement_id,
    sa.func.coalesce(OVERRIDE.c.supersedes, sa.text("''")),
    unique=True,
)
