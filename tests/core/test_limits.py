"""Limits on calls: how many at once, how often, and how dear."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import Cancelled, ModelMisconfigured
from core.limits import MINUTE, BudgetReached, Caps, Limiter, shared_caps
from core.ports import ChatMessage, ChatRequest, Reply
from core.study_file import Limits
from core.types import ModelSpec
from tests.core.test_calls import Answers


@dataclass
class Clock:
    """Time that passes only when somebody sleeps."""

    at: float = 0.0
    slept: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at += seconds


REQUEST = ChatRequest(ModelSpec("openai/x"), (ChatMessage("user", "hi"),), 0.0, 100)


def call(limiter: Limiter, price: float | None = 0.01, cost: float | None = 0.01) -> None:
    with limiter.admit(REQUEST, Answers([], price=price), lambda: False) as book:
        book(Reply("x", tokens_in=50, tokens_out=50, cost_usd=cost))


def test_requests_per_minute_wait_and_are_not_refused() -> None:
    clock = Clock()
    limiter = Limiter(Caps(requests_per_minute=3), clock=clock, sleep=clock.sleep)
    starts: list[float] = []
    for _ in range(7):
        call(limiter)
        starts.append(clock.at)
    window: deque[float] = deque()
    for start in starts:
        window.append(start)
        while window[0] <= start - MINUTE:
            window.popleft()
        assert len(window) <= 3
    assert starts[3] == pytest.approx(MINUTE, abs=0.5)
    assert starts[6] == pytest.approx(2 * MINUTE, abs=0.5)


def test_tokens_per_minute_wait_when_they_are_used_up() -> None:
    clock = Clock()
    limiter = Limiter(Caps(tokens_per_minute=150), clock=clock, sleep=clock.sleep)
    call(limiter)
    call(limiter)  # 200 tokens used: the next has to wait for the minute
    assert clock.at == 0
    call(limiter)
    assert clock.at >= MINUTE


@given(
    budget=st.floats(0, 5),
    price=st.floats(0.001, 1),
    share=st.floats(0, 1),
    calls=st.integers(1, 60),
)
def test_budget_is_never_passed(budget: float, price: float, share: float, calls: int) -> None:
    limiter = Limiter(Caps(budget_usd=budget))
    spent = 0.0
    for _ in range(calls):
        try:
            call(limiter, price=price, cost=price * share)
        except BudgetReached:
            break
        spent += price * share
    assert spent <= budget + 1e-9


def test_calls_in_flight_count_at_their_worst_case() -> None:
    limiter = Limiter(Caps(budget_usd=0.025))
    model = Answers([], price=0.01)
    with (
        limiter.admit(REQUEST, model, lambda: False),
        limiter.admit(REQUEST, model, lambda: False),
        pytest.raises(BudgetReached),
        limiter.admit(REQUEST, model, lambda: False),
    ):
        pass


def test_money_of_a_failed_call_is_free_again() -> None:
    limiter = Limiter(Caps(budget_usd=0.01))
    with (
        pytest.raises(RuntimeError),
        limiter.admit(REQUEST, Answers([], price=0.01), lambda: False),
    ):
        raise RuntimeError
    call(limiter)


def test_unknown_price_is_refused_while_there_is_a_budget() -> None:
    with pytest.raises(ModelMisconfigured, match="price of openai/x is unknown"):
        call(Limiter(Caps(budget_usd=1)), price=None)
    call(Limiter(Caps()), price=None)  # and fine without


def test_never_more_calls_at_once_than_allowed() -> None:
    limiter = Limiter(Caps(concurrency=3))
    lock, now, most = threading.Lock(), 0, 0

    def work() -> None:
        nonlocal now, most
        with limiter.admit(REQUEST, Answers([]), lambda: False):
            with lock:
                now += 1
                most = max(most, now)
            threading.Event().wait(0.01)
            with lock:
                now -= 1

    threads = [threading.Thread(target=work) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 3


def test_waiting_ends_when_a_person_stops_the_study() -> None:
    clock = Clock()
    limiter = Limiter(Caps(requests_per_minute=1), clock=clock, sleep=clock.sleep)
    call(limiter)
    with (
        pytest.raises(Cancelled),
        limiter.admit(REQUEST, Answers([]), lambda: clock.at > 1),
    ):
        pass
    assert clock.at < 2


def test_processes_share_what_is_left_of_the_limits() -> None:
    limits = Limits(concurrency=32, requests_per_minute=100, budget_usd=1.0)
    caps = shared_caps(limits, spent_usd=0.4, workers=4)
    assert caps.concurrency == 8
    assert caps.requests_per_minute == 25
    assert caps.budget_usd == pytest.approx(0.4 + 0.6 / 4)
