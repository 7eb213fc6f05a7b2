"""The call log is the checkpoint: what was answered is never asked again."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from core.calls import CallLog, Line
from core.errors import ModelUnavailable
from core.gate import Unlimited, Wish
from core.ledger import OpenCall
from core.limits import BudgetReached
from core.ports import Again, ChatMessage, ChatModel, ChatRequest, IsCancelled, OnDelta, Reply
from core.types import ModelCall, ModelSpec
from tests.builders import NOW


@dataclass
class Answers:
    """A model that answers from a list and keeps what it was asked."""

    replies: list[str | Exception]
    asked: list[ChatRequest] = field(default_factory=list)
    price: float | None = 0.01

    def reply(
        self,
        request: ChatRequest,
        *,
        on_delta: OnDelta | None = None,
        is_cancelled: IsCancelled | None = None,
        again: Again | None = None,
    ) -> Reply:
        self.asked.append(request)
        answer = self.replies[len(self.asked) - 1]
        if isinstance(answer, Exception):
            raise answer
        return Reply(answer, tokens_in=5, tokens_out=7, cost_usd=self.price)

    def worst_cost(self, request: ChatRequest) -> float | None:
        return self.price


def request(text: str) -> ChatRequest:
    return ChatRequest(ModelSpec("openai/x"), (ChatMessage("user", text),), 0.0, 100)


def line(model: Answers, kept: list[ModelCall]) -> Line:
    def keep(call: ModelCall, entry: OpenCall | None) -> None:
        assert entry is None
        kept.append(call)

    return Line(model, Unlimited(), keep, lambda: NOW)


def test_recorded_answers_are_read_and_the_first_new_request_goes_out() -> None:
    kept: list[ModelCall] = []
    first = CallLog("unit", "study", line(Answers(["one", "two"]), kept))
    first.reply("user", request("a"))
    first.reply("assistant", request("b"))

    later = Answers(["three"])
    resumed = CallLog("unit", "study", line(later, kept), list(kept))
    got = [
        resumed.reply("user", request("a")).text,
        resumed.reply("assistant", request("b")).text,
        resumed.reply("user", request("c")).text,
    ]
    assert got == ["one", "two", "three"]
    assert [r.messages[0].content for r in later.asked] == ["c"]
    assert [(c.party, c.seq, c.reply) for c in kept] == [
        ("user", 0, "one"),
        ("assistant", 0, "two"),
        ("user", 1, "three"),
    ]


def test_answer_is_kept_before_it_is_returned() -> None:
    kept: list[ModelCall] = []
    reply = CallLog("unit", "s", line(Answers(["one"]), kept)).reply("user", request("a"))
    assert kept[0].reply == reply.text
    assert kept[0].cost_usd == 0.01


def test_changed_request_is_asked_anew_and_not_answered_with_an_old_reply() -> None:
    kept: list[ModelCall] = []
    CallLog("unit", "s", line(Answers(["old"]), kept)).reply("user", request("a"))
    model = Answers(["new"])
    resumed = CallLog("unit", "s", line(model, kept), list(kept))
    assert resumed.reply("user", request("another")).text == "new"


def test_failed_call_is_logged_with_its_kind_and_never_replayed() -> None:
    kept: list[ModelCall] = []
    failing = line(Answers([ModelUnavailable("503", attempts=3)]), kept)
    with pytest.raises(ModelUnavailable):
        CallLog("unit", "s", failing).reply("user", request("a"))
    assert (kept[0].error, kept[0].attempts, kept[0].cost_usd) == (
        "ModelUnavailable: 503",
        3,
        None,
    )
    model = Answers(["fine"])
    assert CallLog("unit", "s", line(model, kept), kept).reply("user", request("a")).text == "fine"


def test_replayed_answer_streams_whole_to_whoever_watches() -> None:
    kept: list[ModelCall] = []
    CallLog("unit", "s", line(Answers(["one"]), kept)).reply("user", request("a"))
    pieces: list[str] = []
    CallLog("unit", "s", line(Answers([]), kept), list(kept)).reply(
        "user", request("a"), on_delta=pieces.append
    )
    assert "".join(pieces) == "one"


class Places:
    """A gate that numbers the places it gives, up to `most`, and notes what becomes of each."""

    def __init__(self, most: int = 9) -> None:
        self.most, self.given = most, 0
        self.ended: list[str] = []

    def admit(self, wish: Wish, model: ChatModel, is_cancelled: IsCancelled) -> OpenCall:
        del model, is_cancelled
        if self.given == self.most:
            raise BudgetReached("too dear")
        self.given += 1
        return OpenCall(str(self.given), "s", "unit", wish.party, wish.seq, "", "openai", "me")

    def stored(self, call: OpenCall | None) -> None:
        assert call is not None
        self.ended.append(f"{call.id} stored")

    def unused(self, call: OpenCall | None) -> None:
        assert call is not None
        self.ended.append(f"{call.id} unused")

    def lost(self, call: OpenCall | None) -> None:
        assert call is not None
        self.ended.append(f"{call.id} lost")


class Stubborn(Answers):
    """A model that tries again itself, as adapters do."""

    def reply(
        self,
        request: ChatRequest,
        *,
        on_delta: OnDelta | None = None,
        is_cancelled: IsCancelled | None = None,
        again: Again | None = None,
    ) -> Reply:
        assert again is not None
        attempt = 0
        while True:
            attempt += 1
            try:
                return super().reply(request)
            except ModelUnavailable as error:
                error.attempts = attempt
                with again(error):
                    pass


def failed(cost: float | None) -> ModelUnavailable:
    error = ModelUnavailable("503")
    error.cost_usd = cost
    return error


def placed(model: Answers, gate: Places, rows: list[tuple[str, str, float | None]]) -> CallLog:
    def keep(call: ModelCall, entry: OpenCall | None) -> None:
        assert entry is not None
        rows.append((entry.id, call.error or call.reply, call.cost_usd))

    return CallLog("unit", "s", Line(model, gate, keep, lambda: NOW))


def test_each_attempt_has_a_place_a_row_and_a_cost_of_its_own() -> None:
    gate, rows = Places(), []
    model = Stubborn([failed(None), failed(0.0), failed(0.002), "at last"])
    assert placed(model, gate, rows).reply("user", request("a")).text == "at last"
    wrong = "ModelUnavailable: 503"
    assert rows == [
        ("1", wrong, None),
        ("2", wrong, 0.0),
        ("3", wrong, 0.002),
        ("4", "at last", 0.01),
    ]
    assert gate.ended == ["1 stored", "2 stored", "3 stored", "4 stored"]


def test_an_attempt_that_finds_no_place_leaves_none_open() -> None:
    gate, rows = Places(most=2), []
    log = placed(Stubborn([failed(None), failed(None), "never"]), gate, rows)
    with pytest.raises(BudgetReached):
        log.reply("user", request("a"))
    assert [row[0] for row in rows] == ["1", "2"]
    assert gate.ended == ["1 stored", "2 stored"]


def test_a_place_is_lost_when_an_attempt_ends_unheard() -> None:
    gate, rows = Places(), []
    log = placed(Stubborn([failed(None), KeyError("a defect")]), gate, rows)
    with pytest.raises(KeyError):
        log.reply("user", request("a"))
    assert gate.ended == ["1 stored", "2 lost"]
