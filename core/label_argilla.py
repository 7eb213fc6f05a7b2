"""Labels in the layout of Argilla: records with responses, as its own `to_json` writes them.

A response of Argilla names its author by an id and tells no time. Both go along in the metadata
of the record, where labels are written; for others the names and the time are asked for.
"""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from core.errors import SourceError
from core.files import Folder
from core.label_rows import ReadLabel, read_label
from core.label_tasks import Task, Tasks, answer_of, answers, note_of, said

RECORDS, DATASET = "records.json", "dataset.py"
_NOTE = "_note"
_GIVEN = "rapport_labels"  # in the metadata: who gave which answer, and when
_NAMES = uuid.uuid5(uuid.NAMESPACE_URL, "rapport:annotator")

_README = """Dialogues to label in Argilla 2.

1. dataset.py makes a dataset with the right fields and questions and puts records.json into it:

   ARGILLA_API_URL=... ARGILLA_API_KEY=... python dataset.py

   Where records hold labels, their authors must be users of Argilla with the ids that stand in
   `responses`; leave them out with --blank for people who are to label blind.
2. When the work is done, `dataset.records.to_json("labelled.json")`, and bring it back:

   python cli.py labels import labelled.json --as argilla --person ID=ana --at 2026-03-01T12:00Z

   with one --person for each user. Argilla's records tell no time: --at says when the labelling
   was done.

Leave design_id and item_id in the metadata as they are: with them a label counts as drawn.
"""

_SCRIPT = '''"""Make an Argilla dataset of the records beside this file."""

import os
from pathlib import Path

import argilla as rg

QUESTIONS = {questions}

client = rg.Argilla(api_url=os.environ["ARGILLA_API_URL"], api_key=os.environ["ARGILLA_API_KEY"])
settings = rg.Settings(
    allow_extra_metadata=True,
    fields=[
        rg.ChatField(name="transcript", use_markdown=False),
        *[
            rg.TextField(name=name, use_markdown=False, required=False)
            for name in ("person", "task", "told")
        ],
    ],
    questions=[
        question
        for name, (title, labels) in QUESTIONS.items()
        for question in (
            rg.LabelQuestion(name=name, title=title, labels=labels),
            rg.TextQuestion(name=name + "{note}", title="Note", required=False),
        )
    ],
)
if __name__ == "__main__":
    dataset = rg.Dataset(name=os.environ.get("ARGILLA_DATASET", "rapport"), settings=settings)
    dataset.create()
    dataset.records.from_json(Path(__file__).with_name("{records}"))
'''


def write_argilla(folder: Folder, tasks: Tasks) -> dict[str, Any]:
    """Write records and the script that makes their dataset; returns how many there are."""
    written = [_record(task) for task in tasks.tasks]
    with folder.open(RECORDS) as file:
        json.dump(written, file, ensure_ascii=False, indent=1)
    questions = {r.dimension: (" ".join(r.question.split()), answers(r)) for r in tasks.rubrics}
    script = _SCRIPT.replace("{questions}", ascii(questions)).replace("{note}", _NOTE)
    folder.write_text(DATASET, script.replace("{records}", RECORDS))
    folder.write_text("README.txt", _README)
    return {
        "records": len(written),
        "labels": sum(len(task.labels) for task in tasks.tasks),
        "left_out": {"label of one turn": tasks.left_out} if tasks.left_out else {},
    }


def _record(task: Task) -> dict[str, Any]:
    ids = {
        "design_id": task.design_id,
        "item_id": task.item_id,
        "dialogue_id": task.dialogue_id,
    }
    responses: dict[str, list[dict[str, Any]]] = {}
    for row in task.labels:
        for name, value in _responses(row):
            user = str(user_id(row["annotator"]))
            responses.setdefault(name, []).append(
                {"value": value, "user_id": user, "status": "submitted"}
            )
    given = [_given(row) for row in task.labels]
    metadata = {name: value for name, value in ids.items() if value}
    if given:
        metadata[_GIVEN] = json.dumps(given, ensure_ascii=False)
    return {
        "id": task.name,
        "fields": {
            "transcript": [
                {"role": str(message.role), "content": message.content} for message in task.messages
            ],
            "person": task.person or "not known",
            "task": task.task or "not known",
            "told": task.told or "not known",
        },
        "metadata": metadata,
        "suggestions": {},
        "responses": responses,
        "vectors": {},
    }


