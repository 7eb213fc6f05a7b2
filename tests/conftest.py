"""What every test gets: an own database and data folder, and no key of anybody's."""

from __future__ import annotations

import os
import shutil
import socket
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PG = "postgresql+psycopg://postgres@127.0.0.1:5432"
ARCHIVE = Path(__file__).parents[2] / "shared" / "data" / "personalens.tar.xz"


@pytest.fixture(autouse=True)
def _own_world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test may read a person's files, keys or database."""
    for name in [n for n in os.environ if n.endswith("_API_KEY")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("RAPPORT_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("RAPPORT_DATABASE_URL", sqlite_url(tmp_path))


def sqlite_url(folder: Path, name: str = "rapport.db") -> str:
    return f"sqlite:///{folder / name}"


@pytest.fixture
def personalens_archive() -> Path:
    """The real PersonaLens archive; skips, or with RAPPORT_REQUIRE_REAL_DATA=1 fails, without."""
    if not ARCHIVE.exists():
        _absent("the PersonaLens archive is not beside this repository", "REAL_DATA")
    return ARCHIVE


def _absent(why: str, what: str) -> None:
    if os.environ.get(f"RAPPORT_REQUIRE_{what}") == "1":
        pytest.fail(f"{why}, and RAPPORT_REQUIRE_{what}=1 demands it")
    pytest.skip(why)


# --- databases ---------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def postgres_server() -> str:
    """The server's URL; skips, or with RAPPORT_REQUIRE_POSTGRES=1 fails, when none answers."""
    try:
        socket.create_connection(("127.0.0.1", 5432), timeout=1).close()
        _run_sql(f"{PG}/postgres", "SELECT 1")
    except Exception as error:  # whatever is wrong with it, it is not there for us
        _absent(
            f"PostgreSQL on 127.0.0.1:5432 does not let us in: {type(error).__name__}", "POSTGRES"
        )
    return PG


def _run_sql(url: str, *statements: str) -> None:
    import sqlalchemy as sa

    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    engine.dispose()


def _new_database(server: str) -> str:
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    name = f"rapport_test_{os.getpid()}_{worker}_{uuid.uuid4().hex[:6]}"
    _run_sql(f"{server}/postgres", f"CREATE DATABASE {name}")
    return name


def _drop(server: str, name: str) -> None:
    _run_sql(f"{server}/postgres", f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def _postgres_database(postgres_server: str) -> Iterator[tuple[str, str]]:
    """One migrated database per session, and the one transaction that empties it."""
    from storage.store import open_store
    from storage.tables import Base

    name = _new_database(postgres_server)
    url = f"{postgres_server}/{name}"
    try:
        open_store(url).close()
        # Append-only triggers, and keys to other tables, are off for the emptying alone.
        off = "SET session_replication_role = replica"
        yield url, "; ".join([off, *(f'DELETE FROM "{table}"' for table in Base.metadata.tables)])
    finally:
        _drop(postgres_server, name)


@pytest.fixture
def postgres_url(_postgres_database: tuple[str, str]) -> Iterator[str]:
    """A migrated PostgreSQL database that is empty when a test gets it."""
    url, emptying = _postgres_database
    yield url
    _run_sql(url, emptying)


@pytest.fixture
def blank_postgres_url(postgres_server: str) -> Iterator[str]:
    """A PostgreSQL database without any table. Making one takes a second."""
    name = _new_database(postgres_server)
    yield f"{postgres_server}/{name}"
    _drop(postgres_server, name)


@pytest.fixture(scope="session")
def _sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One migrated file per session: copying it is cheaper than migrating each time."""
    from storage.store import open_store

    folder = tmp_path_factory.mktemp("template")
    open_store(sqlite_url(folder)).close()
    return folder / "rapport.db"


@pytest.fixture
def migrated_sqlite_url(_sqlite_template: Path, tmp_path: Path) -> str:
    """The URL of `RAPPORT_DATABASE_URL`, with an empty, migrated database there."""
    shutil.copyfile(_sqlite_template, tmp_path / "rapport.db")
    return sqlite_url(tmp_path)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty, migrated database, once on each engine."""
    wanted = "migrated_sqlite_url" if request.param == "sqlite" else "postgres_url"
    url: str = request.getfixturevalue(wanted)
    return url


@pytest.fixture
def store(database_url: str) -> Iterator[Any]:
    """An empty `SqlStore`, once on each engine."""
    from storage.store import open_store

    opened = open_store(database_url)
    yield opened
    opened.close()


@pytest.fixture
def sqlite_store(migrated_sqlite_url: str) -> Iterator[Any]:
    """An empty `SqlStore` on SQLite, for tests that are not about the engine."""
    from storage.store import open_store

    opened = open_store(migrated_sqlite_url)
    yield opened
    opened.close()
