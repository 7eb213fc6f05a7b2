"""Labels as flat rows: what a file of them holds, and how one is read back.

A row is one label: what one person said of one dimension of one dialogue, with what makes it
evidence. Columns that `core.agreement_rows.COLUMNS` names mean the same here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from core.errors import NotFound, SourceError
from core.labels import Label, standing
from core.records import first_fault
from core.review_ports import ReviewingStore
from core.review_types import Act, Annotation, ReviewDesign, ReviewItem
from core.types import Dialogue, Judgement, digest

COLUMNS = {
    "label_id": "string",
    "dialogue_id": "string",
    "persona_id": "string",
    "task_id": "string",
    "arm": "string",
    "dimension": "string",
    "turn": "Int64",
    "annotator": "string",
    "value_before_reveal": "Int64",
    "value_after_reveal": "Int64",
    "cannot": "string",
    "reason": "string",
    "judge_visible_before": "boolean",
    "design_id": "string",
    "item_id": "string",
    "pi": "Float64",
    "stratum": "string",
    "rubric": "string",
    "judge_value": "Int64",
    "instrument": "string",
    "instrument_id": "string",
    "judgement_id": "string",
    "opened_at": "string",
    "submitted_at": "string",
    "active_seconds": "Float64",
    "answered_at": "string",
    "why": "string",
    "note": "string",
    "marks": "string",
    "source": "string",
}
"""Every column of a table of labels, and its type.

`judge_value` and the columns of its instrument say what was revealed to the annotator, if
anything was. `design_id` and `item_id` are there where a stored design drew the dialogue."""

LONGEST_NAME = 80


def item_id(root_id: str, dialogue_id: str) -> str:
    """The name of a drawn dialogue outside of Rapport: it says nothing of the dialogue."""
    return digest("item", root_id, dialogue_id)[:16]


# --- writing ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Drawn:
    """The drawn items of the designs of a study, each by its root and dialogue."""

    designs: Mapping[str, ReviewDesign]  # root -> its last extension
    items: Mapping[tuple[str, str], ReviewItem]


def drawn_items(study_id: str, store: ReviewingStore) -> Drawn:
    """What a study's designs drew, under the last extension of each."""
    designs: dict[str, ReviewDesign] = {}
    for design in store.list_designs(study_id):  # newest first
        designs.setdefault(design.root_id, design)
    items = {
        (root, item.dialogue_id): item
        for root, design in designs.items()
        for item in store.list_items(design.id, selected=True)
    }
    return Drawn(designs, items)


def label_rows(
    annotations: Iterable[Annotation], study_id: str, store: ReviewingStore
) -> list[dict[str, Any]]:
    """Each label that stands as a row of `COLUMNS`, in the order in which they were given."""
    acts = list(annotations)
    shown = {a.supersedes: a.judgement_id for a in acts if a.act is Act.REVEALED}
    answered = {a.supersedes: a.submitted_at for a in acts if a.act is Act.AFTER}
    sources = {a.id: a.source for a in acts}
    drawn = drawn_items(study_id, store)

    @cache
    def dialogue(dialogue_id: str) -> Dialogue:
        return store.get_dialogue(dialogue_id)

    @cache
    def judgement(judgement_id: str) -> Judgement | None:
        try:
            return store.get_judgement(judgement_id)
        except NotFound:
            return None

    rows = []
    for label in standing(acts):
        item = drawn.items.get((label.root_id, label.dialogue_id))
        of = dialogue(label.dialogue_id)
        seen = shown.get(label.id)
        at = answered.get(label.id)
        rows.append(
            _own(label)
            | {"persona_id": of.persona_id, "task_id": of.task_id, "arm": of.arm.name}
            | _of_item(label, item)
            | _revealed(seen, judgement(seen) if seen else None)
            | {"answered_at": at.isoformat() if at else None, "source": sources[label.id]}
        )
    return rows


