"""Dialogues may end because their messages outgrew a model's context; retried calls are found.

Revision: 0002. Released migrations are never edited; the next change is the next revision.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

BEFORE = "'refused', 'budget', 'cancelled'"
AFTER = "'refused', 'context_overflow', 'budget', 'cancelled'"
REASONS = f"'user_done', 'turn_limit', 'model_error', {AFTER}"


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        _widen_on_sqlite()
    else:
        for table in ("unit", "dialogue"):
            name = f"ck_{table}_stop_reason_known"
            op.drop_constraint(op.f(name), table)
            op.create_check_constraint(op.f(name), table, f"stop_reason IN ({REASONS})")
    op.create_index(
        "ix_model_call_retried",
        "model_call",
        ["study_id", "seq"],
        sqlite_where=sa.text("attempts > 1"),
        postgresql_where=sa.text("attempts > 1"),
    )


def _widen_on_sqlite() -> None:
    """Change the text of the checks, as SQLite's manual says for what touches no stored row.

    To build the tables anew, as Alembic would, drops one that others refer to.
    """
    run = op.get_bind().exec_driver_sql
    version = run("PRAGMA schema_version").scalar()
    run("PRAGMA writable_schema = ON")
    for table in ("unit", "dialogue"):
        run(
            "UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE type = 'table' AND name = ?",
            (BEFORE, AFTER, table),
        )
    run(f"PRAGMA schema_version = {version + 1}")
    run("PRAGMA writable_schema = RESET")


def downgrade() -> None:
    raise NotImplementedError("what was measured is not thrown away by a downgrade")
