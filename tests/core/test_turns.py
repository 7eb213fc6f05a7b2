"""Turns: first come, first served, and dialogues before judges on the last lap."""

from __future__ import annotations

import threading
import time

import pytest

from core.calls import never
from core.errors import Cancelled
from core.turns import Rank, Turns


class Queue:
    """Threads that want a turn, and the order in which they got it."""

    def __init__(self, turns: Turns) -> None:
        self.turns, self.served = turns, [""] * 0
        self.threads: list[threading.Thread] = []

    def join(self, name: str, rank: Rank = Rank.DIALOGUE) -> None:
        before = len(self.turns._waiting)
        self.threads.append(threading.Thread(target=self._take, args=(name, rank)))
        self.threads[-1].start()
        deadline = time.monotonic() + 10
        while len(self.turns._waiting) == before:
            assert time.monotonic() < deadline
            time.sleep(0.001)

    def _take(self, name: str, rank: Rank) -> None:
        with self.turns.turn(rank, never):
            self.served.append(name)

    def all_served(self) -> list[str]:
        for thread in self.threads:
            thread.join(10)
        return self.served


def test_who_waits_longest_is_served_first() -> None:
    turns = Turns(1)
    queue = Queue(turns)
    with turns.turn(Rank.DIALOGUE, never):
        for name, rank in (("a", Rank.JUDGE), ("b", Rank.DIALOGUE), ("c", Rank.JUDGE)):
            queue.join(name, rank)
    assert queue.all_served() == ["a", "b", "c"]


def test_dialogues_go_before_judges_on_the_last_lap() -> None:
    turns = Turns(1)
    queue = Queue(turns)
    turns.last_lap()
    with turns.turn(Rank.DIALOGUE, never):
        for name, rank in (("j1", Rank.JUDGE), ("d1", Rank.DIALOGUE), ("j2", Rank.JUDGE)):
            queue.join(name, rank)
        queue.join("d2")
    assert queue.all_served() == ["d1", "d2", "j1", "j2"]


def test_who_gives_up_waiting_takes_no_place_with_him() -> None:
    turns, stop = Turns(1), threading.Event()
    raised: list[Exception] = []

    def give_up() -> None:
        try:
            with turns.turn(Rank.JUDGE, stop.is_set):
                pass
        except Cancelled as error:
            raised.append(error)

    thread = threading.Thread(target=give_up)
    with turns.turn(Rank.DIALOGUE, never):
        thread.start()
        stop.set()
        thread.join(10)
        assert len(raised) == 1
    with turns.turn(Rank.DIALOGUE, never):
        pass
    with pytest.raises(Cancelled), turns.turn(Rank.DIALOGUE, lambda: True):
        pass
    with turns.turn(Rank.DIALOGUE, never):
        pass


def test_never_more_are_in_than_there_are_places() -> None:
    turns, lock = Turns(3), threading.Lock()
    inside, most = 0, 0

    def pass_through() -> None:
        nonlocal inside, most
        for _ in range(20):
            with turns.turn(Rank.DIALOGUE, never):
                with lock:
                    inside += 1
                    most = max(most, inside)
                time.sleep(0.0005)
                with lock:
                    inside -= 1

    threads = [threading.Thread(target=pass_through) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 3
