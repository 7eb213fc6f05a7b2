"""The nouns of conversations by real people: threads, comments, instances and settings.

The format is PersonaConvBench's (arXiv 2505.14106): one user starts a thread, others comment,
the user answers some of them, and each such reply may be a target. Nothing here holds a real
name or a link: both are replaced when a source is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

KIND = "personaconv"
DOMAINS = (
    "worldnews",
    "science",
    "politics",
    "technology",
    "gaming",
    "life",
    "movies",
    "books",
    "entrepreneur",
    "art",
)
GONE = ("[deleted]", "[removed]")
POST = 0  # the number of a thread's post, where comments count from 1


class Task(StrEnum):
    """What is asked about a reply."""

    SENTIMENT = "sentiment"
    IMPACT = "impact"
    REPLY = "reply"


def is_rated(task_id: str) -> bool:
    """Whether a judge has something to read: labels and scores are compared, not rated."""
    return task_id.partition(":")[0] not in (Task.SENTIMENT, Task.IMPACT)


def task_id_of(task: Task, comment_id: str) -> str:
    """What an instance is called within a dataset: `reply:u1p1-c1-c2`."""
    return f"{task}:{comment_id}"


def parse_task_id(task_id: str) -> tuple[Task, str, int] | None:
    """Task, thread and number of an instance, or None for a task of another kind."""
    kind, _, comment_id = task_id.partition(":")
    if kind not in tuple(Task):
        return None
    thread_id, _, rest = comment_id.partition("-c")
    return (Task(kind), thread_id, int(rest.rpartition("-c")[2])) if rest else None


class Setting(StrEnum):
    """What a model is given beside the message that is replied to."""

    P_CONV = "P-Conv"
    P_NONCONV = "P-NonConv"
    NP_CONV = "NP-Conv"
    NP_NONCONV = "NP-NonConv"
    P_CONV_SHUFFLED = "P-Conv-shuffled"

    @property
    def has_context(self) -> bool:
        return self in (Setting.P_CONV, Setting.NP_CONV, Setting.P_CONV_SHUFFLED)

    @property
    def has_history(self) -> bool:
        """Whether earlier replies are shown: the user's own, or another's in `NP-Conv`."""
        return self is not Setting.NP_NONCONV


class Mode(StrEnum):
    """`STRICT` is free of leaks; `REFERENCE` selects and asks as the released code does."""

    STRICT = "strict"
    REFERENCE = "reference"


class Split(StrEnum):
    TRAIN = "train"
    DEV = "dev"
    TEST = "test"


class Comment(NamedTuple):
    """One message under a post.

    `number` counts depth-first from 1 within the thread and `parent` is the number of what it
    answers, 0 for the post. `text` is clean; `null` says that the source had no text at all.
    `score` is the community's final one, None where it is no number.
    """

    number: int
    parent: int
    author: str
    text: str
    score: float | None
    at: datetime | None
    null: bool = False

    @property
    def gone(self) -> bool:
        """Whether nothing is left of it to read."""
        return is_gone(self.text)


def is_gone(text: str) -> bool:
    return not text or text.lower() in GONE


@dataclass(frozen=True)
class Thread:
    """One post with all its comments, in depth-first order."""

    id: str
    author: str
    domain: str
    title: str
    content: str
    score: float | None
    at: datetime | None
    comments: tuple[Comment, ...]

    def comment(self, number: int) -> Comment:
        return self.comments[number - 1]

    def comment_id(self, number: int) -> str:
        """The post's id for 0, then `u1p1-c1`, of its reply `u1p1-c1-c2`, and so on."""
        if number == POST:
            return self.id
        return "-c".join([self.id, *(str(n) for n in (*self.path(number)[1:], number))])

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Numbers of the direct answers to each message, by its number."""
        found: list[list[int]] = [[] for _ in range(len(self.comments) + 1)]
        for comment in self.comments:
            found[comment.parent].append(comment.number)
        return tuple(map(tuple, found))

    @cached_property
    def participants(self) -> frozenset[str]:
        """Everybody who wrote here and has a name, bots and the deleted included."""
        return frozenset({self.author, *(c.author for c in self.comments)} - {""})

    def path(self, number: int) -> tuple[int, ...]:
        """Numbers from the post to the parent of a comment."""
        found: list[int] = []
        while number != POST:
            number = self.comment(number).parent
            found.append(number)
        return tuple(reversed(found))

    def below(self, number: int) -> frozenset[int]:
        """A comment and everything that hangs below it."""
        found, open_ = {number}, [number]
        while open_:
            for child in self.children[open_.pop()]:
                found.add(child)
                open_.append(child)
        return frozenset(found)

    def top_of(self, number: int) -> int:
        """The top-level comment of the dialogue tree that a comment is in."""
        path = self.path(number)
        return path[1] if len(path) > 1 else number

    def text_of(self, number: int) -> str:
        """A message's text; for the post its content, which may be empty."""
        return self.content if number == POST else self.comment(number).text

    def author_of(self, number: int) -> str:
        return self.author if number == POST else self.comment(number).author

    def at_of(self, number: int) -> datetime | None:
        return self.at if number == POST else self.comment(number).at

    def own(self) -> Iterator[Comment]:
        """Comments by the one who started the thread."""
        return (c for c in self.comments if c.author == self.author)


class TargetRef(NamedTuple):
    """A reply that may be asked about, light enough to hold every one of a dataset."""

    thread_id: str
    comment_id: str
    number: int
    member: str
    domain: str
    at: datetime
    score: float | None


@dataclass(frozen=True, slots=True)
class Instance:
    """One reply to predict, by its place. `demo` is the reference mode's demonstration."""

    dataset_hash: str
    thread_id: str
    comment_id: str
    number: int
    member: str
    domain: str
    at: datetime
    split: Split
    task: Task
    demo: int | None = None

    @property
    def id(self) -> str:
        """Names the reply whatever is asked about it."""
        return f"{self.dataset_hash}:{self.thread_id}:{self.comment_id}"


@dataclass(frozen=True, slots=True)
class Pair:
    """What a member answered, and to what: one item of a history."""

    thread_id: str
    number: int
    member: str
    to: str
    parent_text: str
    text: str
    score: float | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Conversations:
    """A dataset of conversations: its counts, and the hash that instance ids begin with."""

    dataset: str
    hash: str
    threads: int
    comments: int
    members: int
    targets: int
    by_domain: tuple[DomainCounts, ...]


@dataclass(frozen=True, slots=True)
class DomainCounts:
    """What one domain holds. `trees` are top-level comments with all below them, `qualifying`
    those with the author's word in them and at least one answer, `paths` root-to-leaf ones."""

    domain: str
    threads: int
    members: int
    comments: int
    trees: int
    qualifying: int
    paths: int
    targets: int


@dataclass(frozen=True, slots=True)
class ThreadSummary:
    """A thread as a list shows it."""

    id: str
    author: str
    domain: str
    title: str
    comments: int
    targets: int
    at: datetime | None
