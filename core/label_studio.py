"""Labels in the layout of Label Studio: tasks with annotations, and the form to fill in."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any
from xml.sax.saxutils import quoteattr

from core.errors import SourceError
from core.files import Folder
from core.label_rows import ReadLabel, read_label
from core.label_tasks import Task, Tasks, answer_of, answers, note_of, said
from core.types import Message

TASKS, CONFIG = "tasks.json", "config.xml"
_NOTE = "_note"
_README = """Dialogues to label in Label Studio.

1. Make a project and paste config.xml under Labeling Setup, Code.
2. Import tasks.json. Where it holds labels, their authors must be members of the project,
   each by the address that stands in `completed_by`.
3. When the work is done, export as JSON and bring it back:

   python cli.py labels import FILE --as label-studio --person 7=ana@example.org

   with one --person for each number that stands in `completed_by`.

Leave design_id and item_id in the data of a task as they are: with them a label counts as drawn.
"""


def write_label_studio(folder: Folder, tasks: Tasks) -> dict[str, Any]:
    """Write tasks and the labelling form; returns how many there are."""
    written = [_task(task) for task in tasks.tasks]
    with folder.open(TASKS) as file:
        json.dump(written, file, ensure_ascii=False, indent=1)
    folder.write_text(CONFIG, config(tasks))
    folder.write_text("README.txt", _README)
    return {
        "tasks": len(written),
        "labels": sum(len(task.labels) for task in tasks.tasks),
        "left_out": {"label of one turn": tasks.left_out} if tasks.left_out else {},
    }


def config(tasks: Tasks) -> str:
    """The labelling form: transcript and briefing, and one question for each dimension."""
    texts = (("person", "The person"), ("task", "The task"), ("told", "The assistant was told"))
    blocks = [
        f'  <Header value={_attr(title)} size="5"/>\n  <Text name="{name}" value="${name}"/>'
        for name, title in texts
    ]
    for rubric in tasks.rubrics:
        choices = "\n".join(
            f"    <Choice value={_attr(words)} alias={_attr(answer)}/>"
            for answer, words in answers(rubric).items()
        )
        name = _attr(rubric.dimension)
        blocks.append(
            f"  <Header value={_attr(rubric.question)}/>\n"
            f'  <Choices name={name} toName="transcript" choice="single" required="true">\n'
            f"{choices}\n  </Choices>\n"
            f'  <TextArea name={_attr(rubric.dimension + _NOTE)} toName="transcript" rows="2" '
            'maxSubmissions="1" placeholder="Note"/>'
        )
    transcript = (
        '  <Paragraphs name="transcript" value="$transcript" layout="dialogue" '
        'nameKey="author" textKey="text"/>'
    )
    return "\n".join(["<View>", transcript, *blocks, "</View>", ""])


def _attr(text: str) -> str:
    return quoteattr(" ".join(text.split()))


def _task(task: Task) -> dict[str, Any]:
    data = {
        "design_id": task.design_id,
        "item_id": task.item_id,
        "dialogue_id": task.dialogue_id,
        "transcript": [_line(m) for m in task.messages],
        "person": task.person or "not known",
        "task": task.task or "not known",
        "told": task.told or "not known",
    }
    named = {name: value for name, value in data.items() if value}
    people: dict[str, list[dict[str, Any]]] = {}
    for row in task.labels:
        people.setdefault(row["annotator"], []).append(row)
    return {"data": named, "annotations": [_annotation(rows) for rows in people.values()]}


def _line(message: Message) -> dict[str, str]:
    return {"author": str(message.role).capitalize(), "text": message.content}


def _annotation(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What one person said of one dialogue."""
    last = max(rows, key=lambda row: datetime.fromisoformat(row["submitted_at"]))
    return {
        "completed_by": {"email": last["annotator"]},
        "created_at": last["submitted_at"],
        "updated_at": last["submitted_at"],
        "lead_time": last["active_seconds"],
        "was_cancelled": False,
        "result": [part for row in rows for part in _results(row)],
    }


