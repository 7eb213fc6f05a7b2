"""How fast a study goes, and when it will be over. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from core.types import StudyProgress

WINDOW = timedelta(minutes=2)
_LEAST = 5.0  # seconds, below which a pace would be noise


@dataclass(frozen=True, slots=True)
class Pace:
    """Dialogues a minute lately, and the seconds left at that pace; None when nobody can say."""

    per_minute: float
    seconds_left: float | None


def pace_of(progress: StudyProgress, recent: int) -> Pace:
    """The pace of a study of which `recent` dialogues were finished within `WINDOW`.

    A study younger than the window is measured over its age.
    """
    seconds = min(WINDOW.total_seconds(), max(progress.seconds, _LEAST))
    per_minute = 60 * recent / seconds
    left = None if not recent else 60 * progress.owed / per_minute
    return Pace(per_minute, left)


def silence(progress: StudyProgress, now: datetime) -> float | None:
    """Seconds since the last sign of life, or None when there was none."""
    beat = progress.heartbeat_at
    return None if beat is None else max(0.0, (now - beat).total_seconds())
