"""Judges before the controls: a good one passes, and each kind of bad one is found out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from core.errors import ModelMisconfigured, StudyError
from core.known_groups import (
    CONTROLS,
    PERSONAS,
    PROBES,
    check_judge,
    lengthened,
    restated,
    turned_round,
)
from core.known_groups_words import bounds_of, check_words, differences
from core.ports import ChatRequest
from core.sample import ensure_sample
from core.types import ModelSpec
from tests.builders import make_messages, make_scenario
from tests.support.app import own_store
from tests.support.fakes import ScriptedModel

JUDGE = ModelSpec("openai/some-judge")


@pytest.fixture
def store() -> Iterator[Any]:
    with own_store() as opened:
        ensure_sample(opened)
        yield opened


def answer(value: int) -> str:
    return json.dumps({"evidence": [1], "rationale": "Because.", "value": value})


def transcript(request: ChatRequest) -> str:
    return re.findall(r"<transcript>\n(.*?)\n</transcript>", request.messages[-1].content, re.S)[0]


def failed(found: Any) -> set[str]:
    return {check.name for check in found.checks if not check.passed}


def test_scripted_judge_passes_with_its_probes(store: Any) -> None:
    found = check_judge(ModelSpec("scripted/judge"), store, ScriptedModel([]), probes=True)
    assert found.passed, check_words(found)
    assert len(found.checks) == 8
    first = found.checks[0]
    assert first.lo is not None
    assert first.lo > 1
    assert first.n == PERSONAS
    assert check_words(found).startswith("scripted/judge · personalization@1 passes all 8 checks")


def test_judge_that_always_answers_three_is_found_out(store: Any) -> None:
    found = check_judge(JUDGE, store, ScriptedModel(lambda _: answer(3)))
    assert failed(found) == {
        "rates attentive above forgetful",
        "rates attentive above inventive",
        "does not always say the same",
    }
    assert found.counts == {3: 3 * PERSONAS}
    assert "36 of 36" in check_words(found)
    assert "should not be used" in check_words(found)


def test_judge_that_prefers_long_answers_fails_the_probe_of_length(store: Any) -> None:
    def by_length(request: ChatRequest) -> str:
        words = len(transcript(request))
        return answer(min(4, 1 + words // 700))

    found = check_judge(JUDGE, store, ScriptedModel(by_length), probes=True)
    assert "is not won by length" in failed(found)
    assert set(found.values) == {*CONTROLS, *PROBES}


def test_judge_that_rewards_inventions_fails() -> None:
    people = [f"p{i}" for i in range(8)]
    values = {
        "attentive": np.array([3.0, 4, 3, 3, 4, 3, 3, 4]),
        "forgetful": np.array([1.0, 2, 1, 2, 1, 2, 1, 1]),
        "inventive": np.array([4.0, 4, 3, 4, 4, 4, 3, 4]),
    }
    found = {check.name: check.passed for check in differences(values, people)}
    assert found == {
        "rates attentive above forgetful": True,
        "rates attentive above inventive": False,
        "does not reward inventions": False,
    }


def test_answers_that_cannot_be_read_are_bounds_and_no_smaller_n(store: Any) -> None:
    count = iter(range(10_000))

    def sometimes(request: ChatRequest) -> str:
        asked = next(count)
        return "I would rather not say" if "previous_answer" in request.messages[-1].content or (
            asked % 5 == 0
        ) else answer(2)  # fmt: skip

    found = check_judge(JUDGE, store, ScriptedModel(sometimes))
    assert found.n_unscored > 0
    assert "answers so that it can be read" in failed(found)
    last = found.checks[-1]
    assert last.n == 3 * PERSONAS
    assert "means lie here" in last.said


def test_calls_are_kept_and_not_paid_twice(store: Any) -> None:
    model = ScriptedModel(lambda _: answer(3))
    check_judge(JUDGE, store, model)
    first = len(model.requests)
    check_judge(JUDGE, store, model)
    assert first == 3 * PERSONAS
    assert len(model.requests) == first


def test_bounds_are_the_means_at_both_ends_of_the_scale() -> None:
    assert bounds_of(np.array([2.0, np.nan]), (1, 4)) == (1.5, 3.0)


def test_probes_change_the_assistants_words_only() -> None:
    messages = make_messages("user: hi", "assistant: hello", "user: two", "assistant: yes")
    assert [m.content for m in restated(messages)][1] == 'You said: "hi" hello'
    assert lengthened(messages)[1].content.startswith("hello I hope")
    assert lengthened(messages)[0] == messages[0]
    scenario = make_scenario()
    turned = turned_round(scenario)
    assert turned.persona.affinities == scenario.persona.affinities[::-1]
    assert dict(turned.persona.demographics) == dict(scenario.persona.demographics)


def test_what_cannot_be_checked_is_refused_in_a_sentence(store: Any) -> None:
    model = ScriptedModel([])
    with pytest.raises(StudyError, match="known quality in personalization only"):
        check_judge(JUDGE, store, model, rubric="task_completion")
    with pytest.raises(StudyError, match="ask for 2 to"):
        check_judge(JUDGE, store, model, personas=999)
    with pytest.raises(StudyError, match="no scripted judge"):
        check_judge(ModelSpec("scripted/nobody"), store, model)
    with pytest.raises(ModelMisconfigured):
        check_judge(JUDGE, store, ScriptedModel(lambda _: ModelMisconfigured("no key")))
