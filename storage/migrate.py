"""Bring a database to the schema of this code.

A database that is up to date costs one small select: Alembic is not even imported.
"""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, OperationalError, ProgrammingError

from core.errors import StoreError
from storage.database import Database

REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006")
"""Every revision this code knows, oldest first; the last is the schema of `storage.tables`."""

_LOCK = 7_211_943  # any number: whoever migrates a PostgreSQL database holds it


def migrate(database: Database) -> None:
    """Apply what is missing. Raises `StoreError` for a newer or unreachable database."""
    revision = _revision(database)
    if revision == REVISIONS[-1]:
        return
    if revision is not None and revision not in REVISIONS:
        raise StoreError(
            f"The database at {database.place} was written by a newer version of Rapport; "
            "update Rapport, or choose another database."
        )
    _upgrade(database)


def _revision(database: Database) -> str | None:
    try:
        with database.engine.connect() as connection:
            found = connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
            return None if found is None else str(found)
    except DBAPIError as error:
        if _no_table(error):
            return None
        raise StoreError(
            f"The database at {database.place} cannot be opened; check that the address is "
            "right, that it is running, and that user and password are valid."
        ) from None


def _no_table(error: DBAPIError) -> bool:
    if isinstance(error, ProgrammingError):
        return getattr(error.orig, "sqlstate", "") == "42P01"
    return isinstance(error, OperationalError) and "no such table" in str(error.orig)


def _upgrade(database: Database) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    with database.write() as connection:
        if database.postgres:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
