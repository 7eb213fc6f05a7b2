"""The study files and half-made drafts that the web app keeps in the data folder.

A saved study is the same file that `cli.py run` takes. A draft is whatever a person has typed
so far: text that need not be a study yet.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from core.errors import AppError, StudyError
from core.files import Folder
from core.launcher import study_path
from core.settings import Settings
from core.study_file import StudySpec, load_study

_DRAFT = re.compile(r"[0-9a-f]{8}")
_MOST = 1_000_000  # bytes of a study file


@dataclass(frozen=True, slots=True)
class Draft:
    """A study that somebody has begun to define."""

    id: str
    text: str

    @property
    def name(self) -> str:
        """What it calls itself so far; empty before it has a name."""
        found = mapping_of(self.text)
        return str(found.get("name") or "")[:80] if found else ""


def save_study(spec: StudySpec, settings: Settings) -> Path:
    """Write a study's file and return its path. Raises `AppError`."""
    path = study_path(spec.name, settings)
    Folder(path.parent).write_text(path.name, spec.to_yaml())
    return path


def saved_studies(settings: Settings) -> list[StudySpec]:
    """The studies whose files are here and can be read, by name."""
    found = []
    for path in sorted((settings.data_dir / "studies").glob("*.yaml")):
        try:
            found.append(load_study(path))
        except StudyError:
            continue  # somebody wrote it by hand, and `run` says what is wrong with it
    return sorted(found, key=lambda spec: spec.name)


def write_draft(draft: Draft, settings: Settings) -> None:
    """Keep a draft. Raises `AppError`."""
    path = _draft_path(draft.id, settings)
    Folder(path.parent).write_text(path.name, draft.text)


def read_draft(draft_id: str, settings: Settings) -> Draft | None:
    """The draft of that id, or None."""
    if not is_draft_id(draft_id):
        return None
    try:
        return Draft(draft_id, _draft_path(draft_id, settings).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return None


def list_drafts(settings: Settings) -> list[Draft]:
    """Every draft, the one touched last first."""
    paths = [p for p in _drafts(settings).glob("*.yaml") if is_draft_id(p.stem)]
    paths.sort(key=lambda p: p.stat().st_mtime, reverse=True)
    return [d for p in paths if (d := read_draft(p.stem, settings)) is not None]


def drop_draft(draft_id: str, settings: Settings) -> None:
    """Forget a draft, if it is there."""
    if is_draft_id(draft_id):
        _draft_path(draft_id, settings).unlink(missing_ok=True)


def is_draft_id(text: str) -> bool:
    return _DRAFT.fullmatch(text) is not None


def mapping_of(text: str) -> dict[str, Any] | None:
    """The YAML mapping that a text is, or None when it is something else."""
    try:
        found = yaml.safe_load(text[:_MOST])
    except (yaml.YAMLError, RecursionError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def text_of(mapping: dict[str, Any]) -> str:
    """A mapping as YAML, whether it is a study already or not."""
    return yaml.safe_dump(mapping, sort_keys=False, allow_unicode=True)


def _drafts(settings: Settings) -> Path:
    return settings.data_dir / "drafts"


def _draft_path(draft_id: str, settings: Settings) -> Path:
    if not is_draft_id(draft_id):
        raise AppError("A draft is named by eight hexadecimal digits.")
    return _drafts(settings) / f"{draft_id}.yaml"
