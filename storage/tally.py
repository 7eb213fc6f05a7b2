"""Counts of what is only ever appended, kept while the process lives.

A monitor asks every two seconds how a study stands. Rows of dialogues, judgements and calls
never change, so that those counted once are not read again: each look reads what is new.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from storage.tables import DIALOGUE, JUDGEMENT, MODEL_CALL

_UNSETTLED = 10_000
"""On PostgreSQL a transaction may commit after one that took higher row numbers: the newest
rows are counted afresh each time, and join the others when these many more have come."""


@dataclass
class Counts:
    """What one study has: dialogues by stop reason, judgements by status, calls and their cost."""

    dialogues: Counter[str] = field(default_factory=Counter)
    judgements: Counter[str] = field(default_factory=Counter)
    calls: int = 0  # that were answered
    priced: int = 0
    cost: float = 0.0
    cached: int = 0
    first: datetime | None = None
    last: datetime | None = None

    def add(self, other: Counts) -> None:
        self.dialogues += other.dialogues
        self.judgements += other.judgements
        self.calls += other.calls
        self.priced += other.priced
        self.cost += other.cost
        self.cached += other.cached
        self.first = _of(min, self.first, other.first)
        self.last = _of(max, self.last, other.last)


def _of(pick: Callable[..., datetime], *times: datetime | None) -> datetime | None:
    known = [time for time in times if time is not None]
    return pick(known) if known else None


ByStudy = defaultdict[str, Counts]
_TABLES = (DIALOGUE, JUDGEMENT, MODEL_CALL)


class Tally:
    """The counts of every study of one database. Safe to share between threads."""

    def __init__(self, postgres: bool) -> None:
        self._lag = _UNSETTLED if postgres else 0
        self._upto = dict.fromkeys((t.name for t in _TABLES), 0)
        self._settled: ByStudy = defaultdict(Counts)
        # Held while a snapshot is read: an older one must not come after a newer one.
        self.lock = threading.Lock()

    def look(self, connection: sa.Connection) -> ByStudy:
        """The counts as of this connection's snapshot. The caller holds `lock`."""
        newest = {t.name: connection.scalar(sa.select(sa.func.max(t.c.seq))) or 0 for t in _TABLES}
        if any(newest[name] < seq for name, seq in self._upto.items()):
            self._upto = dict.fromkeys(newest, 0)  # another database has taken its place
            self._settled = defaultdict(Counts)
        for table in _TABLES:
            until = newest[table.name] - self._lag
            if until > self._upto[table.name]:
                _count(connection, table, (self._upto[table.name], until), self._settled)
                self._upto[table.name] = until
        found: ByStudy = defaultdict(Counts)
        for study, counts in self._settled.items():
            found[study].add(counts)
        if self._lag:
            for table in _TABLES:
                _count(connection, table, (self._upto[table.name], newest[table.name]), found)
        return found


def _count(
    connection: sa.Connection, table: sa.Table, span: tuple[int, int], into: ByStudy
) -> None:
    after, until = span
    if until <= after:
        return
    new = [table.c.seq <= until]
    if after:  # from the beginning on, an index that holds what is counted is the shorter way
        new.append(table.c.seq > after)
    for row in connection.execute(_QUERIES[table.name].where(*new)):
        _ADD[table.name](into[row.study_id], row)


def _add_dialogues(counts: Counts, row: Any) -> None:
    counts.add(Counts(Counter({row.stop_reason: row.n}), first=row.first, last=row.last))


def _add_judgements(counts: Counts, row: Any) -> None:
    counts.judgements[row.status] += row.n


def _add_calls(counts: Counts, row: Any) -> None:
    cost = float(row.cost or 0.0)
    cached = int(row.cached)
    counts.add(Counts(calls=int(row.answered), priced=row.priced, cost=cost, cached=cached))


_N = sa.func.count().label("n")
_D, _J, _C = DIALOGUE.c, JUDGEMENT.c, MODEL_CALL.c
_QUERIES = {
    DIALOGUE.name: sa.select(_D.study_id, _D.stop_reason, _N)
    .add_columns(
        sa.func.min(_D.created_at).label("first"), sa.func.max(_D.created_at).label("last")
    )
    .group_by(_D.study_id, _D.stop_reason),
    JUDGEMENT.name: sa.select(_J.study_id, _J.status, _N).group_by(_J.study_id, _J.status),
    # A request that failed may have cost something; if nobody knows, the rest stays known.
    MODEL_CALL.name: sa.select(
        _C.study_id,
        sa.func.sum(sa.case((_C.error == "", 1), else_=0)).label("answered"),
        sa.func.sum(
            sa.case((_C.error == "", sa.case((_C.cost_usd.is_(None), 0), else_=1)), else_=0)
        ).label("priced"),
        sa.func.sum(_C.cost_usd).label("cost"),
        sa.func.sum(sa.case((_C.cached, 1), else_=0)).label("cached"),
    ).group_by(_C.study_id),
}
_ADD: dict[str, Callable[[Counts, Any], None]] = {
    DIALOGUE.name: _add_dialogues,
    JUDGEMENT.name: _add_judgements,
    MODEL_CALL.name: _add_calls,
}
