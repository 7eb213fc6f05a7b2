"""`SqlStore`: everything that is remembered, in SQLite or PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import sqlalchemy as sa

from storage.annotations import Annotations
from storage.conversations import ConversationRows
from storage.database import Database
from storage.datasets import Datasets
from storage.dialogues import Dialogues
from storage.judgements import Judgements
from storage.ledger import Ledger
from storage.migrate import migrate
from storage.progress import Monitoring
from storage.review_tables import ANNOTATION, DECISION, FAULT, REVIEW_DESIGN, ROLE
from storage.reviews import Reviews
from storage.studies import Studies
from storage.tables import (
    DATASET,
    DIALOGUE,
    IMPORT_REPORT,
    JUDGEMENT,
    MODEL_CALL,
    OVERRIDE,
    STUDY,
    UNIT,
)

_RECENT = 10_000


class SqlStore(
    Datasets,
    ConversationRows,
    Studies,
    Ledger,
    Dialogues,
    Judgements,
    Monitoring,
    Reviews,
    Annotations,
):
    """`core.ports.Store` over one database. Safe to share between threads.

    Each method is one short transaction. Leases and heartbeats use the clock `now`: on several
    machines their clocks must agree better than a lease is long.
    """

    def __init__(self, database: Database, now: Callable[[], datetime]) -> None:
        self._db = database
        self._now = now

    def revision(self) -> str:
        """A text that changes with each append and each change of a study; caches' key."""
        parts = [_mark(table, self._db.postgres) for table in _APPENDED]
        parts += [sa.select(sa.func.sum(table.c.changes)).scalar_subquery() for table in _CHANGED]
        row = self._db.rows(sa.select(*parts))[0]
        return "-".join(str(part or 0) for part in row)

    def close(self) -> None:
        """Let go of all connections."""
        self._db.close()


_REVIEWED = (REVIEW_DESIGN, ANNOTATION, DECISION, FAULT, ROLE)
_APPENDED = (DIALOGUE, JUDGEMENT, OVERRIDE, MODEL_CALL, UNIT, IMPORT_REPORT, *_REVIEWED)
_CHANGED = (DATASET, STUDY)


def _mark(table: sa.Table, postgres: bool) -> sa.ScalarSelect[str]:
    """The highest row number, and on PostgreSQL how many of the latest numbers are in use.

    There a transaction may commit after another one that took a higher number; its rows
    leave the maximum as it is, but not that count.
    """
    highest = sa.select(sa.func.max(table.c.seq)).scalar_subquery()
    if not postgres:
        return sa.select(highest).scalar_subquery()
    recent = sa.select(sa.func.count()).where(table.c.seq > highest - _RECENT).scalar_subquery()
    return sa.select(sa.func.concat(highest, ".", recent)).scalar_subquery()


def utc_now() -> datetime:
    """The present moment."""
    return datetime.now(UTC)


def open_store(url: str, *, now: Callable[[], datetime] = utc_now) -> SqlStore:
    """Open the database at `url`, made and brought up to date if need be.

    `url` is `sqlite:///path` or `postgresql://...`. Raises `StoreError` with one sentence, and
    without the password, when that cannot be.
    """
    database = Database(url)
    try:
        migrate(database)
    except BaseException:
        database.close()
        raise
    return SqlStore(database, now)
