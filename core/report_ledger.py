"""A report as a ledger of claims: every number with what it rests on, and a hash of those rows.

A claim holds its numbers, what they count, the instrument, and the hash of exactly the stored
rows that they were computed from. Made again from the same rows, a ledger is the same; a claim
whose rows changed has another hash, and no other claim has (see `core.report_check`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from core.agreement import Agreement, agreement
from core.compare import compare
from core.comparison import ArmEstimate, Comparison, Difference, Ends
from core.corrected_results import corrections_of, label_table, results_with_people
from core.correcting import Correction
from core.findings import arms_of
from core.ports import DialogueFilter, Store, Study
from core.report_claim import Claim, cell, hash_lines
from core.report_corrected import corrected_claims
from core.review_ports import ReviewingStore
from core.stats.types import StatsError
from core.types import StopReason

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ROW_COLUMNS", "Claim", "Ledger", "build_ledger", "hash_lines"]

ROW_COLUMNS = (
    "dialogue_id", "arm", "persona_id", "task_id", "repetition", "domains", "stop_reason",
    "dimension", "instrument_id", "turn", "status", "value",
)  # fmt: skip
"""What a hash covers of each judgement, in this order; a line each, sorted, joined by tabs."""

_ARM_NUMBERS = ("estimate", "lo", "hi", "n", "n_personas", "n_unscored")
_DIFFERENCE_NUMBERS = (
    "estimate", "lo", "hi", "p", "n", "n_personas", "wins", "losses", "ties", "arm_mean",
    "baseline_mean",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ledger:
    """All claims about a study that a report makes, and the comparison they come from."""

    study: Study
    comparison: Comparison
    claims: tuple[Claim, ...]
    agreements: tuple[Agreement, ...] = ()
    corrections: tuple[Correction, ...] = ()
    rows: Sequence[str] = field(default=(), repr=False)

    @property
    def results(self) -> dict[str, Any]:
        """The same object that `results --json` prints."""
        return results_with_people(self.study.name, self.comparison, self.corrections)

    def claim(self, claim_id: str) -> Claim:
        return next(c for c in self.claims if c.id == claim_id)


def build_ledger(
    study: Study,
    store: ReviewingStore,
    *,
    baseline: str | None = None,
    annotations: pd.DataFrame | None = None,
    ratings: pd.DataFrame | None = None,
) -> Ledger:
    """Make every claim about a study from what is stored (`ratings`, where they are read already).

    `annotations` is a table of people's labels (`core.agreement_rows.COLUMNS`) instead of those
    that are stored; agreement is claimed for each dimension and instrument in it. What blind
    labels of a stored draw correct is always read from the store.
    """
    if annotations is None:
        annotations = label_table(study, store)
    if ratings is None:
        ratings = store.ratings(study.id)
    arms = arms_of(study, store.list_arms(study.id))
    comparison = compare(ratings, arms=arms, baseline=baseline)
    behind = _Behind.of(ratings)
    ended = {arm: _endings(study.id, arm, store) for arm in arms}
    overridden = _overridden(study.id, store)
    claims = [_dialogues_claim(arm, counts) for arm, counts in ended.items()]
    claims += [_arm_claim(row, behind, ended, overridden) for row in comparison.rows]
    claims += [_difference_claim(row, behind, ended, overridden) for row in comparison.differences]
    agreements = () if annotations is None else _agreements(annotations, comparison.ends)
    if annotations is not None:
        claims += [_agreement_claim(found, annotations) for found in agreements]
    corrections = corrections_of(study, comparison, store)
    for correction in corrections:
        claims += corrected_claims(correction, comparison.instruments(correction.dimension), store)
    return Ledger(study, comparison, tuple(claims), agreements, corrections, behind.lines)


# --- rows and hashes --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Behind:
    """The rows of each arm, dimension and instrument, as sorted lines."""

    parts: Mapping[tuple[str, str, str], Sequence[str]]
    ids: Mapping[tuple[str, str, str], tuple[str, ...]]

    @classmethod
    def of(cls, ratings: pd.DataFrame) -> _Behind:
        parts: dict[tuple[str, str, str], list[str]] = {}
        ids: dict[tuple[str, str, str], dict[str, None]] = {}
        columns = [ratings[name].astype(object).tolist() for name in ROW_COLUMNS]
        for row in zip(*columns, strict=True):
            key = (str(row[1]), str(row[7]), str(row[8]))
            parts.setdefault(key, []).append("\t".join(map(cell, row)))
            ids.setdefault(key, {})[str(row[0])] = None
        return cls(
            {key: sorted(lines) for key, lines in parts.items()},
            {key: tuple(sorted(found)) for key, found in ids.items()},
        )

    @property
    def lines(self) -> list[str]:
        return [line for key in sorted(self.parts) for line in self.parts[key]]

    def hash(self, *keys: tuple[str, str, str]) -> str:
        return hash_lines([line for key in keys for line in self.parts.get(key, ())])

    def dialogues(self, *keys: tuple[str, str, str]) -> tuple[str, ...]:
        return tuple(sorted({i for key in keys for i in self.ids.get(key, ())}))


# --- claims -----------------------------------------------------------------------------------


def _endings(study_id: str, arm: str, store: Store) -> dict[str, int]:
    counts = {
        str(reason): store.count_dialogues(
            DialogueFilter(
                study_id=study_id, arms=frozenset({arm}), stop_reasons=frozenset({reason})
            )
        )
        for reason in StopReason
    }
    return {reason: n for reason, n in counts.items() if n}


def _split(counts: Mapping[str, int]) -> tuple[int, int]:
    """Dialogues that can be judged, and those that were broken off."""
    judged = sum(n for reason, n in counts.items() if StopReason(reason).judged)
    return judged, sum(counts.values()) - judged


def _overridden(study_id: str, store: Store) -> dict[tuple[str, str], frozenset[str]]:
    """Dialogues with an override, by dimension and instrument id."""
    found: dict[tuple[str, str], set[str]] = {}
    for override in store.list_all_overrides(study_id):
        judgement = store.get_judgement(override.judgement_id)
        key = (judgement.dimension, judgement.instrument.id)
        found.setdefault(key, set()).add(override.dialogue_id)
    return {key: frozenset(ids) for key, ids in found.items()}


def _dialogues_claim(arm: str, counts: Mapping[str, int]) -> Claim:
    judged, broken_off = _split(counts)
    numbers = {"dialogues": judged + broken_off, "judgeable": judged, "excluded": broken_off}
    return Claim(
        id=f"dialogues|{arm}",
        kind="dialogues",
        arm=arm,
        baseline="",
        dimension="",
        instrument="",
        instrument_id="",
        method="count of stored dialogues by how they ended",
        numbers=numbers | {f"ended {reason}": n for reason, n in sorted(counts.items())},
        data_hash=hash_lines([f"{reason}\t{n}" for reason, n in sorted(counts.items())]),
    )


def _arm_claim(
    row: ArmEstimate,
    behind: _Behind,
    ended: Mapping[str, Mapping[str, int]],
    overridden: Mapping[tuple[str, str], frozenset[str]],
) -> Claim:
    key = (row.arm, row.dimension, row.instrument_id)
    ids = behind.dialogues(key)
    judged, broken_off = _split(ended[row.arm])
    numbers = {name: getattr(row, name) for name in _ARM_NUMBERS}
    numbers |= {
        "n_excluded": broken_off,
        "n_not_judged": max(0, judged - row.n - row.n_unscored),
        "n_overridden": _among(ids, overridden.get(key[1:], frozenset())),
    }
    return Claim(
        id="|".join(("arm", *key)),
        kind="arm",
        arm=row.arm,
        baseline="",
        dimension=row.dimension,
        instrument=row.instrument,
        instrument_id=row.instrument_id,
        method=row.method,
        numbers=numbers,
        data_hash=behind.hash(key),
        warnings=row.warnings,
        dialogue_ids=ids,
    )


def _difference_claim(
    row: Difference,
    behind: _Behind,
    ended: Mapping[str, Mapping[str, int]],
    overridden: Mapping[tuple[str, str], frozenset[str]],
) -> Claim:
    keys = [(arm, row.dimension, row.instrument_id) for arm in (row.arm, row.baseline)]
    ids = behind.dialogues(*keys)
    numbers = {name: getattr(row, name) for name in _DIFFERENCE_NUMBERS}
    numbers |= {
        "n_excluded": sum(_split(ended[arm])[1] for arm in (row.arm, row.baseline)),
        "n_overridden": _among(ids, overridden.get(keys[0][1:], frozenset())),
    }
    return Claim(
        id="|".join(("difference", row.arm, row.baseline, row.dimension, row.instrument_id)),
        kind="difference",
        arm=row.arm,
        baseline=row.baseline,
        dimension=row.dimension,
        instrument=row.instrument,
        instrument_id=row.instrument_id,
        method="uncorrected judge means paired by scenario, t interval and sign flips by persona",
        numbers=numbers,
        data_hash=behind.hash(*keys),
        warnings=row.warnings,
        dialogue_ids=ids,
    )


def _among(ids: Sequence[str], wanted: frozenset[str]) -> int:
    return len(wanted.intersection(ids))


# --- people -----------------------------------------------------------------------------------


def _agreements(rows: pd.DataFrame, ends: Mapping[str, Ends]) -> tuple[Agreement, ...]:
    """Agreement on each dimension by each instrument; what cannot be computed is left out."""
    found = []
    pairs = rows[["dimension", "instrument_id"]].dropna().drop_duplicates()
    for dimension, instrument_id in sorted(pairs.itertuples(index=False, name=None)):
        if dimension in ends:
            try:
                found.append(
                    agreement(
                        rows,
                        dimension=dimension,
                        ends=ends[dimension],
                        instrument_id=instrument_id,
                    )
                )
            except StatsError:
                continue
    return tuple(found)


def _agreement_claim(found: Agreement, rows: pd.DataFrame) -> Claim:
    part = rows[rows["dimension"] == found.dimension]
    own = part[(part["instrument"] == found.instrument) | part["instrument"].isna()]
    columns = [own[name].astype(object).tolist() for name in sorted(own.columns)]
    lines = sorted("\t".join(map(cell, row)) for row in zip(*columns, strict=True))
    numbers: dict[str, float | int | None] = {
        "n_labels": found.n_labels,
        "n": found.n_items,
        "n_personas": found.n_personas,
        "n_unscored": found.n_unscored,
        "left_out": sum(found.left_out.values()),
    }
    judge, people = found.judge, found.people
    for name, estimate in (
        ("kappa", judge.kappa if judge else None),
        ("bias", judge.bias if judge else None),
        ("alpha", people.alpha if people else None),
    ):
        for part_name in ("est", "lo", "hi"):
            numbers[f"{name}_{part_name}"] = getattr(estimate, part_name) if estimate else None
    ids = next((str(i) for i in own["instrument_id"].dropna()), "")
    return Claim(
        id="|".join(("agreement", found.dimension, ids)),
        kind="agreement",
        arm="",
        baseline="",
        dimension=found.dimension,
        instrument=found.instrument,
        instrument_id=ids,
        method="blind labels of the random draw, weighted by 1/pi, intervals by persona",
        numbers=numbers,
        data_hash=hash_lines(lines),
        warnings=found.warnings,
        dialogue_ids=tuple(sorted({str(i) for i in own["dialogue_id"]})),
    )
