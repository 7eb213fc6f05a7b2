"""Take what a blocking call yields, but leave it when cancelled or when it takes too long.

A socket that is being read cannot be woken from outside, so the call runs in a thread of its
other thread. Who leaves early abandons it: it closes its source at the next piece, or ends with
the source's own time-out, and nobody sees what it still brings.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from core.errors import Cancelled
from core.ports import IsCancelled

T = TypeVar("T")

POLL_SECONDS = 0.5  # how often a wait looks whether it was cancelled: hundreds may wait at once


class _Workers:
    """Threads that run one source after the other: a new thread for each call costs more."""

    def __init__(self) -> None:
        self._idle: deque[queue.SimpleQueue[Callable[[], None]]] = deque()

    def run(self, act: Callable[[], None]) -> None:
        try:
            desk = self._idle.pop()
        except IndexError:  # all are busy
            desk = queue.SimpleQueue()
            work = threading.Thread(target=self._work, args=(desk,), name="model-call", daemon=True)
            work.start()
        desk.put(act)

    def _work(self, desk: queue.SimpleQueue[Callable[[], None]]) -> None:
        while True:
            desk.get()()
            self._idle.append(desk)


_WORKERS = _Workers()


class _End:
    def __init__(self, error: BaseException | None) -> None:
        self.error = error


class _Source(Generic[T]):
    """Runs in its own thread; `left` tells it that nobody listens any more."""

    def __init__(self, start: Callable[[], Iterable[T]]) -> None:
        self.start = start
        self.left = threading.Event()
        self.pieces: queue.SimpleQueue[T | _End] = queue.SimpleQueue()

    def run(self) -> None:
        try:
            self._pass_on()
        except BaseException as error:  # handed to the caller, whatever it is
            self.pieces.put(_End(error))
        else:
            self.pieces.put(_End(None))

    def _pass_on(self) -> None:
        source = self.start()
        try:
            for piece in source:
                self.pieces.put(piece)
                if self.left.is_set():
                    return
        finally:
            with contextlib.suppress(Exception):
                getattr(source, "close", lambda: None)()


def pieces(
    start: Callable[[], Iterable[T]],
    *,
    wait_seconds: float,
    is_cancelled: IsCancelled | None = None,
) -> Iterator[T]:
    """What `start()` yields, as it comes.

    Raises `TimeoutError` when nothing comes for `wait_seconds`, `Cancelled` soon after
    `is_cancelled` says so, and whatever the source raises.
    """
    source = _Source(start)
    _WORKERS.run(source.run)
    try:
        while not isinstance(piece := _next(source, wait_seconds, is_cancelled), _End):
            yield piece
        if piece.error is not None:
            raise piece.error
    finally:
        source.left.set()


def _next(source: _Source[T], wait_seconds: float, is_cancelled: IsCancelled | None) -> T | _End:
    until = time.monotonic() + wait_seconds
    while True:
        if is_cancelled is not None and is_cancelled():
            raise Cancelled("The call to the model was cancelled.")
        left = until - time.monotonic()
        poll = left if is_cancelled is None else min(left, POLL_SECONDS)
        try:
            return source.pieces.get(timeout=max(poll, 0.001))
        except queue.Empty:
            if left <= POLL_SECONDS and time.monotonic() >= until:
                raise TimeoutError("nothing came in time") from None
