"""Doing several small tasks at the same time, and ending in order when one of them fails."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, wait
from typing import Generic, TypeVar

T = TypeVar("T")


def side_by_side(tasks: Sequence[Callable[[], T]], pool: Executor | None) -> list[T]:
    """The results of `tasks`, in their order.

    Who asks does tasks too, and the threads of `pool` help as they are free: nobody ever waits
    for a place, so that many callers may share a small pool, and nest. When a task raises, no
    other is begun, those that were begun are awaited, and the first error is raised.
    """
    if pool is None or len(tasks) < 2:
        return [task() for task in tasks]
    work = _Work(tasks)
    helpers = [pool.submit(work.help) for _ in tasks[1:]]
    work.help()
    # Those that have not begun are not needed any more, and may be long in beginning.
    wait([helper for helper in helpers if not helper.cancel()])
    if work.error is not None:
        raise work.error
    return [work.results[i] for i in range(len(tasks))]


class _Work(Generic[T]):
    """Tasks that are taken one by one; the first error ends the taking."""

    def __init__(self, tasks: Sequence[Callable[[], T]]) -> None:
        self._left = iter(enumerate(tasks))
        self._lock = threading.Lock()
        self.results: dict[int, T] = {}
        self.error: BaseException | None = None

    def help(self) -> None:
        while (taken := self._take()) is not None:
            place, task = taken
            try:
                self.results[place] = task()
            except BaseException as error:  # raised again by whoever asked
                self._fail(error)

    def _take(self) -> tuple[int, Callable[[], T]] | None:
        with self._lock:
            return None if self.error is not None else next(self._left, None)

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            self.error = self.error or error
