"""What the database tells of studies at work, and of past ones: read models, nothing kept."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from core.types import TaskKind


@dataclass(frozen=True, slots=True)
class ArmProgress:
    """How far one arm of a study is, in work units."""

    arm: str
    units: int
    done: int
    failed: int


@dataclass(frozen=True, slots=True)
class LeaseHolder:
    """A runner that holds units, and until when its claim on them lasts."""

    owner: str
    units: int
    until: datetime


@dataclass(frozen=True, slots=True)
class TurnsSeen:
    """Turns of past dialogues of a dataset, by the assistant's model and the kind of task."""

    model: str
    kind: TaskKind
    dialogues: int
    mean: float
    deviation: float  # of one dialogue from the mean


@dataclass(frozen=True, slots=True)
class CallsSeen:
    """Past calls of a model in one role: `user`, `assistant` or `judge`. Means of a call."""

    model: str
    role: str
    calls: int
    tokens_in: float | None
    tokens_out: float | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Past:
    """What was seen in the newest dialogues and calls of a dataset."""

    turns: tuple[TurnsSeen, ...] = ()
    calls: tuple[CallsSeen, ...] = ()
