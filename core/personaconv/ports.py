"""What remembers conversations: the part of `core.ports.Store` that is about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from core.personaconv.types import Conversations, TargetRef, Thread, ThreadSummary
from core.types import ImportReport


class ConversationWriter(Protocol):
    """Writes one dataset of threads inside one transaction.

    `key` makes its pseudonyms and never leaves the database. The same threads again add nothing;
    other ones raise `SourceError`, since ids count within one source.
    """

    @property
    def key(self) -> bytes: ...
    @property
    def hash(self) -> str:
        """Of every thread added so far, in their order."""
        ...

    def add(self, threads: Sequence[tuple[Thread, Sequence[TargetRef]]]) -> int:
        """Add threads, with their targets, in file order; returns how many are new."""
        ...

    def finish(self, report: ImportReport, counts: Conversations) -> None: ...


class ConversationStore(Protocol):
    """Threads, and who may be asked about what. `get_*` raise `NotFound`."""

    def write_conversations(
        self, name: str, *, sample: bool = False
    ) -> AbstractContextManager[ConversationWriter]: ...
    def get_conversations(self, dataset: str) -> Conversations: ...
    def list_threads(
        self,
        dataset: str,
        *,
        domain: str | None = None,
        author: str | None = None,
        limit: int = 200,
        offset: int = 0,
    ) -> list[ThreadSummary]:
        """Threads in file order."""
        ...

    def list_thread_authors(self, dataset: str, domain: str | None = None) -> list[str]:
        """Whoever started a thread, in alphabetical order."""
        ...

    def get_threads(self, dataset: str, thread_ids: Sequence[str]) -> dict[str, Thread]:
        """Whole threads by id; unknown ids are left out."""
        ...

    def threads_of_members(self, dataset: str, members: Sequence[str]) -> dict[str, list[Thread]]:
        """By member, all threads that each wrote in, in file order."""
        ...

    def iter_threads(self, dataset: str) -> Iterator[Thread]:
        """Every thread in file order, read a few at a time."""
        ...

    def list_targets(self, dataset: str) -> list[TargetRef]:
        """Every reply that may be asked about, in file order."""
        ...
