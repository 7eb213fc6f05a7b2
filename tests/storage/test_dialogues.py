"""Dialogues and the call log on both engines."""

from __future__ import annotations

from typing import Any

import pytest

from core.errors import AlreadyDecided, NotFound, StoreError
from core.ports import DialogueFilter, Finished
from core.types import Dialogue, DialogueSummary, Message, Role, StopReason, TaskKind
from storage.store import SqlStore
from tests.builders import (
    NOW,
    WEIRD,
    later,
    make_arm,
    make_call,
    make_dialogue,
    make_instrument,
    make_judgement,
    make_override,
    make_study,
    make_task,
)

EVERY = DialogueFilter()


@pytest.fixture
def ready(store: SqlStore) -> SqlStore:
    store.add_study(make_study())
    return store


def add(store: SqlStore, *dialogues: Dialogue) -> None:
    store.add_finished([Finished(d) for d in dialogues])


def ids(store: SqlStore, where: DialogueFilter = EVERY, **options: Any) -> list[str]:
    found = [d.id for d in store.list_dialogues(where, **options)]
    if not options:
        assert store.count_dialogues(where) == len(found)
    return found


def test_a_dialogue_of_weird_text_comes_back_whole(ready: SqlStore) -> None:
    dialogue = make_dialogue(
        f"user: {WEIRD}",
        "assistant: half a pair \ud83d here",
        "user: ",
        arm=make_arm(WEIRD, model="openai/x", context="all", stop=[WEIRD], top_p=0.1),
        task=make_task(WEIRD, domains=(WEIRD, "Books"), intent=WEIRD),
        stop="turn_limit",
        stop_detail=WEIRD,
        persona_id=WEIRD,
        dataset=None,
        author=WEIRD,
        parent_id="elsewhere",
        parent_message=2,
        prompts={WEIRD: WEIRD},
        seed=2**62,
    )
    add(ready, dialogue)
    assert ready.get_dialogue(dialogue.id) == dialogue
    assert list(ready.iter_dialogues("s1")) == [dialogue]


def test_who_wrote_a_message_and_when_is_kept(ready: SqlStore) -> None:
    written = Message(Role.USER, "hi", later(3), "Ana")
    dialogue = make_dialogue(id="d")
    object.__setattr__(dialogue, "messages", (written, Message(Role.ASSISTANT, "hello")))
    add(ready, dialogue)
    assert ready.get_dialogue("d").messages == dialogue.messages


def test_a_dialogue_without_messages_comes_back(ready: SqlStore) -> None:
    dialogue = make_dialogue(id="d", stop="model_error")
    object.__setattr__(dialogue, "messages", ())
    add(ready, dialogue)
    assert ready.get_dialogue("d") == dialogue


def test_an_unknown_dialogue_is_not_found(ready: SqlStore) -> None:
    with pytest.raises(NotFound, match="d9"):
        ready.get_dialogue("d9")
    assert ready.find_dialogue_of_unit("u9") is None


def test_a_dialogue_is_found_by_its_unit(ready: SqlStore) -> None:
    dialogue = make_dialogue(unit_id="u1")
    add(ready, dialogue)
    assert ready.find_dialogue_of_unit("u1") == dialogue


def test_a_known_dialogue_is_refused_and_nothing_beside_it_is_stored(ready: SqlStore) -> None:
    first, second = make_dialogue(id="d1"), make_dialogue(id="d2")
    ready.add_finished([Finished(first, (make_judgement(first),))])
    with pytest.raises(AlreadyDecided):
        ready.add_finished(
            [
                Finished(second, (make_judgement(second),)),
                Finished(make_dialogue("user: x", id="d1")),
            ]
        )
    assert ids(ready) == ["d1"]
    assert ready.get_dialogue("d1") == first
    assert ready.list_judgements("d2") == []


def test_a_dialogue_with_a_doubled_judgement_is_not_half_stored(ready: SqlStore) -> None:
    dialogue = make_dialogue(id="d1")
    twice = (make_judgement(dialogue, id="j1"), make_judgement(dialogue, id="j2"))
    with pytest.raises(AlreadyDecided):
        ready.add_finished([Finished(dialogue, twice)])
    assert ids(ready) == []


