"""The ledger of model calls that are out. Unlike what was measured, its rows change.

Every process that works in this database asks here before a call, one after the other: on
PostgreSQL by a lock that lasts for one short transaction, on SQLite because there is one writer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.clock import LEASE_SECONDS
from core.ledger import MINUTE, Caps, OpenCall, Standing, Verdict, decide
from core.types import ModelCall
from storage.columns import among
from storage.database import Database
from storage.dataset_writer import insert_or_skip
from storage.ledger_tables import ANSWER, OPEN_CALL, SPENDING, WAITING

_LOCK = 7_211_944  # any number: whoever lets calls out of a PostgreSQL database holds it
_KEPT = 2 * MINUTE  # seconds that a call which has ended is looked at
_WAITS = 1.0  # seconds that a process counts as waiting after it has been told to
_OUT = OPEN_CALL.c.ended_at.is_(None)


class Ledger:
    """The part of the store that keeps limits over all processes."""

    _db: Database
    _now: Callable[[], datetime]

    def admit_calls(
        self, calls: Sequence[OpenCall], caps: Caps, *, again: bool = False
    ) -> list[Verdict]:
        """Decide by `core.ledger.decide` which calls may go out, and write those down.

        `again`: this was asked before, and the word of it may have been lost.
        """
        if not again:
            return self._admit(calls, caps)
        query = sa.select(OPEN_CALL.c.id).where(_among(calls))
        known = {str(row.id) for row in self._db.rows(query)}
        rest = [call for call in calls if call.id not in known]
        others = iter(self._admit(rest, caps) if rest else ())
        return [Verdict.GO if call.id in known else next(others) for call in calls]

    def _admit(self, calls: Sequence[OpenCall], caps: Caps) -> list[Verdict]:
        now = self._now().timestamp()
        verdicts = [Verdict.WAIT] * len(calls)
        with self._db.write() as connection:
            if self._db.postgres:
                connection.execute(_TURN)
            for study_id in dict.fromkeys(call.study_id for call in calls):
                mine = [i for i, call in enumerate(calls) if call.study_id == study_id]
                standing = _standing(connection, calls[mine[0]], caps, now)
                found = decide([calls[i] for i in mine], caps, standing)
                for i, verdict in zip(mine, found, strict=True):
                    verdicts[i] = verdict
            pairs = zip(calls, verdicts, strict=True)
            if admitted := [_values(call, now) for call, v in pairs if v is Verdict.GO]:
                connection.execute(sa.insert(OPEN_CALL), admitted)
            if Verdict.WAIT in verdicts:
                _say_waiting(connection, calls[verdicts.index(Verdict.WAIT)], now)
        return verdicts

    def end_calls(self, calls: Sequence[OpenCall], *, lost: bool) -> None:
        """Strike out calls without an answer: never sent, or `lost` and counted as paid."""
        ids = [call.id for call in calls]
        with self._db.write() as connection:
            if lost:
                _lose(connection, among(OPEN_CALL.c.id, ids), self._now().timestamp())
            else:  # it was never sent, and counts for no limit
                gone = sa.and_(among(OPEN_CALL.c.id, ids), _OUT)
                connection.execute(sa.delete(OPEN_CALL).where(gone))

    def renew_calls(self, owner: str) -> None:
        """Say that `owner` is alive, and forget what no limit asks for any more."""
        now = self._now().timestamp()
        until = {"lease_until": now + LEASE_SECONDS}
        mine = sa.and_(_OUT, OPEN_CALL.c.owner == owner)
        old = sa.and_(~OPEN_CALL.c.lost, OPEN_CALL.c.ended_at < now - _KEPT)
        with self._db.write() as connection:
            connection.execute(sa.update(OPEN_CALL).where(mine).values(**until))
            connection.execute(sa.delete(OPEN_CALL).where(old))
            connection.execute(sa.delete(WAITING).where(WAITING.c.until < now - _KEPT))
            # Of a dead owner on another machine only the end of its lease is heard.
            silent = sa.and_(_OUT, OPEN_CALL.c.lease_until < now - LEASE_SECONDS)
            _lose(connection, silent, now)

    def call_owners(self) -> list[str]:
        """Owners of calls that are out, dead ones included."""
        query = sa.select(OPEN_CALL.c.owner).where(_OUT).distinct().order_by(OPEN_CALL.c.owner)
        return [str(row.owner) for row in self._db.rows(query)]

    def lose_calls(self, owner: str) -> None:
        """Note that nobody will ever know what became of the open calls of `owner`."""
        with self._db.write() as connection:
            _lose(connection, OPEN_CALL.c.owner == owner, self._now().timestamp())


def settle(
    connection: sa.Connection,
    calls: Sequence[ModelCall],
    entries: Sequence[OpenCall | None],
    now: float,
) -> None:
    """Book what attempts have cost, and strike out their entries.

    An answer that does not say its cost is booked at the most that it can have; a failure
    whose cost nobody knows likewise, among those that were possibly paid.
    """
    pairs = [(call, entries[i] if i < len(entries) else None) for i, call in enumerate(calls)]
    booked: dict[str, Counter[str]] = {}
    for call, entry in pairs:
        if amounts := _amounts(call, entry):
            booked.setdefault(call.study_id, Counter()).update(amounts)
    for study_id, sums in sorted(booked.items()):
        _book(connection, study_id, **sums)
    ended = [_end(call, entry) for call, entry in pairs if entry is not None]
    if ended:
        _strike_out(connection, ended, now)
    shared = [_answer(c, e) for c, e in pairs if e is not None and e.shared_as and not c.error]
    if shared:
        connection.execute(insert_or_skip(connection, ANSWER, by="key"), shared)


def _amounts(call: ModelCall, entry: OpenCall | None) -> dict[str, float]:
    if call.cost_usd is not None:
        return {"spent_usd": call.cost_usd} if call.cost_usd else {}
    if entry is None:
        return {}
    worst = entry.worst_usd or 0.0
    return {"lost_usd": worst, "lost_calls": 1} if call.error else {"spent_usd": worst}


def _end(call: ModelCall, entry: OpenCall) -> dict[str, Any]:
    tokens = (call.tokens_in or 0) + (call.tokens_out or 0)
    return {"entry": entry.id, "used": tokens, "sent": min(call.attempts, 1)}


def _answer(call: ModelCall, entry: OpenCall) -> dict[str, Any]:
    return {
        "key": entry.shared_as,
        "scope": call.scope,
        "party": call.party,
        "number": call.seq,
    }


_STRUCK = (
    sa.update(OPEN_CALL)
    .where(OPEN_CALL.c.id == sa.bindparam("entry"), ~OPEN_CALL.c.lost)
    .values(ended_at=sa.bindparam("at"), tokens=sa.bindparam("used"), requests=sa.bindparam("sent"))
)


def _strike_out(connection: sa.Connection, ended: Sequence[dict[str, Any]], now: float) -> None:
    struck = connection.execute(_STRUCK, [row | {"at": now} for row in ended])
    if struck.rowcount == len(ended):
        return
    # One that was given up for lost has come back after all.
    among_them = among(OPEN_CALL.c.id, [str(row["entry"]) for row in ended])
    back = sa.and_(among_them, OPEN_CALL.c.lost)
    _find_again(connection, back)
    connection.execute(sa.update(OPEN_CALL).where(back).values(lost=False))


def _sums() -> sa.Select[*tuple[Any, ...]]:
    """All that a decision needs to know of a study, in one query: it is asked for every call."""
    c, s, w = OPEN_CALL.c, SPENDING.c, WAITING.c
    study: Any = sa.bindparam("study")
    asking: Any = sa.bindparam("asking")
    now: Any = sa.bindparam("at")
    flying = sa.case((c.lease_until > now, 1), else_=0)
    ours = sa.case((sa.and_(c.lease_until > now, c.owner == asking), 1), else_=0)
    rivals = sa.select(sa.func.count()).where(w.study_id == study, w.owner != asking, w.until > now)
    return sa.select(
        sa.func.coalesce(sa.func.sum(flying), 0).label("in_flight"),
        sa.func.coalesce(sa.func.sum(ours), 0).label("mine"),
        sa.func.coalesce(sa.func.sum(c.worst_usd), 0.0).label("reserved"),
        sa.select(s.spent_usd).where(s.study_id == study).scalar_subquery().label("spent"),
        sa.select(s.lost_usd).where(s.study_id == study).scalar_subquery().label("lost"),
        rivals.scalar_subquery().label("rivals"),
    ).where(c.study_id == study, _OUT)


_SUMS = _sums()
_TURN = sa.select(sa.func.pg_advisory_xact_lock(_LOCK))


def _standing(connection: sa.Connection, asking: OpenCall, caps: Caps, now: float) -> Standing:
    asked = {"study": asking.study_id, "asking": asking.owner, "at": now}
    row = connection.execute(_SUMS, asked).one()
    standing = Standing(
        spent=row.spent or 0.0,
        lost=row.lost or 0.0,
        reserved=float(row.reserved),
        in_flight=int(row.in_flight),
        mine=int(row.mine),
        rivals=int(row.rivals),
    )
    if caps.rated:
        c = OPEN_CALL.c
        used = sa.select(c.provider, sa.func.sum(c.requests), sa.func.sum(c.tokens))
        lately = used.where(c.started_at > now - MINUTE).group_by(c.provider)
        rows = connection.execute(lately).all()
        standing.requests = {str(name): int(n) for name, n, _ in rows}
        standing.tokens = {str(name): int(n) for name, _, n in rows}
    return standing


def _among(calls: Sequence[OpenCall]) -> sa.ColumnElement[bool]:
    return among(OPEN_CALL.c.id, [call.id for call in calls])


def _say_waiting(connection: sa.Connection, call: OpenCall, now: float) -> None:
    """Let other processes know that we wait, so that none keeps all places for itself."""
    until = {"study_id": call.study_id, "until": now + _WAITS}
    change = sa.update(WAITING).where(WAITING.c.owner == call.owner).values(**until)
    if connection.execute(change).rowcount == 0:
        connection.execute(sa.insert(WAITING), [{"owner": call.owner, **until}])


def _values(call: OpenCall, now: float) -> dict[str, Any]:
    return {
        "id": call.id,
        "study_id": call.study_id,
        "scope": call.scope,
        "party": call.party,
        "number": call.seq,
        "request_hash": call.request_hash,
        "provider": call.provider,
        "owner": call.owner,
        "worst_usd": call.worst_usd,
        "started_at": now,
        "lease_until": now + LEASE_SECONDS,
        "ended_at": None,
        "requests": 1,
        "tokens": 0,
        "lost": False,
    }


def _lose(connection: sa.Connection, which: sa.ColumnElement[bool], now: float) -> None:
    """Give up open calls: what they can have cost is booked for good."""
    given_up = sa.update(OPEN_CALL).where(which, _OUT).values(ended_at=now, lost=True)
    rows = connection.execute(given_up.returning(OPEN_CALL.c.study_id, OPEN_CALL.c.worst_usd)).all()
    for study_id, calls, usd in _by_study(rows):
        _book(connection, study_id, lost_usd=usd, lost_calls=calls)


def _find_again(connection: sa.Connection, which: sa.ColumnElement[bool]) -> None:
    rows = connection.execute(
        sa.select(OPEN_CALL.c.study_id, OPEN_CALL.c.worst_usd).where(which)
    ).all()
    for study_id, calls, usd in _by_study(rows):
        _book(connection, study_id, lost_usd=-usd, lost_calls=-calls)


def _by_study(rows: Iterable[Any]) -> Iterable[tuple[str, int, float]]:
    totals: dict[str, tuple[int, float]] = {}
    for row in rows:
        n, usd = totals.get(row.study_id, (0, 0.0))
        totals[row.study_id] = n + 1, usd + (row.worst_usd or 0.0)
    return [(study_id, n, usd) for study_id, (n, usd) in sorted(totals.items())]


def _book(connection: sa.Connection, study_id: str, **amounts: float) -> None:
    nothing = {"study_id": study_id, "spent_usd": 0.0, "lost_usd": 0.0, "lost_calls": 0}
    added = {name: SPENDING.c[name] + amount for name, amount in amounts.items()}
    change = sa.update(SPENDING).where(SPENDING.c.study_id == study_id).values(**added)
    if connection.execute(change).rowcount == 0:
        connection.execute(insert_or_skip(connection, SPENDING, by="study_id"), [nothing])
        connection.execute(change)
