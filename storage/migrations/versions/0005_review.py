"""Human review: random draws, who rates what, labels, decisions, faults and roles.

Revision: 0005. Released migrations are never edited; the next change is the next revision.
"""

import sqlalchemy as sa
from alembic import op

from storage.columns import BigKey, Json, Text, UtcTime

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

APPEND_ONLY = ("review_design", "review_item", "annotation", "decision", "fault", "role_given")


def upgrade() -> None:
    op.create_table(
        "role_given",
        sa.Column("seq", BigKey(), nullable=False),
        sa.Column("person", Text(), nullable=False),
        sa.Column("role", Text(), nullable=False),
        sa.Column("author", Text(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_role_given")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_role_given_person"), "role_given", ["person"], unique=False)
    op.create_table(
        "review_design",
        sa.Column("seq", BigKey(), nullable=False),
        sa.Column("id", Text(), nullable=False),
        sa.Column("root_id", Text(), nullable=False),
        sa.Column("parent_id", Text(), nullable=True),
        sa.Column("name", Text(), nullable=False),
        sa.Column("study_id", Text(), nullable=False),
        sa.Column("method", Text(), nullable=False),
        sa.Column("stratum", Text(), nullable=False),
        sa.Column("budget", sa.Integer(), nullable=False),
        sa.Column("overlap", sa.Float(), nullable=False),
        sa.Column("floor", sa.Float(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("frame_hash", Text(), nullable=False),
        sa.Column("author", Text(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("arms", Json(), nullable=False),
        sa.Column("rubrics", Json(), nullable=False),
        sa.Column("annotators", Json(), nullable=False),
        sa.CheckConstraint(
            "method IN ('random', 'stratified', 'active', 'pairs')",
            name=op.f("ck_review_design_method_known"),
        ),
        sa.ForeignKeyConstraint(
            ["parent_id"], ["review_design.id"], name=op.f("fk_review_design_parent_id")
        ),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name=op.f("fk_review_design_study_id")),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_review_design")),
        sa.UniqueConstraint("id", name=op.f("uq_review_design_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_review_design_study_id"), "review_design", ["study_id"], unique=False)
    op.create_index(
        "uq_review_design_parent",
        "review_design",
        ["parent_id"],
        unique=True,
        sqlite_where=sa.text("parent_id IS NOT NULL"),
        postgresql_where=sa.text("parent_id IS NOT NULL"),
    )
    op.create_table(
        "annotation",
        sa.Column("seq", BigKey(), nullable=False),
        sa.Column("id", Text(), nullable=False),
        sa.Column("root_id", Text(), nullable=False),
        sa.Column("dialogue_id", Text(), nullable=False),
        sa.Column("dimension", Text(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=True),
        sa.Column("annotator", Text(), nullable=False),
        sa.Column("act", Text(), nullable=False),
        sa.Column("reason", Text(), nullable=False),
        sa.Column("value", sa.Integer(), nullable=True),
        sa.Column("judge_visible_before", sa.Boolean(), nullable=False),
        sa.Column("rubric", Text(), nullable=False),
        sa.Column("judgement_id", Text(), nullable=True),
        sa.Column("supersedes", Text(), nullable=True),
        sa.Column("opened_at", UtcTime(), nullable=False),
        sa.Column("submitted_at", UtcTime(), nullable=False),
        sa.Column("active_seconds", sa.Float(), nullable=False),
        sa.Column("source", Text(), nullable=False),
        sa.Column("cannot", Text(), nullable=False),
        sa.Column("why", Text(), nullable=False),
        sa.Column("marks", Json(), nullable=False),
        sa.Column("note", Text(), nullable=False),
        sa.CheckConstraint(
            "act IN ('rated', 'revealed', 'after', 'undone', 'skipped', 'flagged')",
            name=op.f("ck_annotation_act_known"),
        ),
        sa.CheckConstraint(
            "reason IN ('design', 'overlap', 'self_selected', 'flagged', 'training', 'imported')",
            name=op.f("ck_annotation_reason_known"),
        ),
        sa.ForeignKeyConstraint(
            ["dialogue_id"], ["dialogue.id"], name=op.f("fk_annotation_dialogue_id")
        ),
        sa.ForeignKeyConstraint(
            ["supersedes"], ["annotation.id"], name=op.f("fk_annotation_supersedes")
        ),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_annotation")),
        sa.UniqueConstraint("id", name=op.f("uq_annotation_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_annotation_dialogue_id"), "annotation", ["dialogue_id"], unique=False)
    op.create_index(
        op.f("ix_annotation_root_id_seq"), "annotation", ["root_id", "seq"], unique=False
    )
    op.create_index(
        "uq_annotation_chain",
        "annotation",
        ["supersedes", "act"],
        unique=True,
        sqlite_where=sa.text("supersedes IS NOT NULL"),
        postgresql_where=sa.text("supersedes IS NOT NULL"),
    )
    op.create_table(
        "assignment",
        sa.Column("root_id", Text(), nullable=False),
        sa.Column("dialogue_id", Text(), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("annotator", Text(), nullable=False),
        sa.Column("work", Text(), nullable=False),
        sa.Column("later", sa.Integer(), nullable=False),
        sa.Column("opened_at", UtcTime(), nullable=False),
        sa.Column("draft", Json(), nullable=False),
        sa.CheckConstraint(
            "work IN ('open', 'revealed', 'done')", name=op.f("ck_assignment_work_known")
        ),
        sa.ForeignKeyConstraint(
            ["dialogue_id"], ["dialogue.id"], name=op.f("fk_assignment_dialogue_id")
        ),
        sa.PrimaryKeyConstraint("root_id", "dialogue_id", "slot", name=op.f("pk_assignment")),
        sa.UniqueConstraint(
            "root_id",
            "dialogue_id",
            "annotator",
            name=op.f("uq_assignment_root_id_dialogue_id_annotator"),
        ),
    )
    op.create_table(
        "decision",
        sa.Column("seq", BigKey(), nullable=False),
        sa.Column("id", Text(), nullable=False),
        sa.Column("root_id", Text(), nullable=False),
        sa.Column("dialogue_id", Text(), nullable=False),
        sa.Column("dimension", Text(), nullable=False),
        sa.Column("value", sa.Integer(), nullable=True),
        sa.Column("reason_kind", Text(), nullable=False),
        sa.Column("author", Text(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("settles", Json(), nullable=False),
        sa.Column("reason", Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["dialogue_id"], ["dialogue.id"], name=op.f("fk_decision_dialogue_id")
        ),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_decision")),
        sa.UniqueConstraint("id", name=op.f("uq_decision_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_decision_root_id"), "decision", ["root_id"], unique=False)
    op.create_table(
        "fault",
        sa.Column("seq", BigKey(), nullable=False),
        sa.Column("id", Text(), nullable=False),
        sa.Column("dialogue_id", Text(), nullable=False),
        sa.Column("party", Text(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=True),
        sa.Column("author", Text(), nullable=False),
        sa.Column("confirmed", sa.Boolean(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("note", Text(), nullable=False),
        sa.CheckConstraint(
            "party IN ('assistant', 'user', 'task', 'judge', 'infrastructure', 'nobody')",
            name=op.f("ck_fault_party_known"),
        ),
        sa.ForeignKeyConstraint(
            ["dialogue_id"], ["dialogue.id"], name=op.f("fk_fault_dialogue_id")
        ),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_fault")),
        sa.UniqueConstraint("id", name=op.f("uq_fault_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_fault_dialogue_id"), "fault", ["dialogue_id"], unique=False)
    op.create_table(
        "review_item",
        sa.Column("design_id", Text(), nullable=False),
        sa.Column("dialogue_id", Text(), nullable=False),
        sa.Column("stratum", Text(), nullable=False),
        sa.Column("pi", sa.Float(), nullable=False),
        sa.Column("prn", sa.Float(), nullable=False),
        sa.Column("selected", sa.Boolean(), nullable=False),
        sa.Column("doubled", sa.Boolean(), nullable=False),
        sa.CheckConstraint("pi > 0 AND pi <= 1", name=op.f("ck_review_item_pi_is_a_chance")),
        sa.CheckConstraint("prn >= 0 AND prn < 1", name=op.f("ck_review_item_prn_in_range")),
        sa.ForeignKeyConstraint(
            ["design_id"], ["review_design.id"], name=op.f("fk_review_item_design_id")
        ),
        sa.ForeignKeyConstraint(
            ["dialogue_id"], ["dialogue.id"], name=op.f("fk_review_item_dialogue_id")
        ),
        sa.PrimaryKeyConstraint("design_id", "dialogue_id", name=op.f("pk_review_item")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_review_item_design_id"),
        "review_item",
        ["design_id"],
        unique=False,
        sqlite_where=sa.text("selected"),
        postgresql_where=sa.text("selected"),
    )
    for table in APPEND_ONLY:
        _refuse_changes(table)


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
