"""The auditor finds each kind of leak where it was planted, and none where there is none."""

from __future__ import annotations

import pytest

from core.personaconv.leaks import (
    LeakKind,
    Section,
    Span,
    TimeOf,
    audit,
    normal,
    repeats,
    without_gold,
)
from core.personaconv.types import Task
from tests.support.conversations import fixture_threads

THREAD = fixture_threads()[3]
TARGET = 5


def found(span: Span, task: Task = Task.REPLY) -> set[tuple[LeakKind, str]]:
    sections = [Section("instructions", (Span("Answer [M1]."),)), Section("planted", (span,))]
    leaks = audit(sections, THREAD, TARGET, task, TimeOf(fixture_threads()))
    return {(leak.kind, leak.section) for leak in leaks}


@pytest.mark.parametrize(
    ("span", "kind", "task"),
    [
        (Span("x " + THREAD.comment(TARGET).text.upper() + " y"), LeakKind.GOLD, Task.REPLY),
        (Span("", (THREAD.id, TARGET)), LeakKind.GOLD, Task.REPLY),
        (Span("The answer is 77 I think"), LeakKind.GOLD, Task.IMPACT),
        (Span("d ON u2 2 -- written after the target!"), LeakKind.LATER, Task.SENTIMENT),
        (Span("later", (THREAD.id, 9)), LeakKind.LATER, Task.IMPACT),
        (Span("below", (THREAD.id, 6)), LeakKind.LATER, Task.IMPACT),
        (Span("elsewhere, later", ("u1p1", 9)), LeakKind.LATER, Task.REPLY),
        (Span("U2 (20 points):"), LeakKind.SCORE, Task.REPLY),
        (Span('{"score": 5}'), LeakKind.SCORE, Task.SENTIMENT),
        (Span("the post has 100"), LeakKind.SCORE, Task.IMPACT),
        (Span("answers M7"), LeakKind.ID, Task.REPLY),
        (Span("see u2p2-c1-c4"), LeakKind.ID, Task.REPLY),
        (Span("by m-abcdefghijklmnop"), LeakKind.ID, Task.REPLY),
        (Span("what {author} answers"), LeakKind.ID, Task.REPLY),
    ],
)
def test_a_planted_leak_is_found(span: Span, kind: LeakKind, task: Task) -> None:
    assert (kind, "planted") in found(span, task)


@pytest.mark.parametrize(
    ("span", "task"),
    [
        (Span("[M1] U2, 2023-01-01 05:20, answers M1:"), Task.IMPACT),
        (Span("It has 77 pages and a score of 20", (THREAD.id, 1)), Task.IMPACT),
        (Span(THREAD.comment(TARGET).text, (THREAD.id, TARGET)), Task.IMPACT),
        (Span("C on u2 2.", (THREAD.id, 4)), Task.REPLY),
        (Span("Write about 12 words."), Task.REPLY),
    ],
)
def test_what_may_stand_there_is_no_leak(span: Span, task: Task) -> None:
    assert found(span, task) == set()


GOLD = "I would rather walk there twice than wait for that bus in the rain again"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (GOLD, True),
        (f"He said: {GOLD.lower()}!", True),
        ("rather walk, there twice; than WAIT for that bus in the", True),
        ("rather walk there twice", False),
        ("I would rather walk. Wait for that bus. In the rain again.", False),
        ("", False),
    ],
)
def test_a_long_text_is_given_away_by_forty_characters(text: str, told: bool) -> None:
    assert repeats(normal(text), normal(GOLD)) is told


def test_a_short_text_is_given_away_by_four_fifths_of_it() -> None:
    gold = normal("Not on a Sunday, no.")
    assert repeats(normal("well, not on a sunday"), gold)
    assert not repeats(normal("on a sunday"), gold)
    assert not repeats(normal("thanks a lot, thanks"), normal("thanks!"))


@pytest.mark.parametrize("start", range(12))
def test_a_run_is_found_wherever_it_begins(start: int) -> None:
    gold = normal(GOLD)
    assert repeats(gold[start : start + 40], gold)
    assert not repeats(f"#{gold[start : start + 38]}#", gold)


def test_only_what_is_shared_is_hidden() -> None:
    text = f"My answer was this: {GOLD}. Nobody laughed."
    hidden = without_gold(text, GOLD)
    assert hidden == "My answer was this: [hidden]. Nobody laughed."
    assert without_gold("Nobody laughed.", GOLD) == "Nobody laughed."
