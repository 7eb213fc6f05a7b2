"""Importing a raw file: a stream from the file to the database, with counts on the way."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from pathlib import Path

from core.errors import SourceError
from core.personaconv.cleaning import Names
from core.personaconv.ports import ConversationStore, ConversationWriter
from core.personaconv.raw import Reader
from core.personaconv.selection import qualifying_trees, targets_of
from core.personaconv.streaming import RawFile, open_posts
from core.personaconv.types import KIND, POST, Conversations, DomainCounts, TargetRef, Thread
from core.sources.progress import ImportProgress, OnProgress
from core.types import ImportReport

_BATCH = 200
Filed = tuple[Thread, Sequence[TargetRef]]


def import_conversations(
    path: Path,
    *,
    name: str,
    store: ConversationStore,
    now: Callable[[], datetime],
    on_progress: OnProgress | None = None,
) -> ImportReport:
    """Import one raw source as the dataset `name`. Raises `SourceError`; then nothing is stored.

    The same source again adds nothing; another one needs another name.
    """
    began = now()
    with _no_cycles(), open_posts(path) as file, store.write_conversations(name) as writer:
        reader, tally = Reader(Names(writer.key)), Tally()
        added = _store(file, reader, tally, writer, on_progress)
        counts = tally.counts(name, writer.hash)
        if not counts.threads:
            raise SourceError(f"{path.name} holds no posts, so there is nothing to import.")
        ended = now()
        report = ImportReport(
            dataset=name,
            kind=KIND,
            source=path.name,
            personas=counts.members,
            tasks=counts.threads,
            scenarios=counts.targets,
            dialogues=0,
            added=added,
            irregularities=reader.irregularities().found(),
            seconds=(ended - began).total_seconds(),
            at=ended,
        )
        writer.finish(report, counts)
    return report


@contextmanager
def _no_cycles() -> Iterator[None]:
    """Without looking for garbage cycles, of which reading makes none: a fifth of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _store(
    file: RawFile,
    reader: Reader,
    tally: Tally,
    writer: ConversationWriter,
    on_progress: OnProgress | None,
) -> int:
    added = 0
    threads = (t for t in map(reader.thread, file.posts) if t is not None)
    filed = ((thread, targets_of(thread)) for thread in threads)
    while batch := list(islice(filed, _BATCH)):
        for thread, targets in batch:
            tally.add(thread, len(targets))
        added += writer.add(batch)
        if on_progress is not None:
            on_progress(ImportProgress("reading", file.fraction(), scenarios=tally.targets))
    return added


class Tally:
    """Counts by domain."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[str]] = {}
        self._members: dict[str, set[str]] = {}
        self.targets = 0

    def add(self, thread: Thread, targets: int) -> None:
        counts = self._counts.setdefault(thread.domain, Counter())
        self._members.setdefault(thread.domain, set()).add(thread.author)
        counts["threads"] += 1
        counts["comments"] += len(thread.comments)
        counts["trees"] += len(thread.children[POST])
        counts["qualifying"] += qualifying_trees(thread)
        counts["paths"] += sum(not below for below in thread.children[1:])
        counts["targets"] += targets
        self.targets += targets

    def counts(self, dataset: str, dataset_hash: str) -> Conversations:
        by_domain = tuple(
            DomainCounts(
                domain,
                counts["threads"],
                len(self._members[domain] - {""}),
                counts["comments"],
                counts["trees"],
                counts["qualifying"],
                counts["paths"],
                counts["targets"],
            )
            for domain, counts in sorted(self._counts.items())
        )
        members: set[str] = set().union(*self._members.values())
        return Conversations(
            dataset,
            dataset_hash,
            sum(d.threads for d in by_domain),
            sum(d.comments for d in by_domain),
            len(members - {""}),
            self.targets,
            by_domain,
        )
