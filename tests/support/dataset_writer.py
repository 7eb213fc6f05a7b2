"""A dataset in memory: the writing half of `core.ports.Store`, for tests of importers."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from core.errors import SourceError
from core.types import ImportReport, Persona, ScenarioRef, Situation, Task, Vocabulary


@dataclass
class HeldDataset:
    """What a dataset holds after its import."""

    kind: str = ""
    sample: bool = False
    personas: dict[str, Persona] = field(default_factory=dict)
    tasks: dict[str, Task] = field(default_factory=dict)
    scenarios: dict[str, tuple[ScenarioRef, Situation]] = field(default_factory=dict)
    reports: list[ImportReport] = field(default_factory=list)
    vocabulary: Vocabulary = field(default_factory=dict)

    def add_personas(self, personas: Sequence[Persona]) -> int:
        return sum(_add(self.personas, p.id, p) for p in personas)

    def add_tasks(self, tasks: Sequence[Task]) -> int:
        return sum(_add(self.tasks, t.id, t) for t in tasks)

    def add_scenarios(self, scenarios: Sequence[tuple[ScenarioRef, Situation]]) -> int:
        for ref, _ in scenarios:
            assert ref.persona_id in self.personas, ref
            assert ref.task_id in self.tasks, ref
        return sum(_add(self.scenarios, s[0].id, s) for s in scenarios)

    def finish(self, report: ImportReport, vocabulary: Vocabulary) -> None:
        self.reports.append(report)
        self.vocabulary = vocabulary


def _add(held: dict[str, Any], key: str, value: Any) -> int:
    if key in held and held[key] != value:
        raise SourceError(f"{key} is there with other content.")
    fresh = key not in held
    held[key] = value
    return int(fresh)


class HeldDatasets:
    """Datasets by name; a fault while writing leaves them as they were."""

    def __init__(self) -> None:
        self.datasets: dict[str, HeldDataset] = {}

    @contextmanager
    def write_dataset(self, name: str, kind: str, *, sample: bool = False) -> Iterator[HeldDataset]:
        held = copy.copy(self.datasets.get(name, HeldDataset(kind, sample)))
        held.personas, held.tasks = dict(held.personas), dict(held.tasks)
        held.scenarios, held.reports = dict(held.scenarios), list(held.reports)
        yield held
        self.datasets[name] = held