def test_a_dialogue_of_an_unknown_study_is_refused(ready: SqlStore) -> None:
    with pytest.raises(StoreError, match="not stored"):
        add(ready, make_dialogue(study_id="s9"))


def test_a_summary_says_everything_but_the_messages(ready: SqlStore) -> None:
    arm = make_arm("gpt", model="openai/gpt", context=["situation", "demographics"])
    task = make_task("MD-task-1", domains=("Books", "Flights"))
    add(ready, make_dialogue("user: a", "assistant: b", "user: c", id="d", arm=arm, task=task))
    assert ready.list_dialogues(EVERY) == [
        DialogueSummary(
            id="d",
            study_id="s1",
            study="pilot",
            dataset="sample",
            persona_id="user0",
            task_id="MD-task-1",
            kind=TaskKind.MULTI,
            domains=("Books", "Flights"),
            intent=task.intent,
            arm="gpt",
            model="openai/gpt",
            context="demographics+situation",
            repetition=0,
            turns=2,
            stop_reason=StopReason.USER_DONE,
            created_at=NOW,
        )
    ]


@pytest.fixture
def several(ready: SqlStore) -> SqlStore:
    ready.add_study(make_study("s2", name="other", kind="imported"))
    alarm = make_task("SD-Alarm-task-10", domains=("Alarm",), intent="Wake me at 7")
    late = make_task("SD-Alarm-task-9", domains=("Alarm",))
    multi = make_task("MD-task-1", domains=("Alarm", "Books"))
    add(
        ready,
        make_dialogue("user: hi", "assistant: yo", id="a", persona_id="user10", task=alarm),
        make_dialogue(
            "user: hi",
            "assistant: yo",
            "user: 100%_sure",
            id="b",
            persona_id="user2",
            task=multi,
            created_at=later(1),
            arm=make_arm("pushy"),
        ),
        make_dialogue(
            "user: Où est l'École?",
            "assistant: x",
            "user: y",
            "assistant: z",
            "user: bye",
            id="c",
            persona_id="user1",
            task=late,
            stop="model_error",
            created_at=later(2),
            arm=make_arm("inventive"),
        ),
        make_dialogue(id="e", study_id="s2", dataset=None, created_at=later(3)),
    )
    return ready


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("newest", "ecba"),
        ("oldest", "abce"),
        ("turns", "cbae"),
        ("persona", "ecba"),
        ("task", "caeb"),
        ("arm", "aecb"),
    ],
)
def test_every_order_is_stable(several: SqlStore, order: str, expected: str) -> None:
    assert ids(several, order=order) == list(expected)
    paged = [ids(several, order=order, limit=1, offset=i) for i in range(4)]
    assert paged == [[i] for i in expected]


def test_an_unknown_order_is_refused(several: SqlStore) -> None:
    with pytest.raises(ValueError, match="newest"):
        several.list_dialogues(EVERY, order="seq; DROP TABLE dialogue")


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (DialogueFilter(study_id="s1"), "cba"),
        (DialogueFilter(dataset="sample"), "cba"),
        (DialogueFilter(arms=frozenset({"pushy", "inventive"})), "cb"),
        (DialogueFilter(personas=frozenset({"user1", "user10"})), "ca"),
        (DialogueFilter(domains=frozenset({"Books"})), "eb"),
        (DialogueFilter(domains=frozenset({"Book"})), ""),
        (DialogueFilter(stop_reasons=frozenset({StopReason.MODEL_ERROR})), "c"),
        (DialogueFilter(kind=TaskKind.MULTI), "b"),
        (DialogueFilter(study_id="s1", kind=TaskKind.SINGLE, arms=frozenset({"attentive"})), "a"),
    ],
)
def test_a_filter_keeps_what_fits(several: SqlStore, where: DialogueFilter, expected: str) -> None:
    assert ids(several, where) == list(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("WAKE me", "a"),  # an intent
        ("user10", "a"),  # an id
        ("alarm-TASK", "ca"),
        ("100%_SURE", "b"),  # a message; % and _ are themselves
        ("1%sure", ""),
        ("100__sure", ""),
        ("école", "c"),
        ("ÉCOLE", "c"),
        ("OÙ", "c"),
        ("assistant", ""),  # a role is no word of a dialogue
        ("' OR 1=1 --", ""),
        ("/", ""),
        ("\\", ""),
        ("\x00", ""),
        ("l'É", "c"),
    ],
)
def test_text_is_searched_as_it_is_written(several: SqlStore, text: str, expected: str) -> None:
    assert ids(several, DialogueFilter(text=text)) == list(expected)


