"""Claims about arms as people would rate them: judge, blind labels of a draw, and both together.

Their hash covers the frame of the draw: of each dialogue its stratum, probability, whether it was
drawn, the judge's value and the mean of its blind labels.
"""

from __future__ import annotations

from collections.abc import Mapping

from core.correcting import CorrectedArm, CorrectedGap, Correction, method_of
from core.labels import Evidence, evidence
from core.report_claim import Claim, Numbers, cell, hash_lines
from core.review_ports import ReviewingStore
from core.stats.corrected import CorrectedMean

FRAME_COLUMNS = (
    "dialogue_id", "persona", "arm", "stratum", "scenario", "selected", "pi", "judge", "human",
)  # fmt: skip


def corrected_claims(
    correction: Correction, instruments: Mapping[str, str], store: ReviewingStore
) -> list[Claim]:
    """A claim for each arm and difference that has a corrected estimate."""
    held = evidence(correction.design, correction.dimension, correction.instrument_id, store)
    instrument = instruments[correction.instrument_id]
    claims = [
        _arm(row, row.found, correction, instrument, held)
        for row in correction.arms
        if row.found is not None
    ]
    return claims + [
        _gap(gap, gap.found, correction, instrument, held)
        for gap in correction.gaps
        if gap.found is not None
    ]


def _arm(
    row: CorrectedArm, found: CorrectedMean, correction: Correction, instrument: str, held: Evidence
) -> Claim:
    numbers = _numbers(found) | {
        "n": row.n_rows,
        "n_labels": row.n_labels,
        "n_personas": row.n_personas,
        "n_unscored": row.n_unscored,
    }
    return _claim(
        ("corrected", row.arm, ""), (found, numbers), correction, instrument, (held, {row.arm})
    )


def _gap(
    gap: CorrectedGap, found: CorrectedMean, correction: Correction, instrument: str, held: Evidence
) -> Claim:
    numbers = _numbers(found) | {
        "n": gap.n_pairs,
        "n_labels": found.estimate.n,
        "n_personas": found.estimate.n_clusters,
    }
    about = ("corrected_difference", gap.arm, gap.baseline)
    behind = (held, {gap.arm, gap.baseline})
    return _claim(about, (found, numbers), correction, instrument, behind)


def _numbers(found: CorrectedMean) -> dict[str, float | int | None]:
    """The headline, and beside it people alone and the judge alone."""
    said: dict[str, float | int | None] = {}
    parts = (("", found.headline), ("people_", found.human_only), ("judge_", found.naive))
    for prefix, estimate in parts:
        said[f"{prefix}estimate"] = estimate.est
        said[f"{prefix}lo"], said[f"{prefix}hi"] = estimate.lo, estimate.hi
    return said


def _claim(
    about: tuple[str, str, str],
    said: tuple[CorrectedMean, Numbers],
    correction: Correction,
    instrument: str,
    behind: tuple[Evidence, set[str]],
) -> Claim:
    kind, arm, baseline = about
    found, numbers = said
    held, arms = behind
    ids = tuple(
        sorted(
            dialogue
            for dialogue, name, person in zip(held.dialogue_ids, held.arms, held.human, strict=True)
            if name in arms and cell(float(person))
        )
    )
    names = [name for name in (arm, baseline) if name]
    return Claim(
        id="|".join((kind, *names, correction.dimension, correction.instrument_id)),
        kind=kind,
        arm=arm,
        baseline=baseline,
        dimension=correction.dimension,
        instrument=instrument,
        instrument_id=correction.instrument_id,
        method=method_of(found),
        numbers=numbers,
        data_hash=hash_lines(_lines(held, arms)),
        warnings=found.headline.warnings,
        dialogue_ids=ids,
        design=correction.design.name,
        frame_hash=correction.design.frame_hash,
    )


def _lines(held: Evidence, arms: set[str]) -> list[str]:
    columns = (
        held.dialogue_ids, held.personas, held.arms, held.strata, held.scenarios,
        [int(taken) for taken in held.selected], held.pi.tolist(), held.judge.tolist(),
        held.human.tolist(),
    )  # fmt: skip
    rows = (row for row in zip(*columns, strict=True) if row[2] in arms)
    return sorted("\t".join(map(cell, row)) for row in rows)
