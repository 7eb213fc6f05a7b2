"""What a member answered before, and whose history stands in for it where it should not count."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from core.personaconv.selection import is_visible, parent_text
from core.personaconv.types import Instance, Pair, Thread, is_gone

MOST = 8
_TRIES = 40  # members asked for a history before an instance goes without
PairsOf = Callable[[str], Sequence[Pair]]


def pairs_of(threads: Iterable[Thread], member: str) -> list[Pair]:
    """Everything that a member answered in these threads, newest first."""
    found = [
        Pair(
            thread.id,
            c.number,
            member,
            thread.author_of(c.parent),
            parent_text(thread, c.parent),
            c.text,
            c.score,
            c.at,
        )
        for thread in threads
        for c in thread.comments
        if c.author == member and c.at is not None and not c.gone
        if not is_gone(parent_text(thread, c.parent)) and is_visible(thread, c.parent, c)
    ]
    return sorted(found, key=lambda p: (p.at, p.thread_id, p.number), reverse=True)


def history(pairs: Sequence[Pair], instance: Instance, most: int = MOST) -> tuple[Pair, ...]:
    """What is shown of a member's own past: other threads first, then this one, newest first."""
    earlier = [p for p in pairs if p.at < instance.at]
    elsewhere = [p for p in earlier if p.thread_id != instance.thread_id]
    here = [p for p in earlier if p.thread_id == instance.thread_id]
    return tuple((elsewhere + here)[:most])


def others_history(
    members: Sequence[str], pairs_by: PairsOf, instance: Instance, seed: int, most: int = MOST
) -> tuple[Pair, ...]:
    """The past of another member of the domain, drawn anew for each instance.

    Neither the instance's thread nor its member is in it, on either side of a pair. Empty where
    nobody else of the domain had answered anything by then.
    """
    rng = random.Random(f"{seed}/{instance.id}")
    others = [m for m in members if m != instance.member]
    for member in rng.sample(others, min(len(others), _TRIES)):
        found = [p for p in pairs_by(member) if _is_foreign(p, instance, instance.at)]
        if found:
            return tuple(found[:most])
    return ()


def _is_foreign(pair: Pair, instance: Instance, before: datetime) -> bool:
    own = instance.member in (pair.member, pair.to)
    return pair.at < before and pair.thread_id != instance.thread_id and not own


def shuffled(pairs: Sequence[Pair], instance: Instance, seed: int) -> tuple[Pair, ...]:
    """The same past in another order, which is the same each time."""
    mixed = list(pairs)
    random.Random(f"{seed}/shuffled/{instance.id}").shuffle(mixed)
    return tuple(mixed)
