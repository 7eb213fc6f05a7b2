"""Selects behind overriding in bulk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import sqlalchemy as sa

from core.ports import DialogueFilter
from storage.database import AnySelect
from storage.differing import differing
from storage.queries import dialogue_clauses, superseded
from storage.tables import DIALOGUE, INSTRUMENT, JUDGEMENT, OVERRIDE

_AT_ONCE = 500  # ids in one statement


def pieces(ids: Iterable[str]) -> Iterator[list[str]]:
    """Ids in lists that every engine takes in one statement, each id once."""
    remaining = iter(dict.fromkeys(ids))
    while some := list(islice(remaining, _AT_ONCE)):
        yield some


def latest_overrides(connection: sa.Connection, judgement_ids: list[str]) -> dict[str, str | None]:
    """For each of these judgements that there is, the id of its latest override or None."""
    last = (
        sa.select(OVERRIDE.c.judgement_id, sa.func.max(OVERRIDE.c.seq).label("seq"))
        .where(OVERRIDE.c.judgement_id.in_(judgement_ids))
        .group_by(OVERRIDE.c.judgement_id)
        .subquery()
    )
    query = (
        sa.select(JUDGEMENT.c.id, OVERRIDE.c.id.label("latest"))
        .outerjoin(last, last.c.judgement_id == JUDGEMENT.c.id)
        .outerjoin(OVERRIDE, OVERRIDE.c.seq == last.c.seq)
        .where(JUDGEMENT.c.id.in_(judgement_ids))
    )
    return {row.id: row.latest for row in connection.execute(query)}


def raters_of(where: DialogueFilter, postgres: bool) -> AnySelect:
    """Dimension and instrument of the judgements in dialogues that fit, and their number."""
    j, i = JUDGEMENT.c, INSTRUMENT.c
    counted = sa.select(j.dimension, j.instrument_id, sa.func.count().label("judgements"))
    counted = counted.where(~superseded(), *_in_dialogues(where, postgres))
    found = counted.group_by(j.dimension, j.instrument_id).subquery()
    query = sa.select(found, i.judge, i.rubric).join(INSTRUMENT, i.id == found.c.instrument_id)
    return query.order_by(found.c.dimension, i.judge, i.rubric, i.id)


def judgement_clauses(
    where: DialogueFilter, dimension: str, postgres: bool
) -> Iterator[sa.ColumnElement[bool]]:
    """Judgements in dialogues that fit; what the filter says of their values holds for each."""
    yield from _in_dialogues(where, postgres)
    if where.min_value is not None and where.min_value[0] == dimension:
        yield JUDGEMENT.c.value >= where.min_value[1]
    if where.max_value is not None and where.max_value[0] == dimension:
        yield JUDGEMENT.c.value <= where.max_value[1]
    if where.differ is not None and where.differ[0] in ("", dimension):
        yield differing(where.differ[1])


def _in_dialogues(where: DialogueFilter, postgres: bool) -> Iterator[sa.ColumnElement[bool]]:
    clauses = list(dialogue_clauses(where, postgres))
    if clauses:
        yield JUDGEMENT.c.dialogue_id.in_(sa.select(DIALOGUE.c.id).where(*clauses))
