"""Dialogues and model calls: appended, found and read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

import sqlalchemy as sa

from core.errors import AlreadyDecided
from core.ledger import OpenCall
from core.ports import DialogueFilter, Finished
from core.types import Dialogue, DialogueSummary, ModelCall
from storage.database import Database, rows_by_seq
from storage.judgements import insert_judgements
from storage.ledger import settle
from storage.ledger_tables import ANSWER
from storage.queries import (
    DIALOGUE_ORDERS,
    dialogue_count,
    dialogue_summaries,
    dialogues_with_body,
)
from storage.rows import (
    body_values,
    call_of,
    call_values,
    dialogue_of,
    dialogue_summary_of,
    dialogue_values,
)
from storage.studies import add_arms, finish_unit
from storage.tables import DIALOGUE, DIALOGUE_BODY, MODEL_CALL

_PIECE = 500
"""How many whole dialogues are in memory at once while a study is read through."""


class Dialogues:
    """The part of the store that remembers what was said and what it cost."""

    _db: Database
    _now: Callable[[], datetime]

    def add_finished(self, finished: Sequence[Finished]) -> None:
        """Append dialogues with their judgements, all or none, and close their units.

        Raises `AlreadyDecided` when a dialogue, or another one of the same unit and attempt,
        is stored already.
        """
        if not finished:
            return
        dialogues = [f.dialogue for f in finished]
        new = [f.dialogue for f in finished if not f.again]
        with self._db.write() as connection:
            if new:
                add_arms(connection, [d.arm for d in new])
                connection.execute(sa.insert(DIALOGUE), [dialogue_values(d) for d in new])
                connection.execute(sa.insert(DIALOGUE_BODY), [body_values(d) for d in new])
            insert_judgements(connection, [j for f in finished for j in f.judgements])
            ended = [
                {"unit": d.unit_id, "tried": d.attempt, "reason": str(d.stop_reason)}
                for d in dialogues
                if d.unit_id is not None
            ]
            if ended:
                connection.execute(finish_unit(), ended)

    def get_dialogue(self, dialogue_id: str) -> Dialogue:
        """One whole dialogue. Raises `NotFound`."""
        query = dialogues_with_body().where(DIALOGUE.c.id == dialogue_id)
        return dialogue_of(self._db.one(query, f"There is no dialogue {dialogue_id!r}."))

    def find_dialogue_of_unit(self, unit_id: str) -> Dialogue | None:
        """The dialogue of the unit's latest attempt that has one, or None."""
        query = dialogues_with_body().where(DIALOGUE.c.unit_id == unit_id)
        rows = self._db.rows(query.order_by(DIALOGUE.c.attempt.desc()).limit(1))
        return dialogue_of(rows[0]) if rows else None

    def list_dialogues(
        self, where: DialogueFilter, *, order: str = "newest", limit: int = 200, offset: int = 0
    ) -> list[DialogueSummary]:
        """Dialogues without their messages. `order` is one of `queries.DIALOGUE_ORDERS`."""
        if order not in DIALOGUE_ORDERS:
            raise ValueError(f"order is one of {', '.join(DIALOGUE_ORDERS)}, not {order!r}")
        query = dialogue_summaries(where, order, self._db.postgres).limit(limit).offset(offset)
        return [dialogue_summary_of(row) for row in self._db.rows(query)]

    def count_dialogues(self, where: DialogueFilter) -> int:
        """How many dialogues fit."""
        n: int = self._db.rows(dialogue_count(where, self._db.postgres))[0][0]
        return n

    def iter_dialogues(self, study_id: str) -> Iterator[Dialogue]:
        """Whole dialogues of a study as they were stored; no transaction stays open between."""
        query = dialogues_with_body().where(DIALOGUE.c.study_id == study_id)
        for row in rows_by_seq(self._db, query, DIALOGUE.c.seq, _PIECE):
            yield dialogue_of(row)

    def add_calls(
        self, calls: Sequence[ModelCall], *, entries: Sequence[OpenCall | None] = ()
    ) -> None:
        """Append to the call log, and strike out their `entries` in the ledger; all or none.

        A failed call may be repeated; an answered one is logged once, and a second raises
        `AlreadyDecided`.
        """
        if not calls:
            return
        try:
            with self._db.write() as connection:
                connection.execute(sa.insert(MODEL_CALL), [call_values(call) for call in calls])
                settle(connection, calls, entries, self._now().timestamp())
        except AlreadyDecided:
            raise AlreadyDecided("This call was answered and logged before.") from None

    def find_answer(self, key: str) -> ModelCall | None:
        """The answer that studies share under this key, or None."""
        place = [MODEL_CALL.c[n] == ANSWER.c[n] for n in ("scope", "party", "number")]
        query = sa.select(MODEL_CALL).join(ANSWER, sa.and_(*place))
        rows = self._db.rows(query.where(ANSWER.c.key == key, MODEL_CALL.c.error == ""))
        return call_of(rows[0]) if rows else None

    def list_calls(self, scope: str) -> list[ModelCall]:
        """The call log of one scope, as it was written."""
        query = sa.select(MODEL_CALL).where(MODEL_CALL.c.scope == scope)
        return [call_of(row) for row in self._db.rows(query.order_by(MODEL_CALL.c.seq))]

    def list_judge_calls(self, dialogue_id: str) -> list[ModelCall]:
        """The call logs of all judges of one dialogue: scopes that begin with its id and `:`."""
        scope = MODEL_CALL.c.scope
        query = sa.select(MODEL_CALL).where(scope > f"{dialogue_id}:", scope < f"{dialogue_id};")
        return [call_of(row) for row in self._db.rows(query.order_by(MODEL_CALL.c.seq))]
