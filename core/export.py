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
    folder = _prepare(to, study)
    manifest = {"study": study.name, "study_id": study.id, "form": form}
    _write_manifest(folder, manifest | {"complete": False})  # so that a broken export can be redone
    counts = _WRITERS[form](store, study, folder)
    _write_manifest(folder, manifest | {"complete": True} | counts)
    return folder.written[1:]


def _write_manifest(folder: Folder, manifest: dict[str, Any]) -> None:
    folder.write_text(MANIFEST, json.dumps(manifest, ensure_ascii=False, indent=2) + "\n")


def _prepare(to: Path, study: Study) -> Folder:
    """The folder, made or checked to be empty or an earlier export of the same study."""
    try:
        if to.exists() and not to.is_dir():
            raise AppError(f"{to} is a file: name a folder to export to.")
        to.mkdir(parents=True, exist_ok=True)
        if any(to.iterdir()) and _study_of(to) != study.id:
            raise AppError(
                f"{to} is not empty and holds no earlier export of this study: name another folder."
            )
    except OSError as error:
        raise AppError(f"Cannot write to {to}: {error.strerror}.") from None
    return Folder(to)


def _study_of(folder: Path) -> str:
    """Id of the study that was exported here before, or nothing."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return str(manifest["study_id"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _write_jsonl(store: Store, study: Study, folder: Folder) -> dict[str, Any]:
    return {
        "dialogues": _lines(
            folder, "dialogues.jsonl", map(dialogue_record, store.iter_dialogues(study.id))
        ),
        "judgements": _lines(
            folder, "judgements.jsonl", map(judgement_record, store.iter_judgements(study.id))
        ),
        "overrides": _lines(
            folder, "overrides.jsonl", map(override_record, store.list_all_overrides(study.id))
        ),
    }


def _lines(folder: Folder, name: str, records: Iterable[dict[str, Any]]) -> int:
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
