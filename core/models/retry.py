"""When to ask a model again, and how long to wait before.

Nothing here knows a provider, a clock or chance: all three are handed in.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TypeVar

from core.errors import Cancelled, EmptyReply, ModelError, ModelUnavailable
from core.ports import Again, IsCancelled

T = TypeVar("T")

POLL_SECONDS = 0.2  # how often a wait looks whether it was cancelled


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential backoff with jitter: no request begins later than `limit_seconds`."""

    limit_seconds: float
    first_delay: float = 0.5
    longest_delay: float = 30.0

    def delay(self, failures: int, retry_after: float | None, chance: float) -> float:
        """Seconds to wait after so many failures; `chance` in [0, 1) spreads the callers.

        Never shorter than the provider's own wish; without one, half to all of the backoff.
        """
        backoff = min(self.longest_delay, self.first_delay * 2.0 ** min(failures - 1, 30))
        if retry_after is None:
            return backoff * (0.5 + 0.5 * chance)
        return max(0.0, retry_after) + 0.5 * backoff * chance


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a retry needs of the world."""

    clock: Callable[[], float]
    sleep: Callable[[float], None]
    chance: Callable[[], float]


def with_retries(
    send: Callable[[int], T],
    policy: RetryPolicy,
    waiting: Waiting,
    is_cancelled: IsCancelled | None = None,
    again: Again | None = None,
) -> T:
    """Call `send(attempt)`, attempt from 1, until it answers.

    `ModelUnavailable` is tried again while the policy's limit allows, `EmptyReply` once, other
    errors never. What is raised carries the number of attempts. Each pause is spent inside
    `again`; the time that this then waits for a place does not count. Raises `Cancelled`, and
    what `again` raises.
    """
    started, empty, attempt = waiting.clock(), 0, 0
    while True:
        attempt += 1
        _refuse_if(is_cancelled)
        try:
            return send(attempt)
        except (ModelUnavailable, EmptyReply) as error:
            error.attempts, failed = attempt, error
            empty += isinstance(error, EmptyReply)
            pause = policy.delay(attempt, _wish(error), waiting.chance())
            elapsed = waiting.clock() - started
            if empty > 1 or elapsed + pause > policy.limit_seconds:
                raise
        except ModelError as error:
            error.attempts = attempt
            raise
        with again(failed) if again is not None else nullcontext():
            _pause(pause, waiting, is_cancelled)
            paused = waiting.clock()
        started += waiting.clock() - paused


def _wish(error: ModelError) -> float | None:
    return error.retry_after if isinstance(error, ModelUnavailable) else None


def _refuse_if(is_cancelled: IsCancelled | None) -> None:
    if is_cancelled is not None and is_cancelled():
        raise Cancelled("The call to the model was cancelled.")


def _pause(seconds: float, waiting: Waiting, is_cancelled: IsCancelled | None) -> None:
    slice_ = seconds if is_cancelled is None else POLL_SECONDS
    while seconds > 0:
        _refuse_if(is_cancelled)
        waiting.sleep(min(slice_, seconds))
        seconds -= slice_
