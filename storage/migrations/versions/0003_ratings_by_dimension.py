"""A comparison of one dimension reads its ratings and no others.

Revision: 0003. Released migrations are never edited; the next change is the next revision.
"""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_index("ix_judgement_ratings", "judgement")
    op.create_index(
        "ix_judgement_ratings",
        "judgement",
        [
            "study_id",
            "dimension",
            "seq",
            "dialogue_id",
            "target",
            "turn",
            "status",
            "value",
            "instrument_id",
        ],
        unique=False,
    )


def downgrade() -> None:
    raise NotImplementedError("what was measured is not thrown away by a downgrade")
