"""Copy one database into another, of the same kind or not, and prove that nothing changed.

Every table is streamed in the order that its references ask for. The checksum of a table is
taken of the values as Rapport reads them, by one function on both sides, so that it is the
same in SQLite and PostgreSQL when, and only when, all rows are.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from core.errors import SettingsError, StoreError
from storage.columns import BigKey
from storage.database import AnyRow, Database
from storage.migrate import migrate
from storage.tables import DATASET

BATCH = 1000
OnTable = Callable[["CopiedTable"], None]


@dataclass(frozen=True, slots=True)
class CopiedTable:
    """A table that is in the new database as it was in the old one."""

    name: str
    rows: int
    checksum: str


@dataclass(frozen=True, slots=True)
class CopyReport:
    """What a copy holds."""

    tables: tuple[CopiedTable, ...]
    seconds: float


def copy_database(
    source_url: str, target_url: str, *, batch: int = BATCH, on_table: OnTable | None = None
) -> CopyReport:
    """Copy everything that is at one URL to the empty database at another.

    The target is one transaction: whatever goes wrong, it stays empty. The source is read as
    it was at one moment, so that work on it may go on meanwhile. Raises `SettingsError` for a
    source that is not there and a target that holds something already.
    """
    start = time.monotonic()
    source, target = _open_source(source_url), Database(target_url)
    try:
        migrate(source)
        migrate(target)
        with _snapshot(source) as old, target.write() as new:
            _refuse_full(new, target.place)
            tables = tuple(_copied(old, new, batch, on_table))
    finally:
        source.close()
        target.close()
    return CopyReport(tables, time.monotonic() - start)


def _open_source(url: str) -> Database:
    database = Database(url)
    if not database.postgres and not Path(str(database.url.database)).is_file():
        database.close()
        raise SettingsError(f"There is no database at {database.place} to copy from.")
    return database


@contextmanager
def _snapshot(database: Database) -> Iterator[sa.Connection]:
    """A connection that sees one moment: every transaction of SQLite does already."""
    with database.read() as connection:
        if database.postgres:
            connection.execution_options(isolation_level="REPEATABLE READ")
        yield connection


def _refuse_full(connection: sa.Connection, place: str) -> None:
    for table in _tables():
        if connection.execute(sa.select(sa.literal(1)).select_from(table).limit(1)).first():
            raise SettingsError(
                f"The database at {place} holds something already; copy into a new, empty one, "
                "before Rapport is started on it."
            )


def _tables() -> Sequence[sa.Table]:
    """Every table, after those it refers to."""
    return DATASET.metadata.sorted_tables


def _copied(
    old: sa.Connection, new: sa.Connection, batch: int, on_table: OnTable | None
) -> Iterator[CopiedTable]:
    for table in _tables():
        before = _Checksum()
        for rows in _batches(old, table, batch):
            before.add(rows)
            new.execute(sa.insert(table), [dict(row._mapping) for row in rows])
        _count_on(new, table)
        after = _Checksum()
        for rows in _batches(new, table, batch):
            after.add(rows)
        if (before.rows, before.text) != (after.rows, after.text):
            raise StoreError(
                f"The table {table.name} did not arrive as it was, so nothing was kept; "
                "report this as a fault of Rapport."
            )
        copied = CopiedTable(table.name, after.rows, after.text)
        if on_table is not None:
            on_table(copied)
        yield copied


def _batches(connection: sa.Connection, table: sa.Table, batch: int) -> Iterator[Sequence[AnyRow]]:
    """All rows in the order of the primary key, which is the same on both engines."""
    query = sa.select(table).order_by(*table.primary_key.columns)
    with connection.execute(query, execution_options={"yield_per": batch}) as result:
        yield from result.partitions()


class _Checksum:
    """Of rows in order, by their values."""

    def __init__(self) -> None:
        self.rows, self._hash = 0, hashlib.sha256()

    def add(self, rows: Sequence[AnyRow]) -> None:
        self.rows += len(rows)
        for row in rows:
            self._hash.update(json.dumps(tuple(row), default=_plain).encode("ascii"))
            self._hash.update(b"\n")

    @property
    def text(self) -> str:
        return self._hash.hexdigest()


def _plain(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"no checksum is known of a {type(value).__name__}")


def _count_on(connection: sa.Connection, table: sa.Table) -> None:
    """Let PostgreSQL number new rows after the copied ones; SQLite does so by itself."""
    column = next(iter(table.primary_key.columns))
    if connection.dialect.name != "postgresql" or not _is_numbered(table, column):
        return
    sequence = sa.func.pg_get_serial_sequence(sa.func.quote_ident(table.name), column.name)
    highest = connection.scalar(sa.select(sa.func.max(column)))
    if highest is not None:
        connection.execute(sa.select(sa.func.setval(sequence, highest)))


def _is_numbered(table: sa.Table, column: sa.Column[Any]) -> bool:
    alone = len(table.primary_key.columns) == 1
    return alone and isinstance(column.type, BigKey) and not column.foreign_keys
