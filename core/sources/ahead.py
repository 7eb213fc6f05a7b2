"""Reading ahead in a second thread, while the first one works on what is read."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")
_WAIT = 0.05  # seconds between looks at whether anybody still wants to read


class _Ahead(Generic[T]):
    """The thread's side: items go into a queue, then the fault that ended them, or nothing."""

    def __init__(self, items: Iterator[T], most: int) -> None:
        self.ready: queue.Queue[tuple[T] | BaseException | None] = queue.Queue(most)
        self.unwanted = threading.Event()
        self._items = items
        self.thread = threading.Thread(target=self._produce, name="read-ahead", daemon=True)

    def _produce(self) -> None:
        fault: BaseException | None = None
        try:
            for item in self._items:
                if not self._put((item,)):
                    return
        except BaseException as error:  # handed to the reader, whatever it is
            fault = error
        self._put(fault)

    def _put(self, what: tuple[T] | BaseException | None) -> bool:
        while not self.unwanted.is_set():
            try:
                self.ready.put(what, timeout=_WAIT)
            except queue.Full:
                continue
            return True
        return False


def read_ahead(items: Iterator[T], *, most: int) -> Generator[T, None, None]:
    """Yield `items` in order, made in a thread of their own, at most `most` ahead.

    What the making raises is raised here. The thread has ended when this generator has.
    """
    ahead = _Ahead(items, most)
    ahead.thread.start()
    try:
        while (got := ahead.ready.get()) is not None:
            if isinstance(got, BaseException):
                raise got
            yield got[0]
    finally:
        ahead.unwanted.set()
        ahead.thread.join()
