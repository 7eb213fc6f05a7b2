"""Dialogues as other tools get them to be labelled: what the desk shows, and no more.

A task has no place for a judge's value, an arm or a model. A drawn dialogue is named by its
design and item alone, because the id of an imported dialogue may tell where it comes from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from core.assets import Rubric, list_rubrics, load_rubric
from core.context import Section, assistant_briefing, judge_briefing
from core.errors import NotFound, StudyError
from core.label_rows import item_id, label_rows
from core.ports import Study
from core.review_ports import ReviewingStore
from core.review_types import ReviewDesign
from core.types import Dialogue, Message

CANNOT = "cannot"
"""The answer of whoever cannot judge; the note says why."""

_PERSON = (Section.DEMOGRAPHICS, Section.AFFINITIES, Section.INTERACTIONS)


@dataclass(frozen=True, slots=True)
class Task:
    """A dialogue to label, and the labels that it has: rows of `label_rows.COLUMNS`.

    `person`, `task` and `told` (what the assistant was given) are empty where nobody knows.
    """

    name: str  # of the task: the item's, or the dialogue's where nothing was drawn
    design_id: str
    item_id: str
    dialogue_id: str  # empty for a drawn one
    messages: tuple[Message, ...]
    person: str
    task: str
    told: str
    labels: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Tasks:
    """Tasks with the rubrics that they are rated by. `left_out` labels are of single turns."""

    tasks: tuple[Task, ...]
    rubrics: tuple[Rubric, ...]
    left_out: int


def make_tasks(
    store: ReviewingStore, study: Study, design: ReviewDesign | None, *, blank: bool
) -> Tasks:
    """The drawn dialogues of a design, in its random order; without one, those with labels.

    `blank` leaves the labels out, for people who are to label blind. Raises `StudyError` when
    there is nothing to write.
    """
    annotations = store.study_annotations(study.id)
    rows = label_rows(annotations, study.id, store)
    if design is not None:
        rows = [row for row in rows if row["design_id"] == design.root_id]
    whole = [row for row in rows if row["turn"] is None]
    of: dict[str, list[dict[str, Any]]] = {}
    for row in whole:
        of.setdefault(row["dialogue_id"], []).append(row)
    if design is None:
        ids, refs = list(of), sorted({row["rubric"] for row in whole})
    else:
        ids = [item.dialogue_id for item in store.list_items(design.id, selected=True)]
        refs = list(design.rubrics.values())
    if not ids:
        raise StudyError(f"{study.name} has no labels yet; name a design to write its dialogues.")
    tasks = tuple(
        _task(store, store.get_dialogue(i), design, () if blank else of.get(i, ())) for i in ids
    )
    return Tasks(tasks, _rubrics(refs), len(rows) - len(whole))


def _rubrics(refs: Iterable[str]) -> tuple[Rubric, ...]:
    """One rubric for each dimension: of several versions the newest."""
    known = {rubric.ref for rubric in list_rubrics()}
    found = {rubric.dimension: rubric for rubric in map(load_rubric, refs) if rubric.ref in known}
    return tuple(found.values())


def _task(
    store: ReviewingStore,
    dialogue: Dialogue,
    design: ReviewDesign | None,
    labels: Sequence[dict[str, Any]],
) -> Task:
    item = item_id(design.root_id, dialogue.id) if design is not None else ""
    person, task, told = _scenario(store, dialogue)
    return Task(
        name=item or dialogue.id,
        design_id=design.root_id if design is not None else "",
        item_id=item,
        dialogue_id="" if item else dialogue.id,
        messages=dialogue.messages,
        person=person,
        task=task,
        told=told,
        labels=tuple(labels),
    )


def _scenario(store: ReviewingStore, dialogue: Dialogue) -> tuple[str, str, str]:
    """What is known of person and task, and what of it the assistant was given."""
    if dialogue.dataset is None or store.find_dataset(dialogue.dataset) is None:
        return "", dialogue.intent, ""
    try:
        scenario = store.get_scenario(dialogue.dataset, dialogue.persona_id, dialogue.task_id)
    except NotFound:
        return "", dialogue.intent, ""
    asked = (Section.INTENT, Section.GOAL, Section.SITUATION)
    told = assistant_briefing(scenario, dialogue.arm.context).sections()
    return (
        _text(judge_briefing(scenario, _PERSON).sections()),
        _text(judge_briefing(scenario, asked).sections()),
        _text(told) or "nothing",
    )


def _text(sections: Iterable[tuple[Section, str]]) -> str:
    return "\n\n".join(f"{str(name).capitalize()}\n{text}" for name, text in sections)


def answers(rubric: Rubric) -> dict[str, str]:
    """What may be answered: the value as text, and the words beside it."""
    named = {str(a.value): f"{a.value} {a.label}" for a in rubric.scale.anchors}
    return named | {CANNOT: "Cannot judge (say why in the note)"}


def answer_of(row: dict[str, Any]) -> str:
    """The answer that a label is."""
    value = row["value_before_reveal"]
    return CANNOT if value is None else str(value)


def note_of(row: dict[str, Any]) -> str:
    """The note beside an answer: whoever cannot judge says there why."""
    return str(row["cannot"] if row["value_before_reveal"] is None else row["note"] or "")


def said(answer: Any, note: str) -> dict[str, Any]:
    """Value, reason and note of an answer: a number, a word that begins with one, yes or no."""
    words = str(answer).strip().casefold()
    if words.startswith(CANNOT):
        return {"cannot": note.strip() or "cannot judge"}
    first = words.split()[0].rstrip(".:,") if words else ""
    value = {"yes": "1", "no": "0"}.get(first, first)
    return {"value_before_reveal": value, "note": note}  # no number is refused with its row
