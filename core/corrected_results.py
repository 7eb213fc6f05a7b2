"""What people's labels add to the results of a study: corrected rows beside the judge's own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from core.comparison import Comparison, results_object
from core.correcting import (
    CorrectedArm,
    CorrectedGap,
    Correction,
    correct_evidence,
    designs_for,
    method_of,
)
from core.labels import Evidence, annotation_rows, evidence, standing
from core.ports import Study
from core.review_ports import ReviewingStore
from core.review_types import ReviewDesign
from core.stats.corrected import Target

if TYPE_CHECKING:
    import pandas as pd


def label_table(study: Study, store: ReviewingStore) -> pd.DataFrame | None:
    """All labels of a study as `core.agreement` takes them; None where nobody labelled."""
    labels = standing(store.study_annotations(study.id))
    dimensions = sorted({label.dimension for label in labels})
    if not dimensions:
        return None
    import pandas as pd

    tables = [annotation_rows(study.id, dimension, store) for dimension in dimensions]
    whole = [table for table in tables if len(table)]
    return pd.concat(whole, ignore_index=True) if whole else None


def corrections_of(
    study: Study, comparison: Comparison, store: ReviewingStore, *, target: Target = "superpop"
) -> tuple[Correction, ...]:
    """For each dimension and instrument what the labels of one design make of it.

    It is the design with the most labelled dialogues, the newest of several: never several in
    one number. Nothing where no drawn dialogue was labelled blind.
    """
    if not store.study_annotations(study.id):
        return ()
    found = []
    for dimension in comparison.dimensions:
        designs = designs_for(study, dimension, store)
        for instrument_id in comparison.instruments(dimension) if designs else ():
            best = _most_labelled(designs, dimension, instrument_id, store)
            if best is not None:
                design, held = best
                found.append(
                    correct_evidence(
                        held, design, dimension, instrument_id,
                        arms=comparison.arms, baseline=comparison.baseline, target=target,
                    )
                )  # fmt: skip
    return tuple(found)


def _most_labelled(
    designs: Iterable[ReviewDesign], dimension: str, instrument_id: str, store: ReviewingStore
) -> tuple[ReviewDesign, Evidence] | None:
    best = None
    for design in designs:  # newest first
        held = evidence(design, dimension, instrument_id, store)
        if held.labelled and (best is None or held.labelled > best[1].labelled):
            best = design, held
    return best


def results_with_people(
    study: str, comparison: Comparison, corrections: Sequence[Correction]
) -> dict[str, Any]:
    """The object of `results --json`, with the rows that people's labels add at the end.

    Such a row has method `corrected` or `human_only`, `n` dialogues of the frame, and names
    its labels, design and frame as well.
    """
    found = results_object(study, comparison)
    for correction in corrections:
        label = comparison.instruments(correction.dimension)[correction.instrument_id]
        found["results"] += [
            _row(row, correction, label) for row in correction.arms if row.found is not None
        ]
        found["differences"] += [
            _difference(gap, correction, label) for gap in correction.gaps if gap.found is not None
        ]
    return found


def _row(row: CorrectedArm, correction: Correction, instrument: str) -> dict[str, Any]:
    assert row.found is not None
    head = row.found.headline
    return {
        "arm": row.arm,
        "dimension": correction.dimension,
        "estimate": head.est,
        "lo": head.lo,
        "hi": head.hi,
        "n": row.n_rows,
        "n_personas": row.n_personas,
        "n_unscored": row.n_unscored,
        "method": method_of(row.found),
        "instrument": instrument,
        **_design(correction, row.n_labels),
    }


def _difference(gap: CorrectedGap, correction: Correction, instrument: str) -> dict[str, Any]:
    assert gap.found is not None
    head = gap.found.headline
    return {
        "arm": gap.arm,
        "baseline": gap.baseline,
        "dimension": correction.dimension,
        "estimate": head.est,
        "lo": head.lo,
        "hi": head.hi,
        "p": None,
        "n": gap.n_pairs,
        "instrument": instrument,
        "method": method_of(gap.found),
        **_design(correction, gap.found.estimate.n),
    }


def _design(correction: Correction, labels: int) -> dict[str, Any]:
    design = correction.design
    return {"n_labels": labels, "design": design.name, "frame_hash": design.frame_hash}
