"""One claim of a report: numbers, what they rest on, and the hash of exactly those rows."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

Numbers = Mapping[str, float | int | None]


@dataclass(frozen=True, slots=True)
class Claim:
    """Numbers of a report and what they rest on.

    `kind` is `dialogues` (how an arm's dialogues ended), `arm`, `difference`, `agreement`,
    `example`, or `corrected` and `corrected_difference` for what blind labels made of a judge;
    only these two name a `design` and the hash of its frame. `dialogue_ids` are those behind it.
    """

    id: str
    kind: str
    arm: str
    baseline: str
    dimension: str
    instrument: str
    instrument_id: str
    method: str
    numbers: Numbers
    data_hash: str
    warnings: tuple[str, ...] = ()
    dialogue_ids: tuple[str, ...] = ()
    design: str = ""
    frame_hash: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Everything but the ids of the dialogues, which the hash covers."""
        values = asdict(self)
        del values["dialogue_ids"]
        if not self.design:
            del values["design"], values["frame_hash"]
        return values | {"numbers": dict(self.numbers), "warnings": list(self.warnings)}


def hash_lines(lines: Sequence[str]) -> str:
    """SHA-256 of the lines, each ended by a line feed."""
    hashed = hashlib.sha256()
    for line in lines:
        hashed.update(line.encode("utf-8", "surrogatepass") + b"\n")
    return hashed.hexdigest()


def cell(value: object) -> str:
    """A value as a hash reads it: nothing for what is missing, whole numbers without a point."""
    if value is None or str(value) in ("nan", "<NA>", "NaT"):
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).replace("\t", " ").replace("\n", " ")
