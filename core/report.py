"""Everything that a report says, read from the store: claims, examples, and how to do it again."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from importlib import metadata
from typing import TYPE_CHECKING, Any

from core.errors import StudyError
from core.ports import Study
from core.report_examples import Example, distinct_claims, find_examples
from core.report_ledger import Claim, Ledger, build_ledger
from core.review_ports import ReviewingStore
from core.types import Instrument

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 1
_PACKAGES = ("numpy", "scipy", "pandas", "statsmodels", "litellm", "sqlmodel", "plotly")


@dataclass(frozen=True, slots=True)
class Report:
    """A study's report before it is written in any form."""

    ledger: Ledger
    examples: tuple[Example, ...]
    instruments: tuple[Instrument, ...]
    prompts: Mapping[str, tuple[str, ...]]  # arm to `party name@version:hash`
    versions: Mapping[str, str]
    made_at: datetime

    @property
    def study(self) -> Study:
        return self.ledger.study

    @property
    def claims(self) -> tuple[Claim, ...]:
        return self.ledger.claims

    def examples_of(self, claim_id: str) -> tuple[Example, ...]:
        return tuple(e for e in self.examples if e.finding == claim_id)

    def to_dict(self) -> dict[str, Any]:
        """What a report file carries for machines: claims, results, instruments, versions."""
        return {
            "rapport_report": FORMAT,
            "study": self.study.name,
            "study_id": self.study.id,
            "baseline": self.ledger.comparison.baseline,
            "made_at": self.made_at.isoformat(),
            "claims": [claim.to_dict() for claim in self.claims],
            **{k: v for k, v in self.ledger.results.items() if k != "study"},
            "instruments": [
                {
                    "id": i.id,
                    "judge": i.judge,
                    "rubric": i.rubric,
                    "prompt_hash": i.prompt_hash,
                    "params": dict(i.params),
                }
                for i in self.instruments
            ],
            "versions": dict(self.versions),
        }


def make_report(
    study: Study,
    store: ReviewingStore,
    *,
    now: datetime,
    baseline: str | None = None,
    annotations: pd.DataFrame | None = None,
) -> Report:
    """Read everything that a report of `study` says.

    Raises `StudyError` when nothing of it has been judged.
    """
    ratings = store.ratings(study.id)
    ledger = build_ledger(study, store, baseline=baseline, annotations=annotations, ratings=ratings)
    if not ledger.comparison.rows:
        raise StudyError(
            f"No dialogue of {study.name} has been judged, so there is nothing to report; judge "
            f"them with `python cli.py judge {study.name} --rubric personalization --judge MODEL`."
        )
    examples = find_examples(ratings, ledger.comparison, store)
    ledger = replace(ledger, claims=ledger.claims + distinct_claims(examples))
    return Report(
        ledger=ledger,
        examples=examples,
        instruments=_instruments(ledger, store),
        prompts=_prompts(ledger, store),
        versions=_versions(),
        made_at=now,
    )


def _instruments(ledger: Ledger, store: ReviewingStore) -> tuple[Instrument, ...]:
    """The instruments whole, each from one of the judgements it gave."""
    found: dict[str, Instrument] = {}
    for claim in ledger.claims:
        if claim.kind == "arm" and claim.instrument_id not in found and claim.dialogue_ids:
            for judgement in store.list_judgements(claim.dialogue_ids[0]):
                found.setdefault(judgement.instrument.id, judgement.instrument)
    return tuple(sorted(found.values(), key=lambda i: (i.rubric, i.judge, i.id)))


def _prompts(ledger: Ledger, store: ReviewingStore) -> dict[str, tuple[str, ...]]:
    """The prompts that each arm's dialogues name, as the first of them has it."""
    found: dict[str, tuple[str, ...]] = {}
    for claim in ledger.claims:
        if claim.kind == "arm" and claim.arm not in found and claim.dialogue_ids:
            dialogue = store.get_dialogue(claim.dialogue_ids[0])
            found[claim.arm] = tuple(f"{p}: {ref}" for p, ref in sorted(dialogue.prompts.items()))
    return found


def _versions() -> dict[str, str]:
    found = {"Python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def embedded_json(value: Any) -> str:
    """JSON that can stand inside a script element: nothing in it can end the element."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
