"""PersonaLens task definitions and the users' task files, checked against each other."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, TypeAlias

from core.errors import SourceError
from core.sources.irregularities import Irregularities
from core.sources.json_text import get_object, get_text, get_texts, load_json, missing, wrong
from core.sources.references import AffinityNames
from core.types import SITUATION_FIELDS, AffinityRef, Situation, Task, TaskKind

MULTI_FOLDER = "Multi-Domain"
_SLOT = re.compile(r"\[[^\[\]]+\]")
_OPEN_CHOICE = re.compile(r" or |e\.g\.|/", re.IGNORECASE)
_COMPOUND = re.compile(r" or |e\.g\.|/|,|\bweek(?:day|end)\b", re.IGNORECASE)
_DAY = re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b", re.IGNORECASE)
# Words for things that tasks take for granted and that no profile holds.
_STATE = re.compile(
    r"\bexisting\b|\bcurrent (?:booking|alarm|reservation|portfolio)|\bportfolio\b|\bloyalty\b"
    r"|\breschedul|\bcancel|\bmodify\b|\brecipient|\b(?:group|family|team) members|\bcompanions?\b"
    r"|\b(?:their|your|user's) (?:\w+ )?(?:calendar|schedule)\b|\bupcoming (?:flight|trip|travel)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Definition:
    """A task as its definition file says it; affinity names are not resolved yet."""

    id: str
    kind: TaskKind
    domains: tuple[str, ...]
    description: str
    intent: str
    goal: str
    names: tuple[str, ...]

    @property
    def content(self) -> tuple[object, ...]:
        return (self.description, self.intent, self.goal, self.names, self.domains)


def parse_definitions(lines: Iterable[bytes], folder: str, where: str) -> Iterator[Definition]:
    """Yield the definitions of one `task.jsonl`. Raises `SourceError` naming line and field."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            at = f"{where} line {number}"
            yield _definition(load_json(line, at), folder, at)


def _definition(data: Any, folder: str, where: str) -> Definition:
    if not isinstance(data, dict):
        raise wrong(where, "the whole", "an object", data)
    number = data.get("Task Number")
    if not isinstance(number, int) or isinstance(number, bool):
        raise wrong(where, "Task Number", "a whole number", number)
    multi = folder == MULTI_FOLDER
    domains = get_texts(data, "Relevant Domains", where) if multi else (folder,)
    if not domains or len(set(domains)) < len(domains):
        raise SourceError(f"{where}: Relevant Domains should name each domain of the task once.")
    return Definition(
        id=f"MD-task-{number}" if multi else f"SD-{folder}-task-{number}",
        kind=TaskKind.MULTI if multi else TaskKind.SINGLE,
        domains=domains,
        description=get_text(data, "Task Description", where),
        intent=get_text(data, "User Intent", where),
        goal=get_text(data, "Task Goal", where),
        names=get_texts(data, "Relevant Affinity Types", where),
    )


# --- instances --------------------------------------------------------------------------------

SituationKey: TypeAlias = tuple[str, ...]  # in the order of SITUATION_FIELDS
_EXAMPLES = 5
_TEXTS = ("Task Description", "User Intent", "Task Goal")
_LISTS = ("Relevant Affinity Types", "Relevant Domains")
_get_texts, _get_lists = itemgetter(*_TEXTS), itemgetter(*_LISTS)
_get_situation = itemgetter(*SITUATION_FIELDS)


@dataclass(slots=True)
class _Wording:
    """One wording of one task: how many scenarios carry it, and the first few of them."""

    task_id: str
    count: int = 0
    places: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Circumstances:
    """One situation: how many scenarios have it, and the first of them."""

    values: SituationKey
    first: str
    count: int = 0


