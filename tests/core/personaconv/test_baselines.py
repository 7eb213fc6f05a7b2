"""Baselines know what they may know, and answer every instance."""

from __future__ import annotations

import pytest

from core.personaconv.baselines import (
    BASELINES,
    COPY_DEMO,
    DOMAIN_MAJORITY,
    ECHO,
    HISTORY_MEAN,
    MAJORITY,
    NEAREST,
    SIGN_MEDIAN,
    baseline_answer,
    know_crowd,
)
from core.personaconv.generator import generate
from core.personaconv.prompting import Case
from core.personaconv.selection import split_by_time, targets_of
from core.personaconv.types import Split, Task
from tests.support.conversations import (
    fixture_threads,
    make_cases,
    make_comment,
    make_post,
    read_threads,
)


def make_case(task: Task) -> Case:
    """T under the second post of u2 in fixture A."""
    cases = make_cases(fixture_threads(), task)
    return next(c for c in cases if c.instance.id.endswith(":u2p2-c1-c4-c5"))


TARGETS = [t for thread in fixture_threads() for t in targets_of(thread)]


def test_the_crowd_is_known_by_label_and_by_median() -> None:
    crowd = know_crowd(TARGETS)
    assert (crowd.label, crowd.median, crowd.size) == ("positive", 11.0, 20.0)
    assert crowd.labels == {"books": "positive"}


def test_an_unknown_crowd_is_taken_for_friendly() -> None:
    assert know_crowd([]).label == "positive"


@pytest.mark.parametrize(
    ("name", "score"),
    [
        (MAJORITY, 11),
        (DOMAIN_MAJORITY, 11),
        (SIGN_MEDIAN, 20),
        (COPY_DEMO, 20),
        (HISTORY_MEAN, 11),
    ],
)
def test_scores(name: str, score: float) -> None:
    """Earlier replies of u2 are scored 20 and 2 in either post."""
    assert baseline_answer(name, make_case(Task.IMPACT), know_crowd(TARGETS)).score == score


def test_texts_come_from_the_parent_and_from_earlier_replies() -> None:
    case = make_case(Task.REPLY)
    assert baseline_answer(ECHO, case, know_crowd([])).text == "C on u2 2."
    assert baseline_answer(COPY_DEMO, case, know_crowd([])).text == "D1 of u2 1, the demonstration."
    assert baseline_answer(NEAREST, case, know_crowd([])).text == "D1 of u2 2, the demonstration."


def test_without_a_history_the_crowd_is_copied_or_the_parent_echoed() -> None:
    reply = make_comment("ann", "hello to you too", "03:00", 9)
    threads = read_threads([make_post("ann", make_comment("B", "Hello", "02:00", 1, reply))])
    for task, expected in ((Task.SENTIMENT, "negative"), (Task.REPLY, "Hello")):
        (case,) = make_cases(threads, task)
        crowd = know_crowd(t for t in TARGETS if (t.score or 0) < 0)
        answer = baseline_answer(COPY_DEMO, case, crowd)
        assert expected in (answer.label, answer.text)


@pytest.mark.parametrize("task", Task)
def test_every_baseline_answers_every_instance(task: Task) -> None:
    threads = read_threads(generate(2))
    targets = [t for thread in threads for t in targets_of(thread)]
    splits = split_by_time(targets)
    crowd = know_crowd(t for t in targets if splits[t.thread_id, t.number] is Split.TRAIN)
    for case in make_cases(threads, task)[::5]:
        for name in BASELINES[task]:
            assert baseline_answer(name, case, crowd).status.valid
