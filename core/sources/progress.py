"""How far an import has come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """Counts so far; `fraction` of the source is read (0 to 1), `phase` is what goes on."""

    phase: str  # "reading" or "writing"
    fraction: float
    personas: int = 0
    scenarios: int = 0
    dialogues: int = 0


OnProgress = Callable[[ImportProgress], None]
