"""Conversations by real people: threads, who wrote in them, and what may be asked about.

Revision: 0006. Released migrations are never edited; the next change is the next revision.
"""

import sqlalchemy as sa
from alembic import op

from storage.columns import BigKey, Json, Text, UtcTime

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "conversations",
        sa.Column("dataset_key", BigKey(), nullable=False),
        sa.Column("hash", Text(), nullable=False),
        sa.Column("pseudonym_key", Text(), nullable=False),
        sa.Column("threads", sa.Integer(), nullable=False),
        sa.Column("comments", sa.Integer(), nullable=False),
        sa.Column("members", sa.Integer(), nullable=False),
        sa.Column("targets", sa.Integer(), nullable=False),
        sa.Column("by_domain", Json(), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset_key"], ["dataset.key"], name=op.f("fk_conversations_dataset_key")
        ),
        sa.PrimaryKeyConstraint("dataset_key", name=op.f("pk_conversations")),
    )
    op.create_table(
        "thread",
        sa.Column("key", BigKey(), nullable=False),
        sa.Column("dataset_key", BigKey(), nullable=False),
        sa.Column("thread_id", Text(), nullable=False),
        sa.Column("author", Text(), nullable=False),
        sa.Column("domain", Text(), nullable=False),
        sa.Column("comments", sa.Integer(), nullable=False),
        sa.Column("targets", sa.Integer(), nullable=False),
        sa.Column("at", UtcTime(), nullable=True),
        sa.Column("content_hash", Text(), nullable=False),
        sa.Column("title", Text(), nullable=False),
        sa.Column("target_list", Text(), nullable=False),
        sa.Column("body", Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset_key"], ["dataset.key"], name=op.f("fk_thread_dataset_key")
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_thread")),
        sa.UniqueConstraint(
            "dataset_key", "thread_id", name=op.f("uq_thread_dataset_key_thread_id")
        ),
    )
    op.create_index(
        op.f("ix_thread_dataset_key_domain_key"), "thread", ["dataset_key", "domain", "key"]
    )
    op.create_index(op.f("ix_thread_dataset_key_author"), "thread", ["dataset_key", "author"])
    op.create_table(
        "thread_member",
        sa.Column("dataset_key", BigKey(), nullable=False),
        sa.Column("member", Text(), nullable=False),
        sa.Column("thread_key", BigKey(), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset_key"], ["dataset.key"], name=op.f("fk_thread_member_dataset_key")
        ),
        sa.ForeignKeyConstraint(
            ["thread_key"], ["thread.key"], name=op.f("fk_thread_member_thread_key")
        ),
        sa.PrimaryKeyConstraint(
            "dataset_key", "member", "thread_key", name=op.f("pk_thread_member")
        ),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    raise NotImplementedError("what was measured is not thrown away by a downgrade")
