"""Limits hold over all processes: the ledger of calls that are out, and answers to share.

Revision: 0004. Released migrations are never edited; the next change is the next revision.
"""

import sqlalchemy as sa
from alembic import op

from storage.columns import Text

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "answer",
        sa.Column("key", Text(), nullable=False),
        sa.Column("scope", Text(), nullable=False),
        sa.Column("party", Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_answer")),
    )
    op.create_table(
        "waiting",
        sa.Column("owner", Text(), nullable=False),
        sa.Column("study_id", Text(), nullable=False),
        sa.Column("until", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("owner", name=op.f("pk_waiting")),
    )
    op.create_table(
        "spending",
        sa.Column("study_id", Text(), nullable=False),
        sa.Column("spent_usd", sa.Float(), nullable=False),
        sa.Column("lost_usd", sa.Float(), nullable=False),
        sa.Column("lost_calls", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("study_id", name=op.f("pk_spending")),
    )
    op.create_table(
        "open_call",
        sa.Column("id", Text(), nullable=False),
        sa.Column("study_id", Text(), nullable=False),
        sa.Column("scope", Text(), nullable=False),
        sa.Column("party", Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("request_hash", Text(), nullable=False),
        sa.Column("provider", Text(), nullable=False),
        sa.Column("owner", Text(), nullable=False),
        sa.Column("worst_usd", sa.Float(), nullable=True),
        sa.Column("started_at", sa.Float(), nullable=False),
        sa.Column("lease_until", sa.Float(), nullable=False),
        sa.Column("ended_at", sa.Float(), nullable=True),
        sa.Column("requests", sa.Integer(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("lost", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_open_call")),
    )
    op.create_index(
        "ix_open_call_out",
        "open_call",
        ["study_id"],
        unique=False,
        sqlite_where=sa.text("ended_at IS NULL"),
        postgresql_where=sa.text("ended_at IS NULL"),
    )
    op.create_index(op.f("ix_open_call_started_at"), "open_call", ["started_at"], unique=False)
    # What studies have cost so far is what their log says.
    op.execute(
        "INSERT INTO spending (study_id, spent_usd, lost_usd, lost_calls) "
        "SELECT study_id, sum(cost_usd), 0, 0 FROM model_call WHERE cost_usd IS NOT NULL "
        "GROUP BY study_id"
    )
    _refuse_changes("answer")


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
