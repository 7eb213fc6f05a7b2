"""What a page about agreement shows: people with each other, the judge with people.

Made of one dimension and one instrument at a time. Only blind labels of dialogues drawn at
random count (`core.agreement_rows`); intervals are clustered by persona, and every dialogue
weighs the inverse of the probability with which it was drawn, shared by those who labelled it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from core.agreement_people import (
    TOO_LITTLE,
    Annotator,
    Disagreement,
    among_people,
    annotator_rows,
    far_from_judge,
)
from core.agreement_rows import (
    EVIDENCE,
    Labels,
    blind_labels,
    of_instrument,
    visible_before,
)
from core.comparison import Ends
from core.stats.agreement import (
    AnnotatorAgreement,
    JudgeAgreement,
    annotator_agreement,
    judge_agreement,
)
from core.stats.alt_test import MARGINS, AltTest, alt_test
from core.stats.bias import Anchoring, RevealFirst, anchoring, reveal_first
from core.stats.intervals import mean_ci
from core.stats.types import Estimate, TooFewClusters, TooFewLabels

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")

FEW_LABELS = 30


@dataclass(frozen=True, slots=True)
class Agreement:
    """One dimension by one instrument. What could not be computed is None; `reasons` says why.

    `alt` knows the personas; `alt_independent` is the published test, which does not.
    `far_from_judge` is sorted by judge minus mean of people, `among_people` by the range of
    their labels.
    """

    dimension: str
    instrument: str
    ends: Ends
    setting: str
    n_labels: int
    n_items: int
    n_double: int
    n_personas: int
    n_unscored: int
    equal_draws: bool
    left_out: Mapping[str, int]
    people: AnnotatorAgreement | None
    annotators: tuple[Annotator, ...]
    judge: JudgeAgreement | None
    bias_by_arm: Mapping[str, Estimate | None]
    alt: AltTest | None
    alt_independent: AltTest | None
    anchoring: Anchoring | None
    in_sight: RevealFirst | None
    far_from_judge: tuple[Disagreement, ...]
    among_people: tuple[Disagreement, ...]
    reasons: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The annotators, in the order of the rows of `people`."""
        return tuple(a.name for a in self.annotators)


def agreement(  # noqa: PLR0913 - each is a choice that a reader of the page makes
    rows: pd.DataFrame,
    *,
    dimension: str,
    ends: Ends,
    instrument_id: str | None = None,
    setting: str = "trained",
    boot: int = 2000,
    seed: int = 0,
) -> Agreement:
    """Everything about the agreement on one dimension, from a table of annotations.

    `rows` has the columns of `core.agreement_rows.COLUMNS`; `ends` is the dimension's scale;
    `setting` says who annotates (a key of `MARGINS`). Raises `MixedInstruments` when several
    instruments judged and none is named, `NotProbabilitySample`, and `ShapeError` for a table
    without its columns or a value outside the scale.
    """
    part, instrument = of_instrument(rows, dimension, instrument_id)
    labels = blind_labels(part)
    how = _How(ends, MARGINS[setting], boot, seed)
    attempt = _Attempts()
    people = attempt("people", lambda: _between(labels, how))
    counts = np.bincount(labels.item, minlength=len(labels.items))
    return Agreement(
        dimension=dimension,
        instrument=instrument,
        ends=ends,
        setting=setting,
        n_labels=len(labels.value),
        n_items=len(labels.items),
        n_double=int((counts >= 2).sum()),
        n_personas=labels.n_personas,
        n_unscored=int(np.isnan(labels.per_item(labels.judge)).sum()),
        equal_draws=labels.equal_draws,
        left_out=labels.left_out,
        people=people,
        annotators=annotator_rows(labels, people),
        judge=attempt("judge", lambda: _against(labels, how)),
        bias_by_arm={arm: _bias_of(labels, arm) for arm in labels.arms},
        alt=attempt("alt", lambda: _alt(labels, how, clustered=True)),
        alt_independent=attempt("alt_independent", lambda: _alt(labels, how, clustered=False)),
        anchoring=attempt("anchoring", lambda: _moves(part)),
        in_sight=attempt("in_sight", lambda: _in_sight(part)),
        far_from_judge=far_from_judge(labels),
        among_people=among_people(labels),
        reasons=attempt.reasons,
        warnings=_warnings(labels),
    )


@dataclass(frozen=True, slots=True)
class _How:
    ends: Ends
    margin: float
    boot: int
    seed: int

    @property
    def categories(self) -> list[int]:
        return list(range(self.ends.low, self.ends.high + 1))


