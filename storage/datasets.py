"""Datasets as they are read: personas, tasks and scenarios."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.ports import DatasetWriter, ScenarioFilter
from core.types import (
    Dataset,
    ImportReport,
    Persona,
    PersonaSummary,
    Scenario,
    ScenarioRef,
    Situation,
    Task,
    TaskKind,
    Vocabulary,
)
from storage.columns import among, escape, holds, touches
from storage.database import AnyRow, AnySelect, Database
from storage.dataset_rows import (
    dataset_of,
    persona_of,
    report_of,
    report_values,
    summary_of,
    task_of,
)
from storage.dataset_writer import RowWriter
from storage.tables import DATASET, IMPORT_REPORT, PERSONA, PERSONA_TEXT, SCENARIO, TASK

_PERSONA_ORDER = (PERSONA.c.number, PERSONA.c.persona_id)
_TASK_ORDER = (TASK.c.kind.desc(), TASK.c.domains, TASK.c.number, TASK.c.task_id)


class Datasets:
    """The part of the store that remembers whom and what to simulate."""

    _db: Database
    _now: Callable[[], datetime]

    @contextmanager
    def write_dataset(
        self, name: str, kind: str, *, sample: bool = False
    ) -> Iterator[DatasetWriter]:
        """Add to a dataset in one transaction. An exception inside undoes all of it."""
        with self._db.write() as connection:
            writer = RowWriter(connection, Dataset(name, kind, 0, 0, 0, self._now(), sample))
            yield writer
            writer.close()

    def list_datasets(self) -> list[Dataset]:
        """Own datasets in the order of their making, samples last."""
        query = sa.select(DATASET).order_by(DATASET.c.sample, DATASET.c.key)
        return [dataset_of(row) for row in self._db.rows(query)]

    def find_dataset(self, name: str) -> Dataset | None:
        """The dataset of that name, or None."""
        rows = self._db.rows(sa.select(DATASET).where(DATASET.c.name == name))
        return dataset_of(rows[0]) if rows else None

    def list_import_reports(self, dataset: str | None = None) -> list[ImportReport]:
        """What imports found, newest first."""
        query = sa.select(IMPORT_REPORT).order_by(IMPORT_REPORT.c.seq.desc())
        if dataset is not None:
            query = query.where(IMPORT_REPORT.c.dataset == dataset)
        return [report_of(row) for row in self._db.rows(query)]

    def add_import_report(self, report: ImportReport) -> None:
        """Keep the report of an import that wrote no dataset."""
        with self._db.write() as connection:
            connection.execute(sa.insert(IMPORT_REPORT), report_values(report))

    def vocabulary(self, dataset: str) -> Vocabulary:
        """Every value that a persona of the dataset holds, and how many hold it."""
        query = sa.select(DATASET.c.vocabulary).where(DATASET.c.name == dataset)
        found: Vocabulary = self._db.one(query, f"There is no dataset {dataset!r}.").vocabulary
        return found

    def list_personas(self, dataset: str) -> list[PersonaSummary]:
        """All personas, by the number in their id; affinities and summaries are not read."""
        light = sa.select(PERSONA.c.persona_id, PERSONA.c.demographics, PERSONA.c.interests)
        query = _of(light, PERSONA, dataset).order_by(*_PERSONA_ORDER)
        return [summary_of(row) for row in self._db.rows(query)]

    def get_persona(self, dataset: str, persona_id: str) -> Persona:
        """One persona. Raises `NotFound`."""
        query = _of(sa.select(PERSONA), PERSONA, dataset)
        query = query.where(PERSONA.c.persona_id == persona_id)
        return persona_of(self._db.one(query, f"{dataset} has no persona {persona_id!r}."))

    def get_personas(self, dataset: str, persona_ids: Iterable[str]) -> dict[str, Persona]:
        """The personas by id, in the order asked for; unknown ids are left out."""
        wanted = list(dict.fromkeys(persona_ids))
        query = _of(sa.select(PERSONA), PERSONA, dataset)
        rows = self._db.rows(query.where(among(PERSONA.c.persona_id, wanted)))
        found = {row.persona_id: persona_of(row) for row in rows}
        return {i: found[i] for i in wanted if i in found}

    def search_personas(self, dataset: str, text: str) -> list[str]:
        """Ids of personas that hold `text` in any letter case, by the number in the id."""
        hits = sa.select(PERSONA_TEXT.c.persona_key).where(
            holds(PERSONA_TEXT.c.folded, escape(text.casefold()))
        )
        query = _of(sa.select(PERSONA.c.persona_id), PERSONA, dataset)
        query = query.where(PERSONA.c.key.in_(hits)).order_by(*_PERSONA_ORDER)
        return [row.persona_id for row in self._db.rows(query)]

    def list_tasks(self, dataset: str) -> list[Task]:
        """All tasks: single before multi, then by domains and the number in the id."""
        query = _of(sa.select(TASK), TASK, dataset).order_by(*_TASK_ORDER)
        return [task_of(row) for row in self._db.rows(query)]

    def get_task(self, dataset: str, task_id: str) -> Task:
        """One task. Raises `NotFound`."""
        query = _of(sa.select(TASK), TASK, dataset).where(TASK.c.task_id == task_id)
        return task_of(self._db.one(query, f"{dataset} has no task {task_id!r}."))

    def list_scenarios(self, dataset: str, where: ScenarioFilter) -> list[ScenarioRef]:
        """Scenarios, by persona number, then as `list_tasks` orders tasks.

        They are sorted here, by one number each: the database would sort six columns of text
        for each of 100,000 rows.
        """
        personas = self._light_rows(PERSONA, dataset, *_PERSONA_ORDER)
        tasks = self._light_rows(TASK, dataset, *_TASK_ORDER)
        columns = (SCENARIO.c.persona_key, SCENARIO.c.task_key)
        found = self._db.rows(_scenarios(columns, dataset, where))
        start = {row.key: rank * len(tasks) for rank, row in enumerate(personas)}
        step = {row.key: rank for rank, row in enumerate(tasks)}
        places = sorted([start[persona] + step[task] for persona, task in found])
        ids = [row.persona_id for row in personas]
        rest = [(row.task_id, TaskKind(row.kind), tuple(row.domains)) for row in tasks]
        n = len(tasks)
        return [ScenarioRef(dataset, ids[place // n], *rest[place % n]) for place in places]

    def _light_rows(self, table: sa.Table, dataset: str, *order: Any) -> Sequence[AnyRow]:
        names = ("key", "persona_id", "task_id", "kind", "domains")
        columns = [table.c[name] for name in names if name in table.c]
        return self._db.rows(_of(sa.select(*columns), table, dataset).order_by(*order))

    def count_scenarios(self, dataset: str, where: ScenarioFilter) -> int:
        """How many scenarios `list_scenarios` would return."""
        n: int = self._db.rows(_scenarios((sa.func.count(),), dataset, where))[0][0]
        return n

    def get_scenario(self, dataset: str, persona_id: str, task_id: str) -> Scenario:
        """Persona, task and situation together. Raises `NotFound`."""
        where = ScenarioFilter(persona_ids=frozenset([persona_id]), task_ids=frozenset([task_id]))
        query = _scenarios((SCENARIO.c.situation,), dataset, where)
        row = self._db.one(query, f"{dataset} has no scenario {persona_id}/{task_id}.")
        persona, task = self.get_persona(dataset, persona_id), self.get_task(dataset, task_id)
        return Scenario(dataset, persona, task, Situation(row.situation))

    def get_situations(
        self, dataset: str, keys: Sequence[tuple[str, str]]
    ) -> dict[tuple[str, str], Situation]:
        """Situations by persona id and task id, in the order asked for; unknown keys left out."""
        personas, tasks = (frozenset(ids) for ids in zip(*keys, strict=True)) if keys else ((), ())
        where = ScenarioFilter(persona_ids=frozenset(personas), task_ids=frozenset(tasks))
        columns = (PERSONA.c.persona_id, TASK.c.task_id, SCENARIO.c.situation)
        rows = self._db.rows(_scenarios(columns, dataset, where)) if keys else []
        found = {(row.persona_id, row.task_id): row.situation for row in rows}
        return {key: Situation(found[key]) for key in dict.fromkeys(keys) if key in found}


def _of(query: AnySelect, table: sa.Table, dataset: str) -> AnySelect:
    """The rows of `table` that belong to `dataset`."""
    joined = query.join(DATASET, DATASET.c.key == table.c.dataset_key)
    return joined.where(DATASET.c.name == dataset)


def _scenarios(columns: Sequence[Any], dataset: str, where: ScenarioFilter) -> AnySelect:
    query = (
        sa.select(*columns)
        .select_from(SCENARIO)
        .join(PERSONA, PERSONA.c.key == SCENARIO.c.persona_key)
        .join(TASK, TASK.c.key == SCENARIO.c.task_key)
    )
    return _of(query, PERSONA, dataset).where(*_scenario_clauses(where))


def _scenario_clauses(where: ScenarioFilter) -> Iterator[sa.ColumnElement[bool]]:
    if where.kind is not None:
        yield TASK.c.kind == str(where.kind)
    if where.domains:
        yield touches(TASK.c.domains, where.domains)
    if where.persona_ids:
        yield among(PERSONA.c.persona_id, where.persona_ids)
    if where.task_ids:
        yield among(TASK.c.task_id, where.task_ids)
