"""How a study at work comes along, and what past ones took: read models for monitors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import sqlalchemy as sa

from core.monitor import ArmProgress, CallsSeen, LeaseHolder, Past, TurnsSeen
from core.types import StopReason, TaskKind
from storage.database import AnyRow, Database
from storage.tables import ARM, DIALOGUE, MODEL_CALL, STUDY, UNIT

_LOOKED_AT = 5_000  # newest dialogues, and newest calls, of which means are taken
_JUDGED = [str(reason) for reason in StopReason if reason.judged]


class Monitoring:
    """The part of the store that a monitor looks at again and again: a few rows each time."""

    _db: Database

    def arm_progress(self, study_id: str) -> list[ArmProgress]:
        """Units, done and failed of each arm, in the order in which the arms were added."""
        u = UNIT.c
        done = sa.func.sum(sa.case((u.stop_reason.in_(_JUDGED), 1), else_=0))
        ended = sa.func.count(u.stop_reason)
        counts = (
            sa.select(u.arm_id, sa.func.count().label("n"), done.label("done"))
            .add_columns(ended.label("ended"), sa.func.min(u.seq).label("first"))
            .where(u.study_id == study_id)
            .group_by(u.arm_id)
            .subquery()
        )
        query = sa.select(ARM.c.name, counts.c.n, counts.c.done, counts.c.ended)
        found = self._db.rows(query.join(counts, counts.c.arm_id == ARM.c.id).order_by("first"))
        return [ArmProgress(r.name, r.n, int(r.done), int(r.ended) - int(r.done)) for r in found]

    def lease_holders(self, study_id: str) -> list[LeaseHolder]:
        """Who holds unfinished units of a study, dead runners included until their lease ends."""
        u = UNIT.c
        held = (u.study_id == study_id, u.owner.is_not(None), u.stop_reason.is_(None))
        latest = sa.func.max(u.lease_until).label("until")
        query = sa.select(u.owner, sa.func.count().label("n"), latest).where(*held)
        return [
            LeaseHolder(str(row.owner), row.n, datetime.fromtimestamp(row.until, UTC))
            for row in self._db.rows(query.group_by(u.owner).order_by(u.owner))
        ]

    def count_finished_since(self, study_id: str, since: datetime) -> int:
        """How many dialogues of a study were finished after a moment."""
        count = sa.select(sa.func.count().label("n")).select_from(DIALOGUE)
        newer = (DIALOGUE.c.study_id == study_id, DIALOGUE.c.created_at > since)
        return int(self._db.rows(count.where(*newer))[0].n)

    def judgement_statuses(self, study_id: str) -> dict[str, int]:
        """How many judgements of a study have each status, those asked again included."""
        with self._db.tally.lock, self._db.read() as connection:
            return dict(self._db.tally.look(connection)[study_id].judgements)

    def past(self, dataset: str) -> Past:
        """What the newest dialogues and calls of studies on a dataset took."""
        specs = sa.select(STUDY.c.id, STUDY.c.spec)
        mine = [
            row.id
            for row in self._db.rows(specs)
            if isinstance(row.spec, dict) and row.spec.get("dataset") == dataset
        ]
        return Past(tuple(self._turns(mine)), tuple(self._calls(mine))) if mine else Past()

    def _turns(self, studies: Sequence[str]) -> Iterable[TurnsSeen]:
        d = DIALOGUE.c
        judged = (d.study_id.in_(studies), d.stop_reason.in_(_JUDGED))
        newest = sa.select(d.arm_id, d.kind, d.turns).where(*judged).order_by(d.seq.desc())
        seen = newest.limit(_LOOKED_AT).subquery()
        n, mean = sa.func.count().label("n"), sa.func.avg(seen.c.turns).label("mean")
        square = sa.func.avg(seen.c.turns * seen.c.turns).label("square")
        query = sa.select(ARM.c.model, seen.c.kind, n, mean, square)
        query = query.join(ARM, ARM.c.id == seen.c.arm_id)
        for row in self._db.rows(query.group_by(ARM.c.model, seen.c.kind)):
            mean_of, square_of = float(row.mean), float(row.square)
            deviation = math.sqrt(max(0.0, square_of - mean_of**2))
            yield TurnsSeen(row.model, TaskKind(row.kind), row.n, mean_of, deviation)

    def _calls(self, studies: Sequence[str]) -> Iterable[CallsSeen]:
        c = MODEL_CALL.c
        columns = (c.study_id, c.model, c.party, c.tokens_in, c.tokens_out, c.seconds, c.error)
        seen = sa.select(*columns, c.cached).order_by(c.seq.desc()).limit(_LOOKED_AT).subquery()
        role = sa.case((seen.c.party.like("judge:%"), "judge"), else_=seen.c.party).label("role")
        query = sa.select(
            seen.c.model,
            role,
            sa.func.count().label("n"),
            sa.func.avg(seen.c.tokens_in).label("tokens_in"),
            sa.func.avg(seen.c.tokens_out).label("tokens_out"),
            sa.func.avg(seen.c.seconds).label("seconds"),
        ).where(seen.c.study_id.in_(studies), seen.c.error == "", sa.not_(seen.c.cached))
        for row in self._db.rows(query.group_by(seen.c.model, role)):
            yield _calls_seen(row)


def _calls_seen(row: AnyRow) -> CallsSeen:
    tokens = [None if v is None else float(v) for v in (row.tokens_in, row.tokens_out)]
    return CallsSeen(row.model, row.role, row.n, tokens[0], tokens[1], float(row.seconds))
