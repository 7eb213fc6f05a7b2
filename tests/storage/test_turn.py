"""Threads and processes take turns at a file, and nobody waits for ever."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from storage.turn import Turn

HOLDER = """
import sys, time
from storage.turn import Turn
with Turn(sys.argv[1], 5):
    print("mine", flush=True)
    time.sleep(float(sys.argv[2]))
"""


@contextmanager
def holder(database: Path, seconds: float) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the turn, and keeps it for so long."""
    pytest.importorskip("fcntl")
    command = [sys.executable, "-c", HOLDER, str(database), str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "mine\n"
        yield process
        process.kill()


def test_threads_are_never_in_together(tmp_path: Path) -> None:
    turn, inside, most = Turn(str(tmp_path / "a.db"), 5), 0, 0

    def work(_: int) -> None:
        nonlocal inside, most
        with turn:
            inside += 1
            most = max(most, inside)
            time.sleep(0.001)
            inside -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(64)))
    assert (most, inside) == (1, 0)


def test_another_process_is_waited_for(tmp_path: Path) -> None:
    with holder(tmp_path / "a.db", 0.5):
        began = time.monotonic()
        with Turn(str(tmp_path / "a.db"), 20):
            waited = time.monotonic() - began
    assert 0.2 < waited < 10


def test_the_turn_is_free_when_its_holder_is_killed(tmp_path: Path) -> None:
    with holder(tmp_path / "a.db", 600):
        pass  # killed
    began = time.monotonic()
    with Turn(str(tmp_path / "a.db"), 20):
        assert time.monotonic() - began < 5


def test_a_holder_that_hangs_is_not_waited_for_beyond_patience(tmp_path: Path) -> None:
    with holder(tmp_path / "a.db", 600), Turn(str(tmp_path / "a.db"), 0.05):
        pass  # SQLite says whether anybody really writes


def test_a_place_without_a_lock_file_still_keeps_threads_apart(tmp_path: Path) -> None:
    turn = Turn(str(tmp_path / "no such folder" / "a.db"), 5)
    with turn:
        pass
    turn.close()
