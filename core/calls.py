"""The call log: the checkpoint of everything that was paid for.

To resume a unit it is simply run again over its log. A request that the log has answered is
answered from there; the first one it has not goes out, and its answer is durable before
anybody acts on it.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from core.errors import ModelError
from core.ports import ChatModel, ChatRequest, IsCancelled, OnDelta, Reply
from core.types import ModelCall

Record = Callable[[ModelCall], None]


def never() -> bool:
    return False


class Admission(Protocol):
    """What lets a call go out: limits, as `limits.Limiter` keeps them."""

    def admit(
        self, request: ChatRequest, model: ChatModel, is_cancelled: IsCancelled
    ) -> AbstractContextManager[Callable[[Reply], None]]:
        """Wait for a place, then hand over a function that books the answer."""
        ...


@dataclass(frozen=True, slots=True)
class Line:
    """How calls go out: the model, its limits, and where answers are kept.

    `record` stores one call and returns when it is durable.
    """

    model: ChatModel
    limiter: Admission
    record: Record
    now: Callable[[], datetime]
    is_cancelled: IsCancelled = never


class CallLog:
    """The calls of one scope (a work unit or a judged dialogue). Implements `ports.Calls`.

    `recorded` are the calls stored so far. A recorded answer counts only for the same party,
    number and exact request, so that a changed prompt is asked anew and never answered with
    an old reply.
    """

    def __init__(
        self, scope: str, study_id: str, line: Line, recorded: Iterable[ModelCall] = ()
    ) -> None:
        self._scope, self._study_id, self._line = scope, study_id, line
        self._recorded = {(c.party, c.seq, c.request_hash): c for c in recorded if not c.error}
        self._next: Counter[str] = Counter()
        self._lock = threading.Lock()

    def reply(self, party: str, request: ChatRequest, *, on_delta: OnDelta | None = None) -> Reply:
        """Answer from the log, or call, store and answer. Raises what the model raises."""
        with self._lock:
            seq = self._next[party]
            self._next[party] += 1
        known = self._recorded.get((party, seq, request.hash))
        if known is not None:
            return _replayed(known, on_delta)
        line = self._line
        try:
            with line.limiter.admit(request, line.model, line.is_cancelled) as book:
                answer = line.model.reply(
                    request, on_delta=on_delta, is_cancelled=line.is_cancelled
                )
                book(answer)
        except ModelError as error:
            line.record(self._failed(party, seq, request, error))
            raise
        line.record(self._answered(party, seq, request, answer))
        return answer

    def _answered(self, party: str, seq: int, request: ChatRequest, answer: Reply) -> ModelCall:
        return ModelCall(
            scope=self._scope,
            party=party,
            seq=seq,
            request_hash=request.hash,
            model=request.spec.model,
            reply=answer.text,
            finish_reason=answer.finish_reason,
            tokens_in=answer.tokens_in,
            tokens_out=answer.tokens_out,
            cost_usd=answer.cost_usd,
            seconds=answer.seconds,
            attempts=answer.attempts,
            at=self._line.now(),
            study_id=self._study_id,
        )

    def _failed(self, party: str, seq: int, request: ChatRequest, error: ModelError) -> ModelCall:
        return ModelCall(
            scope=self._scope,
            party=party,
            seq=seq,
            request_hash=request.hash,
            model=request.spec.model,
            reply="",
            finish_reason="",
            tokens_in=None,
            tokens_out=None,
            cost_usd=None,
            seconds=0.0,
            attempts=error.attempts,
            at=self._line.now(),
            study_id=self._study_id,
            error=f"{type(error).__name__}: {error}",
        )


def _replayed(call: ModelCall, on_delta: OnDelta | None) -> Reply:
    if on_delta is not None:
        on_delta(call.reply)
    return Reply(
        text=call.reply,
        finish_reason=call.finish_reason,
        tokens_in=call.tokens_in,
        tokens_out=call.tokens_out,
        cost_usd=call.cost_usd,
        seconds=call.seconds,
        attempts=call.attempts,
    )


class NoCalls:
    """The call log of parties that call nothing: scripted ones. Calling it is a defect."""

    def reply(self, party: str, request: ChatRequest, *, on_delta: OnDelta | None = None) -> Reply:
        del request, on_delta
        raise AssertionError(f"{party} called a model without a call log")
