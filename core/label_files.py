"""Labels to files and back: tables for people and programs, layouts for other labelling tools.

What comes back keeps its author and its time, and counts as drawn only where the design and the
item that it names match what is stored here (`core.label_import`).
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias, get_args

import pandas as pd

from core.errors import SourceError, StudyError
from core.export import prepare, write_lines, write_manifest
from core.export_tables import OpenTable, as_it_was, csv_file, frame_of, parquet_file
from core.files import Folder
from core.label_argilla import read_argilla, write_argilla
from core.label_import import ImportedLabels, import_labels
from core.label_rows import COLUMNS, ReadLabel, label_rows, read_label
from core.label_studio import read_label_studio, write_label_studio
from core.label_tasks import make_tasks
from core.ports import Study
from core.review_ports import ReviewingStore
from core.review_types import Annotation, ReviewDesign

Form: TypeAlias = Literal["csv", "jsonl", "parquet", "label-studio", "argilla"]
FORMS: tuple[Form, ...] = get_args(Form)
MANIFEST = "labels.manifest.json"
_SUFFIXES: Mapping[str, Form] = {".csv": "csv", ".jsonl": "jsonl", ".parquet": "parquet"}
_LONGEST_CELL = 16_000_000

_README = """labels.csv: a row for each label, as UTF-8 text (choose UTF-8 when a spreadsheet asks).

value_before_reveal   what was said blind; empty where `cannot` says why it cannot be judged
value_after_reveal    what was said once the judge's value was shown; empty if it was not
judge_value           the judge's value that was shown, by the instrument beside it
reason                design and overlap: drawn at random; anything else is no evidence
pi                    the probability with which the dialogue was drawn
design_id, item_id    leave them as they are: with them a label that comes back counts as drawn

Labels that were taken back are not here; the JSONL form has every act.

