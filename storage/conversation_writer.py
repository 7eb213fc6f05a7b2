"""Writing conversations: a stream of threads into one transaction."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import asdict

import sqlalchemy as sa

from core.errors import SourceError
from core.personaconv.types import Conversations, TargetRef, Thread
from core.types import Dataset, ImportReport
from storage.columns import to_json
from storage.conversation_tables import CONVERSATIONS, THREAD
from storage.database import AnyRow
from storage.dataset_rows import report_values
from storage.dataset_writer import claim_dataset
from storage.rows import Values
from storage.tables import DATASET, IMPORT_REPORT


def thread_values(thread: Thread) -> Values:
    """The columns of a thread but for its dataset and the count of its targets."""
    people = {name: k for k, name in enumerate(dict.fromkeys(c.author for c in thread.comments))}
    body = to_json(
        [
            thread.content,
            thread.score,
            list(people),
            [
                [
                    c.parent,
                    people[c.author],
                    c.text,
                    c.score,
                    c.at.timestamp() if c.at else None,
                    int(c.null),
                ]
                for c in thread.comments
            ],
        ]
    )
    head = f"{thread.id}\0{thread.author}\0{thread.domain}\0{thread.title}\0{thread.at}\0"
    content = hashlib.sha256(head.encode("utf-8", "surrogatepass"))
    content.update(body.encode("utf-8", "surrogatepass"))
    return {
        "thread_id": thread.id,
        "author": thread.author,
        "domain": thread.domain,
        "comments": len(thread.comments),
        "at": thread.at,
        "content_hash": content.hexdigest()[:32],
        "title": thread.title,
        "body": body,
    }


class ThreadWriter:
    """`core.personaconv.ports.ConversationWriter` over one open transaction."""

    def __init__(self, connection: sa.Connection, dataset: Dataset) -> None:
        self._connection, self._name = connection, dataset.name
        row = claim_dataset(connection, dataset)
        self._dataset: int = row.key
        self._hash = hashlib.sha256()
        found = connection.execute(
            sa.select(CONVERSATIONS).where(CONVERSATIONS.c.dataset_key == self._dataset)
        ).first()
        self._known = self._known_hashes() if found else None
        self._key: str = found.pseudonym_key if found else secrets.token_hex(32)

    @property
    def key(self) -> bytes:
        """What pseudonyms are made with; made anew for each dataset."""
        return bytes.fromhex(self._key)

    @property
    def hash(self) -> str:
        """Of every thread added so far, in their order."""
        return self._hash.hexdigest()[:12]

    def _known_hashes(self) -> Iterator[AnyRow]:
        query = sa.select(THREAD.c.content_hash).where(THREAD.c.dataset_key == self._dataset)
        return iter(self._connection.execute(query.order_by(THREAD.c.key)).all())

    def add(self, threads: Sequence[tuple[Thread, Sequence[TargetRef]]]) -> int:
        """Add threads in file order; where the dataset is there, hold them to it instead."""
        values = [thread_values(thread) for thread, _ in threads]
        for value in values:
            self._hash.update(value["content_hash"].encode())
        if self._known is not None:
            for value in values:
                self._require_known(value)
            return 0
        for value, (_, targets) in zip(values, threads, strict=True):
            listed = [[t.number, t.comment_id, t.at.timestamp(), t.score] for t in targets]
            value |= {"dataset_key": self._dataset, "targets": len(targets)}
            value["target_list"] = to_json(listed)
        self._add_members(threads, self._keys(values))
        return len(threads)

    def _require_known(self, value: Values) -> None:
        assert self._known is not None
        known = next(self._known, None)
        if known is None or known.content_hash != value["content_hash"]:
            raise self._other()

    def _other(self) -> SourceError:
        return SourceError(
            f"The dataset {self._name!r} holds other conversations, and what is stored is not "
            "changed; import into a dataset of another name."
        )

    def _keys(self, values: list[Values]) -> list[int]:
        insert = sa.insert(THREAD).returning(THREAD.c.key, sort_by_parameter_order=True)
        return [row.key for row in self._connection.execute(insert, values)]

    def _add_members(
        self, threads: Sequence[tuple[Thread, Sequence[TargetRef]]], keys: Sequence[int]
    ) -> None:
        """Many short rows, past what an insert costs otherwise; pseudonyms need no escaping."""
        rows = [
            (self._dataset, member, key)
            for (thread, _), key in zip(threads, keys, strict=True)
            for member in thread.participants
        ]
        mark = "?" if self._connection.dialect.name == "sqlite" else "%s"
        insert = f"INSERT INTO thread_member VALUES ({mark}, {mark}, {mark})"
        if rows:
            self._connection.exec_driver_sql(insert, rows)

    def _insert(self, table: sa.Table, rows: list[Values]) -> None:
        if rows:
            self._connection.execute(sa.insert(table), rows)

    def finish(self, report: ImportReport, counts: Conversations) -> None:
        """Record what this import found; the first time, also what the dataset holds."""
        if self._known is not None:
            if next(self._known, None) is not None:
                raise self._other()
            return
        self._insert(IMPORT_REPORT, [report_values(report)])
        values = {
            "dataset_key": self._dataset,
            "hash": counts.hash,
            "pseudonym_key": self._key,
            "threads": counts.threads,
            "comments": counts.comments,
            "members": counts.members,
            "targets": counts.targets,
            "by_domain": [list(asdict(d).values()) for d in counts.by_domain],
        }
        self._insert(CONVERSATIONS, [values])
        own = {
            "personas": counts.members,
            "tasks": counts.threads,
            "scenarios": counts.targets,
            "changes": DATASET.c.changes + 1,
            "imported_at": report.at,
        }
        update = sa.update(DATASET).where(DATASET.c.key == self._dataset)
        self._connection.execute(update.values(**own))
