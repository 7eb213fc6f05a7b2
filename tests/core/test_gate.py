"""The gate lets calls out in order, within limits that other processes share."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from core.clock import process_owner
from core.errors import Cancelled, ModelMisconfigured, StoreError
from core.gate import LedgerGate, Wish
from core.ledger import Caps, OpenCall, Verdict
from core.limits import BudgetReached
from core.patience import Patience
from core.ports import ChatMessage, ChatRequest
from core.types import ModelSpec
from storage.store import SqlStore, open_store
from tests.builders import make_call, make_study
from tests.core.test_calls import Answers

REQUEST = ChatRequest(ModelSpec("openai/x"), (ChatMessage("user", "hi"),), 0.0, 100)


def wish(number: int = 0, study: str = "s1") -> Wish:
    return Wish(study, "u1", "user", number, REQUEST, REQUEST.hash)


def never() -> bool:
    return False


@contextmanager
def gate_of(store: Any, caps: Caps, **options: Any) -> Iterator[LedgerGate]:
    gate = LedgerGate(store, caps, owner=options.pop("owner", process_owner()), **options)
    try:
        yield gate
    finally:
        gate.close()


def answer(store: Any, gate: LedgerGate, call: OpenCall | None, cost: float | None = 0.01) -> None:
    """What the call log does when an answer has come."""
    assert call is not None
    logged = replace(
        make_call(call.scope, seq=call.seq), study_id=call.study_id, party=call.id, cost_usd=cost
    )
    store.add_calls([logged], entries=[call])
    gate.stored(call)


def test_no_more_are_out_than_there_are_places(store: SqlStore) -> None:
    most, out, lock = 0, 0, threading.Lock()

    def one(number: int) -> None:
        nonlocal most, out
        call = gate.admit(wish(number), Answers([]), never)
        with lock:
            out += 1
            most = max(most, out)
        time.sleep(0.01)
        with lock:
            out -= 1
        answer(store, gate, call)

    with gate_of(store, Caps(concurrency=3)) as gate, ThreadPoolExecutor(12) as pool:
        list(pool.map(one, range(24)))
    assert 2 <= most <= 3
    assert store.call_owners() == []


def test_two_gates_share_the_places_and_neither_starves(store: SqlStore) -> None:
    most, out, lock = 0, 0, threading.Lock()
    until = time.monotonic() + 1.5

    def work(gate: LedgerGate, name: int) -> int:
        nonlocal most, out
        done = 0
        while time.monotonic() < until:
            call = gate.admit(wish(name * 100_000 + done), Answers([]), never)
            with lock:
                out += 1
                most = max(most, out)
            time.sleep(0.02)
            with lock:
                out -= 1
            answer(store, gate, call)
            done += 1
        return done

    with (
        gate_of(store, Caps(concurrency=4), owner="a") as first,
        gate_of(store, Caps(concurrency=4), owner="b") as second,
        ThreadPoolExecutor(16) as pool,
    ):
        counts = list(pool.map(work, [first, second] * 8, range(16)))
    assert most <= 4
    shares = sum(counts[0::2]), sum(counts[1::2])
    assert min(shares) > 0.1 * sum(shares)


def test_call_keeps_its_place_until_its_answer_is_stored(store: SqlStore) -> None:
    with gate_of(store, Caps(concurrency=1)) as gate:
        first = gate.admit(wish(0), Answers([]), never)
        with pytest.raises(Cancelled):
            gate.admit(wish(1), Answers([]), lambda: not threading.Event().wait(0.3))
        answer(store, gate, first)
        gate.unused(gate.admit(wish(1), Answers([]), never))


@contextmanager
def clocked(url: str, at: Callable[[], datetime]) -> Iterator[SqlStore]:
    opened = open_store(url, now=at)
    try:
        yield opened
    finally:
        opened.close()


def test_requests_per_minute_hold_over_a_sliding_minute(database_url: str) -> None:
    moment = [datetime(2026, 1, 1, tzinfo=UTC).timestamp()]
    caps = Caps(requests_per_minute=2)
    with clocked(database_url, lambda: datetime.fromtimestamp(moment[0], UTC)) as store:

        def ask(number: int) -> Verdict:
            call = OpenCall(f"c{number}", "s1", "u", "user", number, "h", "openai", "me")
            return store.admit_calls([call], caps)[0]

        assert [ask(0), ask(1), ask(2)] == [Verdict.GO, Verdict.GO, Verdict.WAIT]
        moment[0] += 59.9
        assert ask(3) is Verdict.WAIT
        moment[0] += 0.2
        assert ask(4) is Verdict.GO


def test_tokens_count_when_they_are_known(store: SqlStore) -> None:
    with gate_of(store, Caps(tokens_per_minute=10)) as gate:
        answer(store, gate, gate.admit(wish(0), Answers([]), never))
        waiting = threading.Event()
        with pytest.raises(Cancelled):
            gate.admit(wish(1), Answers([]), lambda: not waiting.wait(0.3))


def test_waiting_ends_soon_when_work_should(store: SqlStore) -> None:
    stop = threading.Event()
    with gate_of(store, Caps(concurrency=1)) as gate:
        first = gate.admit(wish(0), Answers([]), never)
        threading.Timer(0.2, stop.set).start()
        started = time.monotonic()
        with pytest.raises(Cancelled):
            gate.admit(wish(1), Answers([]), stop.is_set)
        assert time.monotonic() - started < 2
        gate.unused(first)
    assert store.call_owners() == []


def test_budget_is_never_passed_whatever_comes_at_once(store: SqlStore) -> None:
    served: list[int] = []

    def one(number: int) -> None:
        try:
            call = gate.admit(wish(number), Answers([], price=0.03), never)
        except BudgetReached:
            return
        served.append(number)
        time.sleep(0.005)
        answer(store, gate, call, cost=0.01)  # cheaper than the most it could have cost

    with gate_of(store, Caps(concurrency=20, budget_usd=0.2)) as gate, ThreadPoolExecutor(20) as p:
        list(p.map(one, range(60)))
    assert 17 <= len(served) <= 20  # and what is left is too little for the worst case of one


def test_answer_without_a_cost_is_booked_at_the_most_it_can_have(store: SqlStore) -> None:
    with gate_of(store, Caps(budget_usd=0.05)) as gate:
        answer(store, gate, gate.admit(wish(0), Answers([], price=0.03), never), cost=None)
        with pytest.raises(BudgetReached):
            gate.admit(wish(1), Answers([], price=0.03), never)


def test_unknown_price_is_refused_under_a_budget_and_fine_without(store: SqlStore) -> None:
    with (
        gate_of(store, Caps(budget_usd=1)) as gate,
        pytest.raises(ModelMisconfigured, match="input_cost_per_token"),
    ):
        gate.admit(wish(), Answers([], price=None), never)
    with gate_of(store, Caps()) as gate:
        gate.unused(gate.admit(wish(), Answers([], price=None), never))


def test_call_of_a_dead_process_stays_counted_for_good(store: SqlStore) -> None:
    store.add_study(make_study())
    machine, _, rest = process_owner().rpartition(":")
    dead = f"{machine.rpartition(':')[0]}:999999999:{rest}"
    lost = OpenCall("x", "s1", "u", "user", 0, "h", "openai", dead, 0.9)
    assert store.admit_calls([lost], Caps(1)) == [Verdict.GO]
    with gate_of(store, Caps(concurrency=1, budget_usd=1.0)) as gate:
        with pytest.raises(BudgetReached):
            gate.admit(wish(1), Answers([], price=0.2), never)
        # Its place is free, though: nobody is there who could still be answered.
        answer(store, gate, gate.admit(wish(2), Answers([], price=0.05), never), cost=0.05)
    progress = store.progress("s1")
    assert (progress.possibly_paid, progress.possibly_paid_usd) == (1, 0.9)


def test_call_that_was_given_up_and_comes_back_is_not_counted_twice(store: SqlStore) -> None:
    store.add_study(make_study())
    with gate_of(store, Caps(budget_usd=1.0)) as gate:
        call = gate.admit(wish(), Answers([], price=0.5), never)
        assert call is not None
        store.lose_calls(call.owner)
        assert store.progress("s1").possibly_paid_usd == 0.5
        answer(store, gate, call, cost=0.1)
    progress = store.progress("s1")
    assert (progress.possibly_paid, progress.possibly_paid_usd) == (0, pytest.approx(0.0))
    assert progress.cost_usd == pytest.approx(0.1)


class Broken:
    """A store whose ledger is out of reach."""

    def admit_calls(self, *_: Any, **__: Any) -> list[Verdict]:
        raise StoreError("The database is away.")

    def call_owners(self) -> list[str]:
        raise StoreError("The database is away.")

    def renew_calls(self, owner: str) -> None:
        raise StoreError("The database is away.")


def test_everybody_who_waits_hears_that_the_database_is_away() -> None:
    store: Any = Broken()
    gate = LedgerGate(store, Caps(), patience=Patience(seconds=0))
    with ThreadPoolExecutor(4) as pool:
        waits = [pool.submit(gate.admit, wish(i), Answers([]), never) for i in range(4)]
        for wait in waits:
            with pytest.raises(StoreError, match="away"):
                wait.result(10)
    gate.close()


def test_admission_whose_word_was_lost_is_given_again(store: SqlStore) -> None:
    call = OpenCall("c", "s1", "u", "user", 0, "h", "openai", "me")
    assert store.admit_calls([call], Caps(1)) == [Verdict.GO]
    other = replace(call, id="d")
    both = store.admit_calls([other, call], Caps(1), again=True)
    assert both == [Verdict.WAIT, Verdict.GO]


def test_on_the_last_lap_calls_of_dialogues_go_before_those_of_judges(store: SqlStore) -> None:
    order: list[str] = []
    parties = ["judge:a", "judge:b", "user", "assistant"]

    def one(party: str) -> None:
        call = gate.admit(Wish("s1", party, party, 0, REQUEST, REQUEST.hash), Answers([]), never)
        order.append(party)
        answer(store, gate, call)

    with gate_of(store, Caps(concurrency=1)) as gate, ThreadPoolExecutor(4) as pool:
        first = gate.admit(wish(), Answers([]), never)
        gate.last_lap()
        waits = []
        for party in parties:
            waits.append(pool.submit(one, party))
            while len(gate._waiting) < len(waits):
                time.sleep(0.01)
        answer(store, gate, first)
        for wait in waits:
            wait.result(30)
    assert order == ["user", "assistant", "judge:a", "judge:b"]
