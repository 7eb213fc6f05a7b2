"""Adding to a dataset: what is there already is recognised by its content and left alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert as postgres_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from core.errors import SourceError
from core.types import (
    Dataset,
    ImportReport,
    Persona,
    ScenarioRef,
    Situation,
    Task,
    Vocabulary,
)
from storage.columns import among
from storage.database import AnyRow
from storage.dataset_rows import persona_text, persona_values, report_values, task_values
from storage.rows import Values
from storage.tables import DATASET, IMPORT_REPORT, PERSONA, PERSONA_TEXT, SCENARIO, TASK


def insert_or_skip(connection: sa.Connection, table: sa.Table, *, by: str) -> Any:
    """An insert that leaves a row alone whose column `by` has the value already."""
    insert: Any = postgres_insert if connection.dialect.name == "postgresql" else sqlite_insert
    return insert(table).on_conflict_do_nothing(index_elements=[by])


class _Known:
    """The rows of one table that the dataset holds: id to row number and content hash."""

    def __init__(self, connection: sa.Connection, table: sa.Table, name: str, key: int) -> None:
        self.table, self.name, self._dataset = table, name, key
        self._connection = connection
        query = sa.select(*self._columns).where(table.c.dataset_key == key)
        self.rows: dict[str, tuple[int, str]] = {
            row[0]: (row[1], row[2]) for row in connection.execute(query)
        }

    @property
    def _columns(self) -> tuple[Any, ...]:
        c = self.table.c
        return c[self.name], c.key, c.content_hash

    def add(self, values: Iterable[Values]) -> list[str]:
        """Insert what is new and return its ids. Raises `SourceError` on other content."""
        fresh: dict[str, Values] = {}
        for value in values:
            name = value[self.name]
            found = (
                fresh[name]["content_hash"] if name in fresh else self.rows.get(name, (0, ""))[1]
            )
            if not found:
                fresh[name] = value | {"dataset_key": self._dataset}
            elif found != value["content_hash"]:
                raise _differs(f"{self.table.name} {name!r}")
        if fresh:
            insert = sa.insert(self.table).returning(*self._columns)
            rows = self._connection.execute(insert, list(fresh.values()))
            self.rows |= {row[0]: (row[1], row[2]) for row in rows}
        return list(fresh)

    def key_of(self, name: str, ref: ScenarioRef) -> int:
        if name not in self.rows:
            raise SourceError(
                f"Scenario {ref.id} names the {self.table.name} {name!r}, which is not there; "
                "import it first."
            )
        return self.rows[name][0]


class RowWriter:
    """`core.ports.DatasetWriter` over one open transaction."""

    def __init__(self, connection: sa.Connection, dataset: Dataset) -> None:
        self._connection = connection
        self._name = dataset.name
        row = claim_dataset(connection, dataset)
        self._key: int = row.key
        self._vocabulary: Vocabulary = row.vocabulary
        self._at = row.imported_at
        self._personas = _Known(connection, PERSONA, "persona_id", self._key)
        self._tasks = _Known(connection, TASK, "task_id", self._key)
        self._new_personas = 0
        self._bare: set[str] = set()  # personas added here that have no scenario yet
        self._changed = not row.changes

    def add_personas(self, personas: Sequence[Persona]) -> int:
        """Add personas that are new. Raises `SourceError` for a known id with other content."""
        by_id = {p.id: p for p in personas}
        added = self._personas.add(map(persona_values, personas))
        pieces = [
            {"persona_key": self._personas.rows[i][0], "folded": piece}
            for i in added
            for piece in persona_text(by_id[i])
        ]
        self._insert(PERSONA_TEXT, pieces)
        self._bare.update(added)
        self._new_personas += len(added)
        return len(added)

    def add_tasks(self, tasks: Sequence[Task]) -> int:
        """Add tasks that are new. Raises `SourceError` for a known id with other content."""
        added = self._tasks.add(map(task_values, tasks))
        self._changed |= bool(added)
        return len(added)

    def add_scenarios(self, scenarios: Sequence[tuple[ScenarioRef, Situation]]) -> int:
        """Add scenarios that are new. Raises `SourceError` for one that is there otherwise.

        Persona and task must be stored.
        """
        personas = {ref.persona_id for ref, _ in scenarios}
        stored = self._situations(personas - self._bare)
        self._bare -= personas
        fresh: dict[tuple[int, int], dict[str, str]] = {}
        for ref, situation in scenarios:
            fields = dict(situation.fields)
            key = self._personas.key_of(ref.persona_id, ref), self._tasks.key_of(ref.task_id, ref)
            found = fresh.get(key, stored.get(key))
            if found is None:
                fresh[key] = fields
            elif found != fields:
                raise _differs(f"scenario {ref.id!r}")
        rows = [{"persona_key": p, "task_key": t, "situation": f} for (p, t), f in fresh.items()]
        self._insert(SCENARIO, rows)
        return len(rows)

    def _situations(self, persona_ids: set[str]) -> dict[tuple[int, int], dict[str, str]]:
        """What is stored already for these personas."""
        query = (
            sa.select(SCENARIO.c.persona_key, SCENARIO.c.task_key, SCENARIO.c.situation)
            .join(PERSONA, PERSONA.c.key == SCENARIO.c.persona_key)
            .where(PERSONA.c.dataset_key == self._key, among(PERSONA.c.persona_id, persona_ids))
        )
        rows = self._connection.execute(query).all() if persona_ids else []
        return {(persona, task): situation for persona, task, situation in rows}

    def _insert(self, table: sa.Table, rows: list[Values]) -> None:
        if rows:
            self._connection.execute(sa.insert(table), rows)
            self._changed = True

    def finish(self, report: ImportReport, vocabulary: Vocabulary) -> None:
        """Record what this import found, and the vocabulary of the dataset."""
        self._insert(IMPORT_REPORT, [report_values(report)])
        self._at = report.at
        if self._new_personas == len(self._personas.rows):
            self._vocabulary = vocabulary
        elif self._new_personas:
            self._vocabulary = self._counted()

    def _counted(self) -> Vocabulary:
        """The vocabulary of all personas: an import that adds some knows only its own."""
        query = sa.select(PERSONA.c.affinities).where(PERSONA.c.dataset_key == self._key)
        counts: dict[str, dict[str, dict[str, int]]] = {}
        for row in self._connection.execute(query):
            for domain, name, _listed, values in row.affinities:
                held = counts.setdefault(domain, {}).setdefault(name, {})
                for value in values:
                    held[value] = held.get(value, 0) + 1
        return counts

    def close(self) -> None:
        """Write the dataset's own row: its counts as they are now."""
        if not self._changed:
            return
        scenarios = (
            sa.select(sa.func.count())
            .select_from(SCENARIO)
            .join(PERSONA, PERSONA.c.key == SCENARIO.c.persona_key)
            .where(PERSONA.c.dataset_key == self._key)
        )
        values = {
            "personas": len(self._personas.rows),
            "tasks": len(self._tasks.rows),
            "scenarios": self._connection.scalar(scenarios),
            "changes": DATASET.c.changes + 1,
            "imported_at": self._at,
            "vocabulary": dict(self._vocabulary),
        }
        own = sa.update(DATASET).where(DATASET.c.key == self._key)
        self._connection.execute(own.values(**values))


def claim_dataset(connection: sa.Connection, dataset: Dataset) -> AnyRow:
    """The dataset's row, made if need be and locked until the transaction ends."""
    values = {
        "name": dataset.name,
        "kind": dataset.kind,
        "sample": dataset.sample,
        "personas": 0,
        "tasks": 0,
        "scenarios": 0,
        "changes": 0,
        "imported_at": dataset.imported_at,
        "vocabulary": {},
    }
    connection.execute(insert_or_skip(connection, DATASET, by="name"), values)
    query = sa.select(DATASET).where(DATASET.c.name == dataset.name).with_for_update()
    row = connection.execute(query).one()
    if row.kind != dataset.kind:
        raise SourceError(
            f"The dataset {dataset.name!r} holds {row.kind} data, so {dataset.kind} data cannot "
            "be added to it; choose another name."
        )
    return row


def _differs(what: str) -> SourceError:
    return SourceError(
        f"The {what} is stored already with other content, and what is stored is not changed; "
        "import into a dataset of another name."
    )