def test_weird_text_is_found(ready: SqlStore) -> None:
    add(ready, make_dialogue(f"user: before {WEIRD} after", id="d"))
    add(ready, make_dialogue(id="i", task=make_task(intent=f"want {WEIRD}")))
    assert sorted(ids(ready, DialogueFilter(text=WEIRD))) == ["d", "i"]
    assert ids(ready, DialogueFilter(text=WEIRD + "!")) == []


def test_judged_values_and_overrides_are_filters(several: SqlStore) -> None:
    judged = {
        i: make_judgement(several.get_dialogue(i), value=value)
        for i, value in (("a", 1), ("b", 3), ("e", None))
    }
    several.add_judgements(list(judged.values()))
    several.add_judgements(
        [make_judgement(several.get_dialogue("a"), value=4, dimension="grounding")]
    )
    several.add_override(make_override(judged["b"]))
    assert ids(several, DialogueFilter(min_value=("personalization", 2))) == ["b"]
    assert ids(several, DialogueFilter(max_value=("personalization", 3))) == ["b", "a"]
    assert ids(several, DialogueFilter(min_value=("personalization", 1), overridden=False)) == ["a"]
    assert ids(several, DialogueFilter(overridden=True)) == ["b"]
    assert ids(several, DialogueFilter(overridden=False)) == ["e", "c", "a"]


def test_dialogues_are_read_through_in_the_order_of_storing(
    ready: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.dialogues._PIECE", 2)
    dialogues = [make_dialogue(id=f"d{i}", created_at=later(-i)) for i in range(5)]
    add(ready, *dialogues)
    assert list(ready.iter_dialogues("s1")) == dialogues
    assert list(ready.iter_dialogues("s9")) == []


# --- the call log ------------------------------------------------------------------------------


def test_calls_come_back_whole_and_in_order(ready: SqlStore) -> None:
    calls = [
        make_call(WEIRD, WEIRD, 1, reply=WEIRD, error=WEIRD, study_id=""),
        make_call(WEIRD, WEIRD, 0, tokens_in=None, tokens_out=None, cost_usd=None, cached=True),
    ]
    ready.add_calls([*calls, make_call("other")])
    assert ready.list_calls(WEIRD) == calls
    assert ready.list_calls("nobody") == []


def test_an_answered_call_is_logged_once(ready: SqlStore) -> None:
    ready.add_calls([make_call()])
    with pytest.raises(AlreadyDecided, match="logged before"):
        ready.add_calls([make_call(seq=1), make_call()])
    assert ready.list_calls("u1") == [make_call()]


def test_a_failed_call_may_be_repeated_and_then_answered(ready: SqlStore) -> None:
    failed = make_call(error="timed out")
    calls = [failed, failed, make_call(), make_call(request_hash="another")]
    for call in calls:
        ready.add_calls([call])
    assert ready.list_calls("u1") == calls


def test_nothing_to_add_is_no_fault(ready: SqlStore) -> None:
    ready.add_finished([])
    ready.add_calls([])
    ready.add_judgements([])
    assert ids(ready) == []


def test_arms_of_one_name_keep_their_own_parameters(ready: SqlStore) -> None:
    cold = make_dialogue(id="cold", arm=make_arm("gpt", temperature=0))
    warm = make_dialogue(id="warm", arm=make_arm("gpt", temperature=1))
    add(ready, cold, warm)
    assert ready.get_dialogue("cold").arm == cold.arm
    assert ready.get_dialogue("warm").arm == warm.arm
    assert ids(ready, DialogueFilter(arms=frozenset({"gpt"}))) == ["warm", "cold"]


def test_instruments_are_kept_apart_by_their_parameters(ready: SqlStore) -> None:
    dialogue = make_dialogue(id="d")
    judgements = [
        make_judgement(dialogue, instrument=make_instrument(temperature=t)) for t in (0, 1)
    ]
    ready.add_finished([Finished(dialogue, tuple(judgements))])
    assert ready.list_judgements("d") == judgements
