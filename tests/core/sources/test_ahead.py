from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from core.sources.ahead import read_ahead


def threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name == "read-ahead"]


def test_items_come_in_order_and_the_thread_ends() -> None:
    assert list(read_ahead(iter(range(100)), most=3)) == list(range(100))
    assert threads() == []


def test_a_fault_comes_after_the_items_before_it() -> None:
    def faulty() -> Iterator[int]:
        yield 1
        yield 2
        raise LookupError("third")

    items = read_ahead(faulty(), most=5)
    assert [next(items), next(items)] == [1, 2]
    with pytest.raises(LookupError, match="third"):
        next(items)
    assert threads() == []


def test_no_more_is_made_than_may_wait() -> None:
    made: list[int] = []

    def counted() -> Iterator[int]:
        for number in range(100):
            made.append(number)
            yield number

    items = read_ahead(counted(), most=2)
    assert next(items) == 0
    time.sleep(0.1)
    assert len(made) <= 4  # the one that was taken, two that wait, one at the door
    items.close()


def test_whoever_stops_early_leaves_no_thread_behind() -> None:
    def endless() -> Iterator[int]:
        while True:
            yield 1

    items = read_ahead(endless(), most=2)
    assert next(items) == 1
    items.close()
    assert threads() == []
