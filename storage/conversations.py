"""Conversations as they are read: threads, members and targets."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

import sqlalchemy as sa

from core.personaconv.ports import ConversationWriter
from core.personaconv.types import (
    KIND,
    Comment,
    Conversations,
    DomainCounts,
    TargetRef,
    Thread,
    ThreadSummary,
)
from core.types import Dataset
from storage.columns import among
from storage.conversation_tables import CONVERSATIONS, THREAD, THREAD_MEMBER
from storage.conversation_writer import ThreadWriter
from storage.database import AnyRow, AnySelect, Database
from storage.tables import DATASET

_BATCH = 200


def thread_of(row: AnyRow) -> Thread:
    """A whole thread from its row."""
    content, score, people, items = json.loads(row.body)
    return Thread(
        id=row.thread_id,
        author=row.author,
        domain=row.domain,
        title=row.title,
        content=content,
        score=score,
        at=row.at,
        comments=tuple(
            Comment(
                number,
                parent,
                people[author],
                text,
                points,
                None if at is None else datetime.fromtimestamp(at, UTC),
                bool(null),
            )
            for number, (parent, author, text, points, at, null) in enumerate(items, 1)
        ),
    )


class ConversationRows:
    """The part of the store that remembers conversations by real people."""

    _db: Database
    _now: Callable[[], datetime]

    @contextmanager
    def write_conversations(
        self, name: str, *, sample: bool = False
    ) -> Iterator[ConversationWriter]:
        """Write one dataset in one transaction. An exception inside undoes all of it."""
        with self._db.write() as connection:
            yield ThreadWriter(connection, Dataset(name, KIND, 0, 0, 0, self._now(), sample))

    def get_conversations(self, dataset: str) -> Conversations:
        """What a dataset holds. Raises `NotFound`."""
        query = _of(sa.select(CONVERSATIONS), CONVERSATIONS, dataset)
        row = self._db.one(query, f"There is no dataset of conversations called {dataset}.")
        return Conversations(
            dataset,
            row.hash,
            row.threads,
            row.comments,
            row.members,
            row.targets,
            tuple(DomainCounts(*counts) for counts in row.by_domain),
        )

    def list_threads(
        self,
        dataset: str,
        *,
        domain: str | None = None,
        author: str | None = None,
        limit: int = 200,
        offset: int = 0,
    ) -> list[ThreadSummary]:
        """Threads in file order; no text but the titles is read."""
        names = ("thread_id", "author", "domain", "title", "comments", "targets", "at")
        query = _of(sa.select(*(THREAD.c[name] for name in names)), THREAD, dataset)
        if domain is not None:
            query = query.where(THREAD.c.domain == domain)
        if author is not None:
            query = query.where(THREAD.c.author == author)
        query = query.order_by(THREAD.c.key).limit(limit).offset(offset)
        return [ThreadSummary(*row) for row in self._db.rows(query)]

    def list_thread_authors(self, dataset: str, domain: str | None = None) -> list[str]:
        """Whoever started a thread, in alphabetical order."""
        query = _of(sa.select(THREAD.c.author).distinct(), THREAD, dataset)
        if domain is not None:
            query = query.where(THREAD.c.domain == domain)
        return sorted(row.author for row in self._db.rows(query))

    def get_threads(self, dataset: str, thread_ids: Sequence[str]) -> dict[str, Thread]:
        """Whole threads by id, in the order asked for; unknown ids are left out."""
        wanted = list(dict.fromkeys(thread_ids))
        query = _of(sa.select(THREAD), THREAD, dataset)
        rows = self._db.rows(query.where(among(THREAD.c.thread_id, wanted))) if wanted else []
        found = {row.thread_id: thread_of(row) for row in rows}
        return {i: found[i] for i in wanted if i in found}

    def threads_of_members(self, dataset: str, members: Sequence[str]) -> dict[str, list[Thread]]:
        """By member, all threads that each wrote in; each thread is read once."""
        columns = (THREAD_MEMBER.c.member, THREAD_MEMBER.c.thread_key)
        query = _of(sa.select(*columns), THREAD_MEMBER, dataset)
        query = query.where(among(THREAD_MEMBER.c.member, members))
        places = self._db.rows(query.order_by(THREAD_MEMBER.c.thread_key)) if members else []
        keys = sorted({row.thread_key for row in places})
        threads: dict[int, Thread] = {}
        for start in range(0, len(keys), _BATCH):
            some = keys[start : start + _BATCH]
            rows = self._db.rows(sa.select(THREAD).where(THREAD.c.key.in_(some)))
            threads |= {row.key: thread_of(row) for row in rows}
        found: dict[str, list[Thread]] = {member: [] for member in members}
        for row in places:
            found[row.member].append(threads[row.thread_key])
        return found

    def iter_threads(self, dataset: str) -> Iterator[Thread]:
        """Every thread in file order; each batch is a transaction of its own."""
        last = -1
        while True:
            query = _of(sa.select(THREAD), THREAD, dataset).where(THREAD.c.key > last)
            rows = self._db.rows(query.order_by(THREAD.c.key).limit(_BATCH))
            if not rows:
                return
            last = rows[-1].key
            yield from map(thread_of, rows)

    def list_targets(self, dataset: str) -> list[TargetRef]:
        """Every reply that may be asked about, in file order."""
        names = ("thread_id", "author", "domain", "target_list")
        query = _of(sa.select(*(THREAD.c[name] for name in names)), THREAD, dataset)
        query = query.where(THREAD.c.targets > 0).order_by(THREAD.c.key)
        return [
            TargetRef(
                row.thread_id,
                comment_id,
                number,
                row.author,
                row.domain,
                datetime.fromtimestamp(at, UTC),
                score,
            )
            for row in self._db.rows(query)
            for number, comment_id, at, score in json.loads(row.target_list)
        ]


def _of(query: AnySelect, table: sa.Table, dataset: str) -> AnySelect:
    """The rows of `table` that belong to `dataset`."""
    joined = query.join(DATASET, DATASET.c.key == table.c.dataset_key)
    return joined.where(DATASET.c.name == dataset)
