"""The real benchmark: its counts, its irregularities, its samples."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from core.sources.personalens import import_personalens
from core.sources.selection import sample_users
from core.types import ImportReport, TaskKind
from tests.builders import NOW
from tests.support.dataset_writer import HeldDataset, HeldDatasets

pytestmark = [pytest.mark.real_data, pytest.mark.slow]


@cache
def _import(archive: Path) -> HeldDataset:
    store = HeldDatasets()
    import_personalens(archive, name="pl", store=store, now=lambda: NOW)  # type: ignore[arg-type]
    return store.datasets["pl"]


@pytest.fixture
def held(personalens_archive: Path) -> HeldDataset:
    """The whole benchmark, imported once for all tests here."""
    return _import(personalens_archive)


@pytest.fixture
def report(held: HeldDataset) -> ImportReport:
    return held.reports[0]


def test_the_whole_benchmark_comes_out(report: ImportReport) -> None:
    assert (report.personas, report.tasks, report.scenarios) == (1500, 111, 122_133)
    assert report.added == 1500 + 111 + 122_133


def test_single_and_multi_domain_scenarios_are_as_published(held: HeldDataset) -> None:
    kinds = Counter(ref.kind for ref, _ in held.scenarios.values())
    assert kinds == {TaskKind.SINGLE: 98_115, TaskKind.MULTI: 24_018}
    tasks = Counter(task.kind for task in held.tasks.values())
    assert tasks == {TaskKind.SINGLE: 86, TaskKind.MULTI: 25}


def test_every_scenario_is_one_that_its_persona_cares_for_and_none_is_missing(
    held: HeldDataset,
) -> None:
    eligible = {
        f"{persona.id}/{task.id}"
        for persona in held.personas.values()
        for task in held.tasks.values()
        if persona.interests.issuperset(task.domains)
    }
    assert set(held.scenarios) == eligible


def test_every_profile_has_its_ninety_affinities(held: HeldDataset) -> None:
    assert {len(p.affinities) for p in held.personas.values()} == {90}
    assert sum(len(p.interests) for p in held.personas.values()) == 22_887


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        ("misspelt_mask_key", 1),
        ("mask_order", 7),
        ("masked_domain_has_affinities", 7_113),  # 7,112 before the misspelt key is repaired
        ("unknown_demographic", 161),
        ("empty_list", 389 + 35 + 21 + 1),
        ("literal_na_value", 3),
        ("no_preference", 1422 + 33 + 19 + 3 * 3),
        ("summary_announces_itself", 672),
        ("summary_based_on", 113),
        ("instance_differs_from_definition", 6),
        ("placeholder_in_situation", 55),
        ("placeholder_in_task", 1),
        ("affinity_name_spelling", 11_979),
        ("near_synonymous_affinities", 1),
    ],
)
def test_an_irregularity_is_found_as_often_as_published(
    report: ImportReport, kind: str, count: int
) -> None:
    assert {i.kind: i.count for i in report.irregularities}[kind] == count


@pytest.mark.parametrize("kind", ["unresolvable_affinity", "unknown_affinity", "duplicate_value"])
def test_what_the_benchmark_does_not_have_is_not_found(report: ImportReport, kind: str) -> None:
    assert kind not in {i.kind for i in report.irregularities}


def test_the_affinities_that_cannot_discriminate_are_named(report: ImportReport) -> None:
    found = next(i for i in report.irregularities if i.kind == "near_constant_affinity")
    assert found.count == 10
    assert found.examples[:2] == (
        "Alarm.Alarm Recurring Preference: weekdays (90%)",
        "Books.Reading Frequency: weekly (99%)",
    )


def test_one_reference_in_twenty_of_single_domain_tasks_was_not_literal(
    held: HeldDataset, report: ImportReport
) -> None:
    single = [ref.task_id for ref, _ in held.scenarios.values() if ref.kind is TaskKind.SINGLE]
    references = sum(len(held.tasks[task_id].relevant) for task_id in single)
    spelling = next(i.count for i in report.irregularities if i.kind == "affinity_name_spelling")
    assert references == 248_131
    assert round(spelling / references, 3) == 0.048


def test_every_reference_resolves_to_an_affinity_of_every_profile(held: HeldDataset) -> None:
    everywhere = set.intersection(*({a.ref for a in p.affinities} for p in held.personas.values()))
    assert all(set(task.relevant) <= everywhere for task in held.tasks.values())
    assert all(task.relevant for task in held.tasks.values())


@pytest.mark.parametrize(
    ("size", "single", "multi"),
    [(20, 1284, 319), (30, 1930, 486), (50, 3283, 813), (100, 6479, 1601)],
)
def test_a_sample_has_the_scenarios_of_the_published_sizes(
    held: HeldDataset, size: int, single: int, multi: int
) -> None:
    users = {f"user{n}" for n in sample_users(size)}
    kinds = Counter(ref.kind for ref, _ in held.scenarios.values() if ref.persona_id in users)
    assert (kinds[TaskKind.SINGLE], kinds[TaskKind.MULTI]) == (single, multi)


def test_the_sample_of_fifty_has_the_published_domains(held: HeldDataset) -> None:
    users = {f"user{n}" for n in sample_users(50)}
    domains = Counter(
        ref.domains[0]
        for ref, _ in held.scenarios.values()
        if ref.persona_id in users and ref.kind is TaskKind.SINGLE
    )
    published = {"Books": 250, "Alarm": 196, "Finance": 165, "Games": 124, "Train": 68, "Buses": 24}
    assert {d: domains[d] for d in published} == published


def test_a_selection_imports_only_its_users(personalens_archive: Path) -> None:
    store = HeldDatasets()
    report = import_personalens(
        personalens_archive,
        name="pl",
        store=store,  # type: ignore[arg-type]
        users="sample-20,0-1",
        now=lambda: NOW,
    )
    assert (report.personas, report.tasks) == (22, 111)
