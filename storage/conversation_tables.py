"""Tables of conversations by real people. A thread is read whole, so it is stored whole.

Who wrote in which thread is a row of its own, and which replies may be asked about a column:
histories and instances are found without reading any text.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa

from storage.fields import Base, json_field, key_field, ref_field, text_field, time_field


class ConversationsRow(Base, table=True):
    """One dataset: the hash that its instance ids begin with, the key of its pseudonyms."""

    __tablename__ = "conversations"

    dataset_key: int = ref_field("dataset.key", primary_key=True)
    hash: str = text_field()
    pseudonym_key: str = text_field()
    threads: int
    comments: int
    members: int
    targets: int
    by_domain: Any = json_field()


class ThreadRow(Base, table=True):
    """`body` is JSON: the post's text and score, people, and comments in depth-first order.

    `target_list` is JSON too: number, id, moment and score of each reply that may be asked about.
    """

    __tablename__ = "thread"
    __table_args__ = (
        sa.UniqueConstraint("dataset_key", "thread_id"),
        sa.Index(None, "dataset_key", "domain", "key"),
        sa.Index(None, "dataset_key", "author"),
    )

    key: int = key_field()
    dataset_key: int = ref_field("dataset.key")
    thread_id: str = text_field()
    author: str = text_field()
    domain: str = text_field()
    comments: int
    targets: int
    at: datetime | None = time_field(nullable=True)
    content_hash: str = text_field()
    title: str = text_field()
    target_list: str = text_field()
    body: str = text_field()


class ThreadMemberRow(Base, table=True):
    """Who wrote in which thread."""

    __tablename__ = "thread_member"
    __table_args__ = ({"sqlite_with_rowid": False},)

    dataset_key: int = ref_field("dataset.key", primary_key=True)
    member: str = text_field(primary_key=True)
    thread_key: int = ref_field("thread.key", primary_key=True)


def _table(row: type[Base]) -> sa.Table:
    return Base.metadata.tables[str(row.__tablename__)]


CONVERSATIONS = _table(ConversationsRow)
THREAD = _table(ThreadRow)
THREAD_MEMBER = _table(ThreadMemberRow)
