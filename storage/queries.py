"""Selects behind lists, counts and comparisons: read models, and no rule of the trade."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from core.clock import LEASE_SECONDS
from core.ports import DialogueFilter
from core.types import JudgementStatus, StopReason, StudyProgress, StudyState
from storage.columns import ESCAPE, Json, Text, among, escape, restore, to_json, touches
from storage.database import AnyRow, AnySelect, Database
from storage.differing import differing
from storage.ledger_tables import SPENDING
from storage.tables import (
    ARM,
    DIALOGUE,
    DIALOGUE_BODY,
    INSTRUMENT,
    JUDGEMENT,
    OVERRIDE,
    STUDY,
    UNIT,
)
from storage.tally import Counts

if TYPE_CHECKING:
    import pandas as pd

_ROWS_AT_ONCE = 20_000
_UNREACHED = str(JudgementStatus.MODEL_ERROR)

# --- dialogues ---------------------------------------------------------------------------------

_ORDERS: Mapping[str, tuple[Any, ...]] = {
    "newest": (DIALOGUE.c.created_at.desc(), DIALOGUE.c.seq.desc()),
    "oldest": (DIALOGUE.c.created_at, DIALOGUE.c.seq),
    "turns": (DIALOGUE.c.turns.desc(), DIALOGUE.c.seq),
    "persona": (DIALOGUE.c.persona_number, DIALOGUE.c.persona_id, DIALOGUE.c.seq),
    "task": (
        DIALOGUE.c.kind.desc(),
        DIALOGUE.c.domains,
        DIALOGUE.c.task_number,
        DIALOGUE.c.task_id,
        DIALOGUE.c.seq,
    ),
    "arm": (ARM.c.name, DIALOGUE.c.seq),
}
DIALOGUE_ORDERS = tuple(_ORDERS)


def dialogue_summaries(where: DialogueFilter, order: str, postgres: bool) -> AnySelect:
    """One row per dialogue that fits, with its arm and the name of its study."""
    columns = [c for c in DIALOGUE.c if c.name not in ("stop_detail", "parent_id", "author")]
    arm = (ARM.c.name.label("arm"), ARM.c.model, ARM.c.context)
    return (
        sa.select(*columns, *arm, STUDY.c.name.label("study"))
        .join(ARM, ARM.c.id == DIALOGUE.c.arm_id)
        .join(STUDY, STUDY.c.id == DIALOGUE.c.study_id)
        .where(*dialogue_clauses(where, postgres))
        .order_by(*_ORDERS[order])
    )


def dialogue_count(where: DialogueFilter, postgres: bool) -> AnySelect:
    """How many dialogues fit."""
    count = sa.select(sa.func.count()).select_from(DIALOGUE)
    return count.where(*dialogue_clauses(where, postgres))


def dialogues_with_body() -> AnySelect:
    """Whole dialogues: what `rows.dialogue_of` reads."""
    body = (c for c in DIALOGUE_BODY.c if c.name != "dialogue_id")
    return (
        sa.select(DIALOGUE, *body, ARM.c.body.label("arm"))
        .join(DIALOGUE_BODY, DIALOGUE_BODY.c.dialogue_id == DIALOGUE.c.id)
        .join(ARM, ARM.c.id == DIALOGUE.c.arm_id)
    )


def dialogue_clauses(where: DialogueFilter, postgres: bool) -> Iterator[sa.ColumnElement[bool]]:
    """The filter as conditions on `dialogue`."""
    yield from _plain_clauses(where)
    if where.arms:
        yield DIALOGUE.c.arm_id.in_(sa.select(ARM.c.id).where(among(ARM.c.name, where.arms)))
    if where.domains:
        yield touches(DIALOGUE.c.domains, where.domains)
    if where.text:
        yield _mentions(where.text, postgres)
    if where.overridden is not None:
        overridden = DIALOGUE.c.id.in_(sa.select(OVERRIDE.c.dialogue_id))
        yield overridden if where.overridden else ~overridden
    if where.min_value is not None:
        yield _judged(where.min_value[0], JUDGEMENT.c.value >= where.min_value[1])
    if where.max_value is not None:
        yield _judged(where.max_value[0], JUDGEMENT.c.value <= where.max_value[1])
    if where.differ is not None:
        yield _judged(where.differ[0], differing(where.differ[1]))


def _plain_clauses(where: DialogueFilter) -> Iterator[sa.ColumnElement[bool]]:
    if where.study_id is not None:
        yield DIALOGUE.c.study_id == where.study_id
    if where.dataset is not None:
        yield DIALOGUE.c.dataset == where.dataset
    if where.kind is not None:
        yield DIALOGUE.c.kind == str(where.kind)
    if where.personas:
        yield among(DIALOGUE.c.persona_id, where.personas)
    if where.stop_reasons:
        yield DIALOGUE.c.stop_reason.in_([str(reason) for reason in where.stop_reasons])


def _judged(dimension: str, fits: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    """Dialogues with a judgement that fits, on a dimension or (empty) on any."""
    rated = sa.select(JUDGEMENT.c.dialogue_id).where(fits)
    if dimension:
        rated = rated.where(JUDGEMENT.c.dimension == dimension)
    return DIALOGUE.c.id.in_(rated)


def _mentions(text: str, postgres: bool) -> sa.ColumnElement[bool]:
    """`text` in an intent, an id or a message, in any letter case.

    The engines fold ASCII letters only (PostgreSQL under the C collation that sorts alike
    everywhere), so that other letters are looked for as written, lower, upper and titled.
    """
    forms = dict.fromkeys((text, text.lower(), text.upper(), text.capitalize(), text.title()))
    c = DIALOGUE.c
    plain = [_like(column, escape(form), postgres) for form in forms for column in _NAMES]
    inside = [_like(DIALOGUE_BODY.c.messages, to_json(form)[1:-1], postgres) for form in forms]
    said = sa.select(DIALOGUE_BODY.c.dialogue_id).where(sa.or_(*inside))
    return sa.or_(*plain, c.id.in_(said))


_NAMES = (DIALOGUE.c.intent, DIALOGUE.c.id, DIALOGUE.c.persona_id, DIALOGUE.c.task_id)


def _like(column: Any, part: str, postgres: bool) -> sa.ColumnElement[bool]:
    """Substring, with `%` and `_` as themselves. LIKE of SQLite ignores ASCII case by itself."""
    literal = part.replace("/", "//").replace("%", "/%").replace("_", "/_")
    pattern = sa.literal(f"%{literal}%", sa.Text())
    plain = sa.type_coerce(column, sa.Text())
    return plain.ilike(pattern, escape="/") if postgres else plain.like(pattern, escape="/")


# --- progress ----------------------------------------------------------------------------------


@dataclass
class _Counts:
    """What may change: units, and judgements that another try has taken the place of."""

    units: dict[str | None, int] = field(default_factory=dict)
    superseded: int = 0
    lost: int = 0
    lost_usd: float = 0.0


def progress_of(
    database: Database, now: datetime, study_id: str | None = None
) -> list[StudyProgress]:
    """Counts of one study or of all, in one snapshot; what was counted before is not read again."""
    light = sa.select(*(c for c in STUDY.c if c.name != "spec"))
    query = _of_study(light, STUDY.c.id, study_id)
    tally = database.tally
    with tally.lock, database.read() as connection:
        rows = connection.execute(query.order_by(STUDY.c.created_at.desc(), STUDY.c.id)).all()
        kept = tally.look(connection)
        asked_again = any(kept[row.id].judgements[_UNREACHED] for row in rows)
        counts = _counts(connection, study_id, asked_again)
    return [_progress(row, counts[row.id], kept[row.id], now) for row in rows]


def _of_study(query: AnySelect, column: Any, study_id: str | None) -> AnySelect:
    return query if study_id is None else query.where(column == study_id)


def _counts(
    connection: sa.Connection, study_id: str | None, asked_again: bool
) -> defaultdict[str, _Counts]:
    counts: defaultdict[str, _Counts] = defaultdict(_Counts)
    n, u, j = sa.func.count(), UNIT.c, JUDGEMENT.c
    units = _of_study(sa.select(u.study_id, u.stop_reason, n), u.study_id, study_id)
    for study, reason, number in connection.execute(units.group_by(u.study_id, u.stop_reason)):
        counts[study].units[reason] = number
    if asked_again:
        again = _of_study(sa.select(j.study_id, n), j.study_id, study_id).where(superseded())
        for study, number in connection.execute(again.group_by(j.study_id)):
            counts[study].superseded = number
    s = SPENDING.c
    lost = _of_study(sa.select(s.study_id, s.lost_calls, s.lost_usd), s.study_id, study_id)
    for study, number, usd in connection.execute(lost):
        counts[study].lost, counts[study].lost_usd = number, usd
    return counts


def _progress(row: AnyRow, counts: _Counts, kept: Counts, now: datetime) -> StudyProgress:
    """A collection without units counts its dialogues as its units."""
    ended: Mapping[Any, int] = counts.units or kept.dialogues
    judgements = kept.judgements.total() - counts.superseded
    reasons = {str(r): n for r, n in sorted(ended.items(), key=str) if r is not None}
    done = sum(n for reason, n in reasons.items() if StopReason(reason).judged)
    known = kept.priced == kept.calls
    started = row.started_at or kept.first
    return StudyProgress(
        study_id=row.id,
        study=row.name,
        state=StudyState(row.state),
        units=sum(ended.values()),
        done=done,
        failed=sum(reasons.values()) - done,
        judgements=judgements,
        unscored=judgements - kept.judgements["ok"],
        cost_usd=kept.cost if known else None,
        cost_known=known,
        stop_reasons=reasons,
        seconds=_seconds(started, kept.last),
        heartbeat_at=row.heartbeat_at,
        message=row.message,
        possibly_paid=counts.lost,
        possibly_paid_usd=counts.lost_usd,
        cached_calls=kept.cached,
        stalled=row.state == StudyState.RUNNING and _silent(row.heartbeat_at, now),
    )


def _silent(beat: datetime | None, now: datetime) -> bool:
    return beat is None or (now - beat).total_seconds() > LEASE_SECONDS


def _seconds(first: datetime | None, last: datetime | None) -> float:
    return max(0.0, (last - first).total_seconds()) if first and last else 0.0


# --- judgements --------------------------------------------------------------------------------


def superseded() -> sa.ColumnElement[bool]:
    """A judgement whose judge could not be reached and was asked again about the same target."""
    later = JUDGEMENT.alias("later")
    same = [later.c[n] == JUDGEMENT.c[n] for n in ("dialogue_id", "instrument_id", "dimension")]
    turns = [sa.func.coalesce(t.c.turn, -1) for t in (later, JUDGEMENT)]
    newer = sa.and_(*same, turns[0] == turns[1], later.c.seq > JUDGEMENT.c.seq)
    return sa.and_(JUDGEMENT.c.status == _UNREACHED, sa.exists().where(newer))


def judgements_with_instrument() -> AnySelect:
    """Whole judgements: what `rows.judgement_of` reads."""
    c = INSTRUMENT.c
    query = sa.select(JUDGEMENT, c.judge, c.rubric, c.prompt_hash, c.params)
    return query.join(INSTRUMENT, c.id == JUDGEMENT.c.instrument_id)


RATING_COLUMNS = (
    "dialogue_id",
    "persona_id",
    "task_id",
    "kind",
    "domains",
    "arm",
    "repetition",
    "turns",
    "dimension",
    "target",
    "turn",
    "status",
    "value",
    "instrument",
    "instrument_id",
    "stop_reason",
)


def arms_of_dialogues(database: Database, study_id: str) -> list[str]:
    """The names of the arms of a study's dialogues."""
    used = sa.select(DIALOGUE.c.arm_id).where(DIALOGUE.c.study_id == study_id).distinct()
    query = sa.select(ARM.c.name).where(ARM.c.id.in_(used)).distinct()
    return sorted(str(row.name) for row in database.rows(query))


