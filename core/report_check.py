"""Check a report file against what is stored now: which of its claims still hold.

A claim holds when the rows behind it and its numbers are the same. The file is also checked
against its own seal, so that a number changed in the text is noticed though the rows are not.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.errors import NotFound, SourceError
from core.findings import arms_of
from core.ports import Study
from core.report import FORMAT
from core.report_examples import quoted_now
from core.report_ledger import Claim, build_ledger
from core.review_ports import ReviewingStore

if TYPE_CHECKING:
    import pandas as pd

SEAL = re.compile(r'(<meta name="rapport-seal" content=")([0-9a-f]*)(">)')
_LEDGER = re.compile(r'<script type="application/json" id="ledger">(.*?)</script>', re.DOTALL)
_QUOTE = re.compile(r"example\|[^|]+\|[^|]*")
SAME_P = 0.02  # p comes of random flips that all pairs of a dimension share

CHANGED = "the rows behind it have changed"
GONE = "nothing like it can be computed from what is stored"
OTHER = "the same rows give another number now"


class _Claim(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)
    id: str
    kind: str
    numbers: dict[str, float | None]
    data_hash: str
    arm: str = ""
    baseline: str = ""
    dimension: str = ""
    instrument: str = ""


class _File(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)
    rapport_report: int
    study: str
    study_id: str
    baseline: str
    made_at: datetime
    claims: list[_Claim] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A claim that stored rows no longer support, and why."""

    id: str
    kind: str
    arm: str
    baseline: str
    dimension: str
    instrument: str
    why: str
    said: Mapping[str, float | None]
    now: Mapping[str, float | int | None]


@dataclass(frozen=True, slots=True)
class Checked:
    """What became of a report's claims. `edited`: the file is not as it was written."""

    study: str
    made_at: datetime
    claims: int
    unsupported: tuple[Unsupported, ...]
    edited: bool
    more: int  # claims that a report made now would add

    @property
    def ok(self) -> bool:
        return not self.unsupported and not self.edited

    def to_dict(self) -> dict[str, Any]:
        return {
            "study": self.study,
            "made_at": self.made_at.isoformat(),
            "claims": self.claims,
            "supported": self.claims - len(self.unsupported),
            "unsupported": [
                {
                    "id": u.id,
                    "kind": u.kind,
                    "arm": u.arm,
                    "baseline": u.baseline,
                    "dimension": u.dimension,
                    "instrument": u.instrument,
                    "why": u.why,
                    "said": dict(u.said),
                    "now": dict(u.now),
                }
                for u in self.unsupported
            ],
            "edited": self.edited,
            "more": self.more,
        }


def sealed(document: str) -> str:
    """The document with its seal: the hash of everything else in it."""
    return SEAL.sub(rf"\g<1>{_seal(document)}\g<3>", document, count=1)


def _seal(document: str) -> str:
    blank = SEAL.sub(r"\g<1>\g<3>", document, count=1)
    return hashlib.sha256(blank.encode("utf-8", "backslashreplace")).hexdigest()


def check_report(
    document: str, store: ReviewingStore, *, annotations: pd.DataFrame | None = None
) -> Checked:
    """Recompute every claim of a report. Raises `SourceError` for what is no report of ours,
    `NotFound` when its study is not stored here.
    """
    read = _read(document)
    now = _claims_now(read, store, annotations)
    wrong = [found for claim in read.claims if (found := _verdict(claim, now.get(claim.id)))]
    seal = SEAL.search(document)
    return Checked(
        study=read.study,
        made_at=read.made_at,
        claims=len(read.claims),
        unsupported=tuple(wrong),
        edited=seal is None or seal[2] != _seal(document),
        more=len(set(now) - {claim.id for claim in read.claims}),
    )


def read_report(
    path: Path, store: ReviewingStore, *, annotations: pd.DataFrame | None = None
) -> Checked:
    """Check a report file. Raises `SourceError` where it cannot be read, too."""
    try:
        document = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise SourceError(f"Cannot read the report {path}: {reason}.") from None
    return check_report(document, store, annotations=annotations)


def checked_words(found: Checked) -> str:
    """What became of each claim, a line each, and a sentence before them."""
    held = found.claims - len(found.unsupported)
    lines = [f"{held} of {found.claims} claims of {found.study} hold."]
    if found.edited:
        lines.append("The file is not as it was written: its text was changed afterwards.")
    lines += [f"- {_about(wrong)}: {wrong.why}." for wrong in found.unsupported]
    if found.more:
        lines.append(f"A report made now would claim {found.more} things more.")
    return "\n".join(lines)


def _about(wrong: Unsupported) -> str:
    between = f"{wrong.arm} minus {wrong.baseline}" if wrong.baseline else wrong.arm
    facts = [wrong.kind, wrong.dimension, between, wrong.instrument]
    said, now = wrong.said.get("estimate"), wrong.now.get("estimate")
    moved = "" if said is None or now is None else f" ({said:.4g} was said, {now:.4g} it is now)"
    return ", ".join(fact for fact in facts if fact) + moved


def _read(document: str) -> _File:
    found = _LEDGER.search(document)
    if found is None:
        raise SourceError("This is no report of Rapport in HTML: it holds no ledger of claims.")
    try:
        read = _File.model_validate(json.loads(found[1]))
    except (ValidationError, ValueError):
        raise SourceError("The ledger of this report cannot be read; it was damaged.") from None
    if read.rapport_report != FORMAT:
        raise SourceError(
            f"This report has format {read.rapport_report}, and this Rapport reads {FORMAT}; "
            "check it with the version that wrote it."
        )
    return read


def _claims_now(
    read: _File, store: ReviewingStore, annotations: pd.DataFrame | None
) -> dict[str, Claim]:
    """What could be claimed now; the quoted dialogues are those of the file, not chosen anew."""
    study = _study(read, store)
    arms = arms_of(study, store.list_arms(study.id))
    baseline = read.baseline if read.baseline in arms else None
    made = build_ledger(study, store, baseline=baseline, annotations=annotations)
    found = {claim.id: claim for claim in made.claims}
    for claim in read.claims:
        quoted = quoted_now(claim.id, store) if _QUOTE.fullmatch(claim.id) else None
        if quoted is not None:
            found[claim.id] = quoted
    return found


def _study(read: _File, store: ReviewingStore) -> Study:
    found = store.find_study(read.study_id)
    if found is None:
        raise NotFound(
            f"The study {read.study} that this report is about is not in this database; set "
            "RAPPORT_DATABASE_URL to the one it was made from."
        )
    return found


def _verdict(said: _Claim, now: Claim | None) -> Unsupported | None:
    if now is None:
        return _unsupported(said, GONE, {})
    if said.data_hash != now.data_hash:
        return _unsupported(said, CHANGED, now.numbers)
    if all(_same(name, value, now.numbers.get(name)) for name, value in said.numbers.items()):
        return None
    return _unsupported(said, OTHER, now.numbers)


def _same(name: str, said: float | None, now: float | int | None) -> bool:
    if said is None or now is None:
        return said is None and now is None
    if name == "p":
        return abs(said - now) <= SAME_P
    return math.isclose(said, now, rel_tol=1e-9, abs_tol=1e-12)


def _unsupported(said: _Claim, why: str, now: Mapping[str, float | int | None]) -> Unsupported:
    return Unsupported(
        id=said.id,
        kind=said.kind,
        arm=said.arm,
        baseline=said.baseline,
        dimension=said.dimension,
        instrument=said.instrument,
        why=why,
        said=said.numbers,
        now=now,
    )