def _own(label: Label) -> dict[str, Any]:
    return {
        "label_id": label.id,
        "dialogue_id": label.dialogue_id,
        "dimension": label.dimension,
        "turn": label.turn,
        "annotator": label.annotator,
        "value_before_reveal": label.value,
        "value_after_reveal": label.now if label.revealed else None,
        "cannot": label.cannot,
        "reason": str(label.reason),
        "judge_visible_before": label.seen,
        "rubric": label.rubric,
        "opened_at": label.opened_at.isoformat(),
        "submitted_at": label.submitted_at.isoformat(),
        "active_seconds": label.active_seconds,
        "why": label.why,
        "note": label.note,
        "marks": "|".join(map(str, label.marks)),
    }


def _of_item(label: Label, item: ReviewItem | None) -> dict[str, Any]:
    if item is None:
        return dict.fromkeys(("design_id", "item_id", "pi", "stratum"))
    return {
        "design_id": label.root_id,
        "item_id": item_id(label.root_id, label.dialogue_id),
        "pi": item.pi,
        "stratum": item.stratum,
    }


def _revealed(judgement_id: str | None, judgement: Judgement | None) -> dict[str, Any]:
    if judgement is None:
        names = ("judge_value", "instrument", "instrument_id")
        return dict.fromkeys(names) | {"judgement_id": judgement_id}
    return {
        "judge_value": judgement.value,
        "instrument": judgement.instrument.label,
        "instrument_id": judgement.instrument.id,
        "judgement_id": judgement_id,
    }


# --- reading ------------------------------------------------------------------------------------


class ReadLabel(BaseModel):
    """One label of a file. `where` says where it stands there.

    `judge_visible_before` is None where the file does not say.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    where: str
    dialogue_id: str = ""
    design_id: str = ""
    item_id: str = ""
    dimension: str = Field(min_length=1)
    turn: int | None = Field(default=None, ge=1)
    annotator: str = Field(min_length=1, max_length=LONGEST_NAME)
    value_before_reveal: int | None = None
    value_after_reveal: int | None = None
    cannot: str = ""
    judge_visible_before: bool | None = None
    rubric: str = ""
    judgement_id: str | None = None
    opened_at: datetime | None = None
    submitted_at: datetime
    active_seconds: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    answered_at: datetime | None = None
    why: str = ""
    note: str = ""
    marks: tuple[int, ...] = ()

    @field_validator("marks", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return [part for part in value.split("|") if part] if isinstance(value, str) else value

    @field_validator("annotator", mode="before")
    @classmethod
    def _one_line(cls, value: Any) -> Any:
        return " ".join(value.split()) if isinstance(value, str) else value

    @field_validator("opened_at", "submitted_at", "answered_at")
    @classmethod
    def _aware(cls, value: datetime | None) -> datetime | None:
        if value is not None and value.tzinfo is None:
            raise ValueError("a time needs its time zone, such as 2026-03-01T12:00:00Z")
        return value

    @property
    def key(self) -> tuple[Any, ...]:
        """What makes a label the same when it is brought a second time."""
        asked = (self.dimension, self.turn, self.annotator)
        return (*asked, self.submitted_at.timestamp(), self.value_before_reveal)


def read_label(data: Mapping[str, Any], where: str) -> ReadLabel:
    """Read one row; empty cells are left out. Raises `SourceError` that names the field."""
    given = {k: v for k, v in data.items() if not _empty(v)}
    if "value" in given:
        given.setdefault("value_before_reveal", given["value"])
    try:
        label = ReadLabel.model_validate(given | {"where": where})
    except ValidationError as error:
        raise SourceError(f"{where}: {first_fault(error)}") from None
    if (label.value_before_reveal is None) == (not label.cannot.strip()):
        raise SourceError(f"{where}: there must be a value, or in `cannot` why there is none.")
    return label


def _empty(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and value != value)


def key_of(row: Annotation) -> tuple[Any, ...]:
    """`ReadLabel.key` of a label that is stored."""
    return (row.dimension, row.turn, row.annotator, row.submitted_at.timestamp(), row.value)
