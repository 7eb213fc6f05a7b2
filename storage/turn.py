"""The turn to write to an SQLite file, handed on between threads and processes.

SQLite lets one write at a time. Who finds it busy sleeps and looks again, longer each time, so
that with two busy processes one waits up to a fifth of a second while the file is free. Here
threads queue for a lock, and processes look for a lock on a file beside the database every
millisecond. It only says whose turn it is: SQLite itself still keeps two writers apart.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from types import TracebackType

try:
    import fcntl
except ImportError:  # a system without such locks, where SQLite's own waiting must do
    fcntl = None  # type: ignore[assignment]

_LOOK = 0.001  # seconds between two looks


class Turn:
    """A context in which this process's thread may write. `patience` bounds the wait for others.

    Who has waited that long goes on, and hears from SQLite whether somebody really writes: a
    process that was stopped in the middle keeps nobody waiting for ever.
    """

    def __init__(self, database: str, patience: float) -> None:
        self._patience = patience
        self._threads = threading.Lock()
        self._path = f"{database}-turn"
        self._file: int | None = None  # opened by the first who writes: a look leaves no file

    def __enter__(self) -> None:
        self._threads.acquire()
        try:
            self._file = _open(self._path) if self._file is None else self._file
            self._wait()
        except BaseException:
            self._threads.release()
            raise

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        try:
            if self._file is not None:
                fcntl.flock(self._file, fcntl.LOCK_UN)
        finally:
            self._threads.release()

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _wait(self) -> None:
        until = time.monotonic() + self._patience
        while self._file is not None and time.monotonic() < until:
            try:
                return fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(_LOOK)
            except OSError:  # a file system without locks
                return None


def _open(path: str) -> int | None:
    if fcntl is None:
        return None
    with contextlib.suppress(OSError):  # a folder that we may not write to
        return os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    return None
