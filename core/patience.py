"""Waiting for a database that does not answer just now: it is locked, or its server restarts."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from core.clock import LEASE_SECONDS
from core.errors import StoreUnavailable

log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Patience:
    """Repeats what a database did not answer, for about as long as a lease lasts.

    Meanwhile nobody else can claim what we hold, as they reach it no better than we do. What
    is repeated may have been done already, when only the answer was lost.
    """

    seconds: float = LEASE_SECONDS
    first_pause: float = 0.1
    longest_pause: float = 2.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def __call__(self, act: Callable[[], T]) -> T:
        """What `act` returns. Raises `StoreUnavailable` when patience is at its end."""
        pause, until = self.first_pause, None
        while True:
            try:
                return act()
            except StoreUnavailable as error:
                until = self.clock() + self.seconds if until is None else until
                if self.clock() + pause > until:
                    raise
                log.warning("%s Trying again.", error)
            self.sleep(pause)
            pause = min(2 * pause, self.longest_pause)


PATIENT = Patience()
