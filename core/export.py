"""A study's dialogues, judgements and overrides as files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal, TypeAlias

from core.errors import AppError
from core.export_personalens import write_personalens
from core.export_tables import write_csv, write_parquet
from core.files import Folder
from core.ports import Store, Study
from core.records import dialogue_record, judgement_record, override_record

Form: TypeAlias = Literal["jsonl", "csv", "parquet", "personalens"]
FORMS: tuple[Form, ...] = ("jsonl", "csv", "parquet", "personalens")
MANIFEST = "export.json"


def export_study(store: Store, study: Study, *, to: Path, form: Form) -> list[Path]:
    """Write a study into the folder `to` and return the files written, the manifest last.

    `jsonl` is everything, raw, and can be imported again; `csv` and `parquet` are tables;
    `personalens` is the layout that the benchmark's own scripts read. Each file appears whole
    or not at all. Raises `AppError` for a folder that holds anything but an earlier export of
    this study, and for what a form cannot express.
    """
    if form not in FORMS:
        raise AppError(f"{form!r} is no form of export: choose {', '.join(FORMS)}.")
    folder = prepare(to, study, MANIFEST)
    manifest = {"study": study.name, "study_id": study.id, "form": form}
    write_manifest(
        folder, MANIFEST, manifest | {"complete": False}
    )  # so that a broken export can be redone
    counts = _WRITERS[form](store, study, folder)
    write_manifest(folder, MANIFEST, manifest | {"complete": True} | counts)
    return folder.written[1:]


def write_manifest(folder: Folder, name: str, manifest: dict[str, Any]) -> None:
    """Write what an export holds, as the file by which it is known again."""
    folder.write_text(name, json.dumps(manifest, ensure_ascii=False, indent=2) + "\n")


def prepare(to: Path, study: Study, manifest: str) -> Folder:
    """The folder, made or checked to be empty or an earlier export of the same study."""
    try:
        if to.exists() and not to.is_dir():
            raise AppError(f"{to} is a file: name a folder to export to.")
        to.mkdir(parents=True, exist_ok=True)
        if any(to.iterdir()) and _study_of(to / manifest) != study.id:
            raise AppError(
                f"{to} is not empty and holds no earlier export of this study: name another folder."
            )
    except OSError as error:
        raise AppError(f"Cannot write to {to}: {error.strerror}.") from None
    return Folder(to)


def _study_of(path: Path) -> str:
    """Id of the study that was exported here before, or nothing."""
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        return str(manifest["study_id"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _write_jsonl(store: Store, study: Study, folder: Folder) -> dict[str, Any]:
    return {
        "dialogues": write_lines(
            folder, "dialogues.jsonl", map(dialogue_record, store.iter_dialogues(study.id))
        ),
        "judgements": write_lines(
            folder, "judgements.jsonl", map(judgement_record, store.iter_judgements(study.id))
        ),
        "overrides": write_lines(
            folder, "overrides.jsonl", map(override_record, store.list_all_overrides(study.id))
        ),
    }


def write_lines(folder: Folder, name: str, records: Iterable[dict[str, Any]]) -> int:
    """Write one JSON object a line; returns how many."""
    count = 0
    with folder.open(name) as file:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
            count += 1
    return count


_WRITERS: dict[Form, Callable[[Store, Study, Folder], dict[str, Any]]] = {
    "jsonl": _write_jsonl,
    "csv": write_csv,
    "parquet": write_parquet,
    "personalens": write_personalens,
}
