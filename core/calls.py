"""The call log: the checkpoint of everything that was paid for.

To resume a unit it is simply run again over its log. A request that the log has answered is
answered from there; the first one it has not goes out, and its answer is durable before
anybody acts on it.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from core.errors import ModelError
from core.gate import Gate, Wish
from core.ledger import OpenCall
from core.ports import ChatModel, ChatRequest, IsCancelled, OnDelta, Reply
from core.types import ModelCall, digest

Record = Callable[[ModelCall, OpenCall | None], None]
FindAnswer = Callable[[str], ModelCall | None]


def never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Line:
    """How calls go out: the model, the gate that keeps the limits, and where answers are kept.

    `record` stores one call, strikes out its entry in the ledger, and returns when both are
    durable. `is_cancelled` keeps calls from going out; those that are out are waited for, since
    they are paid for, until `must_leave`. `find_answer` looks among the answers that studies
    share; None where they share none.
    """

    model: ChatModel
    gate: Gate
    record: Record
    now: Callable[[], datetime]
    is_cancelled: IsCancelled = never
    must_leave: IsCancelled | None = None
    find_answer: FindAnswer | None = None


class CallLog:
    """The calls of one scope (a work unit or a judged dialogue). Implements `ports.Calls`.

    `recorded` are the calls stored so far. A recorded answer counts only for the same party,
    number and exact request, so that a changed prompt is asked anew and never answered with
    an old reply. `repetition` tells requests apart that studies which share answers repeat.
    """

    def __init__(
        self,
        scope: str,
        study_id: str,
        line: Line,
        recorded: Iterable[ModelCall] = (),
        *,
        repetition: int = 0,
    ) -> None:
        self._scope, self._study_id, self._line = scope, study_id, line
        self._repetition = repetition
        self._recorded = {(c.party, c.seq, c.request_hash): c for c in recorded if not c.error}
        self._next: Counter[str] = Counter()
        self._lock = threading.Lock()

    def reply(self, party: str, request: ChatRequest, *, on_delta: OnDelta | None = None) -> Reply:
        """Answer from the log, or call, store and answer. Raises what the model raises."""
        with self._lock:
            seq = self._next[party]
            self._next[party] += 1
        request_hash = request.hash
        known = self._recorded.get((party, seq, request_hash))
        if known is not None:
            return _replayed(known, on_delta)
        shared_as = self._shared_as(request_hash)
        wish = Wish(self._study_id, self._scope, party, seq, request, request_hash, shared_as)
        if (shared := self._find_shared(wish)) is not None:
            return _replayed(shared, on_delta)
        return self._ask(wish, on_delta)

    def _shared_as(self, request_hash: str) -> str:
        shares = self._line.find_answer is not None
        return digest(request_hash, self._repetition) if shares else ""

    def _find_shared(self, wish: Wish) -> ModelCall | None:
        """An answer that another study has paid for, logged here as one that cost nothing."""
        find = self._line.find_answer
        found = None if find is None else find(wish.shared_as)
        if found is None:
            return None
        call = replace(
            found,
            scope=self._scope,
            party=wish.party,
            seq=wish.seq,
            study_id=self._study_id,
            cost_usd=0.0,
            seconds=0.0,
            attempts=0,
            at=self._line.now(),
            cached=True,
        )
        self._line.record(call, None)
        return call

    def _ask(self, wish: Wish, on_delta: OnDelta | None) -> Reply:
        """Send one request, again if need be. Each attempt has a place and a row of its own."""
        line = self._line
        entry = line.gate.admit(wish, line.model, line.is_cancelled)
        is_out = True

        @contextmanager
        def again(error: ModelError) -> Iterator[None]:
            nonlocal entry, is_out
            is_out = False
            self._keep(self._failed(wish, error), entry)
            yield
            entry = line.gate.admit(wish, line.model, line.is_cancelled)
            is_out = True

        leave = line.must_leave or line.is_cancelled
        try:
            answer = line.model.reply(
                wish.request, on_delta=on_delta, is_cancelled=leave, again=again
            )
        except ModelError as error:
            if is_out:
                self._keep(self._failed(wish, error), entry)
            raise
        except BaseException:  # it may have been answered, and paid for, unheard
            if is_out:
                line.gate.lost(entry)
            raise
        self._keep(self._answered(wish, answer), entry)
        return answer

    def _keep(self, call: ModelCall, entry: OpenCall | None) -> None:
        gate = self._line.gate
        try:
            self._line.record(call, entry)
        except BaseException:
            gate.lost(entry)
            raise
        gate.stored(entry)

    def _answered(self, wish: Wish, answer: Reply) -> ModelCall:
        return ModelCall(
            scope=self._scope,
            party=wish.party,
            seq=wish.seq,
            request_hash=wish.request_hash,
            model=wish.request.spec.model,
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

    def _failed(self, wish: Wish, error: ModelError) -> ModelCall:
        return ModelCall(
            scope=self._scope,
            party=wish.party,
            seq=wish.seq,
            request_hash=wish.request_hash,
            model=wish.request.spec.model,
            reply="",
            finish_reason="",
            tokens_in=error.tokens_in,
            tokens_out=error.tokens_out,
            cost_usd=error.cost_usd,
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
