"""Limits on model calls of one process: how many at once, how often, and how dear.

The budget is kept by reservation: a call is admitted only if the money spent, the worst case
of every call in flight and its own worst case together stay within it.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from core.errors import AppError, Cancelled, ModelMisconfigured
from core.ports import ChatModel, ChatRequest, IsCancelled, Reply
from core.study_file import Limits

MINUTE = 60.0
_POLL = 0.2  # seconds between looks at the cancel flag while waiting


class BudgetReached(AppError):
    """The next call could pass the study's budget."""


@dataclass(frozen=True, slots=True)
class Caps:
    """What the limits are. `spent_usd` is what the study has cost before this process."""

    concurrency: int = 32
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    budget_usd: float | None = None
    spent_usd: float = 0.0


class Limiter:
    """Admits model calls within caps; safe to share between threads.

    Requests and tokens per minute hold over any sliding minute and for each model apart;
    tokens count once they are known, so a minute may end over by the calls in flight. The
    budget is never passed: a call of unknown price is refused while one is set.
    """

    def __init__(
        self,
        caps: Caps = Caps(),
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._slots = threading.Semaphore(caps.concurrency)
        self._rpm, self._tpm = caps.requests_per_minute, caps.tokens_per_minute
        self._budget, self._spent, self._reserved = caps.budget_usd, caps.spent_usd, 0.0
        self._starts: dict[str, deque[float]] = {}
        self._tokens: dict[str, deque[tuple[float, int]]] = {}
        self._lock = threading.Lock()
        self._clock, self._sleep = clock, sleep

    @contextmanager
    def admit(
        self, request: ChatRequest, model: ChatModel, is_cancelled: IsCancelled
    ) -> Iterator[Callable[[Reply], None]]:
        """Wait for a place, then yield a function that books the answer.

        Raises `BudgetReached`, `Cancelled`, or `ModelMisconfigured` when a budget is set and
        the price of the model is unknown.
        """
        while not self._slots.acquire(timeout=_POLL):
            _check(is_cancelled)
        try:
            reserved = self._reserve(request, model)
            try:
                self._wait_for_minute(request.spec.model, is_cancelled)
                yield lambda answer: self._book(request.spec.model, answer, reserved)
            finally:
                with self._lock:
                    self._reserved -= reserved
        finally:
            self._slots.release()

    def _reserve(self, request: ChatRequest, model: ChatModel) -> float:
        if self._budget is None:
            return 0.0
        worst = model.worst_cost(request)
        if worst is None:
            raise ModelMisconfigured(
                f"The price of {request.spec.model} is unknown, so a budget cannot be kept: give "
                "input_cost_per_token and output_cost_per_token in its params, or no budget."
            )
        with self._lock:
            if self._spent + self._reserved + worst > self._budget:
                raise BudgetReached(
                    f"The budget of ${self._budget:.2f} would be passed by the next call."
                )
            self._reserved += worst
        return worst

    def _book(self, name: str, answer: Reply, reserved: float) -> None:
        with self._lock:
            # An answer that does not say its cost is booked at its worst case.
            self._spent += reserved if answer.cost_usd is None else answer.cost_usd
            tokens = (answer.tokens_in or 0) + (answer.tokens_out or 0)
            self._tokens.setdefault(name, deque()).append((self._clock(), tokens))

    def _wait_for_minute(self, name: str, is_cancelled: IsCancelled) -> None:
        while (pause := self._pause(name)) > 0:
            _check(is_cancelled)
            self._sleep(min(pause, _POLL))

    def _pause(self, name: str) -> float:
        """Seconds until this model may be called; 0 takes the place at once."""
        if self._rpm is None and self._tpm is None:
            return 0.0
        with self._lock:
            now = self._clock()
            starts = self._starts.setdefault(name, deque())
            tokens = self._tokens.setdefault(name, deque())
            while starts and starts[0] <= now - MINUTE:
                starts.popleft()
            while tokens and tokens[0][0] <= now - MINUTE:
                tokens.popleft()
            if self._rpm is not None and len(starts) >= self._rpm:
                return starts[0] + MINUTE - now
            if self._tpm is not None and sum(n for _, n in tokens) >= self._tpm:
                return tokens[0][0] + MINUTE - now
            starts.append(now)
            return 0.0


def _check(is_cancelled: IsCancelled) -> None:
    if is_cancelled():
        raise Cancelled("Stopped while waiting for a place.")


def shared_caps(
    limits: Limits,
    *,
    spent_usd: float,
    workers: int = 1,
    concurrency: int | None = None,
    budget_usd: float | None = None,
) -> Caps:
    """The share of one of `workers` processes in a study's limits, options going first.

    Each gets an equal part of what is left, so that all together never pass a limit.
    """
    budget = limits.budget_usd if budget_usd is None else budget_usd
    left = None if budget is None else max(0.0, budget - spent_usd) / workers
    rpm, tpm = limits.requests_per_minute, limits.tokens_per_minute
    return Caps(
        concurrency=max(1, (concurrency or limits.concurrency) // workers),
        requests_per_minute=None if rpm is None else max(1, rpm // workers),
        tokens_per_minute=None if tpm is None else max(1, tpm // workers),
        budget_usd=None if left is None else spent_usd + left,
        spent_usd=spent_usd,
    )
