"""Studies and their work units: what is planned, owed, claimed and done."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.errors import AlreadyDecided, NotFound
from core.ports import Study
from core.types import (
    Arm,
    FailureKind,
    JudgementStatus,
    StopReason,
    StudyProgress,
    StudyState,
    WorkUnit,
)
from storage.database import AnyRow, Database
from storage.dataset_writer import insert_or_skip
from storage.failures import failures_of
from storage.queries import progress_of, superseded
from storage.rows import arm_of, arm_values, study_of, study_values, unit_of, unit_values
from storage.tables import ARM, DIALOGUE, JUDGEMENT, STUDY, UNIT

_JUDGED = [str(reason) for reason in StopReason if reason.judged]


class Studies:
    """The part of the store that plans and distributes work."""

    _db: Database
    _now: Callable[[], datetime]

    def add_study(self, study: Study) -> None:
        """Add a study. Raises `AlreadyDecided` when its id or name is taken."""
        try:
            with self._db.write() as connection:
                connection.execute(sa.insert(STUDY), study_values(study))
        except AlreadyDecided:
            raise AlreadyDecided(
                f"There is a study called {study.name!r} already; choose another name."
            ) from None

    def list_studies(self) -> list[Study]:
        """All studies and collections of dialogues, newest first."""
        query = sa.select(STUDY).order_by(STUDY.c.created_at.desc(), STUDY.c.id)
        return [study_of(row) for row in self._db.rows(query)]

    def find_study(self, name_or_id: str) -> Study | None:
        """The study with that id, else the one with that name, else None."""
        query = sa.select(STUDY).where(sa.or_(STUDY.c.id == name_or_id, STUDY.c.name == name_or_id))
        rows = sorted(self._db.rows(query), key=lambda row: row.id != name_or_id)
        return study_of(rows[0]) if rows else None

    def get_study(self, name_or_id: str) -> Study:
        """The study with that id or name. Raises `NotFound`."""
        study = self.find_study(name_or_id)
        if study is None:
            raise NotFound(f"There is no study called {name_or_id!r}.")
        return study

    def set_study_state(self, study_id: str, state: StudyState, *, message: str = "") -> None:
        """Say in which state a study is, or is wished to be. Raises `NotFound`.

        To say that it runs is a sign of life, so that a fresh start never looks stalled.
        """
        values: dict[str, Any] = {"state": str(state), "message": message}
        values["changes"] = STUDY.c.changes + 1
        if state is StudyState.RUNNING:
            values["heartbeat_at"] = self._now()
        self._update_study(study_id, values)

    def heartbeat(self, study_id: str, owner: str) -> StudyState:
        """Record a sign of life, renew the leases of `owner`, and return the state wished."""
        now = self._now()
        with self._db.write() as connection:
            beat = sa.update(STUDY).where(STUDY.c.id == study_id).values(heartbeat_at=now)
            state = connection.scalar(beat.returning(STUDY.c.state))
            if state is None:
                raise _no_study(study_id)
            renewed = now.timestamp() + UNIT.c.lease_seconds
            held = sa.and_(_owed(study_id), UNIT.c.owner == owner)
            connection.execute(sa.update(UNIT).where(held).values(lease_until=renewed))
        return StudyState(state)

    def _update_study(self, study_id: str, values: Mapping[str, Any]) -> None:
        with self._db.write() as connection:
            change = sa.update(STUDY).where(STUDY.c.id == study_id).values(**values)
            if connection.execute(change).rowcount == 0:
                raise _no_study(study_id)

    def add_units(self, units: Sequence[WorkUnit]) -> int:
        """Add units that are not there yet; returns how many were added."""
        if not units:
            return 0
        with self._db.write() as connection:
            add_arms(connection, [unit.arm for unit in units])
            studies = sorted({unit.study_id for unit in units})
            lock = sa.select(STUDY.c.id).where(STUDY.c.id.in_(studies)).with_for_update()
            connection.execute(lock.order_by(STUDY.c.id)).all()  # so that the counts hold
            count = sa.select(sa.func.count()).where(UNIT.c.study_id.in_(studies))
            before = connection.scalar(count) or 0
            insert = insert_or_skip(connection, UNIT, by="id")
            connection.execute(insert, [unit_values(unit) for unit in units])
            return (connection.scalar(count) or 0) - before

    def claim_units(
        self, study_id: str, owner: str, *, limit: int, lease_seconds: float
    ) -> list[tuple[WorkUnit, int]]:
        """Lease up to `limit` owed units to `owner`, in order, with the attempt to make.

        A unit is free when nobody holds it or its lease has run out. One statement picks and
        takes, so that no unit goes to two owners.
        """
        now = self._now()
        free = sa.or_(UNIT.c.owner.is_(None), UNIT.c.lease_until < now.timestamp())
        picked = (
            sa.select(UNIT.c.seq)
            .where(_owed(study_id), free)
            .order_by(UNIT.c.seq)
            .limit(limit)
            .with_for_update(skip_locked=True)
            .cte("picked")
        )
        take = sa.update(UNIT).where(UNIT.c.seq.in_(sa.select(picked.c.seq)))
        lease = {
            "owner": owner,
            "lease_until": now.timestamp() + lease_seconds,
            "lease_seconds": lease_seconds,
        }
        with self._db.write() as connection:
            rows = connection.execute(take.values(**lease).returning(UNIT)).all()
            if rows:
                started = sa.update(STUDY).where(STUDY.c.id == study_id)
                connection.execute(started.where(STUDY.c.started_at.is_(None)), {"started_at": now})
        return self._units_of(sorted(rows, key=lambda row: row.seq))

    def _units_of(self, rows: Sequence[AnyRow]) -> list[tuple[WorkUnit, int]]:
        ids = {row.arm_id for row in rows}
        query = sa.select(ARM.c.id, ARM.c.body).where(ARM.c.id.in_(ids))
        arms = {row.id: arm_of(row.body) for row in self._db.rows(query)} if ids else {}
        return [(unit_of(row, arms[row.arm_id]), row.attempt) for row in rows]

    def lease_owners(self, study_id: str) -> list[str]:
        """Owners that hold at least one unfinished unit of this study, dead ones included."""
        held = sa.and_(_owed(study_id), UNIT.c.owner.is_not(None))
        query = sa.select(UNIT.c.owner).where(held).distinct().order_by(UNIT.c.owner)
        return [str(row.owner) for row in self._db.rows(query)]

    def release_units(self, study_id: str, owner: str) -> None:
        """Give back what `owner` holds and has not finished."""
        held = sa.and_(_owed(study_id), UNIT.c.owner == owner)
        with self._db.write() as connection:
            connection.execute(sa.update(UNIT).where(held).values(owner=None, lease_until=0.0))

    def reopen_failed(self, study_id: str) -> int:
        """Owe units again whose last dialogue cannot be judged; returns how many."""
        failed = sa.and_(UNIT.c.study_id == study_id, UNIT.c.stop_reason.not_in(_JUDGED))
        again = {"attempt": UNIT.c.attempt + 1, "stop_reason": None, "owner": None}
        changed = sa.update(STUDY).where(STUDY.c.id == study_id)
        with self._db.write() as connection:
            n = connection.execute(sa.update(UNIT).where(failed).values(**again)).rowcount
            connection.execute(changed.values(changes=STUDY.c.changes + 1))
        return n

    def reopen_unjudged(self, study_id: str, instrument_ids: Collection[str]) -> int:
        """Owe units again, at the same attempt, whose dialogue an unreached judge left unrated."""
        j = JUDGEMENT.c
        unreached = sa.and_(j.study_id == study_id, j.status == str(JudgementStatus.MODEL_ERROR))
        mine = j.instrument_id.in_(sorted(instrument_ids))
        unrated = sa.select(j.dialogue_id).where(unreached, mine, ~superseded())
        d = DIALOGUE.c
        stands = sa.exists().where(
            d.unit_id == UNIT.c.id, d.attempt == UNIT.c.attempt, d.id.in_(unrated)
        )
        closed = sa.and_(UNIT.c.study_id == study_id, UNIT.c.stop_reason.in_(_JUDGED), stands)
        changed = sa.update(STUDY).where(STUDY.c.id == study_id)
        with self._db.write() as connection:
            again = sa.update(UNIT).where(closed).values(stop_reason=None, owner=None)
            n = connection.execute(again).rowcount
            connection.execute(changed.values(changes=STUDY.c.changes + 1))
        return n

    def stored_dialogues(self, claimed: Sequence[tuple[WorkUnit, int]]) -> dict[str, str]:
        """For those units whose attempt has its dialogue already, its id by the unit's."""
        attempts = {unit.id: attempt for unit, attempt in claimed}
        d = DIALOGUE.c
        query = sa.select(d.unit_id, d.id, d.attempt).where(d.unit_id.in_(list(attempts)))
        rows = self._db.rows(query) if attempts else ()
        return {row.unit_id: row.id for row in rows if row.attempt == attempts[row.unit_id]}

    def failure_kinds(self, study_id: str) -> list[FailureKind]:
        """What stands failed by kind, most frequent first, and `retried` last."""
        return failures_of(self._db, study_id)

    def progress(self, study_id: str) -> StudyProgress:
        """The counts of one study as they stand. Raises `NotFound`."""
        found = progress_of(self._db, self._now(), study_id)
        if not found:
            raise _no_study(study_id)
        return found[0]

    def list_progress(self) -> list[StudyProgress]:
        """The counts of every study, in the order of `list_studies`."""
        return progress_of(self._db, self._now())


def add_arms(connection: sa.Connection, arms: Iterable[Arm]) -> None:
    """Store arms that are new; an arm is known by its content."""
    values = {value["id"]: value for value in map(arm_values, _distinct(arms))}
    connection.execute(insert_or_skip(connection, ARM, by="id"), list(values.values()))


def _distinct(arms: Iterable[Arm]) -> list[Arm]:
    """Different arm objects only: digests are dear and units share their arm."""
    return list({id(arm): arm for arm in arms}.values())


def finish_unit() -> sa.Update:
    """Record how the attempt of a unit ended; a later attempt is left as it is."""
    return (
        sa.update(UNIT)
        .where(UNIT.c.id == sa.bindparam("unit"), UNIT.c.attempt == sa.bindparam("tried"))
        .values(stop_reason=sa.bindparam("reason"), owner=None)
    )


def _owed(study_id: str) -> sa.ColumnElement[bool]:
    return sa.and_(UNIT.c.study_id == study_id, UNIT.c.stop_reason.is_(None))


def _no_study(study_id: str) -> NotFound:
    return NotFound(f"There is no study with the id {study_id!r}.")
