"""A copied database is the same database: every value, and what comes after."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from core.errors import SettingsError, StoreError
from core.limits import Caps
from core.ports import Finished, Study
from core.runner import Runner
from core.study import plan
from core.study_file import JudgeEntry
from core.types import StudyState
from storage import copy
from storage.copy import copy_database
from storage.database import Database
from storage.store import SqlStore, open_store
from storage.tables import DATASET, DIALOGUE
from tests.builders import (
    NOW,
    fill_dataset,
    make_call,
    make_dialogue_of,
    make_judgement,
    make_override,
    make_persona,
    make_study_spec,
)
from tests.conftest import sqlite_url
from tests.support.answers import WEIRD_TEXT
from tests.support.fakes import ScriptedModel

WEIRD = WEIRD_TEXT + " \x00 \ud800 \u241b \u241b0000 \\u0000 é 😀"
FINISHED, UNITS = 3, 8


@contextmanager
def opened(url: str) -> Iterator[SqlStore]:
    store = open_store(url)
    yield store
    store.close()


def fill(url: str) -> None:
    """A study of which some is done, with text that only a careful hand brings over whole."""
    with opened(url) as store:
        fill_dataset(store, personas=[make_persona(f"user{i}", job=WEIRD) for i in range(UNITS)])
        judge = JudgeEntry(model="scripted/judge", rubrics=("personalization",))
        units = plan(make_study_spec(judges=(judge,)), store, lambda: NOW).units
        for unit in units[:FINISHED]:
            dialogue = make_dialogue_of(unit, f"user: {WEIRD}", f"assistant: {WEIRD}")
            judgement = make_judgement(dialogue, rationale=WEIRD)
            store.add_finished([Finished(dialogue, (judgement,))])
            store.add_calls([make_call(unit.id, reply=WEIRD, study_id=unit.study_id)])
            store.add_override(make_override(judgement, reason=WEIRD))


def contents(store: SqlStore) -> list[object]:
    study = only_study(store)
    dialogues = list(store.iter_dialogues(study.id))
    return [
        study,
        store.list_personas("sample"),
        store.list_import_reports(),
        store.vocabulary("sample"),
        dialogues,
        [store.list_calls(str(d.unit_id)) for d in dialogues],
        list(store.iter_judgements(study.id)),
        store.list_all_overrides(),
    ]


def only_study(store: SqlStore) -> Study:
    (study,) = store.list_studies()
    return study


@pytest.fixture(params=["to postgres", "to sqlite"])
def there_and_back(
    request: pytest.FixtureRequest, tmp_path: Path, blank_postgres_url: str
) -> tuple[str, str]:
    """A filled database, and the URL of an empty one of the other kind."""
    urls = sqlite_url(tmp_path, "one.db"), blank_postgres_url
    source, target = urls if request.param == "to postgres" else (urls[1], urls[0])
    fill(source)
    return source, target


@pytest.mark.postgres
def test_everything_arrives_as_it_was_and_can_be_worked_on(there_and_back: tuple[str, str]) -> None:
    source, target = there_and_back
    report = copy_database(source, target, batch=2)
    rows = {table.name: table.rows for table in report.tables}
    assert set(rows) == set(DATASET.metadata.tables)
    assert (rows["dialogue"], rows["unit"], rows["override"]) == (FINISHED, UNITS, FINISHED)
    with opened(source) as old, opened(target) as new:
        assert contents(new) == contents(old)
        said = {m.content for d in new.iter_dialogues(only_study(new).id) for m in d.messages}
        assert said == {WEIRD}

        study = only_study(new)
        progress = Runner(study, new, ScriptedModel([]), caps=Caps()).run()
        assert (progress.done, progress.owed, progress.state) == (UNITS, 0, StudyState.DONE)
        fill_dataset(new, "another", personas=[make_persona("user7")])
        assert old.progress(study.id).done == FINISHED


@pytest.mark.postgres
def test_checksums_are_the_same_on_both_engines(
    there_and_back: tuple[str, str], tmp_path: Path
) -> None:
    source, target = there_and_back
    once = copy_database(source, target)
    again = copy_database(target, sqlite_url(tmp_path, "again.db"), batch=3)
    assert again.tables == once.tables


def test_database_that_holds_something_is_not_copied_into(tmp_path: Path) -> None:
    source, target = sqlite_url(tmp_path, "one.db"), sqlite_url(tmp_path, "two.db")
    fill(source)
    fill(target)
    with opened(target) as store:
        before = contents(store)
    with pytest.raises(SettingsError, match=r"two\.db holds something already"):
        copy_database(source, target)
    with pytest.raises(SettingsError, match=r"one\.db holds something already"):
        copy_database(source, source)
    with opened(target) as store:
        assert contents(store) == before


def test_database_that_is_not_there_is_not_made_by_copying_it(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no database at"):
        copy_database(sqlite_url(tmp_path, "none.db"), sqlite_url(tmp_path, "two.db"))
    assert list(tmp_path.iterdir()) == []


def test_copy_that_differs_is_not_kept(tmp_path: Path) -> None:
    """One value is bent on its way in: the copy must notice, and leave the target empty."""
    source, target = sqlite_url(tmp_path, "one.db"), sqlite_url(tmp_path, "two.db")
    fill(source)
    open_store(target).close()
    bent = Database(target)
    with bent.write() as connection:
        connection.exec_driver_sql(
            "CREATE TRIGGER bend AFTER INSERT ON unit BEGIN "
            "UPDATE unit SET seed = seed + 1 WHERE seq = new.seq; END"
        )
    with pytest.raises(StoreError, match="table unit did not arrive as it was"):
        copy_database(source, target)
    with bent.read() as connection:
        assert connection.execute(sa.select(DIALOGUE.c.id)).all() == []
        assert connection.execute(sa.select(DATASET.c.name)).all() == []
    bent.close()


def test_tables_are_reported_as_they_arrive(tmp_path: Path) -> None:
    source, target = sqlite_url(tmp_path, "one.db"), sqlite_url(tmp_path, "two.db")
    fill(source)
    seen: list[copy.CopiedTable] = []
    report = copy_database(source, target, on_table=seen.append)
    assert tuple(seen) == report.tables
