"""Arms as people would rate them: judge values of all dialogues, corrected by drawn labels.

Only `core.labels.evidence` gets in here: blind labels that a stored design drew, each with its
probability. A drawn dialogue that nobody has labelled yet lowers that probability by the share
that is done, because people work through a draw in random order (method book, 6.5 and 7).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.compare import rubric_ends
from core.labels import Evidence, evidence
from core.ports import Study
from core.review_designs import latest
from core.review_ports import ReviewingStore
from core.review_types import Method, ReviewDesign
from core.stats.corrected import (
    HUMAN_ONLY_BELOW,
    CorrectedMean,
    Target,
    corrected_difference,
    corrected_mean,
    own_stratum,
)
from core.stats.missing import Bounds, missing_bounds
from core.stats.types import FloatArray, StatsError

LOW_COMPLETION = 0.95


@dataclass(frozen=True, slots=True)
class CorrectedArm:
    """One arm: corrected, by people alone, by the judge alone; or why there is nothing.

    `bounds` holds what the judge's mean can be when values are missing, whatever they are.
    """

    arm: str
    found: CorrectedMean | None
    n_labels: int
    n_rows: int
    n_personas: int
    n_unscored: int
    why_not: str = ""
    bounds: Bounds | None = None


@dataclass(frozen=True, slots=True)
class CorrectedGap:
    """An arm minus the baseline. `paired`: the same scenarios were labelled with both."""

    arm: str
    baseline: str
    found: CorrectedMean | None
    n_pairs: int
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Correction:
    """What one design says of one dimension and instrument, arm by arm."""

    design: ReviewDesign
    dimension: str
    instrument_id: str
    target: Target
    arms: tuple[CorrectedArm, ...]
    gaps: tuple[CorrectedGap, ...]
    drawn: int
    labelled: int
    left_out: Mapping[str, int]

    @property
    def completion(self) -> float:
        return self.labelled / self.drawn if self.drawn else 0.0


def designs_for(study: Study, dimension: str, store: ReviewingStore) -> list[ReviewDesign]:
    """The designs of a study that ask about a dimension, as last extended, newest first."""
    found = latest(store.list_designs(study.id))
    return [design for design in found if dimension in design.rubrics]


def correct(  # noqa: PLR0913 - each is a choice that a reader of the page makes
    design: ReviewDesign,
    dimension: str,
    instrument_id: str,
    store: ReviewingStore,
    *,
    arms: Sequence[str],
    baseline: str,
    target: Target = "superpop",
) -> Correction:
    """Correct the judge's means by the labels of one design, and the differences to `baseline`.

    `target` is "superpop" for personas like these, "finite" for these dialogues alone. Where a
    statistic refuses, its reason stands in the place of the number.
    """
    held = evidence(design, dimension, instrument_id, store)
    return correct_evidence(
        held, design, dimension, instrument_id, arms=arms, baseline=baseline, target=target
    )


def correct_evidence(  # noqa: PLR0913 - that of correct
    held: Evidence,
    design: ReviewDesign,
    dimension: str,
    instrument_id: str,
    *,
    arms: Sequence[str],
    baseline: str,
    target: Target = "superpop",
) -> Correction:
    """As `correct`, of evidence that is read already."""
    pi = held.pi * _done_share(held)
    present = [arm for arm in arms if arm in held.arms]
    return Correction(
        design=design,
        dimension=dimension,
        instrument_id=instrument_id,
        target=target,
        arms=tuple(_arm(arm, held, pi, dimension, target) for arm in present),
        gaps=tuple(
            _gap(arm, baseline, held, pi, design, target)
            for arm in present
            if arm != baseline and baseline in present
        ),
        drawn=held.drawn,
        labelled=held.labelled,
        left_out=held.left_out,
    )


def _done_share(held: Evidence) -> FloatArray:
    """By stratum the share of what was drawn that is labelled; 1 where nothing was drawn."""
    strata = np.array(held.strata)
    done = ~np.isnan(held.human)
    share = np.ones(len(strata))
    for name in np.unique(strata):
        mine = strata == name
        drawn = float(np.sum(held.selected[mine]))
        if drawn:
            share[mine] = max(float(done[mine].sum()) / drawn, 1e-9)
    return share


def _arm(arm: str, held: Evidence, pi: FloatArray, dimension: str, target: Target) -> CorrectedArm:
    mine = np.array([name == arm for name in held.arms])
    judge, human = held.judge[mine], held.human[mine]
    persona = np.array(held.personas)[mine]
    unscored = int(np.isnan(judge).sum())
    found, why = None, ""
    try:
        found = _corrected(judge, human, pi[mine], persona, np.array(held.strata)[mine], target)
    except StatsError as error:
        why = str(error)
    return CorrectedArm(
        arm=arm,
        found=found,
        n_labels=int((~np.isnan(human)).sum()),
        n_rows=len(judge),
        n_personas=len(np.unique(persona)),
        n_unscored=unscored,
        why_not=why,
        bounds=_bounds(judge, persona, dimension) if unscored else None,
    )


def _corrected(
    judge: FloatArray,
    human: FloatArray,
    pi: FloatArray,
    persona: np.ndarray[tuple[int], np.dtype[np.str_]],
    stratum: np.ndarray[tuple[int], np.dtype[np.str_]],
    target: Target,
) -> CorrectedMean:
    strata: np.ndarray[tuple[int], np.dtype[np.str_]] | None = stratum
    if np.isnan(judge).any():
        judge, strata = own_stratum(judge, stratum)
    if strata is not None and len(np.unique(strata)) == 1:
        strata = None
    return corrected_mean(judge, human, pi, cluster=persona, stratum=strata, target=target)


def _bounds(
    judge: FloatArray, persona: np.ndarray[tuple[int], np.dtype[np.str_]], dimension: str
) -> Bounds | None:
    ends = rubric_ends().get(dimension)
    if ends is None:
        return None
    try:
        return missing_bounds(judge, cluster=persona, low=ends.low, high=ends.high)
    except StatsError:
        return None


def _gap(
    arm: str,
    baseline: str,
    held: Evidence,
    pi: FloatArray,
    design: ReviewDesign,
    target: Target,
) -> CorrectedGap:
    """Of a design of pairs; others draw the sides of a pair apart, and cannot be paired."""
    if design.method is not Method.PAIRS:
        return CorrectedGap(
            arm, baseline, None, 0,
            "a corrected difference needs a design that draws scenarios with all arms",
        )  # fmt: skip
    place = {key: n for n, key in enumerate(zip(held.scenarios, held.arms, strict=True))}
    keys = [s for s in dict.fromkeys(held.scenarios) if {(s, arm), (s, baseline)} <= place.keys()]
    rows = np.array([[place[s, baseline], place[s, arm]] for s in keys], dtype=int).reshape(-1, 2)
    whole = ~np.isnan(held.judge[rows]).any(axis=1) if len(rows) else np.array([], dtype=bool)
    rows = rows[whole]
    if not len(rows):
        return CorrectedGap(arm, baseline, None, 0, "no scenario has both values of the judge")
    try:
        found = corrected_difference(
            held.judge[rows],
            held.human[rows],
            pi[rows[:, 1]],
            cluster=np.array(held.personas)[rows[:, 0]],
            target=target,
        )
    except StatsError as error:
        return CorrectedGap(arm, baseline, None, len(rows), str(error))
    return CorrectedGap(arm, baseline, found, len(rows))


# --- words --------------------------------------------------------------------------------------


def method_of(found: CorrectedMean) -> str:
    """What the headline of a correction is called: below 30 labels it is people alone."""
    return "human_only" if found.estimate.n < HUMAN_ONLY_BELOW else "corrected"
