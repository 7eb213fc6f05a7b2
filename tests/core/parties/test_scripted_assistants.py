"""Four assistants of known quality, each with its own way with what it knows."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.context import assistant_briefing
from core.errors import StudyError
from core.parties.reading import Sign, has
from core.parties.scripted import SCRIPTED_ASSISTANTS, make_scripted_assistant
from core.ports import Party
from core.types import ContextSetting, Message, Part, Role, Scenario, StopReason
from tests.builders import make_messages
from tests.core.parties.test_scripted_user import HISTORIES
from tests.support.scenarios import EVERYTHING, LEXICON, NOTHING, dinner, flight, talk

NAMES = tuple(name.removeprefix("scripted/") for name in SCRIPTED_ASSISTANTS)
OPENING = "user: I'd like to book a flight for my trip."


def assistant(
    name: str,
    setting: ContextSetting = NOTHING,
    *,
    scenario: Scenario | None = None,
    seed: int = 1,
) -> Party:
    given_ = assistant_briefing(scenario or flight(), setting)
    return make_scripted_assistant(f"scripted/{name}", given_, lexicon=LEXICON, seed=seed)


def values(text: str, domain: str = "Flights") -> set[str]:
    return {m.value for m in LEXICON.find(domain, text)}


def test_unknown_name_is_refused_in_one_sentence() -> None:
    given_ = assistant_briefing(flight(), NOTHING)
    with pytest.raises(StudyError, match="no scripted assistant 'scripted/genius'; use"):
        make_scripted_assistant("scripted/genius", given_, lexicon=LEXICON, seed=1)


@pytest.mark.parametrize("name", NAMES)
def test_each_says_who_it_is(name: str) -> None:
    assert assistant(name).prompt_id == f"scripted/{name}@1"


# --- attentive -----------------------------------------------------------------------------------


def test_attentive_applies_what_the_summary_reveals_and_asks_for_the_rest() -> None:
    text = assistant("attentive", EVERYTHING).speak(make_messages(OPENING))
    assert values(text) == {"Northwind", "Alta", "premium economy", "aisle"}
    assert text.count("?") == 2
    assert not has(text, Sign.DONE)


def test_attentive_uses_the_moment_when_it_is_given() -> None:
    told = assistant("attentive", ContextSetting.of(Part.SITUATION))
    assert "laptop" in told.speak(make_messages(OPENING))
    assert "Lisbon" in assistant("attentive", EVERYTHING, scenario=dinner()).speak(
        make_messages("user: I need a restaurant.")
    )


def test_attentive_uses_where_the_person_lives_when_only_that_is_given() -> None:
    told = assistant("attentive", ContextSetting.of(Part.DEMOGRAPHICS))
    assert "Portugal" in told.speak(make_messages(OPENING))


def test_attentive_asks_two_things_at_a_time_when_it_knows_nothing() -> None:
    text = assistant("attentive").speak(make_messages(OPENING))
    assert text.count("?") == 2
    assert values(text) == set()


def test_attentive_leaves_the_choice_when_it_knows_enough() -> None:
    scenario = dinner()
    text = assistant("attentive", EVERYTHING, scenario=scenario).speak(
        make_messages("user: Dinner, please.", "assistant: Do you have any dietary requirements?")
    )
    assert text.rstrip().endswith("?")


def test_attentive_does_not_read_what_the_summary_denies() -> None:
    scenario = flight()
    summaries = {"Flights": "She never flies with Skylark, and is tired of a short layover."}
    persona = scenario.persona.__class__(
        "user0", scenario.persona.demographics, frozenset(), scenario.persona.affinities, summaries
    )
    text = assistant("attentive", EVERYTHING, scenario=flight(persona)).speak(
        make_messages(OPENING)
    )
    assert values(text) == set()


def test_attentive_takes_up_a_correction() -> None:
    text = assistant("attentive", EVERYTHING).speak(
        make_messages(
            OPENING,
            "assistant: I would book the flight in an aisle seat. Shall I go ahead?",
            "user: Not an aisle seat, please. I'd like a window seat.",
        )
    )
    assert "window" in values(text)
    assert "aisle" not in values(text)


# --- forgetful -----------------------------------------------------------------------------------


def test_forgetful_asks_one_thing_at_a_time_whatever_it_was_given() -> None:
    text = assistant("forgetful", EVERYTHING).speak(make_messages(OPENING))
    assert text.count("?") == 1
    assert values(text) == set()


def test_forgetful_does_not_ask_for_what_it_was_just_told() -> None:
    text = assistant("forgetful").speak(
        make_messages(OPENING, "assistant: Which airline do you prefer?", "user: Alta, aisle seat.")
    )
    assert "airline" not in text.split(".")[-1]


# --- inventive -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_inventive_claims_what_its_context_does_not_say(seed: int) -> None:
    text = assistant("inventive", EVERYTHING, seed=seed).speak(make_messages(OPENING))
    assert has(text, Sign.CLAIM)
    assert values(text)
    assert not values(text) & {"Northwind", "Alta", "premium economy", "aisle"}


def test_inventive_accepts_a_correction() -> None:
    party = assistant("inventive")
    first = party.speak(make_messages(OPENING))
    history = make_messages(OPENING, f"assistant: {first}", "user: I fly with Alta or Northwind.")
    assert {"Alta", "Northwind"} <= values(party.speak(history))


# --- pushy ---------------------------------------------------------------------------------------


def test_pushy_decides_without_asking() -> None:
    text = assistant("pushy", EVERYTHING).speak(make_messages(OPENING))
    assert "?" not in text
    assert has(text, Sign.DECIDED)
    assert has(text, Sign.DONE)


def test_pushy_gives_way_grudgingly() -> None:
    party = assistant("pushy")
    text = party.speak(
        make_messages(
            OPENING,
            f"assistant: {party.speak(make_messages(OPENING))}",
            "user: An aisle seat, please.",
        )
    )
    assert "an aisle seat" in text
    assert "?" not in text


# --- all four ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("setting", ContextSetting.every(), ids=lambda s: s.label)
@pytest.mark.parametrize("scenario", [flight(), dinner()], ids=["flight", "dinner"])
def test_each_finishes_the_task_in_every_setting(
    name: str, setting: ContextSetting, scenario: Scenario
) -> None:
    exchange = talk(scenario, name, setting)
    assert exchange.stop_reason is StopReason.USER_DONE
    assert sum(m.role is Role.USER for m in exchange.messages) <= 10
    assert exchange.messages[-1].role is Role.ASSISTANT


@pytest.mark.parametrize("name", NAMES)
def test_dialogue_is_the_same_when_it_is_made_again(name: str) -> None:
    assert talk(flight(), name, EVERYTHING) == talk(flight(), name, EVERYTHING)
    assert talk(flight(), name, EVERYTHING, seed=2) != talk(flight(), name, EVERYTHING)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_known_of_a_persona_that_was_not_given(name: str) -> None:
    """Two personas, one opening: with no context the first answer is the same."""
    other = flight(flight().persona.__class__("user9", {}, frozenset(), (), {}))
    lines = make_messages(OPENING)
    told, untold = assistant(name), assistant(name, scenario=other)
    assert told.speak(lines) == untold.speak(lines)


@pytest.mark.parametrize("name", NAMES)
def test_it_copes_with_a_wish_that_names_no_domain(name: str) -> None:
    party = assistant(name)
    first = party.speak(make_messages("user: Hello."))
    second = party.speak(make_messages("user: Hello.", f"assistant: {first}", "user: Just do it."))
    assert first.strip()
    assert second.strip()


@pytest.mark.parametrize("name", NAMES)
def test_it_takes_leave_when_it_is_thanked(name: str) -> None:
    text = assistant(name).speak(
        make_messages(OPENING, "assistant: I have booked the flight.", "user: Perfect, thank you.")
    )
    assert "elcome" in text or "leasure" in text or "Glad" in text


@settings(max_examples=60, deadline=None)
@given(
    history=HISTORIES,
    name=st.sampled_from(NAMES),
    setting=st.sampled_from(ContextSetting.every()),
    seed=st.integers(0, 3),
)
def test_it_answers_any_history(
    history: list[Message], name: str, setting: ContextSetting, seed: int
) -> None:
    text = assistant(name, setting, seed=seed).speak(history)
    assert text.strip()
    assert "$" not in text.replace("$50", "")
