"""Results that others published, as reference marks: read from a versioned file, never mixed in.

They were measured by other judges on other dialogues. Nothing here enters an estimate.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from core.assets import ASSETS
from core.errors import AssetError
from core.records import first_fault

_PERCENT = frozenset({"task_completion"})


class _Frozen(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PublishedRow(_Frozen):
    """One assistant in one context setting, on tasks of one domain or of several."""

    assistant: str = Field(min_length=1)
    condition: Literal["base", "demographics", "interactions", "situation", "all"]
    kind: Literal["single", "multi"]
    task_completion: float = Field(ge=0, le=100)
    personalization: float = Field(ge=1, le=4)

    def value(self, dimension: str) -> float:
        """The figure on the scale that Rapport keeps: rates from 0 to 1."""
        raw = float(getattr(self, dimension))
        return raw / 100 if dimension in _PERCENT else raw


class Published(_Frozen):
    """A table that others published, with where it comes from and what to mind."""

    name: str
    version: int = Field(ge=1)
    title: str
    label: str
    judge: str
    source: str
    caveats: tuple[str, ...] = Field(min_length=1)
    personas: int = Field(ge=1)
    dialogues: dict[Literal["single", "multi"], int]
    dimensions: tuple[Literal["task_completion", "personalization"], ...]
    rows: tuple[PublishedRow, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _once(self) -> Published:
        keys = [(row.assistant, row.condition, row.kind) for row in self.rows]
        if len(set(keys)) != len(keys):
            raise ValueError("a row stands there twice")
        return self


def load_published(name: str = "personalens", *, root: Path = ASSETS) -> Published:
    """The newest version of a published table. Raises `AssetError` naming the fault."""
    files = sorted((root / "published").glob(f"{name}.v*.yaml"), key=_version)
    if not files:
        raise AssetError(f"There are no published results called '{name}'.")
    return _read(files[-1])


def _version(path: Path) -> int:
    number = path.stem.rpartition(".v")[2]
    if not number.isdigit():
        raise AssetError(f"published/{path.name}: the file's name must end in '.v1', '.v2'.")
    return int(number)


@lru_cache(maxsize=8)
def _read(path: Path) -> Published:
    shown = f"published/{path.name}"
    try:
        found = Published.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        raise AssetError(f"{shown} cannot be read as YAML.") from None
    except ValidationError as error:
        raise AssetError(f"{shown}, {first_fault(error)}") from None
    if f"{found.name}.v{found.version}" != path.stem:
        raise AssetError(f"{shown}: name and version differ from the file's own name.")
    return found