def rated_dimensions(database: Database, study_id: str) -> list[str]:
    """The dimensions of a study's judgements, from one to the next: all rows are many more."""
    next_one = sa.select(sa.func.min(JUDGEMENT.c.dimension)).where(JUDGEMENT.c.study_id == study_id)
    found = sa.select(next_one.scalar_subquery().label("name")).cte("found", recursive=True)
    later = next_one.where(JUDGEMENT.c.dimension > found.c.name).scalar_subquery()
    found = found.union_all(sa.select(later).where(found.c.name.is_not(None)))
    query = sa.select(found.c.name).where(found.c.name.is_not(None))
    return [str(row.name) for row in database.rows(query)]


def rating_frame(database: Database, study_id: str, dimension: str | None) -> pd.DataFrame:
    """The table behind `Store.ratings`, ordered as the judgements were stored.

    Dialogues are read once each and laid beside their judgements here: joined by the
    database, their columns would be fetched as often as there are dimensions.
    """
    import pandas as pd

    used = sa.select(INSTRUMENT.c.id, INSTRUMENT.c.judge, INSTRUMENT.c.rubric)
    with database.read() as connection:
        ratings = _frame(connection, _rated(study_id, dimension)).sort_values("seq")
        dialogues = _frame(connection, _talked(study_id))
        instruments = {row.id: f"{row.judge} · {row.rubric}" for row in connection.execute(used)}
    dialogues["domains"] = _changed(dialogues["domains"], lambda text: "|".join(json.loads(text)))
    beside = pd.Index(dialogues.pop("dialogue_id")).get_indexer(ratings["dialogue_id"])
    beside_them = dialogues.take(beside).reset_index(drop=True)
    frame = pd.concat([ratings.reset_index(drop=True), beside_them], axis=1)
    frame["instrument"] = frame["instrument_id"].map(instruments).astype("str")
    return frame.astype({"value": "float64", "turn": "Int64"})[list(RATING_COLUMNS)]


