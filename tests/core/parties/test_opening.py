"""The first message says what is wanted, in the first person, and gives no value away."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.context import Briefing, user_briefing
from core.parties import STOP_TOKEN
from core.parties.lexicon import TokenIndex
from core.parties.opening import opening, reveals
from core.parties.phrases import phrases
from core.types import Affinity, AffinityRef, TaskKind
from tests.support.scenarios import flight


def first_words(intent: str, *values: str, domain: str = "Flights", seed: int = 0) -> str:
    affinity = Affinity(domain, "Preferred Airline", values, listed=True)
    briefing = Briefing(TaskKind.SINGLE, affinities=(affinity,), intent=intent)
    return opening(briefing, phrases(), seed)


@pytest.mark.parametrize(
    ("intent", "part"),
    [
        ("Book a flight for your trip.", "book a flight for my trip"),
        (
            "Plan a trip to a city you like with people close to you.",
            "to a city I like with people close to me",
        ),
        (
            "Find out what you've missed and what you're owed.",
            "find out what I've missed and what I'm owed",
        ),
        ("Treat yourself to something that is yours.", "treat myself to something that is mine"),
        ("Set an alarm, considering your favourite sound.", "set an alarm"),
        ("Make a playlist for [occasion/activity] today.", "make a playlist for an occasion today"),
        ("Find a dentist (e.g. a good one) near you.", "find a dentist near me"),
        ("As someone new here, find a bus.", "find a bus"),
        ("You would like to see a film.", "see a film"),
        ("Ask for a film.", "I'd like a film"),
        ("Ask which film is on.", "I'd like to know which film is on"),
        ("Find an hour good for both of you.", "an hour good for both of us"),
        ("You want something to read on a train.", "I want something to read on a train"),
        ("The user needs a quiet room.", "I need a quiet room"),
        (
            "Discover bands based on your taste, and find concerts that suit your diary.",
            "discover bands and find concerts",
        ),
    ],
)
def test_intent_becomes_a_wish_in_the_first_person(intent: str, part: str) -> None:
    text = first_words(intent)
    assert part in text
    assert "your" not in text


def test_request_to_recommend_becomes_a_question() -> None:
    assert first_words("Recommend a film for tonight.").endswith(
        "recommend a film for tonight?"
    ) or ("recommend a film for tonight" in first_words("Recommend a film for tonight."))


def test_value_in_the_intent_is_left_out() -> None:
    text = first_words("Book a flight with Northwind for your trip, please.", "northwind")
    assert "northwind" not in text.casefold()
    assert "flight" in text


def test_domain_is_named_when_the_intent_cannot_be_used() -> None:
    for seed in range(4):
        assert "flight" in first_words("", "Northwind", seed=seed)
        assert "flight" in first_words("Northwind", "Northwind", seed=seed)


def test_something_is_said_when_nothing_at_all_is_known() -> None:
    assert opening(Briefing(TaskKind.SINGLE), phrases(), 3).strip()


def test_opening_is_one_or_two_sentences() -> None:
    for seed in range(20):
        text = opening(user_briefing(flight()), phrases(), seed)
        assert 1 <= text.count(".") + text.count("?") <= 2


def test_seed_varies_the_opening_and_nothing_else_does() -> None:
    told = user_briefing(flight())
    assert len({opening(told, phrases(), seed) for seed in range(12)}) > 3
    assert opening(told, phrases(), 5) == opening(told, phrases(), 5)


WORDS = st.sampled_from(
    [
        "book",
        "a",
        "flight",
        "your",
        "you",
        "morning",
        "quiet",
        "trip",
        "Thai",
        "with",
        "and",
        "that",
    ]
    + [
        "find",
        "like",
        "me",
        "help",
        "could",
        "something",
        "please",
        "can",
        "hand",
        "i",
        "need",
        "with",
    ]
)
TEXTS = st.one_of(st.lists(WORDS, max_size=14).map(" ".join), st.text(max_size=60))


@given(intent=TEXTS, values=st.lists(TEXTS, max_size=4), seed=st.integers(0, 9))
def test_opening_never_holds_a_value_unless_each_fallback_does(
    intent: str, values: list[str], seed: int
) -> None:
    text = first_words(intent, *values, seed=seed)
    assert text.strip()
    assert STOP_TOKEN not in text
    real = [v for v in values if not phrases().is_nothing(v)]
    secret = TokenIndex((v, v) for v in real)
    last_resorts = phrases().generic.openings
    assert not reveals(text, secret) or all(reveals(t, secret) for t in last_resorts)


def test_refs_of_unknown_domains_do_no_harm() -> None:
    briefing = Briefing(
        TaskKind.MULTI,
        affinities=(
            Affinity("Beekeeping", "Hives", ("straw",), listed=True),
            Affinity("Flights", "Seat Preference", ("window",), listed=False),
        ),
        intent="",
        relevant=(AffinityRef("Beekeeping", "Hives"),),
    )
    assert "a flight" in opening(briefing, phrases(), 0)
