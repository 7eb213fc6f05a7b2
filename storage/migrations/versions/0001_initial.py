"""The first schema.

Revision: 0001. Released migrations are never edited; the next change is the next revision.
"""

import sqlalchemy as sa
from alembic import op

from storage.columns import BigKey, Json, Text, UtcTime

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

APPEND_ONLY = (
    "arm",
    "dialogue",
    "dialogue_body",
    "model_call",
    "instrument",
    "judgement",
    "override",
    "import_report",
)


def upgrade() -> None:
    op.create_table(
        "arm",
        sa.Column("id", Text(), nullable=False),
        sa.Column("name", Text(), nullable=False),
        sa.Column("model", Text(), nullable=False),
        sa.Column("context", Text(), nullable=False),
        sa.Column("body", Json(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_arm")),
    )
    op.create_index(op.f("ix_arm_name"), "arm", ["name"], unique=False)
    op.create_table(
        "dataset",
        sa.Column("key", BigKey(), nullable=False),
        sa.Column("name", Text(), nullable=False),
        sa.Column("kind", Text(), nullable=False),
        sa.Column("sample", sa.Boolean(), nullable=False),
        sa.Column("personas", sa.Integer(), nullable=False),
        sa.Column("tasks", sa.Integer(), nullable=False),
        sa.Column("scenarios", sa.Integer(), nullable=False),
        sa.Column("changes", sa.Integer(), nullable=False),
        sa.Column("imported_at", UtcTime(), nullable=False),
        sa.Column("vocabulary", Json(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_dataset")),
        sa.UniqueConstraint("name", name=op.f("uq_dataset_name")),
    )
    op.create_table(
        "import_report",
        sa.Column("seq", BigKey(), nullable=False),
        sa.Column("dataset", Text(), nullable=False),
        sa.Column("kind", Text(), nullable=False),
        sa.Column("source", Text(), nullable=False),
        sa.Column("personas", sa.Integer(), nullable=False),
        sa.Column("tasks", sa.Integer(), nullable=False),
        sa.Column("scenarios", sa.Integer(), nullable=False),
        sa.Column("dialogues", sa.Integer(), nullable=False),
        sa.Column("added", sa.Integer(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("at", UtcTime(), nullable=False),
        sa.Column("irregularities", Json(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_import_report")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_import_report_dataset"), "import_report", ["dataset"], unique=False)
    op.create_table(
        "instrument",
        sa.Column("id", Text(), nullable=False),
        sa.Column("judge", Text(), nullable=False),
        sa.Column("rubric", Text(), nullable=False),
        sa.Column("prompt_hash", Text(), nullable=False),
        sa.Column("params", Json(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_instrument")),
    )
    op.create_table(
        "model_call",
        sa.Column("seq", BigKey(), nullable=False),
        sa.Column("scope", Text(), nullable=False),
        sa.Column("party", Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("request_hash", Text(), nullable=False),
        sa.Column("model", Text(), nullable=False),
        sa.Column("study_id", Text(), nullable=False),
        sa.Column("finish_reason", Text(), nullable=False),
        sa.Column("tokens_in", sa.Integer(), nullable=True),
        sa.Column("tokens_out", sa.Integer(), nullable=True),
        sa.Column("cost_usd", sa.Float(), nullable=True),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("cached", sa.Boolean(), nullable=False),
        sa.Column("at", UtcTime(), nullable=False),
        sa.Column("error", Text(), nullable=False),
        sa.Column("reply", Text(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_model_call")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_model_call_scope"), "model_call", ["scope"], unique=False)
    op.create_index(
        op.f("ix_model_call_study_id_cost_usd"),
        "model_call",
        ["study_id", "cost_usd"],
        unique=False,
    )
    op.create_index(
        "uq_model_call_answered",
        "model_call",
        ["scope", "party", "number", "request_hash"],
        unique=True,
        sqlite_where=sa.text("error = ''"),
        postgresql_where=sa.text("error = ''"),
    )
    op.create_table(
        "study",
        sa.Column("id", Text(), nullable=False),
        sa.Column("name", Text(), nullable=False),
        sa.Column("kind", Text(), nullable=False),
        sa.Column("state", Text(), nullable=False),
        sa.Column("message", Text(), nullable=False),
        sa.Column("changes", sa.Integer(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("started_at", UtcTime(), nullable=True),
        sa.Column("heartbeat_at", UtcTime(), nullable=True),
        sa.Column("spec", Json(), nullable=False),
        sa.CheckConstraint(
            "state IN ('defined', 'running', 'paused', 'cancelled', 'done', 'failed')",
            name=op.f("ck_study_state_known"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_study")),
        sa.UniqueConstraint("name", name=op.f("uq_study_name")),
    )
    op.create_table(
        "dialogue",
        sa.Column("seq", BigKey(), nullable=False),
        sa.Column("id", Text(), nullable=False),
        sa.Column("study_id", Text(), nullable=False),
        sa.Column("unit_id", Text(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("dataset", Text(), nullable=True),
        sa.Column("persona_id", Text(), nullable=False),
        sa.Column("persona_number", sa.BigInteger(), nullable=False),
        sa.Column("task_id", Text(), nullable=False),
        sa.Column("task_number", sa.BigInteger(), nullable=False),
        sa.Column("kind", Text(), nullable=False),
        sa.Column("domains", Json(), nullable=False),
        sa.Column("arm_id", Text(), nullable=False),
        sa.Column("repetition", sa.Integer(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("turns", sa.Integer(), nullable=False),
        sa.Column("stop_reason", Text(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("author", Text(), nullable=False),
        sa.Column("parent_id", Text(), nullable=True),
        sa.Column("parent_message", sa.Integer(), nullable=True),
        sa.Column("stop_detail", Text(), nullable=False),
        sa.Column("intent", Text(), nullable=False),
        sa.CheckConstraint("kind IN ('single', 'multi')", name=op.f("ck_dialogue_kind_known")),
        sa.CheckConstraint(
            "stop_reason IN ('user_done', 'turn_limit', 'model_error', 'refused', 'budget', 'cancelled')",
            name=op.f("ck_dialogue_stop_reason_known"),
        ),
        sa.ForeignKeyConstraint(["arm_id"], ["arm.id"], name=op.f("fk_dialogue_arm_id")),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name=op.f("fk_dialogue_study_id")),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_dialogue")),
        sa.UniqueConstraint("id", name=op.f("uq_dialogue_id")),
        sa.UniqueConstraint("unit_id", "attempt", name=op.f("uq_dialogue_unit_id_attempt")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_dialogue_created_at"), "dialogue", ["created_at"], unique=False)
    op.create_index(
        op.f("ix_dialogue_study_id_created_at"),
        "dialogue",
        ["study_id", "created_at"],
        unique=False,
    )
    op.create_index(op.f("ix_dialogue_study_id_seq"), "dialogue", ["study_id", "seq"], unique=False)
    op.create_index(
        op.f("ix_dialogue_study_id_stop_reason"),
        "dialogue",
        ["study_id", "stop_reason"],
        unique=False,
    )
    op.create_table(
        "persona",
        sa.Column("key", BigKey(), nullable=False),
        sa.Column("dataset_key", BigKey(), nullable=False),
        sa.Column("persona_id", Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("content_hash", Text(), nullable=False),
        sa.Column("demographics", Json(), nullable=False),
        sa.Column("interests", Json(), nullable=False),
        sa.Column("affinities", Json(), nullable=False),
        sa.Column("interactions", Json(), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset_key"], ["dataset.key"], name=op.f("fk_persona_dataset_key")
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_persona")),
        sa.UniqueConstraint(
            "dataset_key", "persona_id", name=op.f("uq_persona_dataset_key_persona_id")
        ),
    )
    op.create_index(
        op.f("ix_persona_dataset_key_number_persona_id"),
        "persona",
        ["dataset_key", "number", "persona_id"],
        unique=False,
    )
    op.create_table(
        "task",
        sa.Column("key", BigKey(), nullable=False),
        sa.Column("dataset_key", BigKey(), nullable=False),
        sa.Column("task_id", Text(), nullable=False),
        sa.Column("kind", Text(), nullable=False),
        sa.Column("domains", Json(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("content_hash", Text(), nullable=False),
        sa.Column("description", Text(), nullable=False),
        sa.Column("intent", Text(), nullable=False),
        sa.Column("goal", Text(), nullable=False),
        sa.Column("relevant", Json(), nullable=False),
        sa.CheckConstraint("kind IN ('single', 'multi')", name=op.f("ck_task_kind_known")),
        sa.ForeignKeyConstraint(["dataset_key"], ["dataset.key"], name=op.f("fk_task_dataset_key")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_task")),
        sa.UniqueConstraint("dataset_key", "task_id", name=op.f("uq_task_dataset_key_task_id")),
    )
    op.create_table(
        "unit",
        sa.Column("seq", BigKey(), nullable=False),
        sa.Column("id", Text(), nullable=False),
        sa.Column("study_id", Text(), nullable=False),
        sa.Column("dataset", Text(), nullable=False),
        sa.Column("persona_id", Text(), nullable=False),
        sa.Column("task_id", Text(), nullable=False),
        sa.Column("kind", Text(), nullable=False),
        sa.Column("domains", Json(), nullable=False),
        sa.Column("arm_id", Text(), nullable=False),
        sa.Column("repetition", sa.Integer(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("stop_reason", Text(), nullable=True),
        sa.Column("owner", Text(), nullable=True),
        sa.Column("lease_until", sa.Float(), nullable=False),
        sa.Column("lease_seconds", sa.Float(), nullable=False),
        sa.CheckConstraint("kind IN ('single', 'multi')", name=op.f("ck_unit_kind_known")),
        sa.CheckConstraint(
            "stop_reason IN ('user_done', 'turn_limit', 'model_error', 'refused', 'budget', 'cancelled')",
            name=op.f("ck_unit_stop_reason_known"),
        ),
        sa.ForeignKeyConstraint(["arm_id"], ["arm.id"], name=op.f("fk_unit_arm_id")),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name=op.f("fk_unit_study_id")),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_unit")),
        sa.UniqueConstraint("id", name=op.f("uq_unit_id")),
    )
    op.create_index(
        op.f("ix_unit_study_id_owner"),
        "unit",
        ["study_id", "owner"],
        unique=False,
        sqlite_where=sa.text("owner IS NOT NULL"),
        postgresql_where=sa.text("owner IS NOT NULL"),
    )
    op.create_index(
        op.f("ix_unit_study_id_stop_reason_seq"),
        "unit",
        ["study_id", "stop_reason", "seq"],
        unique=False,
    )
    op.create_table(
        "dialogue_body",
        sa.Column("dialogue_id", Text(), nullable=False),
        sa.Column("user_agent", Json(), nullable=False),
        sa.Column("prompts", Json(), nullable=False),
        sa.Column("roles", Text(), nullable=False),
        sa.Column("stamps", Json(), nullable=False),
        sa.Column("messages", Json(), nullable=False),
        sa.ForeignKeyConstraint(
            ["dialogue_id"], ["dialogue.id"], name=op.f("fk_dialogue_body_dialogue_id")
        ),
        sa.PrimaryKeyConstraint("dialogue_id", name=op.f("pk_dialogue_body")),
    )
    op.create_table(
        "judgement",
        sa.Column("seq", BigKey(), nullable=False),
        sa.Column("id", Text(), nullable=False),
        sa.Column("dialogue_id", Text(), nullable=False),
        sa.Column("study_id", Text(), nullable=False),
        sa.Column("instrument_id", Text(), nullable=False),
        sa.Column("dimension", Text(), nullable=False),
        sa.Column("target", Text(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=True),
        sa.Column("status", Text(), nullable=False),
        sa.Column("value", sa.Integer(), nullable=True),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("evidence", Json(), nullable=False),
        sa.Column("rationale", Text(), nullable=False),
        sa.Column("raw", Text(), nullable=False),
        sa.CheckConstraint(
            "(value IS NULL) = (status <> 'ok')", name=op.f("ck_judgement_value_iff_ok")
        ),
        sa.CheckConstraint(
            "status IN ('ok', 'unparsable', 'out_of_range', 'refused', 'truncated', 'empty', 'model_error')",
            name=op.f("ck_judgement_status_known"),
        ),
        sa.CheckConstraint(
            "target IN ('dialogue', 'user', 'assistant', 'turn')",
            name=op.f("ck_judgement_target_known"),
        ),
        sa.ForeignKeyConstraint(
            ["dialogue_id"], ["dialogue.id"], name=op.f("fk_judgement_dialogue_id")
        ),
        sa.ForeignKeyConstraint(
            ["instrument_id"], ["instrument.id"], name=op.f("fk_judgement_instrument_id")
        ),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name=op.f("fk_judgement_study_id")),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_judgement")),
        sa.UniqueConstraint("id", name=op.f("uq_judgement_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_judgement_ratings",
        "judgement",
        [
            "study_id",
            "seq",
            "dialogue_id",
            "dimension",
            "target",
            "turn",
            "status",
            "value",
            "instrument_id",
        ],
        unique=False,
    )
    op.create_index(
        op.f("ix_judgement_study_id_status"), "judgement", ["study_id", "status"], unique=False
    )
    op.create_table(
        "persona_text",
        sa.Column("key", BigKey(), nullable=False),
        sa.Column("persona_key", BigKey(), nullable=False),
        sa.Column("folded", Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["persona_key"], ["persona.key"], name=op.f("fk_persona_text_persona_key")
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_persona_text")),
    )
    op.create_index(
        op.f("ix_persona_text_persona_key"), "persona_text", ["persona_key"], unique=False
    )
    op.create_table(
        "scenario",
        sa.Column("persona_key", BigKey(), nullable=False),
        sa.Column("task_key", BigKey(), nullable=False),
        sa.Column("situation", Json(), nullable=False),
        sa.ForeignKeyConstraint(
            ["persona_key"], ["persona.key"], name=op.f("fk_scenario_persona_key")
        ),
        sa.ForeignKeyConstraint(["task_key"], ["task.key"], name=op.f("fk_scenario_task_key")),
        sa.PrimaryKeyConstraint("persona_key", "task_key", name=op.f("pk_scenario")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_scenario_task_key"), "scenario", ["task_key"], unique=False)
    op.create_table(
        "override",
        sa.Column("seq", BigKey(), nullable=False),
        sa.Column("id", Text(), nullable=False),
        sa.Column("judgement_id", Text(), nullable=False),
        sa.Column("dialogue_id", Text(), nullable=False),
        sa.Column("value", sa.Integer(), nullable=True),
        sa.Column("supersedes", Text(), nullable=True),
        sa.Column("reason_kind", Text(), nullable=False),
        sa.Column("author", Text(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("reason", Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["dialogue_id"], ["dialogue.id"], name=op.f("fk_override_dialogue_id")
        ),
        sa.ForeignKeyConstraint(
            ["judgement_id"], ["judgement.id"], name=op.f("fk_override_judgement_id")
        ),
        sa.ForeignKeyConstraint(
            ["supersedes"], ["override.id"], name=op.f("fk_override_supersedes")
        ),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_override")),
        sa.UniqueConstraint("id", name=op.f("uq_override_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_override_dialogue_id"), "override", ["dialogue_id"], unique=False)

    _expression_indexes()
    for table in APPEND_ONLY:
        _refuse_changes(table)


def _expression_indexes() -> None:
    """Unique keys in which null counts as a value."""
    op.create_index(
        "uq_judgement_target",
        "judgement",
        ["dialogue_id", "instrument_id", "dimension", "target", sa.text("coalesce(turn, -1)")],
        unique=True,
        sqlite_where=sa.text("status <> 'model_error'"),
        postgresql_where=sa.text("status <> 'model_error'"),
    )
    op.create_index(
        "uq_override_chain",
        "override",
        ["judgement_id", sa.text("coalesce(supersedes, '')")],
        unique=True,
    )


def _refuse_changes(table: str) -> None:
    if op.get_bind().dialect.name == "sqlite":
        for act in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER {table}_no_{act.lower()} BEFORE {act} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
            )
        return
    op.execute(
        f"CREATE FUNCTION {table}_append_only() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"RAISE EXCEPTION '{table} is append-only' USING ERRCODE = '23000'; END $$"
    )
    op.execute(
        f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE ON {table} "
        f"FOR EACH ROW EXECUTE FUNCTION {table}_append_only()"
    )


def downgrade() -> None:
    raise NotImplementedError("what was measured is not thrown away by a downgrade")