def _rated(study_id: str, dimension: str | None) -> AnySelect:
    j = JUDGEMENT.c
    columns = (j.seq, j.dialogue_id, j.dimension, j.target, j.turn, j.status, j.value)
    query = sa.select(*columns, j.instrument_id).where(j.study_id == study_id, ~superseded())
    return query if dimension is None else query.where(j.dimension == dimension)


def _talked(study_id: str) -> AnySelect:
    d = DIALOGUE.c
    columns = (d.persona_id, d.task_id, d.kind, d.domains, d.repetition, d.turns, d.stop_reason)
    query = sa.select(d.id.label("dialogue_id"), *columns, ARM.c.name.label("arm"))
    return query.join(ARM, ARM.c.id == d.arm_id).where(d.study_id == study_id)


def _frame(connection: sa.Connection, query: AnySelect) -> pd.DataFrame:
    """A result of plain columns, past SQLAlchemy's row objects, which take half of the time."""
    import pandas as pd

    columns = query.selected_columns
    cursor = connection.execute(query).cursor
    values = _cells(cursor, len(columns))
    return pd.DataFrame({c.name: _series(c, values[:, i]) for i, c in enumerate(columns)})


def _cells(cursor: Any, width: int) -> Any:
    """All rows as an array of objects, taken in pieces.

    In one piece, hundreds of thousands of tuples would keep the garbage collector busy for as
    long as the database.
    """
    import numpy as np

    pieces = [np.empty((0, width), dtype=object)]
    while cursor is not None and (rows := cursor.fetchmany(_ROWS_AT_ONCE)):
        flat = np.fromiter(chain.from_iterable(rows), dtype=object, count=len(rows) * width)
        pieces.append(flat.reshape(-1, width))
    return np.concatenate(pieces)


def _series(column: sa.ColumnElement[Any], values: Any) -> pd.Series[Any]:
    import pandas as pd

    if not isinstance(column.type, Text | Json):
        kinds = {"value": "float64", "turn": "Int64"}
        return pd.Series(values, dtype=kinds.get(column.name, "int64"))
    if column.name == "dialogue_id":  # each stands in few rows
        return pd.Series(_restored(values), dtype="str")
    # Few texts stand in many rows: each is looked at once.
    codes, found = pd.factorize(values)
    restored = _restored(found) if isinstance(column.type, Text) else found
    return pd.Series(restored, dtype="str").take(codes).reset_index(drop=True)


def _restored(texts: Any) -> Any:
    """`restore` of all; nearly always there is nothing to do, which one look tells."""
    return [restore(text) for text in texts] if ESCAPE in "".join(texts) else texts


def _changed(texts: pd.Series[str], change: Callable[[str], str]) -> pd.Series[str]:
    """`change` of every text, computed once for equal ones."""
    return texts.map({text: change(text) for text in texts.unique()}).astype("str")