class _Attempts:
    """Runs what labels may be too few for, and keeps the reason. Wrong input still raises."""

    def __init__(self) -> None:
        self.reasons: dict[str, str] = {}

    def __call__(self, name: str, compute: Callable[[], T]) -> T | None:
        try:
            return compute()
        except TOO_LITTLE as error:
            self.reasons[name] = str(error)
            return None


def _warnings(labels: Labels) -> tuple[str, ...]:
    notes: tuple[str, ...] = ()
    if 0 < len(labels.value) < FEW_LABELS:
        notes += (f"only {len(labels.value)} labels, and {FEW_LABELS} are the least to conclude",)
    if len(labels.arms) > 1 and len(labels.annotators) > 1:
        arm = np.array([labels.arms.index(item.arm) for item in labels.items])[labels.item]
        for r, name in enumerate(labels.annotators):
            if np.ptp(arm[labels.annotator == r]) == 0:
                notes += (f"{name} labelled one arm only, so severity may look like quality",)
    return notes


def _between(labels: Labels, how: _How) -> AnnotatorAgreement:
    return annotator_agreement(
        labels.table(),
        level="nominal" if how.ends.verdict else "ordinal",
        categories=how.categories,
        cluster=[item.persona_id for item in labels.items],
        weights=labels.per_item(labels.weight),
        boot=how.boot,
        seed=how.seed,
    )


def _against(labels: Labels, how: _How) -> JudgeAgreement:
    scored = ~np.isnan(labels.judge)
    if not scored.any():
        raise TooFewLabels("no labelled dialogue has a value of the judge")
    return judge_agreement(
        labels.judge[scored],
        labels.value[scored],
        categories=how.categories,
        weights=labels.shared_weight[scored],
        cluster=labels.persona[scored],
        boot=how.boot,
        seed=how.seed,
    )


def _bias_of(labels: Labels, arm: str) -> Estimate | None:
    """Judge minus people in one arm: only the difference between arms hurts a comparison."""
    here = np.array([item.arm == arm for item in labels.items])[labels.item]
    rows = here & ~np.isnan(labels.judge)
    if not rows.any():
        return None
    try:
        return mean_ci(
            labels.judge[rows] - labels.value[rows],
            cluster=labels.persona[rows],
            weights=labels.shared_weight[rows],
        )
    except TooFewClusters:
        return None


def _alt(labels: Labels, how: _How, *, clustered: bool) -> AltTest:
    judge = labels.per_item(labels.judge)
    scored = ~np.isnan(judge)
    if not scored.any():
        raise TooFewLabels("no labelled dialogue has a value of the judge")
    personas = np.array([item.persona_id for item in labels.items])
    return alt_test(
        judge[scored],
        labels.table().T[scored],
        scoring="exact" if how.ends.verdict else "neg_rmse",
        eps=how.margin,
        cluster=personas[scored] if clustered else None,
    )


def _moves(part: pd.DataFrame) -> Anchoring:
    """What the reveal did, to every label that was blind before it, drawn at random or not."""
    before, after, judge = (
        part[name].to_numpy(dtype=np.float64)
        for name in ("value_before_reveal", "value_after_reveal", "judge_value")
    )
    usable = ~(np.isnan(before) | np.isnan(after) | np.isnan(judge) | visible_before(part))
    if not usable.any():
        raise TooFewLabels("the judge was never revealed after a blind label")
    return anchoring(
        before[usable],
        after[usable],
        judge[usable],
        annotator=part["annotator"].astype(str).to_numpy()[usable],
        cluster=part["persona_id"].astype(str).to_numpy()[usable],
    )


def _in_sight(part: pd.DataFrame) -> RevealFirst:
    """Agreement where the judge was in sight by design against where it was not."""
    first = part["value_before_reveal"].fillna(part["value_after_reveal"])
    value, judge = first.to_numpy(dtype=np.float64), part["judge_value"].to_numpy(dtype=np.float64)
    drawn = part["reason"].isin(list(EVIDENCE)).to_numpy(dtype=bool)
    usable = drawn & ~np.isnan(value) & ~np.isnan(judge)
    if not usable.any():
        raise TooFewLabels("no labelled dialogue has a value of the judge")
    return reveal_first(
        (value == judge)[usable] * 1.0,
        visible_before(part)[usable],
        cluster=part["persona_id"].astype(str).to_numpy()[usable],
    )
