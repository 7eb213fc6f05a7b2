"""Messages are understood by whole-word markers: what is asked, done, claimed, refused."""

import pytest

from core.parties.reading import (
    Scope,
    Sign,
    agrees,
    asked,
    attribute,
    domains_in,
    has,
    negated,
    read,
)
from core.types import AffinityRef
from tests.support.scenarios import CALENDAR, FLIGHTS, LEXICON, RESTAURANTS

SCOPE = Scope(tuple(AffinityRef("Flights", name) for name in FLIGHTS))
WIDE = Scope(
    tuple(
        AffinityRef(d, n)
        for d, of in (("Flights", FLIGHTS), ("Restaurants", RESTAURANTS), ("Calendar", CALENDAR))
        for n in of
    )
)


@pytest.mark.parametrize(
    "text",
    [
        "I have booked the flight.",
        "I've now reserved a table for two.",
        "Your table has been booked.",
        "You're all set.",
        "Here are three places you may like.",
    ],
)
def test_completion_is_seen(text: str) -> None:
    assert has(text, Sign.DONE)


@pytest.mark.parametrize(
    "text",
    [
        "Shall I book it?",
        "I have not booked it yet.",
        "I was unable to have it confirmed, it is not booked.",
        "Has it been booked?",
        "I would book the flight.",
        "I have noted that.",
        "",
    ],
)
def test_completion_is_not_seen_when_nothing_was_done(text: str) -> None:
    assert not has(text, Sign.DONE)


def test_initials_do_not_end_a_sentence() -> None:
    assert len(read("She reads J. K. Larch. Then she sleeps.")) == 2


@pytest.mark.parametrize(
    "text", ["Not Alta, please.", "I'd rather not fly with Alta.", "Alta is not quite right."]
)
def test_value_is_refused_when_the_sentence_speaks_against_it(text: str) -> None:
    (mention,) = LEXICON.find("Flights", text)
    assert negated(text, mention)


@pytest.mark.parametrize("text", ["Alta, please.", "No, Alta would be better.", "Not now. Alta."])
def test_value_is_not_refused_when_the_negation_is_elsewhere(text: str) -> None:
    (mention,) = LEXICON.find("Flights", text)
    assert not negated(text, mention)


def ref(name: str, domain: str = "Flights") -> AffinityRef:
    return AffinityRef(domain, name)


def test_two_questions_ask_for_two_things_in_their_order() -> None:
    text = "Which cabin would you like? And which airline?"
    assert asked(text, SCOPE, LEXICON) == [ref("Seat Class Preference"), ref("Preferred Airline")]


def test_a_choice_between_values_asks_for_their_affinity() -> None:
    assert asked("Northwind or Skylark?", SCOPE, LEXICON) == [ref("Preferred Airline")]


@pytest.mark.parametrize(
    "text",
    [
        "Would you like me to book the aisle seat?",
        "Shall I go ahead with that airline?",
        "Is there anything else about the seat?",
        "I have booked the seat.",
    ],
)
def test_offers_and_statements_ask_for_nothing(text: str) -> None:
    assert asked(text, SCOPE, LEXICON) == []


def test_a_word_of_two_domains_asks_in_the_one_that_is_named() -> None:
    text = "As for the restaurant, what is your budget?"
    assert asked(text, WIDE, LEXICON) == [ref("Price Range", "Restaurants")]


def test_values_are_attributed_to_their_affinities() -> None:
    found = attribute("Alta, and then a quiet place.", WIDE, LEXICON)
    assert {r.name: [m.value for m in ms] for r, ms in found.items()} == {
        "Preferred Airline": ["Alta"],
        "Ambiance Preference": ["quiet"],
    }


@pytest.mark.parametrize(
    ("text", "domain"),
    [
        ("Can you book me a bus ticket for my trip?", "Buses"),
        ("I'd like to book a flight.", "Flights"),
        ("Please wake me tomorrow.", "Alarm"),
        ("Find me a hotel near the station.", "Hotels"),
        ("I want to read something new by good authors.", "Books"),
    ],
)
def test_domain_is_found_in_the_users_words(text: str, domain: str) -> None:
    assert domains_in(text)[0] == domain


def test_no_domain_is_found_when_none_is_named() -> None:
    assert domains_in("Hello there.") == []


@pytest.mark.parametrize(
    ("value", "held", "yes"),
    [
        ("WiFi", ["free WiFi"], True),
        ("dream pop", ["Pop"], True),
        ("pop", ["popcorn"], False),
        ("aisle", ["window"], False),
        ("aisle", [], False),
    ],
)
def test_values_agree_when_one_words_the_other(value: str, held: list[str], yes: bool) -> None:
    assert agrees(value, held) is yes
