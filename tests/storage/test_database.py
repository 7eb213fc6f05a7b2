"""Opening, migrating, refusing: what the database itself guarantees, on both engines."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.exc import IntegrityError

import storage.migrations
from core.adjudication import Because, Conflict, decide
from core.errors import StoreError
from core.faults import name_fault
from core.ledger import OpenCall
from core.ports import Finished
from core.review_queue import Given, Queue
from core.review_types import Party, ReviewItem
from core.types import Dialogue
from storage.database import Database, parse_url
from storage.migrate import REVISIONS
from storage.store import SqlStore, open_store
from storage.tables import APPEND_ONLY, Base
from tests.builders import (
    NOW,
    fill_dataset,
    make_call,
    make_dialogue,
    make_judgement,
    make_override,
    make_study,
)
from tests.support.reviewing import counter, make_design


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def blank_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'new' / 'folder' / 'rapport.db'}"
    url: str = request.getfixturevalue("blank_postgres_url")
    return url


@pytest.fixture
def connection(database_url: str) -> Iterator[sa.Connection]:
    database = Database(database_url)
    with database.engine.connect() as opened:
        yield opened
    database.close()


# --- opening -----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*expression-based:UserWarning")  # SQLite shows these not
@pytest.mark.filterwarnings("ignore:.*expression-based:sqlalchemy.exc.SAWarning")
def test_a_blank_database_gets_exactly_the_schema_of_the_tables(blank_url: str) -> None:
    open_store(blank_url).close()
    database = Database(blank_url)
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        differences = compare_metadata(context, Base.metadata)
    database.close()
    assert differences == []


def test_migrations_and_tables_say_the_same_to_the_letter(migrated_sqlite_url: str) -> None:
    migrated = Database(migrated_sqlite_url)
    made = sa.create_engine("sqlite://")
    Base.metadata.create_all(made)
    assert _statements(migrated.engine) == _statements(made)
    migrated.close()
    made.dispose()


def _statements(engine: sa.Engine) -> dict[str, set[str]]:
    """Every table and index, with the checks and expressions that no reflection shows."""
    query = sa.text(
        "SELECT name, sql FROM sqlite_master WHERE type IN ('table', 'index') AND sql IS NOT NULL "
        "AND name NOT IN ('alembic_version', 'sqlite_sequence')"
    )
    with engine.connect() as connection:
        return {name: _clauses(sql) for name, sql in connection.execute(query)}


def _clauses(sql: str) -> set[str]:
    """The order of constraints does not matter."""
    return {clause.strip(" )") for clause in " ".join(sql.split()).split(", CONSTRAINT ")}


def test_the_revisions_that_the_code_knows_are_those_of_the_migrations() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(storage.migrations.__path__[0])))
    config.set_main_option("path_separator", "os")
    scripts = ScriptDirectory.from_config(config)
    assert [s.revision for s in scripts.walk_revisions()] == list(reversed(REVISIONS))


def test_a_database_opened_again_holds_what_was_stored(store: SqlStore, database_url: str) -> None:
    store.add_study(make_study())
    again = open_store(database_url)
    assert again.list_studies() == [make_study()]
    again.close()


def test_opening_an_up_to_date_database_is_quick(migrated_sqlite_url: str) -> None:
    start = time.perf_counter()
    open_store(migrated_sqlite_url).close()
    assert time.perf_counter() - start < 0.5  # 3 ms when nothing else runs


def test_opening_an_up_to_date_database_loads_no_alembic(migrated_sqlite_url: str) -> None:
    code = (
        "import sys; from storage.store import open_store; "
        f"open_store({migrated_sqlite_url!r}); print('alembic' in sys.modules)"
    )
    root = Path(storage.migrations.__path__[0]).parents[1]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root)
    assert (done.stdout.strip(), done.stderr) == ("False", "")


def test_several_may_open_a_blank_database_at_once(blank_url: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        stores = list(pool.map(open_store, [blank_url] * 4))
    stores[0].add_study(make_study())
    assert [len(store.list_studies()) for store in stores] == [1] * 4
    for store in stores:
        store.close()


def test_nobody_is_refused_while_a_new_file_is_opened_by_many(tmp_path: Path) -> None:
    """SQLite does not wait by itself when it is told to use a write-ahead log."""

    together = threading.Barrier(8)

    def open_each(_: int) -> set[str]:
        modes = set()
        for number in range(120):
            together.wait(60)
            database = Database(f"sqlite:///{tmp_path / str(number)}.db")
            try:
                with database.engine.connect() as connection:
                    modes.add(str(connection.scalar(sa.text("PRAGMA journal_mode"))))
            finally:
                database.close()
        return modes

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(open_each, range(8))) == [{"wal"}] * 8


def test_a_newer_database_is_refused(database_url: str) -> None:
    database = Database(database_url)
    with database.write() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    try:
        with pytest.raises(StoreError, match="newer version of Rapport; update Rapport"):
            open_store(database_url)
    finally:
        with database.write() as connection:
            connection.execute(
                sa.text(f"UPDATE alembic_version SET version_num = '{REVISIONS[-1]}'")
            )
            connection.execute(sa.text("SELECT 1"))
        database.close()


def test_an_unreachable_database_is_named_without_the_password() -> None:
    url = "postgresql://rapport:top-secret@127.0.0.1:1/study"
    with pytest.raises(StoreError, match=re.escape("127.0.0.1:1/study cannot be opened")) as caught:
        open_store(url)
    assert "top-secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.write_text("these are notes, and long enough to be taken for a header" * 40, "utf-8")
    with pytest.raises(StoreError, match="cannot be opened"):
        open_store(f"sqlite:///{path}")
    assert path.read_text("utf-8").startswith("these are notes")


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", "utf-8")
    with pytest.raises(StoreError, match="RAPPORT_DATABASE_URL"):
        open_store(f"sqlite:///{tmp_path}/file/rapport.db")


@pytest.mark.parametrize(
    "url", ["", "nonsense", "mysql://host/name", "sqlite://", "sqlite:///:memory:"]
)
def test_an_unusable_url_is_refused(url: str) -> None:
    with pytest.raises(StoreError, match="sqlite:///"):
        open_store(url)


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_every_spelling_of_postgres_is_taken(scheme: str) -> None:
    assert parse_url(f"{scheme}://a:b@host/name").drivername == "postgresql+psycopg"


def test_sqlite_is_set_up_to_lose_nothing_and_to_wait(migrated_sqlite_url: str) -> None:
    database = Database(migrated_sqlite_url)
    names = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
    with database.engine.connect() as connection:
        values = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names]
    database.close()
    assert values == ["wal", 2, 1, 30_000]


def test_writers_wait_for_each_other(store: SqlStore) -> None:
    def add(i: int) -> None:
        store.add_calls([make_call(f"u{i}", seq=n) for n in range(5)])

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(add, range(100)))
    assert sum(len(store.list_calls(f"u{i}")) for i in range(100)) == 500


# --- append-only -------------------------------------------------------------------------------


def fill(store: SqlStore) -> None:
    """At least one row in every append-only table."""
    fill_dataset(store)
    store.add_study(make_study())
    dialogue = make_dialogue()
    judgement = make_judgement(dialogue)
    store.add_finished([Finished(dialogue, (judgement,))])
    entry = OpenCall("e1", "s1", "u1", "user", 0, "hash", "openai", "me", shared_as="key")
    store.add_calls([make_call()], entries=[entry])
    store.add_override(make_override(judgement))
    _review(store, dialogue)


def _review(store: SqlStore, dialogue: Dialogue) -> None:
    made: dict[str, Any] = {"now": lambda: NOW, "new_id": counter("x")}
    design = make_design()
    store.add_design(design, [ReviewItem(dialogue.id, "all", 1.0, 0.5, True, False)])
    desk = Queue(design, "Ana", store, lambda: NOW, counter())
    at = desk.current()
    assert at is not None
    desk.rate(at, {"personalization": Given(3)}, 1.0)
    labels = desk.labels()
    conflict = Conflict(dialogue.id, "personalization", tuple(labels), 1, None)
    store.add_decision(decide(conflict, 2, Because.BOTH, "both fit", "Ben", **made))
    store.add_fault(name_fault(dialogue.id, Party.USER, "Ana", **made))
    store.give_role("Ana", "admin", "Ana", NOW)


@pytest.mark.parametrize("act", ["UPDATE {0} SET {1} = {1}", "DELETE FROM {0}"])
def test_what_was_appended_cannot_be_changed(
    store: SqlStore, connection: sa.Connection, act: str
) -> None:
    fill(store)
    for table in APPEND_ONLY:
        column = next(iter(Base.metadata.tables[table].columns)).name
        with pytest.raises(IntegrityError, match=f"{table} is append-only"):
            connection.execute(sa.text(act.format(table, column)))
        connection.rollback()


def test_no_module_of_the_store_tries_to_change_what_was_appended() -> None:
    changing = re.compile(r"sa\.(?:update|delete)\((\w+)\)")
    folder = Path(storage.migrations.__path__[0]).parent
    changed = {
        name for path in folder.glob("*.py") for name in changing.findall(path.read_text("utf-8"))
    }
    assert changed == {
        *("DATASET", "STUDY", "UNIT", "OPEN_CALL", "SPENDING", "WAITING"),
        "ASSIGNMENT",
    }


# --- constraints -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "values"),
    [
        ("judgement", {"status": "ok", "value": None}),
        ("judgement", {"status": "refused", "value": 1}),
        ("judgement", {"status": "perhaps", "value": None}),
        ("judgement", {"target": "nobody"}),
        ("judgement", {"dialogue_id": "d9"}),
        ("dialogue", {"stop_reason": "bored"}),
        ("dialogue", {"kind": "double"}),
        ("dialogue", {"study_id": "s9"}),
    ],
)
def test_the_database_itself_refuses_impossible_rows(
    store: SqlStore, connection: sa.Connection, table: str, values: dict[str, Any]
) -> None:
    fill(store)
    source = Base.metadata.tables[table]
    row = dict(connection.execute(sa.select(source)).mappings().one())
    del row["seq"]
    fresh = {"id": "new"} | ({"turn": 7} if table == "judgement" else {"unit_id": None})
    connection.execute(sa.insert(source), row | fresh)  # the row is fine but for `values`
    with pytest.raises(IntegrityError):
        connection.execute(sa.insert(source), row | fresh | {"id": "newer", "turn": 8} | values)
