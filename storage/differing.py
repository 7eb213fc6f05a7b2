"""Where a judge and a person are far apart: a condition on judgements."""

from __future__ import annotations

import sqlalchemy as sa

from core.review_types import Act
from storage.database import AnySelect
from storage.review_tables import ANNOTATION
from storage.tables import JUDGEMENT, OVERRIDE


def differing(points: int) -> sa.ColumnElement[bool]:
    """A judgement from which a person's value is at least so far away.

    A person's value is the latest override of the judgement, or what an annotator says of the
    same now: after the reveal if they said something then, and nothing that was taken back.
    People say little beside what judges say, so that the search begins with what they said.
    """
    return JUDGEMENT.c.id.in_(sa.union_all(_overridden(points), _labelled(points)))


def _overridden(points: int) -> AnySelect:
    j, o, later = JUDGEMENT.alias("overridden").c, OVERRIDE.c, OVERRIDE.alias("later")
    newer = sa.exists().where(later.c.judgement_id == o.judgement_id, later.c.seq > o.seq)
    far = sa.func.abs(o.value - j.value) >= points
    return sa.select(j.id).where(j.id == o.judgement_id, far, ~newer)


def _labelled(points: int) -> AnySelect:
    j, a, next_ = JUDGEMENT.alias("labelled").c, ANNOTATION.c, ANNOTATION.alias("next")
    turns = [sa.func.coalesce(turn, -1) for turn in (a.turn, j.turn)]
    same = (a.dialogue_id == j.dialogue_id, a.dimension == j.dimension, turns[0] == turns[1])
    undone = sa.and_(
        next_.c.act == str(Act.UNDONE),
        sa.or_(next_.c.supersedes == a.id, next_.c.supersedes == a.supersedes),
    )
    answered = sa.and_(next_.c.act == str(Act.AFTER), next_.c.supersedes == a.id)
    return sa.select(j.id).where(
        *same,
        a.act.in_([str(Act.RATED), str(Act.AFTER)]),
        sa.func.abs(a.value - j.value) >= points,
        ~sa.exists().where(sa.or_(undone, answered)),
    )