Cells that a spreadsheet would run as a formula, because they begin with = + - @, a tab or a
line end, have one apostrophe (') in front. It is taken off again when the file is imported.
"""


def export_labels(
    store: ReviewingStore,
    study: Study,
    *,
    to: Path,
    form: Form,
    design: ReviewDesign | None = None,
    blank: bool = False,
) -> list[Path]:
    """Write a study's labels, or those of one design, into the folder `to`; manifest last.

    `csv`, `jsonl` and `parquet` are tables; `label-studio` and `argilla` are dialogues to label
    with the labels that they have, or `blank` without. Raises `AppError` for a folder that holds
    anything but an earlier export, `StudyError` for a form that there is not.
    """
    if form not in FORMS:
        raise StudyError(f"{form!r} is no form of labels: choose {', '.join(FORMS)}.")
    if blank and form in _SUFFIXES.values():
        raise StudyError("A table without labels is empty; --blank is for other tools' layouts.")
    folder = prepare(to, study, MANIFEST)
    about = {"study": study.name, "study_id": study.id, "form": form}
    about |= {"design_id": design.root_id} if design is not None else {}
    write_manifest(folder, MANIFEST, about | {"complete": False})
    if form in ("label-studio", "argilla"):
        write = write_label_studio if form == "label-studio" else write_argilla
        counts = write(folder, make_tasks(store, study, design, blank=blank))
    else:
        counts = _write_table(store, study, folder, form, design)
    write_manifest(folder, MANIFEST, about | {"complete": True} | counts)
    return folder.written[1:]


def _write_table(
    store: ReviewingStore, study: Study, folder: Folder, form: Form, design: ReviewDesign | None
) -> dict[str, Any]:
    acts = store.study_annotations(study.id)
    if design is not None:
        acts = [act for act in acts if act.root_id == design.root_id]
    rows = label_rows(acts, study.id, store)
    if form == "jsonl":
        write_lines(folder, "labels.jsonl", rows)
        return {
            "labels": len(rows),
            "acts": write_lines(folder, "acts.jsonl", map(act_record, acts)),
        }
    open_table: OpenTable = csv_file if form == "csv" else parquet_file
    with open_table(folder, f"labels.{form}", COLUMNS) as add_rows:
        add_rows(frame_of(rows, COLUMNS))
    if form == "csv":
        folder.write_text("README.txt", _README)
    return {"labels": len(rows)}


_ACT = (
    "id", "root_id", "dialogue_id", "dimension", "turn", "annotator", "act", "reason", "value",
    "cannot", "why", "note", "judge_visible_before", "rubric", "judgement_id", "supersedes",
    "active_seconds", "source",
)  # fmt: skip


def act_record(act: Annotation) -> dict[str, Any]:
    """Everything that one act of an annotator holds."""
    return {name: getattr(act, name) for name in _ACT} | {
        "marks": list(act.marks),
        "opened_at": act.opened_at.isoformat(),
        "submitted_at": act.submitted_at.isoformat(),
    }


# --- reading ------------------------------------------------------------------------------------


def import_label_file(
    path: Path,
    store: ReviewingStore,
    *,
    now: Callable[[], datetime],
    form: str | None = None,
    people: Mapping[str, str] | None = None,
    at: datetime | None = None,
) -> ImportedLabels:
    """Bring the labels of a file in; the same file twice adds nothing.

    Without a form it is told by the file's name and content. `people` gives names to ids of
    other tools, `at` a time to answers that tell none. Raises `SourceError` that names the row;
    then nothing is stored.
    """
    labels, left_out, found = read_label_file(path, form=form, people=people or {}, at=at)
    return import_labels(labels, f"{found}: {path.name}", store, now=now, left_out=left_out)


def read_label_file(
    path: Path, *, form: str | None, people: Mapping[str, str], at: datetime | None
) -> tuple[list[ReadLabel], Mapping[str, int], Form]:
    """The labels of a file, what was left out of it, and its form."""
    if form is not None and form not in FORMS:
        raise SourceError(f"{form!r} is no form of labels: choose {', '.join(FORMS)}.")
    found = form or _SUFFIXES.get(path.suffix.lower())
    if found == "parquet":
        return _labels(_parquet_rows(path), people), {}, "parquet"
    try:
        with _opened(path) as file:
            if found == "csv":
                return _labels(_csv_rows(file, path), people), {}, "csv"
            if found == "jsonl":
                return _labels(_json_lines(file), people), {}, "jsonl"
            data = _json(file.read(), path.name)
    except UnicodeDecodeError:
        raise SourceError(f"{path.name} is no UTF-8 text; save it as that.") from None
    if found == "argilla" or (found is None and _looks_like_argilla(data)):
        labels, left_out = read_argilla(data, people, at)
        return labels, left_out, "argilla"
    labels, left_out = read_label_studio(data, people)
    return labels, left_out, "label-studio"


def _labels(
    rows: Iterator[tuple[str, dict[str, Any]]], people: Mapping[str, str]
) -> list[ReadLabel]:
    read = []
    for where, row in rows:
        name = row.get("annotator")
        read.append(read_label(row | {"annotator": people.get(str(name), name)}, where))
    return read


def _looks_like_argilla(data: Any) -> bool:
    first = data[0] if isinstance(data, list) and data else None
    return isinstance(first, dict) and "fields" in first


def _opened(path: Path) -> IO[str]:
    try:
        return path.open(encoding="utf-8-sig", newline="")
    except OSError as error:
        raise SourceError(f"Cannot read {path}: {error.strerror}.") from None


def _csv_rows(file: IO[str], path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Rows of a CSV file, cells as they were before a spreadsheet was kept from running them."""
    csv.field_size_limit(_LONGEST_CELL)
    reader = csv.DictReader(file, strict=True)
    try:
        for number, row in enumerate(reader, start=1):
            if None in row:
                raise SourceError(f"{path.name}, row {number}: it has more cells than the head.")
            yield (
                f"row {number}",
                {name: as_it_was(cell) for name, cell in row.items() if cell is not None},
            )
    except csv.Error as error:
        raise SourceError(f"{path.name}, line {reader.line_num}: {error}.") from None


def _json_lines(file: IO[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(file, start=1):
        if line.strip():
            row = _json(line, f"line {number}")
            if not isinstance(row, dict):
                raise SourceError(f"line {number}: a label is a JSON object.")
            yield f"line {number}", row


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{where} cannot be read as JSON: {error}.") from None


def _parquet_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        frame = pd.read_parquet(path, dtype_backend="numpy_nullable")
    except OSError as error:
        raise SourceError(f"Cannot read {path}: {error.strerror or error}.") from None
    except ValueError as error:  # what pyarrow says of a file that is not Parquet is one
        raise SourceError(f"{path.name} is no Parquet file: {error}.") from None
    for number, row in enumerate(frame.to_dict("records"), start=1):
        yield f"row {number}", {str(k): None if v is pd.NA else v for k, v in row.items()}
