"""Judgements by judges and overrides by people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import sqlalchemy as sa

from core.bulk_override import Rater
from core.errors import AlreadyDecided, NotFound
from core.ports import DialogueFilter
from core.types import Judgement, JudgementStatus, Override, StopReason
from storage.bulk import judgement_clauses, latest_overrides, pieces, raters_of
from storage.database import AnyRow, Database, rows_by_seq
from storage.dataset_writer import insert_or_skip
from storage.queries import (
    arms_of_dialogues,
    judgements_with_instrument,
    rated_dimensions,
    rating_frame,
    superseded,
)
from storage.rows import (
    instrument_values,
    judgement_of,
    judgement_values,
    override_of,
    override_values,
)
from storage.tables import DIALOGUE, INSTRUMENT, JUDGEMENT, OVERRIDE

if TYPE_CHECKING:
    import pandas as pd

_PIECE = 5_000
_TRIES = 5
_JUDGED = [str(reason) for reason in StopReason if reason.judged]


class Judgements:
    """The part of the store that remembers what judges and people thought."""

    _db: Database

    def add_judgements(self, judgements: Sequence[Judgement]) -> None:
        """Append judgements, all or none.

        Raises `AlreadyDecided` when one instrument rates one target twice.
        """
        if judgements:
            with self._db.write() as connection:
                insert_judgements(connection, judgements)

    def get_judgement(self, judgement_id: str) -> Judgement:
        """One judgement. Raises `NotFound`."""
        query = judgements_with_instrument().where(JUDGEMENT.c.id == judgement_id)
        return judgement_of(self._db.one(query, f"There is no judgement {judgement_id!r}."))

    def list_judgements(self, dialogue_id: str) -> list[Judgement]:
        """The judgements of one dialogue, as they were stored.

        One whose judge could not be reached is left out once it was asked again.
        """
        mine = (JUDGEMENT.c.dialogue_id == dialogue_id, ~superseded())
        query = judgements_with_instrument().where(*mine)
        return [judgement_of(row) for row in self._db.rows(query.order_by(JUDGEMENT.c.seq))]

    def iter_judgements(self, study_id: str) -> Iterator[Judgement]:
        """The judgements of one study, as they were stored."""
        query = judgements_with_instrument().where(JUDGEMENT.c.study_id == study_id)
        for row in rows_by_seq(self._db, query, JUDGEMENT.c.seq, _PIECE):
            yield judgement_of(row)

    def dialogues_without(self, study_id: str, instrument_id: str, dimension: str) -> list[str]:
        """Ids of judgeable dialogues of a study that this instrument has not rated yet.

        A judge that could not be reached has not rated, and is asked again: of a rubric for
        turns, about as little as one turn.
        """
        tried = sa.select(JUDGEMENT.c.dialogue_id).where(
            JUDGEMENT.c.study_id == study_id,
            JUDGEMENT.c.instrument_id == instrument_id,
            JUDGEMENT.c.dimension == dimension,
        )
        unreached = JUDGEMENT.c.status == str(JudgementStatus.MODEL_ERROR)
        query = sa.select(DIALOGUE.c.id).where(
            DIALOGUE.c.study_id == study_id,
            DIALOGUE.c.stop_reason.in_(_JUDGED),
            sa.or_(
                DIALOGUE.c.id.not_in(tried.where(~unreached)),
                DIALOGUE.c.id.in_(tried.where(unreached, ~superseded())),
            ),
        )
        return [row.id for row in self._db.rows(query.order_by(DIALOGUE.c.seq))]

    def list_arms(self, study_id: str) -> list[str]:
        """Names of the arms that a study's dialogues are of, in alphabetical order."""
        return arms_of_dialogues(self._db, study_id)

    def rated_dimensions(self, study_id: str) -> list[str]:
        """What the judgements of a study rate, in alphabetical order."""
        return rated_dimensions(self._db, study_id)

    def ratings(self, study_id: str, *, dimension: str | None = None) -> pd.DataFrame:
        """One row per judgement of a study; columns as `core.ports.Store.ratings` lists them."""
        return rating_frame(self._db, study_id, dimension)

    def add_override(self, override: Override) -> None:
        """Append a person's value for one judgement.

        Raises `NotFound` without such a judgement, and `AlreadyDecided` when `supersedes` is
        not the latest override of it: somebody else was first.
        """
        same = OVERRIDE.c.judgement_id == override.judgement_id
        latest = sa.select(OVERRIDE.c.id).where(same).order_by(OVERRIDE.c.seq.desc()).limit(1)
        known = sa.select(JUDGEMENT.c.id).where(JUDGEMENT.c.id == override.judgement_id)
        try:
            with self._db.write() as connection:
                if connection.scalar(known) is None:
                    raise NotFound(f"There is no judgement {override.judgement_id!r}.")
                if connection.scalar(latest) != override.supersedes:
                    raise AlreadyDecided("")
                connection.execute(sa.insert(OVERRIDE), override_values(override))
        except AlreadyDecided:
            raise AlreadyDecided(
                "Somebody has overridden this judgement in the meantime; look at it again."
            ) from None

    def add_overrides(self, overrides: Sequence[Override]) -> list[Override]:
        """Append those that supersede the latest of their judgement; return the others.

        Raises `NotFound` for an unknown judgement; then nothing is stored.
        """
        for _ in range(_TRIES):
            try:
                return self._add_overrides(overrides)
            except AlreadyDecided:
                continue  # somebody wrote between the look and the insert: look again
        raise AlreadyDecided("Others override these judgements just now; preview them again.")

    def _add_overrides(self, overrides: Sequence[Override]) -> list[Override]:
        with self._db.write() as connection:
            latest: dict[str, str | None] = {}
            for some in pieces({o.judgement_id for o in overrides}):
                latest |= latest_overrides(connection, some)
            if unknown := [o for o in overrides if o.judgement_id not in latest]:
                raise NotFound(f"There is no judgement {unknown[0].judgement_id!r}.")
            fitting = [o for o in overrides if latest[o.judgement_id] == o.supersedes]
            if fitting:
                connection.execute(sa.insert(OVERRIDE), [override_values(o) for o in fitting])
        return [o for o in overrides if latest[o.judgement_id] != o.supersedes]

    def list_raters(self, where: DialogueFilter) -> list[Rater]:
        """Who rated what in the dialogues that fit, by dimension, then instrument."""
        rows = self._db.rows(raters_of(where, self._db.postgres))
        return [
            Rater(row.dimension, row.instrument_id, f"{row.judge} · {row.rubric}", row.judgements)
            for row in rows
        ]

    def find_judgements(
        self, where: DialogueFilter, dimension: str, instrument_id: str, *, limit: int
    ) -> list[Judgement]:
        """Judgements in the dialogues that fit, as they were stored."""
        mine = (JUDGEMENT.c.dimension == dimension, JUDGEMENT.c.instrument_id == instrument_id)
        fits = judgement_clauses(where, dimension, self._db.postgres)
        query = judgements_with_instrument().where(*mine, ~superseded(), *fits)
        rows = self._db.rows(query.order_by(JUDGEMENT.c.seq).limit(limit))
        return [judgement_of(row) for row in rows]

    def list_overrides_of(self, judgement_ids: Iterable[str]) -> list[Override]:
        """The overrides of these judgements, oldest first."""
        found: list[AnyRow] = []
        for some in pieces(judgement_ids):
            query = sa.select(OVERRIDE).where(OVERRIDE.c.judgement_id.in_(some))
            found += self._db.rows(query)
        return [override_of(row) for row in sorted(found, key=lambda row: row.seq)]

    def list_overrides(self, dialogue_id: str) -> list[Override]:
        """The overrides of one dialogue, oldest first."""
        query = sa.select(OVERRIDE).where(OVERRIDE.c.dialogue_id == dialogue_id)
        return [override_of(row) for row in self._db.rows(query.order_by(OVERRIDE.c.seq))]

    def list_all_overrides(self, study_id: str | None = None) -> list[Override]:
        """The overrides of one study or of all, oldest first."""
        query = sa.select(OVERRIDE).order_by(OVERRIDE.c.seq)
        if study_id is not None:
            query = query.join(DIALOGUE, DIALOGUE.c.id == OVERRIDE.c.dialogue_id)
            query = query.where(DIALOGUE.c.study_id == study_id)
        return [override_of(row) for row in self._db.rows(query)]


def insert_judgements(connection: sa.Connection, judgements: Sequence[Judgement]) -> None:
    """Insert judgements, and the instruments that are new."""
    if not judgements:
        return
    instruments = {j.instrument.id: j.instrument for j in judgements}
    values = [instrument_values(i) for i in instruments.values()]
    connection.execute(insert_or_skip(connection, INSTRUMENT, by="id"), values)
    connection.execute(sa.insert(JUDGEMENT), [judgement_values(j) for j in judgements])
