"""Waiting for a database that is away."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from core.errors import AlreadyDecided, StoreError, StoreUnavailable
from core.patience import Patience


@dataclass
class World:
    """A clock that only sleeping moves."""

    now: float = 0.0
    pauses: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def patience(self, seconds: float) -> Patience:
        return Patience(seconds, clock=lambda: self.now, sleep=self.sleep)


def away(times: int, error: StoreError) -> tuple[list[int], object]:
    asked: list[int] = []

    def act() -> str:
        asked.append(1)
        if len(asked) <= times:
            raise error
        return "there"

    return asked, act


def test_a_database_that_comes_back_is_waited_for_with_growing_pauses() -> None:
    world = World()
    _, act = away(7, StoreUnavailable("gone"))
    assert world.patience(30)(act) == "there"  # type: ignore[arg-type]
    assert world.pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0]


def test_patience_ends() -> None:
    world = World()
    _, act = away(10**6, StoreUnavailable("gone"))
    with pytest.raises(StoreUnavailable, match="gone"):
        world.patience(30)(act)  # type: ignore[arg-type]
    assert 28 <= world.now <= 30


def test_what_no_waiting_mends_is_raised_at_once() -> None:
    world = World()
    asked, act = away(1, AlreadyDecided("no"))
    with pytest.raises(AlreadyDecided):
        world.patience(30)(act)  # type: ignore[arg-type]
    assert (len(asked), world.pauses) == (1, [])
