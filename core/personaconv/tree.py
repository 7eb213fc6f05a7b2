"""A thread as a list of rows to draw: folded, locked after a moment, its path marked. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from core.personaconv.types import POST, Thread

FOLD_ABOVE = 200  # comments, from which on only the path is open at first


@dataclass(frozen=True, slots=True)
class TreeRow:
    """One message. `text` is None where it is locked; `folded` counts what is hidden below."""

    number: int
    depth: int
    who: str
    at: datetime | None
    minutes: int | None
    score: float | None
    text: str | None
    mark: str
    folded: int


def people_of(thread: Thread) -> dict[str, str]:
    """U1 for whoever started the thread, then U2 and so on as they come."""
    found = {thread.author: "U1"}
    for comment in thread.comments:
        if comment.author:
            found.setdefault(comment.author, f"U{len(found) + 1}")
    return found


def folded_at_first(thread: Thread, target: int | None) -> frozenset[int]:
    """In a long thread, everything with answers but what leads to the target."""
    if len(thread.comments) <= FOLD_ABOVE:
        return frozenset()
    path = set(thread.path(target)) if target else set()
    return fold_all(thread) - path


def fold_all(thread: Thread) -> frozenset[int]:
    return frozenset(c.number for c in thread.comments if thread.children[c.number])


def tree_rows(
    thread: Thread,
    *,
    target: int | None = None,
    until: datetime | None = None,
    folded: Iterable[int] = (),
) -> list[TreeRow]:
    """Rows in depth-first order. What was written after `until` is there, and locked."""
    shut = frozenset(folded)
    people, path = people_of(thread), frozenset(thread.path(target) if target else ())
    sizes = _sizes(thread)
    return [
        TreeRow(
            number,
            depth,
            people.get(thread.author_of(number), "nobody"),
            thread.at_of(number),
            _minutes(thread, number),
            thread.score if number == POST else thread.comment(number).score,
            None if _is_later(thread, number, until) else _text(thread, number),
            "target" if number == target else "path" if number in path else "",
            sizes[number] if number in shut else 0,
        )
        for number, depth in _walk(thread, shut)
    ]


def _walk(thread: Thread, shut: frozenset[int]) -> Iterator[tuple[int, int]]:
    open_ = [(POST, 0)]
    while open_:
        number, depth = open_.pop()
        yield number, depth
        if number not in shut:
            open_.extend((child, depth + 1) for child in reversed(thread.children[number]))


def _sizes(thread: Thread) -> list[int]:
    """How many messages are below each."""
    sizes = [0] * (len(thread.comments) + 1)
    for comment in reversed(thread.comments):
        sizes[comment.parent] += sizes[comment.number] + 1
    return sizes


def _text(thread: Thread, number: int) -> str:
    return f"{thread.title} {thread.content}".strip() if number == POST else thread.text_of(number)


def _minutes(thread: Thread, number: int) -> int | None:
    at = thread.at_of(number)
    return round((at - thread.at).total_seconds() / 60) if at and thread.at else None


def _is_later(thread: Thread, number: int, until: datetime | None) -> bool:
    at = thread.at_of(number)
    return until is not None and number != POST and (at is None or at > until)


def moments(thread: Thread) -> list[datetime]:
    """When something was written, each moment once, in order."""
    found = {c.at for c in thread.comments if c.at} | ({thread.at} if thread.at else set())
    return sorted(found)
