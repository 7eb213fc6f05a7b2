"""How fast a study goes, worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.pace import pace_of, silence
from core.types import StudyProgress, StudyState
from tests.builders import NOW, later

PROGRESS = StudyProgress(
    study_id="s1",
    study="pilot",
    state=StudyState.RUNNING,
    units=100,
    done=40,
    failed=10,
    judgements=0,
    unscored=0,
    cost_usd=0.0,
    cost_known=True,
    stop_reasons={},
    seconds=600.0,
    heartbeat_at=NOW,
)


def test_the_pace_is_that_of_the_last_two_minutes() -> None:
    """20 in 2 minutes are 10 a minute; 50 are owed: 5 minutes."""
    found = pace_of(PROGRESS, 20)
    assert (found.per_minute, found.seconds_left) == (10, 300)


def test_a_young_study_is_measured_over_its_age() -> None:
    """20 in 30 seconds are 40 a minute."""
    assert pace_of(replace(PROGRESS, seconds=30), 20).per_minute == pytest.approx(40)


def test_without_anything_finished_nobody_knows_how_long() -> None:
    found = pace_of(PROGRESS, 0)
    assert (found.per_minute, found.seconds_left) == (0, None)


def test_silence_is_counted_from_the_last_sign_of_life() -> None:
    assert silence(PROGRESS, later(31)) == 31
    assert silence(replace(PROGRESS, heartbeat_at=None), NOW) is None
