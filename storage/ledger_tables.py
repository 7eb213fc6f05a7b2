"""Tables of calls that are out and of what they cost: work in progress, which changes.

Only `answer` is appended to and never changed.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlmodel import Field

from storage.fields import Base, text_field


class OpenCallRow(Base, table=True):
    """A call that is out, or has ended lately. `lost`: nobody knows what became of it.

    Moments are seconds since 1970, which limits by the minute compute with.
    """

    __tablename__ = "open_call"
    __table_args__ = (
        sa.Index(
            "ix_open_call_out",
            "study_id",
            sqlite_where=sa.text("ended_at IS NULL"),
            postgresql_where=sa.text("ended_at IS NULL"),
        ),
        sa.Index(None, "started_at"),
    )

    id: str = text_field(primary_key=True)
    study_id: str = text_field()
    scope: str = text_field()
    party: str = text_field()
    number: int
    request_hash: str = text_field()
    provider: str = text_field()
    owner: str = text_field()
    worst_usd: float | None = Field(nullable=True)
    started_at: float
    lease_until: float
    ended_at: float | None = Field(nullable=True)
    requests: int
    tokens: int
    lost: bool


class SpendingRow(Base, table=True):
    """What the calls of a study have cost, and what those of unknown outcome may have."""

    __tablename__ = "spending"

    study_id: str = text_field(primary_key=True)
    spent_usd: float
    lost_usd: float
    lost_calls: int


class WaitingRow(Base, table=True):
    """A process that waits for a place, and until when that is believed."""

    __tablename__ = "waiting"

    owner: str = text_field(primary_key=True)
    study_id: str = text_field()
    until: float


class AnswerRow(Base, table=True):
    """Which logged call answers an exact request in one repetition, for studies that share."""

    __tablename__ = "answer"

    key: str = text_field(primary_key=True)
    scope: str = text_field()
    party: str = text_field()
    number: int


OPEN_CALL = Base.metadata.tables["open_call"]
SPENDING = Base.metadata.tables["spending"]
WAITING = Base.metadata.tables["waiting"]
ANSWER = Base.metadata.tables["answer"]
