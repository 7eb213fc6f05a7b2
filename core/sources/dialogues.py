"""Finished dialogues from elsewhere: PersonaLens output, or Rapport's own dialogues.jsonl."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from core.errors import SourceError
from core.ports import Finished, Store, Study
from core.records import dialogue_of
from core.sources.archive import Entry, Source, open_source
from core.sources.irregularities import Irregularities
from core.sources.json_text import get_text, kind_of, load_json, wrong
from core.sources.progress import ImportProgress, OnProgress
from core.types import (
    Arm,
    ContextSetting,
    Dialogue,
    ImportReport,
    Message,
    ModelSpec,
    Part,
    Role,
    StopReason,
    StudyState,
    TaskKind,
    digest,
)

KIND = "dialogues"
PROMPT = "imported"  # what it was told is not known
_FILE = re.compile(r"(?:^|/)(user\d+)/([^/]+)/([^/]+)_dialogue\.json$")
_REPETITION = re.compile(r"(?:^|/)repetition[_-](\d+)/")
_TAGS = re.compile(r"^(.+?)((?:_d)?(?:_p)?(?:_s)?)$")
_PART_OF_TAG = {"d": Part.DEMOGRAPHICS, "p": Part.INTERACTIONS, "s": Part.SITUATION}
_SINGLE = re.compile(r"SD-(.+)-task-\d+")
_MULTI = re.compile(r"MD-task-\d+")
_STOP_WORD = "TERMINATE"
_BATCH = 500


def import_dialogues(
    path: Path,
    *,
    name: str,
    store: Store,
    now: Callable[[], datetime],
    on_progress: OnProgress | None = None,
) -> ImportReport:
    """Import dialogues as the collection `name`; a bad file stores nothing.

    Reads the PersonaLens layout (`user7/{assistant}{_d_p_s}/{task}_dialogue.json`, in a folder
    or archive) and Rapport's own `dialogues.jsonl`. The source is read twice: checked first,
    then stored. Importing the same again adds nothing; a dialogue that is stored with other
    messages, or any bad file, raises `SourceError`.
    """
    began = now()
    study = _study(store, name, began)
    known = {d.id: d.content_hash for d in store.iter_dialogues(study.id)}
    found = Irregularities()
    facts = _Facts(study.id, began, _domains_by_task(store))
    fresh, total = _check(path, facts, known, found)
    added = _store(path, facts, fresh, store, study, on_progress) if fresh else 0
    ended = now()
    return ImportReport(
        dataset=name,
        kind=KIND,
        source=path.name,
        personas=0,
        tasks=0,
        scenarios=0,
        dialogues=total,
        added=added,
        irregularities=found.found(),
        seconds=(ended - began).total_seconds(),
        at=ended,
    )


def _study(store: Store, name: str, now: datetime) -> Study:
    study_id = digest("imported", name)
    study = store.find_study(name)
    if study is None:
        return Study(study_id, name, None, StudyState.DONE, now, "imported")
    if study.id != study_id:
        raise SourceError(f"{name} is already a study: choose another name for these dialogues.")
    return study


@dataclass(frozen=True, slots=True)
class _Facts:
    """What the files do not say: the collection, the moment, domains of multi-domain tasks."""

    study_id: str
    at: datetime
    domains: dict[str, tuple[str, ...]]


def _domains_by_task(store: Store) -> dict[str, tuple[str, ...]]:
    """Domains of each multi-domain task on which all datasets agree."""
    known: dict[str, tuple[str, ...]] = {}
    for dataset in store.list_datasets():
        for task in store.list_tasks(dataset.name):
            if known.setdefault(task.id, task.domains) != task.domains:
                known[task.id] = ()
    return known


def _check(
    path: Path, facts: _Facts, known: dict[str, str], found: Irregularities
) -> tuple[set[str], int]:
    """Ids that are new, and how many dialogues there are. Raises for anything wrong."""
    met: set[str] = set()
    fresh: set[str] = set()
    with open_source(path) as source:
        for dialogue, where in _read(source, facts):
            if dialogue.id in met:
                raise SourceError(f"{where} is the same dialogue as another file here.")
            met.add(dialogue.id)
            stored = known.get(dialogue.id)
            if stored is None:
                fresh.add(dialogue.id)
            elif stored != dialogue.content_hash:
                raise SourceError(f"{where} is stored already with other messages.")
            _note(dialogue, where, found)
    if not met:
        raise SourceError(
            f"{path.name} holds no dialogues: files such as "
            "user7/model/SD-Books-task-1_dialogue.json or dialogues.jsonl were expected."
        )
    return fresh, len(met)


def _note(dialogue: Dialogue, where: str, found: Irregularities) -> None:
    if dialogue.stop_detail.startswith(_INFERRED):
        found.add("stop_reason_inferred", where)
        if dialogue.user_agent.model == dialogue.arm.assistant.model:
            found.add("user_model_equals_assistant", f"{where}: {dialogue.user_agent.model}")
    for message in dialogue.messages:
        if not message.content.strip():
            found.add("empty_message", where)
        if _STOP_WORD in message.content:
            found.add("stop_word_in_message", where)


def _store(
    path: Path,
    facts: _Facts,
    fresh: set[str],
    store: Store,
    study: Study,
    on_progress: OnProgress | None,
) -> int:
    if store.find_study(study.id) is None:
        store.add_study(study)
    added = 0
    with open_source(path) as source:
        rows = (Finished(d) for d, _ in _read(source, facts) if d.id in fresh)
        while batch := list(islice(rows, _BATCH)):
            store.add_finished(batch)
            added += len(batch)
            if on_progress is not None:
                on_progress(ImportProgress("writing", source.fraction(), dialogues=added))
    return added


# --- reading ----------------------------------------------------------------------------------


def _read(source: Source, facts: _Facts) -> Iterator[tuple[Dialogue, str]]:
    for entry in source:
        if entry.name.endswith("dialogues.jsonl"):
            yield from _own(entry, facts)
        elif found := _FILE.search(entry.name):
            yield _reference(entry, found, facts), entry.where


def _own(entry: Entry, facts: _Facts) -> Iterator[tuple[Dialogue, str]]:
    for number, line in enumerate(entry.lines(), 1):
        if line.strip():
            where = f"{entry.where} line {number}"
            dialogue = dialogue_of(load_json(line, where), where)
            yield _adopted(dialogue, facts), where


def _adopted(dialogue: Dialogue, facts: _Facts) -> Dialogue:
    """The dialogue as one of this collection; the original may be in the same database."""
    parent = digest(facts.study_id, dialogue.parent_id) if dialogue.parent_id else None
    own_id = digest(facts.study_id, dialogue.id)
    return replace(dialogue, id=own_id, study_id=facts.study_id, parent_id=parent)


def _reference(entry: Entry, found: re.Match[str], facts: _Facts) -> Dialogue:
    data, where = load_json(entry.read(), entry.where), entry.where
    if not isinstance(data, dict):
        raise wrong(where, "the whole", "an object", data)
    persona_id, folder, task_id = found.groups()
    _require_same(data, persona_id, task_id, where)
    messages = _messages(data, where)
    stop_reason, detail = _stop(data, messages, where)
    arm = _arm(data, folder, where)
    repetition = _repetition(entry.name, data, where)
    kind, domains = _task(task_id, facts, where)
    return Dialogue(
        id=digest(facts.study_id, folder, persona_id, task_id, repetition),
        study_id=facts.study_id,
        unit_id=None,
        attempt=1,
        dataset=_optional_text(data, "dataset", where),
        persona_id=persona_id,
        task_id=task_id,
        kind=kind,
        domains=domains,
        intent=get_text(data, "task_description", where),
        arm=arm,
        user_agent=ModelSpec(get_text(data, "user_model", where) or "unknown"),
        repetition=repetition,
        seed=0,
        messages=messages,
        stop_reason=stop_reason,
        stop_detail=detail,
        prompts={},
        created_at=facts.at,
        seconds=0.0,
    )


def _require_same(data: dict[str, Any], persona_id: str, task_id: str, where: str) -> None:
    said = data.get("user_id")
    if said != int(persona_id.removeprefix("user")) and said != persona_id:
        raise SourceError(f"{where}: user_id is {str(said)[:40]!r}, the folder is {persona_id}.")
    if get_text(data, "task_id", where) != task_id:
        raise SourceError(f"{where}: task_id is {data['task_id'][:60]!r}, the file is {task_id}.")


def _messages(data: dict[str, Any], where: str) -> tuple[Message, ...]:
    given = data.get("dialogue")
    if not isinstance(given, list):
        raise wrong(where, "dialogue", "a list of messages", given)
    if not given:
        raise SourceError(f"{where}: dialogue has no messages.")
    messages = []
    for number, item in enumerate(given):
        within = f"dialogue[{number}]"
        role = get_text(item, "role", where, within)
        if role not in tuple(Role):
            raise SourceError(f"{where}: {within}.role is {role[:20]!r}, not user or assistant.")
        messages.append(Message(Role(role), get_text(item, "content", where, within)))
    return tuple(messages)


_INFERRED = "inferred: "


def _stop(
    data: dict[str, Any], messages: tuple[Message, ...], where: str
) -> tuple[StopReason, str]:
    """The stop reason of the file, or what PersonaLens' turn loop implies where it has none."""
    given = _optional_text(data, "stop_reason", where)
    if given is not None:
        if given not in tuple(StopReason):
            raise SourceError(f"{where}: stop_reason {given[:30]!r} is none that Rapport knows.")
        return StopReason(given), _optional_text(data, "stop_detail", where) or ""
    if messages[-1].role is Role.ASSISTANT:
        return StopReason.USER_DONE, f"{_INFERRED}the assistant has the last word"
    return StopReason.TURN_LIMIT, f"{_INFERRED}the last message has no answer"


