"""The turn loop: order, stopping, and what is kept when something fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import Cancelled, ContextOverflow, ModelMisconfigured, ModelRefused
from core.limits import BudgetReached
from core.parties import STOP_TOKEN
from core.ports import OnDelta
from core.simulate import TURN_LIMIT, Watch, cut_stop, simulate
from core.types import Message, Role, StopReason, TaskKind
from tests.builders import NOW


@dataclass
class Says:
    """A party that says what it is given, in order, and remembers what it saw."""

    lines: list[str | Exception]
    saw: list[tuple[str, ...]] = field(default_factory=list)
    prompt_id: str = "says@1"

    def speak(self, history: Sequence[Message], *, on_delta: OnDelta | None = None) -> str:
        self.saw.append(tuple(m.content for m in history))
        line = self.lines[len(self.saw) - 1]
        if isinstance(line, Exception):
            raise line
        if on_delta is not None:
            on_delta(line)
        return line


def watch(is_cancelled: Callable[[], bool] = lambda: False) -> Watch:
    return Watch(lambda: NOW, is_cancelled=is_cancelled)


def texts(messages: tuple[Message, ...]) -> list[str]:
    return [f"{m.role}: {m.content}" for m in messages]


def test_dialogue_ends_with_one_last_answer_when_the_user_is_done() -> None:
    user = Says(["hi", "yes please", f"thanks {STOP_TOKEN}"])
    assistant = Says(["hello", "done", "you are welcome"])
    exchange = simulate(user, assistant, max_turns=20, watch=watch())
    assert texts(exchange.messages) == [
        "user: hi",
        "assistant: hello",
        "user: yes please",
        "assistant: done",
        "user: thanks",
        "assistant: you are welcome",
    ]
    assert exchange.stop_reason is StopReason.USER_DONE
    assert assistant.saw[-1][-1] == "thanks"  # the token was cut before anyone saw it


def test_no_empty_message_and_no_further_answer_when_the_token_stands_alone() -> None:
    exchange = simulate(
        Says(["hi", STOP_TOKEN]), Says(["hello", "unwanted"]), max_turns=20, watch=watch()
    )
    assert texts(exchange.messages) == ["user: hi", "assistant: hello"]
    assert exchange.stop_reason is StopReason.USER_DONE


def test_dialogue_goes_on_when_the_token_is_merely_contained() -> None:
    inside = f"I shall say {STOP_TOKEN} when I am done, not yet"
    exchange = simulate(
        Says(["hi", inside, f"now {STOP_TOKEN}"]), Says(["a", "b", "c"]), max_turns=9, watch=watch()
    )
    assert texts(exchange.messages)[2] == f"user: {inside}"
    assert len(exchange.messages) == 6


def test_opening_token_is_cut_and_ends_nothing() -> None:
    user = Says([f"hi {STOP_TOKEN}", f"bye {STOP_TOKEN}"])
    exchange = simulate(user, Says(["a", "b"]), max_turns=9, watch=watch())
    assert texts(exchange.messages) == ["user: hi", "assistant: a", "user: bye", "assistant: b"]


@pytest.mark.parametrize("kind", TaskKind)
def test_dialogue_ends_on_an_unanswered_user_message_when_the_turns_run_out(kind: TaskKind) -> None:
    limit = {TaskKind.SINGLE: 20, TaskKind.MULTI: 30}[kind]
    assert TURN_LIMIT[kind] == limit
    user, assistant = Says(["more"] * 99), Says(["here"] * 99)
    exchange = simulate(user, assistant, max_turns=limit, watch=watch())
    assert exchange.stop_reason is StopReason.TURN_LIMIT
    assert [m.role for m in exchange.messages].count(Role.ASSISTANT) == limit
    assert exchange.messages[-1].role is Role.USER


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (ModelRefused("no"), StopReason.REFUSED),
        (ContextOverflow("too long"), StopReason.CONTEXT_OVERFLOW),
        (BudgetReached("enough"), StopReason.BUDGET),
        (Cancelled("stop"), StopReason.CANCELLED),
    ],
)
def test_what_was_said_is_kept_with_its_reason_when_a_party_fails(
    fault: Exception, reason: StopReason
) -> None:
    exchange = simulate(Says(["hi"]), Says([fault]), max_turns=20, watch=watch())
    assert texts(exchange.messages) == ["user: hi"]
    assert exchange.stop_reason is reason
    assert str(fault) in exchange.stop_detail
    assert not reason.judged


def test_misconfigured_model_is_raised_because_no_dialogue_can_come_of_it() -> None:
    with pytest.raises(ModelMisconfigured):
        simulate(Says(["hi"]), Says([ModelMisconfigured("bad key")]), max_turns=3, watch=watch())


@pytest.mark.parametrize("nothing", ["", "  \n "])
def test_nothing_said_is_a_model_error_and_never_a_message(nothing: str) -> None:
    exchange = simulate(Says(["hi"]), Says([nothing]), max_turns=3, watch=watch())
    assert exchange.stop_reason is StopReason.MODEL_ERROR
    assert texts(exchange.messages) == ["user: hi"]


def test_assistant_text_is_kept_to_the_letter() -> None:
    raw = "  <b>x</b> $y$ ![](http://127.0.0.1/a.png)\n\u202eRTL  "
    exchange = simulate(
        Says(["hi", f"ok {STOP_TOKEN}"]), Says([raw, "bye"]), max_turns=3, watch=watch()
    )
    assert exchange.messages[1].content == raw


def test_nothing_more_is_asked_when_a_person_stops_it() -> None:
    stop = iter([False, False, True])
    assistant = Says(["a"])
    exchange = simulate(Says(["hi"]), assistant, max_turns=9, watch=watch(lambda: next(stop)))
    assert exchange.stop_reason is StopReason.CANCELLED
    assert texts(exchange.messages) == ["user: hi", "assistant: a"]


@pytest.mark.parametrize(
    ("text", "rest", "stopped"),
    [
        ("Thanks. [[DONE]]", "Thanks.", True),
        ("[[DONE]]", "", True),
        ("Thanks. [[DONE]].\n", "Thanks.", True),
        ('"Thanks. [[DONE]]"', '"Thanks.', True),
        ("Thanks [[DONE]] [[DONE]]", "Thanks", True),
        ("[[DONE]] but one more thing", "[[DONE]] but one more thing", False),
        ("[[done]]", "[[done]]", False),
        ("Thanks.", "Thanks.", False),
    ],
)
def test_stop_token_counts_only_at_the_end(text: str, rest: str, stopped: bool) -> None:
    assert cut_stop(text) == (rest, stopped)


@given(st.text())
def test_no_text_keeps_a_token_at_its_end(text: str) -> None:
    rest, _ = cut_stop(text + STOP_TOKEN)
    assert not rest.rstrip().endswith(STOP_TOKEN)
    assert text.strip().startswith(rest) or STOP_TOKEN in text
