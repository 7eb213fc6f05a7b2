"""Each rule of the scripted judge on dialogues made for it, and its range on any dialogue."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.assets import load_rubric
from core.context import Briefing, Section, judge_briefing
from core.parties.scripted_judge import DIMENSIONS, ScriptedRating, rate
from core.types import Message, Role, Scenario, TaskKind
from tests.builders import make_messages
from tests.core.parties.test_scripted_user import HISTORIES
from tests.support.scenarios import LEXICON, flight

ALL = tuple(Section)
WISH = "user: I'd like to book a flight."
THANKS = ("user: Thank you.", "assistant: You are welcome.")


def scenario() -> Scenario:
    return flight(flight().persona, "Seat Preference", "Preferred Airline")


def given_parts(*sections: Section) -> Briefing:
    always = (Section.AFFINITIES, Section.RELEVANT, Section.INTENT, Section.GOAL)
    return judge_briefing(scenario(), (*always, *sections))


def rated(dimension: str, *lines: str, briefing: Briefing | None = None) -> ScriptedRating:
    briefing = briefing or judge_briefing(scenario(), ALL)
    return rate(dimension, make_messages(*lines), briefing, LEXICON)


# --- personalisation -----------------------------------------------------------------------------

APPLIED = (
    WISH,
    "assistant: As you are on your laptop, I would book Alta and an aisle seat. Shall I go ahead?",
    "user: Yes, please.",
    "assistant: I have booked Alta and an aisle seat.",
)
TOLD = (
    WISH,
    "assistant: Which seat would you like?",
    "user: An aisle seat, with Alta.",
    "assistant: I have booked an aisle seat with Alta.",
)
INVENTED = (
    WISH,
    "assistant: Since you love Skylark, I would book Skylark in a window seat. Is that right?",
    "user: No, Alta, and an aisle seat.",
    "assistant: I have booked Alta and an aisle seat.",
)
PUSHED = (
    WISH,
    "assistant: I have gone ahead and booked Skylark. No need to choose.",
    "user: Alta, and an aisle seat.",
    "assistant: I have changed it: Alta, an aisle seat.",
)


def test_personalisation_is_highest_when_all_is_applied_before_it_is_told() -> None:
    rating = rated("personalization", *APPLIED)
    assert rating.value == 4
    assert "2 of 2 relevant affinities" in rating.rationale
    assert rating.evidence == (1,)


def test_personalisation_is_basic_when_it_is_used_after_it_was_told() -> None:
    assert rated("personalization", *TOLD).value == 2


def test_personalisation_is_poor_when_the_same_is_asked_twice() -> None:
    again = (*TOLD[:3], "assistant: Which seat would you like?", "user: An aisle seat.")
    rating = rated("personalization", *again, "assistant: I have booked an aisle seat with Alta.")
    assert rating.value == 1
    assert rating.evidence == (2,)


def test_personalisation_is_poor_when_facts_are_invented() -> None:
    rating = rated("personalization", *INVENTED)
    assert rating.value == 1
    assert "“Skylark”" in rating.rationale


def test_personalisation_is_poor_when_it_decides_alone() -> None:
    rating = rated("personalization", *PUSHED)
    assert rating.value == 1
    assert "Decided without asking" in rating.rationale or "decided without" in rating.rationale


def test_a_list_to_choose_from_is_not_applied() -> None:
    listed = (WISH, "assistant: Would you like an aisle seat or a window seat?")
    assert "0 of 2" in rated("personalization", *listed).rationale


def test_a_turn_is_rated_by_what_happens_in_it() -> None:
    assert rated("personalization_per_turn", *APPLIED[:2]).value == 4
    assert rated("personalization_per_turn", *APPLIED).value == 2
    assert rated("personalization_per_turn", *INVENTED[:2]).value == 1
    assert rated("personalization_per_turn", *APPLIED[:2]).evidence == (1,)


# --- fairness and grounding ----------------------------------------------------------------------


def test_asking_is_fair_when_nothing_was_given_and_unfair_when_it_was() -> None:
    asking = (
        WISH,
        "assistant: Which seat would you like? And which airline?",
        "user: An aisle seat, with Alta.",
        "assistant: I have booked an aisle seat with Alta.",
    )
    untold = rated("context_fairness", *asking, briefing=given_parts())
    told = rated("context_fairness", *asking, briefing=given_parts(Section.INTERACTIONS))
    assert untold.value == 4
    assert told.value == 1


def test_using_what_was_given_is_fair() -> None:
    told = rated("context_fairness", *APPLIED, briefing=given_parts(Section.INTERACTIONS))
    assert told.value == 4


@pytest.mark.parametrize(("lines", "value"), [(APPLIED, 5), (TOLD, 5), (PUSHED, 4)])
def test_grounding_is_high_when_little_is_assumed(lines: tuple[str, ...], value: int) -> None:
    assert rated("grounding", *lines).value == value


def test_grounding_falls_with_each_invented_fact() -> None:
    one = rated("grounding", WISH, "assistant: Since you love Skylark, let us look.")
    two = rated("grounding", WISH, "assistant: Since you love Skylark in the evening, look.")
    assert (one.value, two.value) == (3, 2)
    assert one.evidence == (1,)


def test_a_claim_is_grounded_when_the_user_said_it() -> None:
    lines = (WISH, "assistant: Yes?", "user: Skylark.", "assistant: Since you like Skylark, fine.")
    assert rated("grounding", *lines).value == 5


# --- completion ----------------------------------------------------------------------------------


def test_task_is_complete_when_it_is_said_to_be_done_after_all_is_settled() -> None:
    rating = rated("task_completion", *TOLD)
    assert (rating.value, rating.evidence) == (1, (2,))


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (TOLD[:3], "never said"),
        ((WISH, "assistant: I have booked an aisle seat."), "not settled: Preferred Airline"),
        ((*TOLD[:2], "user: Alta, aisle.", "assistant: Hm."), "never said"),
        ((WISH, "assistant: I have booked it.", "user: Alta, aisle.", "assistant: Hm."), "after"),
    ],
)
def test_task_is_not_complete(lines: tuple[str, ...], why: str) -> None:
    rating = rated("task_completion", *lines)
    assert rating.value == 0
    assert why in rating.rationale


def test_first_message_is_explicit_when_it_names_a_value_or_a_preference() -> None:
    assert rated("first_message_explicitness", "user: A flight with Alta.").value == 1
    assert rated("first_message_explicitness", "user: I prefer to sleep.").value == 1
    assert rated("first_message_explicitness", WISH, "assistant: Alta?").value == 0


# --- the surface ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dimension", ["naturalness", "coherence"])
@pytest.mark.parametrize("side", ["user", "assistant"])
def test_a_plain_dialogue_has_no_faults(dimension: str, side: str) -> None:
    rating = rated(f"{dimension}_{side}", *TOLD, *THANKS)
    assert rating.value == 5
    assert rating.rationale == f"No fault found on the {side}'s side."


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("assistant: <b>Yes</b>, I can.", "markup"),
        ("assistant: " + "So I say that this is so. " * 40, "very long"),
        ("assistant: Dear [name of user], hello.", "a placeholder"),
        ("assistant: ?", "hardly a word"),
        ("assistant: As the user I would like a seat.", "the wrong role"),
    ],
)
def test_fault_on_the_surface_lowers_naturalness(line: str, fault: str) -> None:
    rating = rated("naturalness_assistant", WISH, line)
    assert rating.value < 5
    assert fault in rating.rationale
    assert rating.evidence == (1,)


def test_repetition_lowers_naturalness_of_the_side_that_repeats() -> None:
    lines = [WISH, "assistant: One moment please, I am looking.", "user: Fine, take your time."]
    lines += ["assistant: One moment please, I am looking."]
    assert rated("naturalness_assistant", *lines).value == 4
    assert rated("naturalness_user", *lines).value == 5


def test_unanswered_question_lowers_coherence_of_the_user() -> None:
    lines = (WISH, "assistant: Which seat would you like?", "user: It rains here.")
    rating = rated("coherence_user", *lines)
    assert rating.value == 4
    assert rating.evidence == (2,)


def test_asking_again_lowers_coherence_of_the_assistant() -> None:
    rating = rated("coherence_assistant", *TOLD[:3], "assistant: Which seat would you like?")
    assert rating.value == 4
    assert "told" in rating.rationale


# --- any input -----------------------------------------------------------------------------------

BRIEFINGS = (
    judge_briefing(scenario(), ALL),
    judge_briefing(scenario(), (Section.RELEVANT,)),
    judge_briefing(scenario(), ()),
    Briefing(TaskKind.MULTI),
)


@settings(max_examples=80, deadline=None)
@given(
    history=HISTORIES, dimension=st.sampled_from(DIMENSIONS), briefing=st.sampled_from(BRIEFINGS)
)
def test_rating_is_on_the_scale_of_the_rubric_for_any_dialogue(
    history: list[Message], dimension: str, briefing: Briefing
) -> None:
    rating = rate(dimension, history, briefing, LEXICON)
    assert rating.value in load_rubric(dimension).scale.values
    turns = sum(m.role is Role.USER for m in history)
    assert all(1 <= turn <= max(1, turns) for turn in rating.evidence)
    assert rating.rationale.endswith(".")
    assert len(rating.rationale) < 700


def test_every_rubric_that_ships_has_a_rule() -> None:
    assert len(DIMENSIONS) == 10
    assert all(load_rubric(dimension).dimension == dimension for dimension in DIMENSIONS)


def test_unknown_dimension_is_a_defect_of_the_caller() -> None:
    with pytest.raises(KeyError):
        rated("politeness", WISH)