def _arm(data: dict[str, Any], folder: str, where: str) -> Arm:
    model = get_text(data, "assistant_model", where) or folder
    return Arm(
        name=_optional_text(data, "arm", where) or folder,
        assistant=ModelSpec(model),
        context=_context(data, folder, model, where),
        prompt=PROMPT,
    )


def _context(data: dict[str, Any], folder: str, model: str, where: str) -> ContextSetting:
    """What the file says, else what the tags at the end of the folder's name say."""
    if "context" in data:
        given = data["context"]
        if not isinstance(given, list) or not all(p in tuple(Part) for p in given):
            raise SourceError(f"{where}: context should be a list of {', '.join(Part)}.")
        return ContextSetting.of(*given)
    if folder == model:
        return ContextSetting()
    tagged = _TAGS.fullmatch(folder)
    tags = tagged[2].split("_") if tagged else []
    return ContextSetting.of(*(_PART_OF_TAG[t] for t in tags if t))


def _repetition(name: str, data: dict[str, Any], where: str) -> int:
    given = data.get("repetition")
    if given is None:
        found = _REPETITION.search(name)
        return int(found[1]) if found else 0
    if not isinstance(given, int) or isinstance(given, bool) or given < 0:
        raise SourceError(f"{where}: repetition should be a number from 0, it is {kind_of(given)}.")
    return given


def _task(task_id: str, facts: _Facts, where: str) -> tuple[TaskKind, tuple[str, ...]]:
    if found := _SINGLE.fullmatch(task_id):
        return TaskKind.SINGLE, (found[1],)
    if _MULTI.fullmatch(task_id):
        return TaskKind.MULTI, facts.domains.get(task_id, ())
    raise SourceError(f"{where}: {task_id[:60]!r} is no task id of PersonaLens.")


def _optional_text(data: dict[str, Any], key: str, where: str) -> str | None:
    return None if data.get(key) is None else get_text(data, key, where)
