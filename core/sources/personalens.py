"""The PersonaLens benchmark (Zhao et al. 2025, arXiv 2506.09902): folder or archive to dataset."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TypeVar

from core.errors import SourceError
from core.ports import DatasetWriter, Store
from core.sources.ahead import read_ahead
from core.sources.archive import Entry, Source, open_source
from core.sources.catalogue import (
    Catalogue,
    catalogue_of_schema,
    check_names,
    check_shape,
    check_values,
    default_catalogue,
)
from core.sources.irregularities import Irregularities
from core.sources.json_text import load_json
from core.sources.profiles import Profiles
from core.sources.progress import ImportProgress, OnProgress
from core.sources.references import AffinityNames
from core.sources.selection import Selection, parse_selection, select_users
from core.sources.task_files import (
    Definition,
    Instances,
    SituationKey,
    parse_definitions,
    require_domains,
    resolve_tasks,
    situation_of,
)
from core.types import ImportReport, Persona, ScenarioRef, Situation, Task

KIND = "personalens"
SAMPLE_FOLDER = Path(__file__).parents[2] / "assets" / "sample"

_USER_FILE = re.compile(r"(?:^|/)profile/(user\d+)/(profile|tasks|tasks_md)\.json$")
_TASK_FILE = re.compile(r"(?:^|/)task/([^/]+)/task\.jsonl$")
_SCHEMA_FILE = re.compile(r"(?:^|/)res/schema\.json$")
_FILES = ("profile", "tasks", "tasks_md")
_PERSONAS, _SCENARIOS = 100, 5_000  # rows written at once
_AHEAD = 8  # files unpacked ahead

T = TypeVar("T")


def import_personalens(
    path: Path,
    *,
    name: str,
    store: Store,
    users: str | None = None,
    now: Callable[[], datetime],
    on_progress: OnProgress | None = None,
) -> ImportReport:
    """Import a PersonaLens folder or archive as the dataset `name`; all of it or nothing.

    `users` selects personas (`0-49`, `7,66`, `sample-50`); task definitions come whole. What
    departs from the format is repaired or kept as `core.sources.irregularities` says, and
    counted in the report. Importing the same again adds nothing. Raises `SourceError` with one
    sentence for a source that is unsafe, damaged or not in the format.
    """
    began = now()
    selection = parse_selection(users) if users else None
    is_sample = path.resolve() == SAMPLE_FOLDER
    with (
        _collector_paused(),
        open_source(path) as source,
        store.write_dataset(name, KIND, sample=is_sample) as writer,
    ):
        reading = _Reading(source, writer, selection, on_progress)
        reading.read()
        tasks = reading.check()
        reading.write(tasks, name)
        ended = now()
        report = ImportReport(
            dataset=name,
            kind=KIND,
            source=path.name,
            personas=reading.profiles.count,
            tasks=len(tasks),
            scenarios=len(reading.instances.scenarios),
            dialogues=0,
            added=reading.added,
            irregularities=reading.found.found(),
            seconds=(ended - began).total_seconds(),
            at=ended,
        )
        writer.finish(report, reading.profiles.vocabulary)
    return report


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Spare the search for cycles among millions of JSON values that have none."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@dataclass(frozen=True, slots=True)
class _File:
    """A file of the benchmark: its kind, and the user or task folder that it belongs to."""

    kind: str  # profile, tasks, tasks_md, task or schema
    owner: str
    name: str
    prefix: str


def _file_of(entry: Entry) -> _File | None:
    name = entry.name
    if found := _USER_FILE.search(name):
        return _File(found[2], found[1], name, name[: found.start()])
    if found := _TASK_FILE.search(name):
        return _File("task", found[1], name, name[: found.start()])
    return _File("schema", "", name, "") if _SCHEMA_FILE.search(name) else None


class _Reading:
    """One pass over a source. Personas are written as they come; tasks and scenarios wait.

    They wait because members may come in any order, and a task's affinity names are only
    resolved against the profiles. A waiting scenario is three references to shared texts.
    """

    def __init__(
        self,
        source: Source,
        writer: DatasetWriter,
        selection: Selection | None,
        on_progress: OnProgress | None,
    ) -> None:
        self.source = source
        self.writer = writer
        self.selection = selection
        self.on_progress = on_progress
        self.found = Irregularities()
        self.profiles = Profiles(self.found)
        self.instances = Instances()
        self.definitions: dict[str, Definition] = {}
        self.added = 0
        self._catalogue: Catalogue | None = None
        self._files: dict[str, set[str]] = {}  # user -> files met, unselected users too
        self._interests: dict[str, frozenset[str]] = {}
        self._prefixes: set[str] = set()
        self._waiting: list[Persona] = []

    # reading

    def read(self) -> None:
        """Read every file that belongs to the benchmark; others are passed over.

        A second thread unpacks ahead: decompressing runs beside parsing and writing.
        """
        with closing(read_ahead(self._contents(), most=_AHEAD)) as contents:
            for file, content in contents:
                if file.kind == "schema":
                    self._schema_file(file, content)
                elif file.kind == "task":
                    self._task_file(file, content)
                else:
                    self._user_file(file, content)
        self._flush()

    def _contents(self) -> Iterator[tuple[_File, bytes]]:
        """The benchmark's files; users who are not selected are named but not read."""
        for entry in self.source:
            file = _file_of(entry)
            if file is None:
                continue
            wanted = file.kind in ("schema", "task") or self._wants(file.owner)
            yield file, entry.read() if wanted else b""

    def _wants(self, user: str) -> bool:
        return self.selection is None or self.selection.wants(user)

    def _prefix(self, prefix: str) -> None:
        self._prefixes.add(prefix)
        if len(self._prefixes) > 1:
            one, other = sorted(self._prefixes)
            raise SourceError(
                f"{self.source.name} holds the benchmark twice, in {one or '.'!r} and {other!r}."
            )

    def _user_file(self, file: _File, content: bytes) -> None:
        self._prefix(file.prefix)
        user, kind = file.owner, file.kind
        files = self._files.setdefault(user, set())
        if kind in files:
            raise SourceError(f"{self.source.name}: {file.name} is there twice.")
        files.add(kind)
        if not self._wants(user):
            return
        data = load_json(content, f"{self.source.name}: {file.name}")
        if kind == "profile":
            persona = self.profiles.read(data, user, file.name)
            self._interests[user] = persona.interests
            self._waiting.append(persona)
            if len(self._waiting) >= _PERSONAS:
                self._flush()
        else:
            prefix = "MD-" if kind == "tasks_md" else "SD-"
            self.instances.read(data, user, prefix, file.name)

    def _task_file(self, file: _File, content: bytes) -> None:
        self._prefix(file.prefix)
        for definition in parse_definitions(content.splitlines(), file.owner, file.name):
            if definition.id in self.definitions:
                raise SourceError(f"{file.name} defines task {definition.id} twice.")
            self.definitions[definition.id] = definition

    def _schema_file(self, file: _File, content: bytes) -> None:
        if self._catalogue is not None:
            raise SourceError(f"{self.source.name} holds two files res/schema.json.")
        data = load_json(content, f"{self.source.name}: {file.name}")
        self._catalogue = catalogue_of_schema(data, file.name, self.found)

    def _flush(self) -> None:
        self.added += self.writer.add_personas(self._waiting)
        self._waiting = []
        self._report("reading", self.source.fraction())

    def _report(self, phase: str, fraction: float, scenarios: int = 0) -> None:
        if self.on_progress is not None:
            self.on_progress(ImportProgress(phase, fraction, self.profiles.count, scenarios))

    # checking

    def check(self) -> list[Task]:
        """Check what only shows over the whole source; returns its tasks, resolved."""
        self._check_users()
        catalogue = self._catalogue or default_catalogue()
        for shape, where in self.profiles.shapes.items():
            check_shape(shape, catalogue, where, self.found)
        check_values(self.profiles.vocabulary, catalogue, self.found)
        check_names(catalogue, self.found)
        self.profiles.finish()
        self._check_tasks()
        ordered = sorted(self.definitions.values(), key=_task_order)
        names = AffinityNames(self.profiles.names)
        return resolve_tasks(ordered, names, self.instances.counts(), self.found)

    def _check_users(self) -> None:
        if not self._files:
            raise SourceError(
                f"{self.source.name} holds no PersonaLens data: "
                "data/profile/user0/profile.json and its neighbours were expected."
            )
        users = sorted(self._files)
        selected = select_users(self.selection.text, users) if self.selection else users
        for user in selected:
            absent = [f for f in _FILES if f not in self._files[user]]
            if absent:
                raise SourceError(f"{self.source.name}: {user} has no {absent[0]}.json.")

    def _check_tasks(self) -> None:
        self.instances.check_wordings(self.definitions, self.found)
        self.instances.check_situations(self.found)
        require_domains(self.definitions.values(), self.profiles.names)
        domains = {d.id: frozenset(d.domains) for d in self.definitions.values()}
        for persona_id, task_id, _ in self.instances.scenarios:
            if not domains[task_id] <= self._interests[persona_id]:
                self.found.add("scenario_outside_interests", f"{persona_id}/{task_id}")

    # writing

    def write(self, tasks: Sequence[Task], dataset: str) -> None:
        """Write tasks, then scenarios in batches."""
        self.added += self.writer.add_tasks(tasks)
        rows = self._scenarios({t.id: t for t in tasks}, dataset)
        total, written = len(self.instances.scenarios), 0
        while batch := list(islice(rows, _SCENARIOS)):
            self.added += self.writer.add_scenarios(batch)
            written += len(batch)
            self._report("writing", written / total, written)

    def _scenarios(
        self, tasks: dict[str, Task], dataset: str
    ) -> Iterator[tuple[ScenarioRef, Situation]]:
        shared: dict[SituationKey, Situation] = {}
        for persona_id, task_id, values in self.instances.scenarios:
            situation = shared.get(values)
            if situation is None:
                situation = shared[values] = situation_of(values)
            task = tasks[task_id]
            yield ScenarioRef(dataset, persona_id, task_id, task.kind, task.domains), situation


def _task_order(definition: Definition) -> tuple[str, tuple[str, ...], int]:
    number = int(definition.id.rpartition("-")[2])
    in_domain = definition.domains if definition.kind.value == "single" else ()
    return definition.kind.value, in_domain, number
