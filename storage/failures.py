"""What failed in a study, by kind: a read model for monitors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from core.types import FailureExample, FailureKind, JudgementStatus, StopReason, digest
from storage.database import AnyRow, AnySelect, Database
from storage.queries import superseded
from storage.tables import DIALOGUE, JUDGEMENT, MODEL_CALL, UNIT

EXAMPLES = 5
_FAILED = [str(reason) for reason in StopReason if not reason.judged]
_JUDGE = "judge:"  # how the parties of judges begin


def failures_of(database: Database, study_id: str) -> list[FailureKind]:
    """What stands failed, most frequent first, and `retried` last."""
    with database.read() as connection:
        found = [*_dialogues(connection, study_id), *_judgements(connection, study_id)]
        found.sort(key=lambda kind: (-kind.count, kind.kind))
        return found + _retried(connection, study_id)


# --- dialogues ---------------------------------------------------------------------------------


def _dialogues(connection: sa.Connection, study_id: str) -> list[FailureKind]:
    """Dialogues that ended badly and stand: their unit was not tried again since."""
    d = DIALOGUE.c
    kind = _kind_of_ending()
    tried_again = sa.exists().where(UNIT.c.id == d.unit_id, UNIT.c.attempt > d.attempt)
    rows = _newest(
        sa.select(kind.label("kind"), d.id.label("dialogue_id"), d.stop_detail.label("message")),
        DIALOGUE,
        d.created_at,
        by=kind,
        where=(d.study_id == study_id, d.stop_reason.in_(_FAILED), ~tried_again),
    )
    return _kinds(connection.execute(rows))


def _kind_of_ending() -> sa.ColumnElement[str]:
    """The stop reason; of a model error, what kind: its detail begins with the error's name."""
    detail = sa.type_coerce(DIALOGUE.c.stop_detail, sa.Text())
    names = {"unavailable": "ModelUnavailable:%", "empty_reply": "EmptyReply:%"}
    whens = [(detail.like(pattern), sa.literal(kind)) for kind, pattern in names.items()]
    return sa.case(*whens, else_=sa.type_coerce(DIALOGUE.c.stop_reason, sa.Text()))


# --- judgements --------------------------------------------------------------------------------


def _judgements(connection: sa.Connection, study_id: str) -> list[FailureKind]:
    """Judgements whose judge could not be reached and was not asked again since."""
    j = JUDGEMENT.c
    kind = sa.literal("judge_unavailable")
    unreached = (j.study_id == study_id, j.status == str(JudgementStatus.MODEL_ERROR))
    rows = _newest(
        sa.select(kind.label("kind"), j.dialogue_id, j.rationale.label("message")),
        JUDGEMENT,
        j.created_at,
        by=j.study_id,
        where=(*unreached, ~superseded()),
    )
    return _kinds(connection.execute(rows))


# --- calls -------------------------------------------------------------------------------------


def _retried(connection: sa.Connection, study_id: str) -> list[FailureKind]:
    """Calls that were answered at last."""
    c = MODEL_CALL.c
    kind = sa.literal("retried")
    query = sa.select(kind.label("kind"), c.scope, c.party, c.model, c.attempts, c.seconds)
    again = (c.study_id == study_id, c.attempts > 1, c.error == "")
    rows = connection.execute(_newest(query, MODEL_CALL, c.at, by=c.study_id, where=again)).all()
    if not rows:
        return []
    named = [(row, _dialogue_of(row)) for row in rows]
    there = sa.select(DIALOGUE.c.id).where(DIALOGUE.c.id.in_([dialogue for _, dialogue in named]))
    stored = set(connection.scalars(there))
    examples = tuple(
        FailureExample(dialogue if dialogue in stored else "", _told(row), row.at)
        for row, dialogue in named
    )
    return [FailureKind("retried", rows[0].n, examples)]


def _dialogue_of(call: AnyRow) -> str:
    """The dialogue that a call was for; a unit's scope names the unit and its attempt."""
    owner, _, rest = call.scope.partition(":")
    unit = not call.party.startswith(_JUDGE) and rest.isdecimal()
    return digest(owner, int(rest)) if unit else str(owner)


def _told(call: AnyRow) -> str:
    return (
        f"{call.model} answered {call.party} at attempt {call.attempts}, "
        f"after {call.seconds:.1f} seconds."
    )


# --- the newest of each kind -------------------------------------------------------------------


def _newest(
    query: AnySelect, table: sa.Table, at: Any, *, by: Any, where: Iterable[Any]
) -> AnySelect:
    """The newest rows of each kind, each with the count of its kind."""
    counted = sa.func.count().over(partition_by=by).label("n")
    place = sa.func.row_number().over(partition_by=by, order_by=table.c.seq.desc())
    inner = query.add_columns(at.label("at"), counted, place.label("place"))
    found = inner.where(*where).subquery()
    return sa.select(found).where(found.c.place <= EXAMPLES).order_by(found.c.place)


def _kinds(rows: Iterable[AnyRow]) -> list[FailureKind]:
    """One kind for each that occurs, with what its rows show."""
    by_kind: defaultdict[str, list[AnyRow]] = defaultdict(list)
    for row in rows:
        by_kind[row.kind].append(row)
    return [
        FailureKind(
            kind, found[0].n, tuple(FailureExample(r.dialogue_id, r.message, r.at) for r in found)
        )
        for kind, found in by_kind.items()
    ]
