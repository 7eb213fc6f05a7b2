"""A new version of a rubric: which labels survive it, what it costs, and which ratings flip."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from core.assets import Criterion, Rubric, load_rubric
from core.errors import StudyError
from core.judge import instrument_of
from core.rubric_replay import change_words, plan_replay, replay, what_changed
from core.types import ModelSpec
from tests.builders import fill_dataset, make_judgement, make_persona, make_task
from tests.support.app import own_store
from tests.support.fakes import ScriptedModel
from tests.support.judged import store_judged

OLD = load_rubric("naturalness_assistant@1")
JUDGE = ModelSpec("openai/some-judge")


def newer(**changes: Any) -> Rubric:
    return OLD.model_copy(update={"version": 2, **changes})


@pytest.fixture
def store() -> Iterator[Any]:
    with own_store() as opened:
        yield opened


def ids_of(store: Any, rated: int = 4) -> list[str]:
    """Dialogues that the judge rated 3 by the old version."""
    people = [make_persona(f"user{p}") for p in range(10)]
    tasks = [make_task("SD-Books-task-0"), make_task("SD-Books-task-1")]
    fill_dataset(store, personas=people, tasks=tasks)
    study = store_judged(store, dimensions=("personalization",))
    found = [d.id for d in store.iter_dialogues(study.id)][:rated]
    instrument = instrument_of(JUDGE, OLD)
    store.add_judgements(
        [
            make_judgement(
                store.get_dialogue(i), value=3, dimension=OLD.dimension, instrument=instrument
            )
            for i in found
        ]
    )
    return found


def test_changed_wording_of_a_criterion_or_anchor_makes_labels_stale() -> None:
    rubric = load_rubric("personalization@1")
    first, *rest = rubric.criteria
    new = rubric.model_copy(
        update={"version": 2, "criteria": (Criterion(name=first.name, text="Other."), *rest)}
    )
    change = what_changed(rubric, new)
    assert change.people == (f"criterion {first.name}",)
    assert change.stale
    assert "stale" in change_words(change)


def test_what_only_judges_read_leaves_labels_as_they_are() -> None:
    change = what_changed(OLD, newer(notes=("Mind the tone.",)))
    assert (change.people, change.judge) == ((), ("notes",))
    assert "still count" in change_words(change)


def test_other_rubrics_are_not_touched_and_no_versions_of_it() -> None:
    with pytest.raises(StudyError, match="two dimensions"):
        what_changed(OLD, load_rubric("personalization@1"))


def test_cost_is_known_before_anything_is_asked(store: Any) -> None:
    ids = ids_of(store)
    plan = plan_replay(ids, newer(), JUDGE, store, lambda _: (1e-6, 1e-5))
    assert (len(plan.dialogues), plan.calls) == (4, 4)
    assert plan.cost_usd is not None
    assert plan.cost_usd > 4 * 200 * 1e-5
    assert plan_replay(ids, newer(), JUDGE, store, lambda _: None).cost_usd is None


def test_only_what_flipped_is_queued_and_nothing_is_asked_twice(store: Any) -> None:
    ids = ids_of(store)
    values = iter([3, 1, 3, 3])

    def answer(_: Any) -> str:
        return json.dumps({"evidence": [1], "rationale": "So.", "value": next(values)})

    new = newer(question="How natural does the assistant sound to a tired person?")
    model = ScriptedModel(answer)
    found = replay(ids, OLD, new, JUDGE, store, model)
    assert (found.asked, found.same, found.missing) == (4, 3, 0)
    assert [(f.old, f.new) for f in found.flips] == [(3, 1)]
    again = replay(ids, OLD, new, JUDGE, store, ScriptedModel([]))
    assert again.asked == 0
    assert again.flips == found.flips
    assert plan_replay(ids, new, JUDGE, store, lambda _: None).calls == 0


def test_old_and_new_ratings_stay_two_instruments(store: Any) -> None:
    ids = ids_of(store, 1)
    model = ScriptedModel(lambda _: json.dumps({"evidence": [], "rationale": "", "value": 2}))
    replay(ids, OLD, newer(), JUDGE, store, model)
    found = [j for j in store.list_judgements(ids[0]) if j.dimension == OLD.dimension]
    assert len({j.instrument.id for j in found}) == 2