def user_id(annotator: str) -> uuid.UUID:
    """The id that stands for a name where Argilla wants one."""
    return uuid.uuid5(_NAMES, annotator)


def _responses(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield row["dimension"], answer_of(row)
    if note := note_of(row):
        yield row["dimension"] + _NOTE, note


def _given(row: dict[str, Any]) -> dict[str, Any]:
    names = ("dimension", "annotator", "opened_at", "submitted_at", "active_seconds")
    answer = {"user_id": str(user_id(row["annotator"])), "answer": answer_of(row)}
    return {name: row[name] for name in names} | answer


# --- reading ------------------------------------------------------------------------------------


def read_argilla(
    data: Any, people: Mapping[str, str], at: datetime | None
) -> tuple[list[ReadLabel], Mapping[str, int]]:
    """The labels of records, and what is left out.

    `people` names annotators by their ids, `at` says when answers were given that tell no time.
    Suggestions that stood beside a question were in sight. Raises `SourceError` that names the
    record.
    """
    if not isinstance(data, list):
        raise SourceError("Records of Argilla are a list; write them with records.to_json.")
    labels: list[ReadLabel] = []
    left_out: Counter[str] = Counter()
    for number, record in enumerate(data, start=1):
        where = f"record {number}"
        if not isinstance(record, dict) or not isinstance(record.get("responses", {}), dict):
            raise SourceError(f"{where}: there are no `responses`; use records.to_json.")
        labels += _read_record(record, where, people, at, left_out)
    return labels, left_out


def _read_record(
    record: Mapping[str, Any],
    where: str,
    people: Mapping[str, str],
    at: datetime | None,
    left_out: Counter[str],
) -> Iterator[ReadLabel]:
    metadata = record.get("metadata") or {}
    ids = {n: str(metadata.get(n) or "") for n in ("design_id", "item_id", "dialogue_id")}
    given = _given_before(metadata, where)
    responses = record.get("responses") or {}
    notes = {
        (name.removesuffix(_NOTE), str(note.get("user_id"))): str(note.get("value") or "")
        for name, several in responses.items()
        if name.endswith(_NOTE)
        for note in several
    }
    for name, several in responses.items():
        for response in () if name.endswith(_NOTE) else several:
            if response.get("status") not in (None, "submitted"):
                left_out[f"answer {response['status']}"] += 1
                continue
            user = str(response.get("user_id"))
            before = given.get((name, user), {})
            changed = before and before.get("answer") != str(response.get("value"))
            known = {} if changed else before
            about: dict[str, Any] = {
                "dimension": name,
                "annotator": people.get(user) or before.get("annotator") or f"argilla:{user}",
                "submitted_at": known.get("submitted_at") or _time(response, record, at, where),
                "opened_at": known.get("opened_at"),
                "active_seconds": known.get("active_seconds"),
                "judge_visible_before": bool((record.get("suggestions") or {}).get(name)),
            }
            answer = said(response.get("value"), notes.get((name, user), ""))
            yield read_label(ids | about | answer, f"{where}, {name}")


def _given_before(
    metadata: Mapping[str, Any], where: str
) -> dict[tuple[str, str], Mapping[str, Any]]:
    """What the record says of the labels that it was written with."""
    try:
        rows = json.loads(metadata.get(_GIVEN) or "[]")
        return {(row["dimension"], row["user_id"]): row for row in rows}
    except (ValueError, TypeError, KeyError):
        raise SourceError(
            f"{where}: {_GIVEN} in its metadata was changed; take it out, and say with --at "
            "when the answers were given."
        ) from None


def _time(
    response: Mapping[str, Any], record: Mapping[str, Any], at: datetime | None, where: str
) -> Any:
    """When an answer was given: as it says, as its record says, or as one was told."""
    for source in (response, record):
        for name in ("updated_at", "inserted_at"):
            if source.get(name):
                return source[name]
    if at is None:
        raise SourceError(
            f"{where}: Argilla's records tell no time; say with --at when they were labelled."
        )
    return at
