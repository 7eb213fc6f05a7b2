"""One database: its engine, its transactions, and its faults as sentences.

SQLite runs in WAL with `synchronous=FULL`: with NORMAL a power cut may take back the last
committed rows, and those are calls that were paid for and clicks that somebody was told are
saved. A kill of the process loses nothing either way. The price is one flush per commit.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    IntegrityError,
    InterfaceError,
    OperationalError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeout

from core.errors import AlreadyDecided, NotFound, StoreError, StoreUnavailable
from storage.tally import Tally
from storage.turn import Turn

AnySelect = sa.Select[*tuple[Any, ...]]
AnyRow = sa.Row[*tuple[Any, ...]]
BUSY_SECONDS = 30
CONNECT_SECONDS = 10
_PRAGMAS = (
    f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA cache_size = -65536",
    "PRAGMA mmap_size = 1073741824",
)
_PAUSE = 0.01  # seconds between tries to switch a new file to a write-ahead log
_DUPLICATE = {"23505", "SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY"}
_UNKNOWN_REF = {"23503", "SQLITE_CONSTRAINT_FOREIGNKEY"}


class Database:
    """An engine with short read and write transactions. Safe to share between threads."""

    def __init__(self, url: str) -> None:
        self.url = parse_url(url)
        self.postgres = self.url.get_backend_name() == "postgresql"
        self.engine = _postgres_engine(self.url) if self.postgres else _sqlite_engine(self.url)
        self.tally = Tally(self.postgres)
        self._writer = self.engine.execution_options(writes=True)
        self._turn = None if self.postgres else Turn(str(self.url.database), BUSY_SECONDS)

    @property
    def place(self) -> str:
        """Where the database is, without user or password."""
        if not self.postgres:
            return str(self.url.database)
        port = f":{self.url.port}" if self.url.port else ""
        return f"{self.url.host or 'localhost'}{port}/{self.url.database or ''}"

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """One snapshot to select from."""
        with self._faults(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """One transaction: all of it is kept, or on any exception none."""
        with self._turn or nullcontext(), self._faults(), self._writer.begin() as connection:
            yield connection

    def rows(self, query: AnySelect) -> Sequence[AnyRow]:
        """All rows of one select."""
        with self.read() as connection:
            return connection.execute(query).all()

    def one(self, query: AnySelect, missing: str) -> AnyRow:
        """The first row of one select. Raises `NotFound` with the sentence `missing`."""
        with self.read() as connection:
            row = connection.execute(query).first()
        if row is None:
            raise NotFound(missing)
        return row

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except IntegrityError as error:
            raise _refusal(error) from error
        except (OperationalError, InterfaceError, PoolTimeout) as error:
            raise StoreUnavailable(
                f"The database at {self.place} did not answer ({_kind(error)}); "
                "check that it is reachable and has room, then try again."
            ) from error

    def close(self) -> None:
        self.engine.dispose()
        if self._turn is not None:
            self._turn.close()


def rows_by_seq(
    database: Database, query: AnySelect, seq: sa.Column[Any], piece: int
) -> Iterator[AnyRow]:
    """Rows in the order of `seq`, read piece by piece in short transactions."""
    last = 0
    while True:
        rows = database.rows(query.where(seq > last).order_by(seq).limit(piece))
        yield from rows
        if len(rows) < piece:
            return
        last = rows[-1].seq


def parse_url(url: str) -> sa.URL:
    """Read a database URL. Raises `StoreError` for one that Rapport cannot use."""
    try:
        parsed = sa.make_url(url)
    except (ArgumentError, ValueError):
        raise StoreError(
            "The database URL cannot be read; write sqlite:///path/to/rapport.db or "
            "postgresql://user:password@host/name."
        ) from None
    if parsed.drivername in ("postgresql", "postgres", "postgresql+psycopg"):
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.drivername in ("sqlite", "sqlite+pysqlite") and _is_file(parsed):
        return parsed
    raise StoreError(
        f"Rapport cannot use a database of the kind {parsed.drivername!r} here; "
        "use an SQLite file (sqlite:///path) or PostgreSQL."
    )


def _is_file(url: sa.URL) -> bool:
    return bool(url.database) and url.database != ":memory:" and "mode" not in url.query


def _postgres_engine(url: sa.URL) -> sa.Engine:
    return sa.create_engine(
        url,
        pool_pre_ping=True,
        pool_size=5,
        max_overflow=15,
        pool_timeout=60,
        connect_args={"connect_timeout": CONNECT_SECONDS, "application_name": "rapport"},
    )


def _sqlite_engine(url: sa.URL) -> sa.Engine:
    folder = Path(str(url.database)).parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"The database folder {folder} cannot be made: {error.strerror}; "
            "set RAPPORT_DATABASE_URL to a place that can be written."
        ) from None
    engine = sa.create_engine(url, pool_size=5, max_overflow=35, pool_timeout=60)
    sa.event.listen(engine, "connect", _prepare_sqlite)
    sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # transactions are begun by `_begin_sqlite` alone
    for pragma in _PRAGMAS:
        connection.execute(pragma).close()
    _write_ahead(connection)


def _write_ahead(connection: Any) -> None:
    """Use a write-ahead log. While others open a new file too, SQLite refuses without waiting."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").close()
            return
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE)


def _begin_sqlite(connection: sa.Connection) -> None:
    """Writers take the lock at once: a reader that turned writer would fail, not wait."""
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _code(error: DBAPIError | PoolTimeout) -> str:
    origin: Any = getattr(error, "orig", error)
    return str(getattr(origin, "sqlstate", None) or getattr(origin, "sqlite_errorname", ""))


def _kind(error: DBAPIError | PoolTimeout) -> str:
    """The driver's class and code: its text may quote data or a password."""
    code, name = _code(error), type(getattr(error, "orig", error)).__name__
    return f"{name} {code}" if code else name


def _refusal(error: IntegrityError) -> StoreError:
    code = _code(error)
    if code in _DUPLICATE:
        return AlreadyDecided("This was stored before, and what is stored is not changed.")
    if code in _UNKNOWN_REF:
        return StoreError("This belongs to something that is not stored; store that first.")
    return StoreError(f"The database refused this as inconsistent ({_kind(error)}).")
