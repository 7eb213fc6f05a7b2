"""Whose fault it was: the assistant's, the simulated user's, the task's, the judge's, or ours.

A low rating of a dialogue in which the simulated user went astray says nothing about the
assistant. A model may propose whose fault it was; only a person confirms, and results can be
drawn with and without what was confirmed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime

from core.errors import StudyError
from core.review_types import Fault, Party

NOT_THE_ASSISTANT = (Party.USER, Party.TASK, Party.INFRASTRUCTURE)
"""With one of these confirmed, a dialogue is no evidence about the assistant."""


def name_fault(  # noqa: PLR0913 -- everything that a fault is made of
    dialogue_id: str,
    party: Party,
    author: str,
    *,
    turn: int | None = None,
    note: str = "",
    confirmed: bool = True,
    now: Callable[[], datetime],
    new_id: Callable[[], str],
) -> Fault:
    """Make the row. `confirmed` is for people; what a model says is a proposal."""
    if not author.strip():
        raise StudyError("Nothing is saved yet: say who you are first.")
    return Fault(new_id(), dialogue_id, party, turn, note.strip(), author, confirmed, now())


def in_force(faults: Iterable[Fault]) -> dict[str, Fault]:
    """By dialogue the latest row that a person confirmed; `NOBODY` takes an earlier one back."""
    found = {fault.dialogue_id: fault for fault in faults if fault.confirmed}
    return {name: f for name, f in found.items() if f.party is not Party.NOBODY}


def proposed(faults: Iterable[Fault]) -> dict[str, Fault]:
    """By dialogue the latest proposal that no person has answered."""
    found: dict[str, Fault] = {}
    for fault in faults:
        if fault.confirmed:
            found.pop(fault.dialogue_id, None)
        else:
            found[fault.dialogue_id] = fault
    return found


def not_about_the_assistant(faults: Iterable[Fault]) -> frozenset[str]:
    """Dialogues that results about assistants can be drawn without."""
    held = in_force(faults)
    return frozenset(name for name, f in held.items() if f.party in NOT_THE_ASSISTANT)


def tally(faults: Iterable[Fault]) -> dict[Party, int]:
    """How many dialogues each party is held to be at fault in."""
    counts = Counter(fault.party for fault in in_force(faults).values())
    return {party: counts[party] for party in Party if counts[party]}
