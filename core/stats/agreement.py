"""Agreement of the judge with people.

No coefficient stands alone. A result holds the table of who said what, the judge's bias, one
chance-corrected number with its interval, and what a judge that always says the same would
score. `core.stats.annotators` holds the agreement of people with each other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.stats.annotators import AnnotatorAgreement, annotator_agreement
from core.stats.coefficients import (
    Weighting,
    alpha,
    credit,
    gwet,
    kappa,
    kendall_b,
    spearman,
)
from core.stats.intervals import clusters, mean_ci, rate_ci, scores
from core.stats.rated import as_estimate, known_categories, mean_one, places
from core.stats.resample import Statistic, resampled
from core.stats.types import Estimate, FloatArray, IntArray, ShapeError, TooFewClusters

__all__ = [
    "AnnotatorAgreement",
    "ConstantJudge",
    "JudgeAgreement",
    "annotator_agreement",
    "annotator_agreement",
    "judge_agreement",
]

BoolArray = NDArray[np.bool_]
NO_VARIATION = "no variation"

MIN_PER_CLASS = 5
"""Fewer labels than this of either verdict: no kappa, no sensitivity, no specificity."""

APART = 0.2
"""Kappa and AC2 that differ by more than this are noted: one value is much more common."""


@dataclass(frozen=True, slots=True)
class ConstantJudge:
    """The best judge that always says one `value`, and how often it would be right."""

    value: float
    exact: float
    within_one: float


@dataclass(frozen=True, slots=True)
class JudgeAgreement:
    """A judge against people on the same dialogues.

    `confusion[i, j]` counts labels i of people where the judge said j (both by their place in
    `categories`); `share` is the same table in weighted shares, and everything else follows it.
    `kappa` is quadratic; `ac2` and `ac2_linear` are Gwet's (AC1 where there are two categories).
    `bias` is judge minus people. `right_when[j]` is the share of people who say what the judge
    says when it says j; `found_when[i]` the share of the judge that says i when people do.
    Rank correlations are blind to bias and never an agreement. What could not be computed is
    None, and `reasons` says why under the field's name.
    """

    categories: tuple[float, ...]
    confusion: IntArray
    share: FloatArray
    n: int
    n_clusters: int
    exact: Estimate
    within_one: Estimate
    off_by_two: Estimate
    mean_distance: float
    bias: Estimate
    kappa: Estimate | None
    kappa_linear: float | None
    ac2: Estimate | None
    ac2_linear: float | None
    alpha: Estimate | None
    spearman: float | None
    kendall_b: float | None
    right_when: tuple[Estimate | None, ...]
    found_when: tuple[Estimate | None, ...]
    constant: ConstantJudge
    reasons: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def verdict(self) -> bool:
        """Whether there are two categories, so that the four rates of a test have a meaning."""
        return len(self.categories) == 2

    @property
    def sensitivity(self) -> Estimate | None:
        """The judge says yes when people do; None for ratings."""
        return self.found_when[-1] if self.verdict else None

    @property
    def specificity(self) -> Estimate | None:
        """The judge says no when people do; None for ratings."""
        return self.found_when[0] if self.verdict else None

    @property
    def ppv(self) -> Estimate | None:
        """People say yes when the judge does; None for ratings."""
        return self.right_when[-1] if self.verdict else None

    @property
    def npv(self) -> Estimate | None:
        """People say no when the judge does; None for ratings."""
        return self.right_when[0] if self.verdict else None

    @property
    def balanced(self) -> float | None:
        """Mean of sensitivity and specificity."""
        if self.sensitivity is None or self.specificity is None:
            return None
        return (self.sensitivity.est + self.specificity.est) / 2


def judge_agreement(  # noqa: PLR0913 - the published signature
    f: ArrayLike,
    y: ArrayLike,
    *,
    categories: ArrayLike,
    weights: ArrayLike | None = None,
    cluster: ArrayLike | None = None,
    boot: int = 2000,
    seed: int = 0,
) -> JudgeAgreement:
    """Compare the judge's values `f` with people's `y`; both hold only `categories`.

    A dialogue that several people labelled is one row for each, at shared weight. Unequal
    probabilities of the draw enter as `weights` of 1/pi. Intervals know the clusters.
    Raises `ShapeError`, `MissingScoreError`, `TooFewClusters` (fewer than 2).
    """
    rows = _rows(f, y, categories, weights, cluster)
    tables = _Tables.of(rows, boot, seed)
    reasons: dict[str, str] = {}
    kappa_found = _kappa(rows, tables, reasons)
    ac2 = tables.estimate(_gwet(rows.categories, "quadratic"), "quadratic AC2", reasons, "ac2")
    apart = np.abs(rows.f - rows.y)
    return JudgeAgreement(
        categories=tuple(float(c) for c in rows.categories),
        confusion=rows.confusion,
        share=tables.total / tables.total.sum(),
        n=len(rows.f),
        n_clusters=rows.n_clusters,
        exact=rows.rate(apart == 0),
        within_one=rows.rate(apart <= 1),
        off_by_two=rows.rate(apart >= 2),
        mean_distance=float(np.average(apart, weights=rows.weights)),
        bias=mean_ci(rows.f - rows.y, cluster=rows.code, weights=rows.weights),
        kappa=kappa_found,
        kappa_linear=None if kappa_found is None else tables.value(_cohen(rows, "linear")),
        ac2=ac2,
        ac2_linear=tables.value(_gwet(rows.categories, "linear")),
        alpha=tables.estimate(_ordinal(rows.categories), "ordinal alpha", reasons, "alpha"),
        spearman=tables.value(spearman),
        kendall_b=tables.value(kendall_b),
        right_when=_rates(rows, rows.judge, reasons, "right_when"),
        found_when=_rates(rows, rows.human, reasons, "found_when"),
        constant=_constant(tables.total, rows.categories),
        reasons=reasons,
        warnings=_warnings(rows, kappa_found, ac2),
    )


# --- rows -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Rows:
    """Checked input: values, their places among the categories, weights of mean 1, clusters."""

    f: FloatArray
    y: FloatArray
    judge: IntArray
    human: IntArray
    categories: FloatArray
    weights: FloatArray | None
    code: IntArray
    n_clusters: int
    unit: str

    @property
    def confusion(self) -> IntArray:
        k = len(self.categories)
        counts = np.bincount(self.human * k + self.judge, minlength=k * k)
        return counts.reshape(k, k).astype(np.intp)

    @property
    def rare(self) -> bool:
        """Whether people gave one of two verdicts too rarely to speak of it."""
        count = self.confusion.sum(axis=1)
        return len(count) == 2 and bool(count.min() < MIN_PER_CLASS)

    def rate(self, hit: BoolArray, among: BoolArray | None = None) -> Estimate:
        """The share of `hit` among all rows, or those in `among`."""
        kept = np.ones(len(hit), dtype=bool) if among is None else among
        weights = None if self.weights is None else self.weights[kept]
        return rate_ci(hit[kept].astype(float), cluster=self.code[kept], weights=weights)


def _rows(
    f: ArrayLike,
    y: ArrayLike,
    categories: ArrayLike,
    weights: ArrayLike | None,
    cluster: ArrayLike | None,
) -> _Rows:
    judge, human = scores(f), scores(y)
    if len(judge) != len(human):
        raise ShapeError("judge and people must have the same length")
    kinds = known_categories(categories)
    code, n_clusters = clusters(cluster, len(judge))
    return _Rows(
        f=judge,
        y=human,
        judge=places(judge, kinds),
        human=places(human, kinds),
        categories=kinds,
        weights=mean_one(weights, len(judge)),
        code=code,
        n_clusters=n_clusters,
        unit="dialogues" if cluster is None else "personas",
    )


# --- coefficients ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Tables:
    """One table (people x judge) for each cluster, and how to bootstrap what they add up to."""

    parts: FloatArray
    n: int
    boot: int
    seed: int
    unit: str

    @classmethod
    def of(cls, rows: _Rows, boot: int, seed: int) -> _Tables:
        k = len(rows.categories)
        parts = np.zeros((rows.n_clusters, k, k))
        weight = np.ones(len(rows.f)) if rows.weights is None else rows.weights
        np.add.at(parts, (rows.code, rows.human, rows.judge), weight)
        return cls(parts, len(rows.f), boot, seed, rows.unit)

    @property
    def total(self) -> FloatArray:
        total: FloatArray = self.parts.sum(axis=0)
        return total

    def value(self, statistic: Statistic) -> float | None:
        found = float(statistic(self.total))
        return found if math.isfinite(found) else None

    def estimate(
        self, statistic: Statistic, name: str, reasons: dict[str, str], key: str
    ) -> Estimate | None:
        """The bootstrapped coefficient, or None with a reason."""
        found = resampled(self.parts, statistic, boot=self.boot, seed=self.seed, unit=self.unit)
        estimate = as_estimate(found, name, self.n, len(self.parts))
        if estimate is None:
            reasons[key] = NO_VARIATION
        return estimate


def _cohen(rows: _Rows, weighting: Weighting) -> Statistic:
    weight = credit(rows.categories, weighting)
    return lambda tables: kappa(tables, weight)


def _gwet(categories: FloatArray, weighting: Weighting) -> Statistic:
    weight = credit(categories, weighting)
    return lambda tables: gwet(tables, weight)


def _ordinal(categories: FloatArray) -> Statistic:
    # Two labels of one dialogue coincide once in either order.
    return lambda tables: alpha(tables + tables.swapaxes(-1, -2), categories, "ordinal")


def _kappa(rows: _Rows, tables: _Tables, reasons: dict[str, str]) -> Estimate | None:
    if rows.rare:
        reasons["kappa"] = f"fewer than {MIN_PER_CLASS} labels of one verdict"
        return None
    return tables.estimate(_cohen(rows, "quadratic"), "quadratic kappa", reasons, "kappa")


def _rates(
    rows: _Rows, given: IntArray, reasons: dict[str, str], name: str
) -> tuple[Estimate | None, ...]:
    """How often the two agree among the rows of each category of `given`."""
    return tuple(_rate(rows, given == k, reasons, f"{name}.{k}") for k in range(_count(rows)))


def _rate(rows: _Rows, among: BoolArray, reasons: dict[str, str], key: str) -> Estimate | None:
    least = MIN_PER_CLASS if key.startswith("found_when") and _count(rows) == 2 else 1
    if among.sum() < least:
        reasons[key] = "no such value" if least == 1 else f"fewer than {least} labels of it"
        return None
    try:
        return rows.rate(rows.judge == rows.human, among)
    except TooFewClusters:
        reasons[key] = f"fewer than 2 {rows.unit} with it"
        return None


def _count(rows: _Rows) -> int:
    return len(rows.categories)


def _constant(table: FloatArray, categories: FloatArray) -> ConstantJudge:
    said = table.sum(axis=1) / table.sum()
    best = int(said.argmax())
    near = np.abs(categories - categories[best]) <= 1
    return ConstantJudge(float(categories[best]), float(said[best]), float(said[near].sum()))


def _warnings(rows: _Rows, kappa_found: Estimate | None, ac2: Estimate | None) -> tuple[str, ...]:
    notes: tuple[str, ...] = ()
    if kappa_found and ac2 and abs(kappa_found.est - ac2.est) > APART:
        notes += ("kappa and AC2 lie far apart, because one value is much more common",)
    if (rows.judge == rows.human).all():
        notes += (
            f"no disagreement in {len(rows.f)} labels still allows about "
            f"{100 * min(1.0, 3 / rows.n_clusters):.0f} % of it",
        )
    return notes