def _results(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    name, answer = row["dimension"], answer_of(row)
    given = {n: row[n] for n in ("submitted_at", "opened_at", "active_seconds")}
    yield {
        "from_name": name,
        "to_name": "transcript",
        "type": "choices",
        "value": {"choices": [answer]},
        "meta": given | {"answer": answer},
    }
    if note := note_of(row):
        yield {
            "from_name": name + _NOTE,
            "to_name": "transcript",
            "type": "textarea",
            "value": {"text": [note]},
        }


# --- reading ------------------------------------------------------------------------------------


def read_label_studio(
    data: Any, people: Mapping[str, str]
) -> tuple[list[ReadLabel], Mapping[str, int]]:
    """The labels of an export, and what is left out. `people` names annotators by number.

    Predictions that stood beside a task were in sight. Raises `SourceError` that names the task.
    """
    if not isinstance(data, list):
        raise SourceError("An export of Label Studio is a list of tasks; export it as JSON.")
    labels: list[ReadLabel] = []
    left_out: Counter[str] = Counter()
    for number, task in enumerate(data, start=1):
        where = f"task {number}"
        if not isinstance(task, dict) or not isinstance(task.get("data"), dict):
            raise SourceError(f"{where}: there is no `data`; export the project as JSON.")
        known = {
            name: str(task["data"].get(name) or "")
            for name in ("design_id", "item_id", "dialogue_id")
        }
        seen = bool(task.get("predictions"))
        for annotation in task.get("annotations") or ():
            if not isinstance(annotation, dict):
                raise SourceError(f"{where}: an annotation is no object.")
            if annotation.get("was_cancelled"):
                left_out["skipped by its annotator"] += 1
                continue
            about = known | {"judge_visible_before": seen} | _who_and_when(annotation, people)
            for name, answer in _answers(annotation, where).items():
                labels.append(read_label(about | {"dimension": name} | answer, f"{where}, {name}"))
    return labels, left_out


def _who_and_when(annotation: Mapping[str, Any], people: Mapping[str, str]) -> dict[str, Any]:
    submitted = annotation.get("updated_at") or annotation.get("created_at")
    lead = annotation.get("lead_time")
    seconds = float(lead) if isinstance(lead, int | float) and lead >= 0 else 0.0
    return {
        "annotator": _person(annotation.get("completed_by"), people),
        "submitted_at": submitted,
        "opened_at": _earlier(submitted, seconds),
        "active_seconds": seconds,
    }


def _earlier(moment: Any, seconds: float) -> datetime | None:
    try:
        return datetime.fromisoformat(str(moment)) - timedelta(seconds=seconds)
    except (ValueError, OverflowError):
        return None  # the row is read without; a time that is wrong is refused with it


def _person(given: Any, people: Mapping[str, str]) -> str:
    """A name: as told for a number, else the address, else the number as it is."""
    number = given.get("id") if isinstance(given, dict) else given
    if str(number) in people:
        return people[str(number)]
    if isinstance(given, dict):
        named = given.get("email") or given.get("username")
        return str(named or "")
    return f"label-studio:{given}" if isinstance(given, int) else str(given or "")


def _answers(annotation: Mapping[str, Any], where: str) -> dict[str, dict[str, Any]]:
    """Dimension to what was said of it, and when where that is told for it alone."""
    given: dict[str, tuple[Any, Mapping[str, Any]]] = {}
    notes: dict[str, str] = {}
    for part in annotation.get("result") or ():
        value = part.get("value") if isinstance(part, dict) else None
        if not isinstance(value, dict):
            raise SourceError(f"{where}: a result has no `value`.")
        name = str(part.get("from_name"))
        if part.get("type") == "textarea":
            text = value.get("text")
            lines = text if isinstance(text, list) else [text]
            notes[name.removesuffix(_NOTE)] = "\n".join(str(line) for line in lines if line)
        elif part.get("type") in ("choices", "rating", "number"):
            found = value.get(part["type"])
            answer = found[0] if isinstance(found, list) and found else found
            given[name] = answer, _unchanged(part.get("meta"), answer)
    return {
        name: said(answer, notes.get(name, "")) | dict(when)
        for name, (answer, when) in given.items()
    }


def _unchanged(meta: Any, answer: Any) -> Mapping[str, Any]:
    """When an answer was given that is still the one that Rapport wrote."""
    if not isinstance(meta, dict) or meta.get("answer") != str(answer):
        return {}
    return {n: meta[n] for n in ("submitted_at", "opened_at", "active_seconds") if n in meta}
