"""Answers are read whatever their form, and never guessed (acceptance test 6)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.personaconv.answers import Status, read_answer
from core.personaconv.types import Task


@pytest.mark.parametrize(
    ("raw", "score", "status"),
    [
        ('{"score": 12}', 12, Status.EXACT),
        ('{"score": -7}', -7, Status.EXACT),
        ('{"score": "−7"}', -7, Status.EXACT),
        ("1,234", 1234, Status.RECOVERED),
        ("12 345", 12345, Status.RECOVERED),
        ("\u22127", -7, Status.RECOVERED),
        ("-7.", -7, Status.RECOVERED),
        ("+5", 5, Status.RECOVERED),
        ("~1.2k", 1200, Status.RECOVERED),
        ("5k", 5000, Status.RECOVERED),
        ("Score: **12**", 12, Status.RECOVERED),
        ("I would say 12.", 12, Status.RECOVERED),
        ("<think>5 or 6?</think>6", 6, Status.RECOVERED),
        ("3 people may like it.\nAnswer: 40", 40, Status.RECOVERED),
        ('```json\n{"score": 3}\n```', 3, Status.RECOVERED),
        ('Here it is: {"score": 3}', 3, Status.RECOVERED),
        ('{"score": 3, "why": "a 4 is too many"}', 3, Status.RECOVERED),
        ("12.0", 12, Status.RECOVERED),
    ],
)
def test_a_score_is_read(raw: str, score: float, status: Status) -> None:
    found = read_answer(Task.IMPACT, raw)
    assert (found.score, found.status) == (score, status)


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        ("10-15", Status.INVALID),
        ("10 to 15", Status.INVALID),
        ("nan", Status.INVALID),
        ("inf", Status.INVALID),
        ('{"score": NaN}', Status.INVALID),
        ('{"score": null}', Status.INVALID),
        ('{"score": true}', Status.INVALID),
        ("25 (out of 100)", Status.INVALID),
        ("1.234.567", Status.INVALID),
        ("40%", Status.INVALID),
        ("many", Status.INVALID),
        ("", Status.INVALID),
        ('{"score": 3} or {"score": 4}', Status.INVALID),
        ("I cannot predict that.", Status.REFUSED),
        ("<think>it could be 5", Status.TRUNCATED),
    ],
)
def test_what_states_no_one_score_is_none(raw: str, status: Status) -> None:
    found = read_answer(Task.IMPACT, raw)
    assert (found.score, found.status) == (None, status)


@pytest.mark.parametrize(
    ("raw", "label", "status"),
    [
        ('{"label": "positive"}', "positive", Status.EXACT),
        ("Positive.", "positive", Status.RECOVERED),
        ("**negative**", "negative", Status.RECOVERED),
        ("“Negative”", "negative", Status.RECOVERED),
        ("The reply was received negatively", "negative", Status.RECOVERED),
        ("It is positive at first, then negative.\nAnswer: negative", "negative", Status.RECOVERED),
        ("<think>positive?</think> negative", "negative", Status.RECOVERED),
        ("<THINK>positive?</THINK>\n\n{'label'}", None, Status.INVALID),
        ("not negative", None, Status.INVALID),
        ("It isn't positive", None, Status.INVALID),
        ("positive or negative", None, Status.INVALID),
        ("neutral", None, Status.INVALID),
        ('{"label": "neutral"}', None, Status.INVALID),
        ('{"label": ["positive"]}', None, Status.INVALID),
        ("I'm sorry, but I can't help with that.", None, Status.REFUSED),
    ],
)
def test_a_label_is_read_only_where_there_is_one(
    raw: str, label: str | None, status: Status
) -> None:
    found = read_answer(Task.SENTIMENT, raw)
    assert (found.label, found.status) == (label, status)


@pytest.mark.parametrize(
    ("raw", "text", "status"),
    [
        ('{"text": "Fair enough."}', "Fair enough.", Status.EXACT),
        ("Fair enough.", "Fair enough.", Status.RECOVERED),
        ('"Fair enough."', "Fair enough.", Status.RECOVERED),
        ("U1: Fair enough.", "Fair enough.", Status.RECOVERED),
        ('Sure!\n{"text": "Fair"}', "Fair", Status.RECOVERED),
        ('He said "no" and left', 'He said "no" and left', Status.RECOVERED),
        ('"no" is not "yes"', '"no" is not "yes"', Status.RECOVERED),
        ("a set {1, 2} of things", "a set {1, 2} of things", Status.RECOVERED),
        (
            "Error: that is what my screen says",
            "Error: that is what my screen says",
            Status.RECOVERED,
        ),
        ('{"text": ""}', None, Status.INVALID),
        ("", None, Status.INVALID),
    ],
)
def test_a_text_is_taken_without_what_surrounds_it(
    raw: str, text: str | None, status: Status
) -> None:
    found = read_answer(Task.REPLY, raw)
    assert (found.text, found.status) == (text, status)


def test_an_answer_that_was_cut_off_is_no_answer() -> None:
    assert read_answer(Task.REPLY, '{"text": "It was', "length").status is Status.TRUNCATED
    assert read_answer(Task.REPLY, "It was", "length").status is Status.TRUNCATED
    assert read_answer(Task.REPLY, '{"text": "It was."}', "length").status is Status.EXACT


@given(st.text(), st.sampled_from(Task))
def test_reading_never_raises_and_gives_a_value_exactly_when_valid(raw: str, task: Task) -> None:
    found = read_answer(task, raw)
    values = [found.label, found.score, found.text]
    assert sum(v is not None for v in values) == found.status.valid


@given(st.integers(-(10**9), 10**9))
def test_a_wanted_answer_is_read_exactly(score: int) -> None:
    found = read_answer(Task.IMPACT, json.dumps({"score": score}))
    assert (found.score, found.status) == (score, Status.EXACT)