class Instances:
    """The users' tasks. Wordings and situations that repeat are checked and kept only once."""

    def __init__(self) -> None:
        self.scenarios: list[tuple[str, str, SituationKey]] = []  # persona, task, situation
        self._wordings: dict[tuple[Any, ...], _Wording] = {}
        self._situations: dict[tuple[Any, ...], _Circumstances] = {}

    def read(self, data: Any, persona_id: str, prefix: str, where: str) -> None:
        """Add the scenarios of one file; `prefix` (SD, MD) is what its task ids begin with."""
        if not isinstance(data, dict):
            raise wrong(where, "the whole", "an object", data)
        met: set[str] = set()
        for key, item in data.items():
            wording, situation = self._known(item) or self._checked(item, key, where)
            wording.count += 1
            situation.count += 1
            if wording.count <= _EXAMPLES:
                wording.places.append(where)
            task_id = wording.task_id
            if task_id in met or not task_id.startswith(prefix):
                raise _misplaced(task_id, prefix, f"{where}: {key}")
            met.add(task_id)
            self.scenarios.append((persona_id, task_id, situation.values))

    def _known(self, item: Any) -> tuple[_Wording, _Circumstances] | None:
        """The wording and situation of an item if both were met before, whatever it is."""
        try:
            given = item["situations"]
            situation = self._situations.get(_get_situation(given))
            wording = self._wordings.get(_wording_key(item))
        except (KeyError, TypeError):
            return None
        if wording is None or situation is None or len(given) != len(SITUATION_FIELDS):
            return None
        return wording, situation

    def _checked(self, item: Any, key: str, where: str) -> tuple[_Wording, _Circumstances]:
        task_id = get_text(item, "task_id", where, key)
        for name in _TEXTS:
            get_text(item, name, where, key)
        for name in _LISTS:
            get_texts(item, name, where, key)
        given = get_object(item, "situations", where, key)
        within = f"{key}.situations"
        values = tuple(get_text(given, f, where, within) for f in SITUATION_FIELDS)
        for name in given:
            if name not in SITUATION_FIELDS:
                raise SourceError(f"{where}: {within} has a field {name[:40]!r}, which is none.")
        wording = self._wordings.setdefault(_wording_key(item), _Wording(task_id))
        place = f"{where}: {task_id}"
        return wording, self._situations.setdefault(values, _Circumstances(values, place))

    # over all files

    def check_situations(self, found: Irregularities) -> None:
        """Count placeholders and vague values in situations."""
        for situation in self._situations.values():
            for name, value in zip(SITUATION_FIELDS, situation.values, strict=True):
                kind = _situation_fault(name, value)
                if kind:
                    found.add(kind, f"{situation.first}: {name} is {value}", situation.count)

    def check_wordings(self, definitions: Mapping[str, Definition], found: Irregularities) -> None:
        """Compare scenarios with the definitions of their tasks, which must be there."""
        for (task_id, *content), wording in self._wordings.items():
            if task_id not in definitions:
                raise SourceError(
                    f"{wording.places[0]}: {task_id[:60]} has no definition in task/*/task.jsonl."
                )
            if tuple(content) != definitions[task_id].content:
                # one at a time, so that the places become the examples
                for place in wording.places:
                    found.add("instance_differs_from_definition", f"{place}: {task_id}")
                rest = wording.count - len(wording.places)
                if rest:
                    found.add("instance_differs_from_definition", task_id, rest)

    def counts(self) -> Counter[str]:
        """Number of scenarios of each task."""
        return Counter(task_id for _, task_id, _ in self.scenarios)


def _wording_key(item: dict[str, Any]) -> tuple[Any, ...]:
    """What makes a wording: equal keys, equal content, as `Definition.content` has it."""
    names, domains = _get_lists(item)
    return (item["task_id"], *_get_texts(item), tuple(names), tuple(domains))


def _misplaced(task_id: str, prefix: str, where: str) -> SourceError:
    if task_id.startswith(prefix):
        return SourceError(f"{where}: {task_id[:60]} is in this file twice.")
    return SourceError(f"{where}.task_id {task_id[:60]!r} is no {prefix}task.")


def _situation_fault(name: str, value: str) -> str:
    if "[" in value or "]" in value:
        return "placeholder_in_situation"
    if name == "Location":
        return "vague_situation_value" if _OPEN_CHOICE.search(value) else ""
    vague = _COMPOUND.search(value) or (name == "Time of Day" and _DAY.search(value))
    return "vague_situation_value" if vague else ""


def situation_of(values: SituationKey) -> Situation:
    """Return the situation of one of `Instances.scenarios`."""
    return Situation(dict(zip(SITUATION_FIELDS, values, strict=True)))


# --- tasks ------------------------------------------------------------------------------------


def resolve_tasks(
    definitions: Iterable[Definition],
    names: AffinityNames,
    scenarios: Counter[str],
    found: Irregularities,
) -> list[Task]:
    """Turn definitions into tasks; each irregular reference counts once per scenario."""
    return [_task(d, names, scenarios[d.id], found) for d in definitions]


def _task(
    definition: Definition, names: AffinityNames, scenarios: int, found: Irregularities
) -> Task:
    relevant: dict[AffinityRef, None] = {}
    for name in definition.names:
        resolved = names.resolve(name, definition.domains)
        relevant |= dict.fromkeys(resolved.refs)
        if resolved.irregular and scenarios:
            to = ", ".join(f"{r.domain}.{r.name}" for r in resolved.refs) or "nothing"
            found.add(resolved.irregular, f"{definition.id}: {name} → {to}", scenarios)
    _check_texts(definition, found)
    return Task(
        id=definition.id,
        kind=definition.kind,
        domains=definition.domains,
        description=definition.description,
        intent=definition.intent,
        goal=definition.goal,
        relevant=tuple(relevant),
    )


def _check_texts(definition: Definition, found: Irregularities) -> None:
    texts = (definition.description, definition.intent, definition.goal)
    slot = next((s[0] for t in texts if (s := _SLOT.search(t))), "")
    if slot:
        found.add("placeholder_in_task", f"{definition.id}: {slot}")
    state = next((s[0] for t in texts[:2] if (s := _STATE.search(t))), "")
    if state:
        found.add("task_without_state", f"{definition.id}: {state}")


def require_domains(definitions: Iterable[Definition], known: Mapping[str, Any]) -> None:
    """Raise `SourceError` for a task in a domain that the profiles do not have."""
    for definition in definitions:
        for domain in definition.domains:
            if domain not in known:
                raise missing(f"Task {definition.id}", f"domain {domain} in the profiles")
