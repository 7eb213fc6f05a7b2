"""From a study file to its work: what is refused, what is expanded, what goes on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core.errors import StudyError
from core.study import check_study, expand, open_study, plan, select_scenarios
from core.study_file import ArmEntry, JudgeEntry, ModelEntry, ScenarioSelection, StudySpec
from core.types import StudyState, TaskKind
from tests.builders import NOW, fill_dataset, make_persona, make_study_spec, make_task

TASKS = [make_task(f"SD-Books-task-{i}") for i in range(4)] + [
    make_task(f"MD-task-{i}", domains=("Books", "Hotels")) for i in range(3)
]
PEOPLE = [make_persona(f"user{i}") for i in range(5)]


@pytest.fixture
def filled(sqlite_store: Any) -> Any:
    fill_dataset(sqlite_store, personas=PEOPLE, tasks=TASKS)
    return sqlite_store


def usable(_: object) -> None:
    return None


def test_every_scenario_meets_every_arm_with_the_same_seed(filled: Any) -> None:
    spec = make_study_spec(arms=["scripted/attentive", "scripted/forgetful"], repetitions=2)
    units = plan(spec, filled, lambda: NOW).units
    assert len(units) == 5 * 7 * 2 * 2
    assert len({u.id for u in units}) == len(units)
    seeds: dict[tuple[str, int], set[int]] = {}
    for unit in units:
        seeds.setdefault((unit.scenario.id, unit.repetition), set()).add(unit.seed)
    assert all(len(s) == 1 for s in seeds.values())
    assert len({next(iter(s)) for s in seeds.values()}) == len(seeds)


@pytest.mark.parametrize(
    ("selection", "single", "multi"),
    [
        ({}, 20, 15),
        ({"kind": "single"}, 20, 0),
        ({"kind": "multi"}, 0, 15),
        ({"limit": 9}, None, None),
        ({"limit_single": 6, "limit_multi": 2}, 6, 2),
        ({"users": "1-2"}, 8, 6),
        ({"users": "4"}, 4, 3),
        ({"domains": ("Hotels",)}, 0, 15),
    ],
)
def test_selection_takes_what_it_names(
    filled: Any, selection: dict[str, Any], single: int | None, multi: int | None
) -> None:
    refs = select_scenarios("sample", ScenarioSelection(**selection), filled)
    counts = [sum(r.kind is kind for r in refs) for kind in TaskKind]
    if single is None:
        assert sum(counts) == selection["limit"]
    else:
        assert counts == [single, multi]


def test_draw_is_the_same_for_a_seed_and_another_for_another(filled: Any) -> None:
    def draw(seed: int) -> list[str]:
        selection = ScenarioSelection(limit=10, seed=seed)
        return [r.id for r in select_scenarios("sample", selection, filled)]

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)


def test_empty_selection_is_refused(filled: Any) -> None:
    with pytest.raises(StudyError, match="No scenario"):
        select_scenarios("sample", ScenarioSelection(limit_single=0, kind="single"), filled)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"dataset": "nowhere"}, "no dataset called nowhere"),
        ({"scenarios": ScenarioSelection(domains=("Cooking",))}, "no domain called Cooking"),
        ({"scenarios": ScenarioSelection(users="7-")}, "7-"),
        ({"arms": (ArmEntry(name="a", model="scripted/clever"),)}, "no scripted assistant"),
        ({"user_agent": ModelEntry(model="scripted/attentive")}, "no scripted user agent"),
        (
            {"judges": (JudgeEntry(model="scripted/user", rubrics=("personalization",)),)},
            "no scripted judge",
        ),
        ({"judges": (JudgeEntry(model="scripted/judge", rubrics=("charm",)),)}, "charm"),
        (
            {"judges": (JudgeEntry(model="scripted/judge", rubrics=("grounding",)),)},
            "primary dimension personalization is rated by no judge",
        ),
        ({"arms": (ArmEntry(name="a", model="openai/x", prompt="assistant@99"),)}, "assistant@99"),
    ],
)
def test_study_that_cannot_run_is_refused_with_one_sentence(
    filled: Any, change: dict[str, Any], says: str
) -> None:
    spec = make_study_spec().model_copy(update=change)

    def start() -> None:
        check_study(spec, filled, usable)
        plan(spec, filled, lambda: NOW)

    with pytest.raises(StudyError, match=says) as fault:
        start()
    assert "\n" not in str(fault.value)


def test_unusable_model_is_refused_with_the_reason_that_was_given(filled: Any) -> None:
    spec = make_study_spec(arms=["nowhere/x"])
    with pytest.raises(StudyError, match="no such provider"):
        check_study(spec, filled, lambda model: f"{model.model}: no such provider.")


def test_same_file_goes_on_and_other_limits_do_not_matter(filled: Any) -> None:
    spec = make_study_spec()
    first = open_study(spec, filled, lambda: NOW)
    limits = spec.limits.model_copy(update={"concurrency": 5, "budget_usd": 1.0})
    again = open_study(spec.model_copy(update={"limits": limits}), filled, lambda: NOW)
    assert again.id == first.id
    assert len(filled.list_studies()) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"repetitions": 2},
        {"arms": (ArmEntry(name="attentive", model="scripted/pushy"),)},
        {"scenarios": ScenarioSelection(limit=3)},
    ],
)
def test_other_study_of_the_same_name_is_refused(filled: Any, change: dict[str, Any]) -> None:
    spec = make_study_spec()
    open_study(spec, filled, lambda: NOW)
    with pytest.raises(StudyError, match="another name"):
        open_study(spec.model_copy(update=change), filled, lambda: NOW)


def test_planning_twice_adds_no_unit(filled: Any) -> None:
    spec: StudySpec = make_study_spec()
    study = plan(spec, filled, lambda: NOW).study
    before = filled.progress(study.id).units
    plan(spec, filled, lambda: NOW)
    assert filled.progress(study.id).units == before == 35


def test_imported_dialogues_owe_nothing(filled: Any) -> None:
    study = replace(open_study(make_study_spec(), filled, lambda: NOW), spec=None)
    assert study.state is StudyState.DEFINED
    assert expand(study, filled) == ()
