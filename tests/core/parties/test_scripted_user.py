"""The scripted user answers, corrects, volunteers, and ends only when the task is done."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.context import Briefing, user_briefing
from core.parties import STOP_TOKEN
from core.parties.phrases import phrases
from core.parties.scripted import ScriptedUser
from core.types import Affinity, AffinityRef, Message, Role, TaskKind
from tests.builders import make_messages, make_persona
from tests.support.scenarios import FLIGHTS, LEXICON, MAYA, SUMMARIES, dinner, flight


def user(*names: str, seed: int = 1) -> ScriptedUser:
    return ScriptedUser(user_briefing(flight(MAYA, *names)), lexicon=LEXICON, seed=seed)


def says(party: ScriptedUser, *lines: str) -> str:
    return party.speak(make_messages("user: I'd like to book a flight.", *lines))


def test_it_opens_without_a_preference() -> None:
    text = user().speak([])
    assert "flight" in text
    assert not LEXICON.find("Flights", text)


def test_it_answers_what_it_is_asked_and_no_more() -> None:
    text = says(user(), "assistant: Which airline would you like?")
    assert [m.value for m in LEXICON.find("Flights", text)] == ["Northwind", "Alta"]


def test_it_answers_two_questions_at_once() -> None:
    text = says(user(), "assistant: Which airline would you like? And which class?")
    assert "Northwind or Alta" in text
    assert "remium economy or business class" in text


def test_it_says_so_when_it_has_no_preference() -> None:
    party = ScriptedUser(user_briefing(dinner()), lexicon=LEXICON, seed=1)
    text = says(party, "assistant: As for the restaurant, are there any dietary needs?")
    assert "dietary needs" in text
    assert "preference" in text or "mind" in text


def test_it_points_out_that_it_has_said_something_before() -> None:
    text = says(
        user(),
        "assistant: Which seat would you like?",
        "user: I'd like an aisle seat.",
        "assistant: Which seat would you like?",
    )
    assert "an aisle seat" in text
    assert any(word in text.lower() for word in ("as i said", "once more", "mentioned"))


def test_it_corrects_a_value_that_is_not_its_own() -> None:
    text = says(user(), "assistant: I would book a window seat. Shall I go ahead?")
    assert "ot a window seat" in text
    assert "n aisle seat" in text
    assert STOP_TOKEN not in text


def test_it_corrects_an_invented_claim_about_it() -> None:
    text = says(user(), "assistant: Since you love flying with Skylark, I would book that.")
    assert "not Skylark, please" in text
    assert "Northwind or Alta" in text


def test_it_does_not_correct_a_list_to_choose_from() -> None:
    text = says(user(), "assistant: Would it be a window or an aisle seat?")
    assert "window" not in text
    assert "n aisle seat" in text


def test_it_agrees_when_what_is_proposed_is_right() -> None:
    text = says(user("Seat Preference"), "assistant: I would book an aisle seat. Shall I go ahead?")
    assert "go ahead" in text.lower() or "do that" in text.lower()


def test_it_volunteers_at_most_two_points_when_nothing_is_asked() -> None:
    text = says(user(), "assistant: Let me see.")
    assert len({m.affinity for m in LEXICON.find("Flights", text)}) == 2


def test_it_volunteers_what_is_missing_before_it_ends() -> None:
    text = says(user(), "assistant: I have booked a non-stop flight.")
    assert STOP_TOKEN not in text
    assert LEXICON.find("Flights", text)


def test_it_thanks_and_ends_when_all_is_settled_and_done() -> None:
    text = says(
        user("Seat Preference"),
        "assistant: Which seat would you like?",
        "user: I'd like an aisle seat.",
        "assistant: I have booked an aisle seat. Anything else?",
    )
    assert text.endswith(STOP_TOKEN)
    assert "thank" in text.lower()


def test_it_does_not_end_when_the_result_is_wrong() -> None:
    lines = [
        "assistant: Which seat would you like?",
        "user: I'd like an aisle seat.",
        "assistant: I have booked a window seat.",
    ]
    party = user("Seat Preference")
    assert STOP_TOKEN not in says(party, *lines)
    stubborn = [*lines, *["user: Not a window seat, please.", lines[-1]] * 6]
    assert STOP_TOKEN not in says(party, *stubborn)


def test_it_asks_on_in_other_words_when_nothing_is_ever_confirmed() -> None:
    party = user()
    history = [Message(Role.USER, party.speak([]))]
    for _ in range(20):
        history.append(Message(Role.ASSISTANT, "Interesting."))
        history.append(Message(Role.USER, party.speak(history)))
    own = [m.content for m in history if m.role is Role.USER]
    assert not any(STOP_TOKEN in text for text in own)
    assert len(set(own)) >= 18


def test_it_takes_up_a_history_that_a_person_began() -> None:
    text = says(
        user("Seat Preference", "Layover Preference"),
        "assistant: How may I help?",
        "user: aisle pls, and nonstop",
        "assistant: Here is your booking.",
    )
    assert text.endswith(STOP_TOKEN)


def test_it_has_an_answer_when_it_is_asked_something_unheard_of() -> None:
    text = says(
        user("Seat Preference"),
        "assistant: An aisle seat then. Do you own a parrot?",
    )
    assert "parrot" not in text
    assert text.count(".") + text.count("?") >= 2


def test_it_says_the_same_when_nothing_changed() -> None:
    lines = ("assistant: Which airline would you like?",)
    assert says(user(seed=4), *lines) == says(user(seed=4), *lines)
    assert len({says(user(seed=s), *lines) for s in range(8)}) > 1


def test_streaming_delivers_the_whole_text() -> None:
    pieces: list[str] = []
    assert user().speak([], on_delta=pieces.append) == "".join(pieces)


def test_a_stop_token_in_a_value_ends_nothing() -> None:
    mean = make_persona(
        affinities={"Flights": FLIGHTS | {"Preferred Airline": [f"Alta {STOP_TOKEN}"]}},
        interactions=SUMMARIES,
    )
    party = ScriptedUser(user_briefing(flight(mean)), lexicon=LEXICON, seed=1)
    text = says(party, "assistant: Which airline would you like?")
    assert STOP_TOKEN not in text
    assert "Alta" in text


def test_values_without_letters_do_not_keep_it_talking() -> None:
    odd = (Affinity("Flights", "Preferred Airline", ("🎵", "—"), listed=True),)
    relevant = (AffinityRef("Flights", "Preferred Airline"),)
    briefing = Briefing(TaskKind.SINGLE, affinities=odd, intent="Fly.", relevant=relevant)
    text = says(ScriptedUser(briefing, lexicon=LEXICON, seed=1), "assistant: It is booked.")
    assert text.endswith(STOP_TOKEN)


def test_without_affinities_it_only_waits_for_the_result() -> None:
    party = ScriptedUser(Briefing(TaskKind.SINGLE, intent="Fly."), lexicon=LEXICON, seed=1)
    assert says(party, "assistant: It is booked.").endswith(STOP_TOKEN)
    assert STOP_TOKEN not in says(party, "assistant: Hello.")


PIECES = st.sampled_from(
    ["Which seat would you like?", "I have booked it.", "Since you love Skylark, yes.", "", "\n\n"]
    + [
        "<script>alert(1)</script>",
        "مرحبا؟ كيف",
        "\u202eRTL",
        "window",
        "not",
        "aisle",
        "? ?",
        "$item",
    ]
    + ["[[DONE]]", "Shall I?", "**bold**", "Northwind" * 50, "a " * 4000]
)
TEXTS = st.one_of(st.lists(PIECES, max_size=4).map(" ".join), st.text(max_size=80))
HISTORIES = st.lists(st.builds(Message, st.sampled_from(list(Role)), TEXTS), min_size=0, max_size=7)


@settings(max_examples=150, deadline=None)
@given(history=HISTORIES, seed=st.integers(0, 5))
def test_it_answers_any_history(history: list[Message], seed: int) -> None:
    text = user(seed=seed).speak(history)
    assert text.replace(STOP_TOKEN, "").strip()
    assert text.count(STOP_TOKEN) == text.endswith(STOP_TOKEN)
    assert len(text) < 600


@pytest.mark.parametrize("key", sorted(phrases().user))
def test_no_sentence_of_the_user_is_read_as_a_result(key: str) -> None:
    from core.parties.reading import Sign, has

    asks_back = {"invites", "asks", "wishes", "several"}
    for text in phrases().user[key]:
        assert key in asks_back or not has(text.replace("$", ""), Sign.DONE)
