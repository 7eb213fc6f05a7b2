"""Leaving a blocking call: when cancelled, when late, when the listener goes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from core.errors import Cancelled
from core.models.interruptible import pieces


def test_everything_comes_in_order_when_nobody_leaves() -> None:
    assert list(pieces(lambda: range(1000), wait_seconds=5)) == list(range(1000))


def test_what_the_source_raises_comes_after_its_pieces() -> None:
    def source() -> Iterator[int]:
        yield 1
        raise OSError("gone")

    coming = pieces(source, wait_seconds=5)
    assert next(coming) == 1
    with pytest.raises(OSError, match="gone"):
        next(coming)


@pytest.mark.parametrize("polled", [False, True])
def test_a_source_that_is_silent_is_left_after_the_wait(polled: bool) -> None:
    release = threading.Event()

    def source() -> list[int]:
        release.wait(10)
        return [1]

    started = time.monotonic()
    with pytest.raises(TimeoutError):
        list(pieces(source, wait_seconds=0.3, is_cancelled=(lambda: False) if polled else None))
    assert 0.3 <= time.monotonic() - started < 1
    release.set()


def test_a_silent_source_is_left_soon_when_it_is_cancelled() -> None:
    release, cancel = threading.Event(), threading.Event()
    threading.Timer(0.1, cancel.set).start()
    started = time.monotonic()
    with pytest.raises(Cancelled):
        list(pieces(lambda: [release.wait(10)], wait_seconds=9, is_cancelled=cancel.is_set))
    assert time.monotonic() - started < 0.6
    release.set()


def test_the_source_is_closed_at_its_next_piece_when_the_listener_has_gone() -> None:
    closed, go_on = threading.Event(), threading.Event()

    def source() -> Iterator[int]:
        try:
            yield 1
            go_on.wait(5)
            yield 2
            yield 3
        finally:
            closed.set()

    coming = pieces(source, wait_seconds=5)
    assert next(coming) == 1
    coming.close()  # type: ignore[attr-defined]
    go_on.set()
    assert closed.wait(5)
