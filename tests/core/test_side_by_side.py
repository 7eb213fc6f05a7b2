"""Tasks at the same time: results in order, errors in order, nobody waits for a place."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from core.side_by_side import side_by_side


def test_results_come_in_the_order_of_the_tasks() -> None:
    with ThreadPoolExecutor(3) as pool:
        assert side_by_side([partial(pow, i, 2) for i in range(20)], pool) == [
            i * i for i in range(20)
        ]
    assert side_by_side([lambda: 1, lambda: 2], None) == [1, 2]
    assert side_by_side([], None) == []


def test_tasks_run_at_the_same_time() -> None:
    """A barrier lets nobody through before all four are there."""
    barrier = threading.Barrier(4, timeout=10)
    with ThreadPoolExecutor(3) as pool:
        assert sorted(side_by_side([barrier.wait] * 4, pool)) == [0, 1, 2, 3]


def test_a_full_pool_is_not_waited_for() -> None:
    go_on = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(go_on.wait)
        assert side_by_side([lambda: 1, lambda: 2, lambda: 3], pool) == [1, 2, 3]
        go_on.set()


def test_tasks_may_have_tasks_in_the_same_pool() -> None:
    with ThreadPoolExecutor(2) as pool:

        def outer(n: int) -> list[int]:
            return side_by_side([partial(pow, n, e) for e in (1, 2)], pool)

        assert side_by_side([partial(outer, n) for n in (2, 3, 4)], pool) == [
            [2, 4],
            [3, 9],
            [4, 16],
        ]


def test_an_error_lets_what_was_begun_end_and_begins_nothing_more() -> None:
    both_begun, failed = threading.Barrier(2, timeout=10), threading.Event()
    ended: list[str] = []

    def slow() -> None:
        both_begun.wait()
        assert failed.wait(10)
        ended.append("slow")

    def wrong() -> None:
        both_begun.wait()
        try:
            raise ValueError("first")
        finally:
            failed.set()

    later: list[Callable[[], None]] = [lambda: ended.append("later")] * 50
    with ThreadPoolExecutor(1) as pool, pytest.raises(ValueError, match="first"):
        side_by_side([slow, wrong, *later], pool)
    assert "slow" in ended
    assert len(ended) < 51
