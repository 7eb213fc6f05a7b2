"""Which value is shown for a judgement, and the way it went."""

from __future__ import annotations

from itertools import permutations

from core.value_in_force import history, in_force
from tests.builders import later, make_dialogue, make_judgement, make_override

JUDGEMENT = make_judgement(value=3)


def test_judges_value_holds_when_nobody_overrode() -> None:
    other = make_judgement(make_dialogue("user: else", "assistant: yes"), value=4)

    shown = in_force(JUDGEMENT, [make_override(other, value=1)])

    assert (shown.value, shown.source, shown.override) == (3, "judge", None)


def test_nothing_holds_when_the_judge_gave_none() -> None:
    shown = in_force(make_judgement(value=None), [])

    assert (shown.value, shown.source) == (None, "judge")


def test_persons_value_holds_when_there_is_an_override() -> None:
    override = make_override(JUDGEMENT, value=1)

    shown = in_force(JUDGEMENT, [override])

    assert (shown.value, shown.source, shown.override) == (1, "person", override)


def test_persons_word_holds_when_it_is_that_no_value_can_be_given() -> None:
    shown = in_force(JUDGEMENT, [make_override(JUDGEMENT, value=None)])

    assert (shown.value, shown.source) == (None, "person")


def test_history_follows_what_supersedes_what_in_whatever_order_it_comes() -> None:
    # clocks of two machines may differ, so that the chain decides and not the time
    first = make_override(JUDGEMENT, value=1, created_at=later(9))
    second = make_override(JUDGEMENT, value=2, supersedes=first.id, created_at=later(5))
    third = make_override(JUDGEMENT, value=4, supersedes=second.id, created_at=later(7))

    for order in permutations([first, second, third]):
        assert history(JUDGEMENT, order) == [first, second, third]
        assert in_force(JUDGEMENT, order).value == 4


def test_history_goes_by_time_when_a_predecessor_is_missing() -> None:
    early = make_override(JUDGEMENT, value=1, created_at=later(1))
    late = make_override(JUDGEMENT, value=2, supersedes="gone", created_at=later(2))

    assert history(JUDGEMENT, [late, early]) == [early, late]
