"""Datasets on both engines: whole or not at all, and the same when imported twice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core.errors import NotFound, SourceError
from core.ports import ScenarioFilter
from core.types import Irregularity, ScenarioRef, Situation, TaskKind
from storage.store import SqlStore
from tests.builders import (
    NOW,
    WEIRD,
    fill_dataset,
    later,
    make_persona,
    make_ref,
    make_report,
    make_situation,
    make_task,
    make_vocabulary,
)

SINGLE = make_task("SD-Books-task-10")
EARLY = make_task("SD-Books-task-2")
ALARM = make_task("SD-Alarm-task-30", domains=("Alarm",))
MULTI = make_task("MD-task-1", domains=("Flights", "Hotels"))
PERSONAS = tuple(make_persona(i) for i in ("user10", "user2", "user1"))
ALL = ScenarioFilter()


@pytest.fixture
def filled(store: SqlStore) -> SqlStore:
    fill_dataset(store, personas=PERSONAS, tasks=(MULTI, SINGLE, EARLY, ALARM))
    return store


def ids(refs: list[ScenarioRef]) -> list[str]:
    return [ref.id for ref in refs]


def test_a_dataset_is_listed_with_its_counts(filled: SqlStore) -> None:
    (dataset,) = filled.list_datasets()
    assert (dataset.name, dataset.kind, dataset.sample) == ("sample", "personalens", False)
    assert (dataset.personas, dataset.tasks, dataset.scenarios) == (3, 4, 12)
    assert dataset.imported_at == NOW
    assert filled.find_dataset("sample") == dataset


def test_an_unknown_dataset_is_none_or_empty(store: SqlStore) -> None:
    assert store.find_dataset("nobody") is None
    assert store.list_personas("nobody") == []
    assert store.list_tasks("nobody") == []
    assert store.list_scenarios("nobody", ALL) == []
    assert store.count_scenarios("nobody", ALL) == 0
    with pytest.raises(NotFound, match="nobody"):
        store.vocabulary("nobody")


def test_samples_are_listed_after_own_datasets(store: SqlStore) -> None:
    for name, sample in (("demo", True), ("mine", False)):
        with store.write_dataset(name, "personalens", sample=sample) as writer:
            writer.finish(make_report(name), {})
    assert [d.name for d in store.list_datasets()] == ["mine", "demo"]


def test_personas_come_back_whole_and_in_the_order_of_their_number(filled: SqlStore) -> None:
    assert filled.list_personas("sample") == [p.summary for p in reversed(PERSONAS)]
    assert filled.get_persona("sample", "user10") == PERSONAS[0]
    found = filled.get_personas("sample", ["user2", "nobody", "user10", "user2"])
    assert list(found) == ["user2", "user10"]
    assert found["user2"] == PERSONAS[1]


def test_a_persona_of_weird_text_comes_back_whole(store: SqlStore) -> None:
    persona = make_persona(
        affinities={WEIRD: {WEIRD: [WEIRD, ""]}}, interactions={WEIRD: WEIRD}, note=WEIRD
    )
    task = make_task(domains=(WEIRD,), relevant=[(WEIRD, WEIRD)], intent=WEIRD, goal=WEIRD)
    with store.write_dataset(WEIRD, "personalens") as writer:
        writer.add_personas([persona])
        writer.add_tasks([task])
        ref = make_ref("user0", task, dataset=WEIRD)
        writer.add_scenarios([(ref, make_situation(WEIRD))])
        irregularity = Irregularity("odd", 1, False, WEIRD, (WEIRD,))
        writer.finish(make_report(WEIRD, irregularities=(irregularity,)), make_vocabulary(persona))
    scenario = store.get_scenario(WEIRD, "user0", task.id)
    assert scenario.persona == persona
    assert scenario.task == task
    assert scenario.situation == make_situation(WEIRD)
    assert store.vocabulary(WEIRD) == {WEIRD: {WEIRD: {WEIRD: 1, "": 1}}}
    assert store.list_import_reports(WEIRD)[0].irregularities == (irregularity,)
    assert store.list_scenarios(WEIRD, ScenarioFilter(domains=frozenset([WEIRD]))) == [ref]
    assert store.search_personas(WEIRD, WEIRD) == ["user0"]


def test_get_names_what_is_missing(filled: SqlStore) -> None:
    with pytest.raises(NotFound, match="user99"):
        filled.get_persona("sample", "user99")
    with pytest.raises(NotFound, match="SD-X"):
        filled.get_task("sample", "SD-X")
    with pytest.raises(NotFound, match="user1/SD-X"):
        filled.get_scenario("sample", "user1", "SD-X")


def test_search_finds_any_letter_case_in_every_part_of_a_persona(store: SqlStore) -> None:
    people = [
        make_persona("user0", city="ÉVORA"),
        make_persona("user1", affinities={"Books": {"Genre": ["Straßenbahn"]}}),
        make_persona("user2", interactions={"Books": "Asked about Évora."}),
        make_persona("user3", affinities={"Books": {"100%_sure": ["x"]}}),
    ]
    fill_dataset(store, personas=people)
    assert store.search_personas("sample", "évora") == ["user0", "user2"]
    assert store.search_personas("sample", "STRASSENBAHN") == ["user1"]
    assert store.search_personas("sample", "100%_S") == ["user3"]
    assert store.search_personas("sample", "1%sure") == []
    assert store.search_personas("sample", "' OR 1=1 --") == []


def test_tasks_are_ordered_by_kind_domain_and_number(filled: SqlStore) -> None:
    assert filled.list_tasks("sample") == [ALARM, EARLY, SINGLE, MULTI]
    assert filled.get_task("sample", MULTI.id) == MULTI


def test_scenarios_are_ordered_by_persona_then_task(filled: SqlStore) -> None:
    refs = filled.list_scenarios("sample", ALL)
    tasks = [ALARM, EARLY, SINGLE, MULTI]
    assert ids(refs) == [f"{p}/{t.id}" for p in ("user1", "user2", "user10") for t in tasks]
    assert refs[3] == make_ref("user1", MULTI)


@pytest.mark.parametrize(
    ("where", "n"),
    [
        (ScenarioFilter(kind=TaskKind.MULTI), 3),
        (ScenarioFilter(kind=TaskKind.SINGLE), 9),
        (ScenarioFilter(domains=frozenset({"Hotels", "Alarm"})), 6),
        (ScenarioFilter(domains=frozenset({"Hotel"})), 0),
        (ScenarioFilter(persona_ids=frozenset({"user1", "user10"})), 8),
        (ScenarioFilter(task_ids=frozenset({EARLY.id}), persona_ids=frozenset({"user2"})), 1),
    ],
)
def test_a_filter_lists_as_many_scenarios_as_it_counts(
    filled: SqlStore, where: ScenarioFilter, n: int
) -> None:
    assert filled.count_scenarios("sample", where) == n
    assert len(filled.list_scenarios("sample", where)) == n


def test_a_filter_may_name_more_personas_than_a_statement_has_parameters(
    filled: SqlStore,
) -> None:
    where = ScenarioFilter(persona_ids=frozenset(f"user{i}" for i in range(70_000)))
    assert filled.count_scenarios("sample", where) == 12


def test_situations_come_in_the_order_asked_for(filled: SqlStore) -> None:
    keys = [("user2", MULTI.id), ("nobody", MULTI.id), ("user1", EARLY.id)]
    found = filled.get_situations("sample", keys)
    assert list(found) == [keys[0], keys[2]]
    assert found[keys[0]] == make_situation()
    assert filled.get_situations("sample", []) == {}


def add(store: SqlStore, *personas: Any, report: Any = None) -> int:
    with store.write_dataset("sample", "personalens") as writer:
        n = writer.add_personas(personas)
        n += writer.add_tasks([EARLY])
        n += writer.add_scenarios([(make_ref(p.id, EARLY), make_situation()) for p in personas])
        writer.finish(report or make_report(), make_vocabulary(*personas))
    return n


def test_importing_the_same_again_adds_nothing(store: SqlStore) -> None:
    assert add(store, *PERSONAS) == 7
    before = store.list_datasets()[0]
    assert add(store, *PERSONAS, report=make_report(at=NOW)) == 0
    assert store.list_datasets()[0] == before
    assert store.vocabulary("sample") == make_vocabulary(*PERSONAS)
    assert len(store.list_import_reports("sample")) == 2


def test_the_same_twice_in_one_import_adds_it_once(store: SqlStore) -> None:
    with store.write_dataset("sample", "personalens") as writer:
        assert writer.add_personas([PERSONAS[0], PERSONAS[0]]) == 1
        assert writer.add_personas([PERSONAS[0]]) == 0
        assert writer.add_tasks([EARLY]) == 1
        pair = (make_ref("user10", EARLY), make_situation())
        assert writer.add_scenarios([pair, pair]) == 1
        assert writer.add_scenarios([pair]) == 0
    assert store.list_datasets()[0].scenarios == 1


def test_a_second_import_adds_to_counts_and_vocabulary(store: SqlStore) -> None:
    add(store, PERSONAS[0])
    other = make_persona("user5", affinities={"Books": {"Genre": ["poetry"]}})
    assert add(store, other, report=make_report(at=later(60))) == 2
    assert store.vocabulary("sample") == make_vocabulary(PERSONAS[0], other)
    dataset = store.list_datasets()[0]
    assert (dataset.personas, dataset.scenarios, dataset.imported_at) == (2, 2, later(60))


def test_other_content_under_a_known_key_is_refused(store: SqlStore) -> None:
    add(store, PERSONAS[0])
    changed = replace(PERSONAS[0], demographics={"age": "99"})
    with pytest.raises(SourceError, match="persona 'user10'"):
        add(store, changed)
    with (
        pytest.raises(SourceError, match="task"),
        store.write_dataset("sample", "personalens") as w,
    ):
        w.add_tasks([replace(EARLY, goal="another")])
    with (
        pytest.raises(SourceError, match="scenario 'user10/"),
        store.write_dataset("sample", "personalens") as w,
    ):
        w.add_scenarios([(make_ref("user10", EARLY), make_situation("elsewhere"))])
    assert store.get_persona("sample", "user10") == PERSONAS[0]


def test_a_dataset_of_another_kind_is_refused(store: SqlStore) -> None:
    add(store, PERSONAS[0])
    with (
        pytest.raises(SourceError, match="personalens data"),
        store.write_dataset("sample", "personaconv"),
    ):
        pass


def test_a_scenario_of_unknown_persona_or_task_is_refused(store: SqlStore) -> None:
    with (
        pytest.raises(SourceError, match="persona 'user0', which is not there"),
        store.write_dataset("sample", "personalens") as w,
    ):
        w.add_scenarios([(make_ref("user0", EARLY), make_situation())])


class Interrupted(Exception):
    pass


def test_nothing_of_a_failed_import_is_kept(store: SqlStore) -> None:
    def interrupted() -> None:
        with store.write_dataset("sample", "personalens") as writer:
            writer.add_personas(PERSONAS)
            writer.add_tasks([EARLY])
            writer.finish(make_report(), {})
            raise Interrupted

    with pytest.raises(Interrupted):
        interrupted()
    assert store.list_datasets() == []
    assert store.list_personas("sample") == []
    assert store.list_import_reports() == []


def test_datasets_may_hold_personas_of_the_same_id(store: SqlStore) -> None:
    other = make_persona("user1", age="65+")
    fill_dataset(store, "a", personas=[PERSONAS[2]])
    fill_dataset(store, "b", personas=[other])
    assert store.get_persona("a", "user1") == PERSONAS[2]
    assert store.get_persona("b", "user1") == other
    assert store.search_personas("a", "65+") == []
    assert store.count_scenarios("b", ALL) == 1


def test_import_reports_come_back_newest_first(store: SqlStore) -> None:
    first, second = make_report("a"), make_report("b", at=later(5), seconds=1.25)
    for report in (first, second):
        with store.write_dataset(report.dataset, "personalens") as writer:
            writer.finish(report, {})
    assert store.list_import_reports() == [second, first]
    assert store.list_import_reports("a") == [first]


def test_the_order_of_situation_fields_is_kept(store: SqlStore) -> None:
    situation = Situation({"Z": "1", "A": "2"})
    with store.write_dataset("sample", "personalens") as writer:
        writer.add_personas([PERSONAS[0]])
        writer.add_tasks([EARLY])
        writer.add_scenarios([(make_ref("user10", EARLY), situation)])
    found = store.get_scenario("sample", "user10", EARLY.id).situation
    assert list(found.fields) == ["Z", "A"]
