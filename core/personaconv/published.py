"""The published table: others' figures, labelled as such, with what to know before comparing."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, model_validator

from core.assets import ASSETS
from core.personaconv.types import Task

FILE = ASSETS / "conversations" / "published.v1.yaml"


class _Frozen(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PublishedRow(_Frozen):
    task: Task
    metric: str
    better: Literal["high", "low"]
    p_conv: tuple[float, ...]
    p_nonconv: tuple[float, ...]


class Published(_Frozen):
    """Figures by metric, one for each of `models`."""

    source: str
    models: tuple[str, ...]
    rows: tuple[PublishedRow, ...]
    np_conv: dict[Task, dict[str, float]]
    caveats: tuple[str, ...]

    @model_validator(mode="after")
    def _complete(self) -> Published:
        for row in self.rows:
            if not len(self.models) == len(row.p_conv) == len(row.p_nonconv):
                raise ValueError(f"{row.metric} has not one figure for each model")
        return self


@lru_cache(maxsize=1)
def load_published() -> Published:
    """The newest version of the table."""
    return Published.model_validate(yaml.safe_load(FILE.read_text(encoding="utf-8")))
