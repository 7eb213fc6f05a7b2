"""What was stored under an earlier schema is there, and guarded, under this one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from sqlalchemy.exc import IntegrityError

import storage.migrations
from core.ports import Finished
from core.types import StopReason
from storage.database import Database
from storage.migrate import migrate
from storage.store import SqlStore, utc_now
from tests.builders import WEIRD, make_dialogue_of, make_judgement, make_ref, make_study, make_unit


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A database as the first schema left it."""
    sqlite = request.param == "sqlite"
    url = f"sqlite:///{tmp_path / 'old.db'}"
    opened = Database(url if sqlite else request.getfixturevalue("blank_postgres_url"))
    upgrade(opened, "0001")
    yield opened
    opened.close()


def upgrade(database: Database, revision: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(storage.migrations.__path__[0])))
    config.set_main_option("path_separator", "os")
    with database.write() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def test_a_dialogue_may_overflow_in_a_database_of_the_first_schema(database: Database) -> None:
    store = SqlStore(database, utc_now)
    store.add_study(make_study())
    units = [make_unit(make_ref(f"user{i}")) for i in range(3)]
    store.add_units(units)
    old = make_dialogue_of(units[0], f"user: {WEIRD}", stop="refused")
    judged = make_dialogue_of(units[1])
    rating = make_judgement(judged)
    store.add_finished([Finished(old), Finished(judged, (rating,))])

    migrate(database)

    assert store.get_dialogue(old.id) == old
    assert store.list_judgements(judged.id) == [rating]
    new = make_dialogue_of(units[2], stop=StopReason.CONTEXT_OVERFLOW)
    store.add_finished([Finished(new)])
    assert store.get_dialogue(new.id) == new
    assert store.progress("s1").stop_reasons == {
        "context_overflow": 1,
        "refused": 1,
        "user_done": 1,
    }
    if not database.postgres:
        with database.read() as connection:
            assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
            assert connection.exec_driver_sql("PRAGMA foreign_key_check").all() == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE unit SET stop_reason = 'bored'",  # still no reason that nobody knows
        "UPDATE dialogue SET stop_reason = 'refused'",  # still append-only
        "DELETE FROM dialogue",
    ],
)
def test_what_the_first_schema_refused_is_refused_after_it(
    database: Database, statement: str
) -> None:
    store = SqlStore(database, utc_now)
    store.add_study(make_study())
    unit = make_unit()
    store.add_units([unit])
    store.add_finished([Finished(make_dialogue_of(unit))])
    migrate(database)
    with pytest.raises(IntegrityError), database.engine.begin() as connection:
        connection.execute(sa.text(statement))
