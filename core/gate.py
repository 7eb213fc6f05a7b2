"""The gate that model calls of one process go out through, in the order in which they came.

First come, first served, so that all open dialogues come along evenly. Near the end of a study
that is not enough: what is left are a few long dialogues, whose calls can only follow each
other, and many questions of judges, which can go at any time. So from then on dialogues go
first, and judges fill the places that these leave free (decision 9).

What may go out is decided in the database, because other processes work under the same limits;
one thread asks for all that wait, so that many calls cost one transaction. It also looks for
them whether work should end: hundreds of threads that each looked would keep a core busy.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from core.clock import owner_is_dead, process_owner
from core.errors import Cancelled, ModelMisconfigured
from core.ledger import Caps, OpenCall, Verdict, provider_of
from core.limits import BudgetReached
from core.patience import PATIENT, Patience
from core.ports import ChatModel, ChatRequest, IsCancelled, Store

log = logging.getLogger(__name__)
POLL_SECONDS = 0.1
RENEW_SECONDS = 5.0
MOST_AT_ONCE = 128
JUDGES = "judge:"  # what the name of a judging party begins with


@dataclass(frozen=True, slots=True)
class Wish:
    """A call that somebody wants to make: whose it is, and what it would ask."""

    study_id: str
    scope: str
    party: str
    seq: int
    request: ChatRequest
    request_hash: str  # of the request: it is long, and hashed once
    shared_as: str = ""


class Gate(Protocol):
    """Lets calls out. Each that was admitted ends in exactly one of the other three ways.

    Until its answer is stored a call keeps its place, so that never more answers than places
    can be lost with the process.
    """

    def admit(self, wish: Wish, model: ChatModel, is_cancelled: IsCancelled) -> OpenCall | None:
        """Wait for a place. None where no ledger is kept.

        Raises `BudgetReached`, `Cancelled`, or `ModelMisconfigured` when a budget is set and
        the price of the model is unknown.
        """
        ...

    def stored(self, call: OpenCall | None) -> None:
        """Its answer or its failure is stored, and the call struck out with it."""
        ...

    def unused(self, call: OpenCall | None) -> None:
        """It was never sent."""
        ...

    def lost(self, call: OpenCall | None) -> None:
        """It was sent, and what became of it is not known."""
        ...


class Unlimited:
    """The gate of what somebody does by hand, one dialogue at a time: open, without a ledger."""

    def admit(self, wish: Wish, model: ChatModel, is_cancelled: IsCancelled) -> None:
        del wish, model
        if is_cancelled():
            raise Cancelled("Stopped before a call to the model.")

    def stored(self, call: OpenCall | None) -> None:
        del call

    unused = lost = stored


@dataclass(eq=False)
class _Ticket:
    """A call that waits for its place."""

    call: OpenCall
    is_cancelled: IsCancelled
    judging: bool = False
    decided: threading.Event = field(default_factory=threading.Event)
    error: Exception | None = None


class LedgerGate:
    """A `Gate` over the ledger of the database. `close` it when no call is out any more."""

    def __init__(
        self, store: Store, caps: Caps, *, owner: str = "", patience: Patience = PATIENT
    ) -> None:
        self.caps, self.owner = caps, owner or process_owner()
        self._store, self._patience = store, patience
        self._numbers = itertools.count()
        self._waiting: deque[_Ticket] = deque()
        self._out: set[str] = set()  # admitted, and not stored, lost or unused yet
        self._changed = threading.Condition()
        self._last_lap = False
        self._closed = threading.Event()
        self._threads = [
            threading.Thread(target=work, name=name, daemon=True)
            for work, name in ((self._let_out, "gate"), (self._renew, "gate-lease"))
        ]
        for thread in self._threads:
            thread.start()

    def last_lap(self) -> None:
        """From now on, calls of dialogues go before those of judges."""
        with self._changed:
            self._last_lap = True

    # --- one call -----------------------------------------------------------------------------

    def admit(self, wish: Wish, model: ChatModel, is_cancelled: IsCancelled) -> OpenCall:
        judging = wish.party.startswith(JUDGES)
        ticket = _Ticket(self._open(wish, model), is_cancelled, judging)
        with self._changed:
            if self._closed.is_set():
                raise Cancelled("Stopped before a call to the model.")
            self._waiting.append(ticket)
            self._changed.notify_all()
        ticket.decided.wait()
        if ticket.error is not None:
            raise ticket.error
        if is_cancelled():
            self.unused(ticket.call)
            raise Cancelled("Stopped before a call to the model.")
        return ticket.call

    def stored(self, call: OpenCall | None) -> None:
        assert call is not None
        with self._changed:
            self._out.discard(call.id)
            self._changed.notify_all()

    def unused(self, call: OpenCall | None) -> None:
        self._end(call, lost=False)

    def lost(self, call: OpenCall | None) -> None:
        self._end(call, lost=True)

    def close(self) -> None:
        """Stop letting anything out."""
        with self._changed:
            self._closed.set()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _open(self, wish: Wish, model: ChatModel) -> OpenCall:
        request, worst = wish.request, None
        if self.caps.budget_usd is not None:
            worst = model.worst_cost(request)
            if worst is None:
                raise ModelMisconfigured(
                    f"What an answer of {request.spec.model} can cost is unknown, so a budget "
                    "cannot be kept: give input_cost_per_token, output_cost_per_token and "
                    "max_tokens in its params, or no budget."
                )
        return OpenCall(
            id=f"{self.owner}:{next(self._numbers)}",
            study_id=wish.study_id,
            scope=wish.scope,
            party=wish.party,
            seq=wish.seq,
            request_hash=wish.request_hash,
            provider=provider_of(request.spec),
            owner=self.owner,
            worst_usd=worst,
            shared_as=wish.shared_as,
        )

    def _end(self, call: OpenCall | None, *, lost: bool) -> None:
        assert call is not None
        try:
            self._patience(lambda: self._store.end_calls([call], lost=lost))
        finally:
            self.stored(call)

    # --- the thread that asks for all -----------------------------------------------------------

    def _let_out(self) -> None:
        while batch := self._next():
            try:
                verdicts = self._ask(batch)
            except Exception as error:  # a thread's last line: every waiter must hear of it
                self._refuse(batch, error)
                continue
            if not self._settle(batch, verdicts):
                with self._changed:
                    self._changed.wait(POLL_SECONDS)  # for one of ours to end, or of others

    def _next(self) -> list[_Ticket]:
        """The tickets to ask for, as soon as one of them may have a place; empty at the end."""
        with self._changed:
            while not self._closed.is_set():
                self._drop_cancelled()
                if self._waiting and len(self._out) < self.caps.concurrency:
                    return self._first()
                self._changed.wait(POLL_SECONDS if self._waiting else None)
            for ticket in list(self._waiting):
                self._tell(ticket, Cancelled("Stopped while waiting for a place."))
        return []

    def _drop_cancelled(self) -> None:
        for ticket in [t for t in self._waiting if t.is_cancelled()]:
            self._tell(ticket, Cancelled("Stopped while waiting for a place."))

    def _first(self) -> list[_Ticket]:
        waiting = list(self._waiting)
        if self._last_lap:
            waiting.sort(key=lambda ticket: ticket.judging)
        return waiting[:MOST_AT_ONCE]

    def _ask(self, batch: Sequence[_Ticket]) -> list[Verdict]:
        calls = [ticket.call for ticket in batch]
        tries = itertools.count()
        return self._patience(
            lambda: self._store.admit_calls(calls, self.caps, again=next(tries) > 0)
        )

    def _settle(self, batch: Sequence[_Ticket], verdicts: Sequence[Verdict]) -> bool:
        """Tell each ticket what was decided; whether anything was."""
        with self._changed:
            for ticket, verdict in zip(batch, verdicts, strict=True):
                if verdict is Verdict.GO:
                    self._out.add(ticket.call.id)
                    self._tell(ticket, None)
                elif verdict is Verdict.OVER_BUDGET:
                    self._tell(ticket, self._too_dear())
        return any(verdict is not Verdict.WAIT for verdict in verdicts)

    def _too_dear(self) -> BudgetReached:
        return BudgetReached(
            f"The budget of ${self.caps.budget_usd:.2f} would be passed by the next call."
        )

    def _refuse(self, batch: Sequence[_Ticket], error: Exception) -> None:
        with self._changed:
            for ticket in batch:
                self._tell(ticket, error)

    def _tell(self, ticket: _Ticket, error: Exception | None) -> None:
        self._waiting.remove(ticket)
        ticket.error = error
        ticket.decided.set()

    # --- the thread that says that we are alive -------------------------------------------------

    def _renew(self) -> None:
        while True:
            try:
                for owner in self._store.call_owners():
                    if owner_is_dead(owner):
                        self._store.lose_calls(owner)
                self._store.renew_calls(self.owner)
            except Exception as error:  # the next time may get through; a lease outlives five
                log.warning("calls that are out could not be renewed: %s", error)
            if self._closed.wait(RENEW_SECONDS):
                return
