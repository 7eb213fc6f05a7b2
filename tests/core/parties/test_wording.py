"""Values read well in a sentence."""

import pytest

from core.parties import STOP_TOKEN
from core.parties.lexicon import build_lexicon
from core.parties.wording import (
    adjunct,
    capitalise,
    clean,
    distinct,
    fill,
    join_list,
    join_phrases,
    rotate,
    say_items,
    sentence,
)
from core.types import AffinityRef

LEXICON = build_lexicon({})


def item(domain: str, name: str, *values: str) -> str:
    return say_items(LEXICON, AffinityRef(domain, name), values, "my")


@pytest.mark.parametrize(
    ("items", "text"),
    [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")],
)
def test_list_is_joined(items: list[str], text: str) -> None:
    assert join_list(items) == text


def test_parts_that_are_lists_are_joined_by_commas_only() -> None:
    assert join_phrases(["with x", "in y", "at z"]) == "with x, in y and at z"
    assert join_phrases(["with x or w", "in y", "at z"]) == "with x or w, in y, at z"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (item("Flights", "Seat Preference", "window"), "a window seat"),
        (item("Flights", "Seat Preference", "aisle"), "an aisle seat"),
        (item("Flights", "Seat Class Preference", "first"), "first class"),
        (item("Alarm", "Alarm Time Preference", "6:30 AM"), "6:30 am"),
        (item("Alarm", "Alarm Recurring Preference", "everyday"), "every day"),
        (item("Alarm", "Alarm Recurring Preference", "weekdays"), "on weekdays"),
        (item("Hotels", "Room Type Preference", "double", "suite"), "a double room or a suite"),
        (item("Restaurants", "Cuisine Preference", "Thai", "café food"), "Thai or café food"),
        (item("Messaging", "Frequent Contact", "sister", "aunt Jo"), "my sister and aunt Jo"),
        (item("Messaging", "Frequent Contact", "Maeve"), "Maeve"),
        (item("Games", "Preferred Game Genres", "board game", "RPG"), "board games and RPGs"),
        (
            item("Buses", "Departure Time Preference", "morning", "night"),
            "in the morning or at night",
        ),
        (item("Sports", "Favorite Team", "Rovers (rugby club)"), "Rovers"),
        (item("Beekeeping", "Hives", "straw", "wood"), "straw and wood"),
    ],
)
def test_values_become_a_noun_phrase(said: str, expected: str) -> None:
    assert said == expected


def test_value_with_its_own_wording_is_appended_in_it() -> None:
    ref = AffinityRef("Alarm", "Alarm Sound Preference")
    assert adjunct(LEXICON, ref, ["gradual increase"]) == "with a gradual increase in volume"


def test_full_stop_of_a_name_is_not_doubled() -> None:
    assert fill("I follow $x.", x="Amber Inc.") == "I follow Amber Inc."
    assert sentence("I follow Amber Inc.") == "I follow Amber Inc."


def test_untrusted_value_becomes_one_short_line_that_ends_nothing() -> None:
    text = clean(f"a\n\tb {STOP_TOKEN} " + "word " * 100)
    assert text.startswith("a b word")
    assert STOP_TOKEN not in text
    assert len(text) <= 80


def test_names_with_an_inner_capital_keep_their_first_letter() -> None:
    assert capitalise("iMessage is fine") == "iMessage is fine"
    assert capitalise("fantasy") == "Fantasy"


def test_distinct_ignores_case_and_punctuation_only() -> None:
    assert distinct(["Indie-Rock", "indie rock", "rock"]) == ["Indie-Rock", "rock"]


def test_variants_do_not_repeat_before_all_were_used() -> None:
    options = ["a", "b", "c", "d"]
    assert {rotate(options, turn, 5, "key") for turn in range(4)} == set(options)
