"""Take what a blocking call yields, but leave it when cancelled or when it takes too long.

A socket that is being read cannot be woken from outside, so the call runs in a thread of its
own. Who leaves early abandons the thread: it closes its source at the next piece, or ends with
the source's own time-out, and nobody sees what it still brings.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from core.errors import Cancelled
from core.models.retry import POLL_SECONDS
from core.ports import IsCancelled

T = TypeVar("T")


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
    threading.Thread(target=source.run, name="model-call", daemon=True).start()
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
