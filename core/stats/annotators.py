"""Agreement of people with each other: how alike they label the same dialogues, and who differs.

Percent agreement and a chance-corrected coefficient are always given together. Dialogues with
one label say nothing here, except about how severe their annotator is beside the others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.stats.coefficients import (
    Level,
    alpha,
    coincidences,
    credit,
    gwet_chance,
    kappa,
)
from core.stats.components import Components, variance_components
from core.stats.intervals import clusters, mean_ci, rate_ci
from core.stats.rated import as_estimate, known_categories, mean_one, places
from core.stats.resample import resampled, summed
from core.stats.types import (
    Degenerate,
    Estimate,
    FloatArray,
    IntArray,
    TooFewClusters,
    TooFewLabels,
)

BoolArray = NDArray[np.bool_]
NO_VARIATION = "no variation"


@dataclass(frozen=True, slots=True)
class Rater:
    """One annotator, by the row of the ratings.

    `severity` is the mean of their label minus the mean of the others' on the same dialogues:
    below 0 is strict. `alpha_without` is the agreement of all the others.
    """

    rater: int
    n: int
    n_shared: int
    mean: float
    severity: Estimate | None
    alpha_without: float | None


@dataclass(frozen=True, slots=True)
class RaterPair:
    """Two annotators on the `n` dialogues that both labelled; `difference` is a minus b.

    `confusion[i, j]` counts dialogues to which a gave category i and b category j. Estimates are
    None where the two share too little; kappa also where there is no variation.
    """

    a: int
    b: int
    n: int
    confusion: IntArray
    exact: Estimate | None
    within_one: Estimate | None
    difference: Estimate | None
    kappa: Estimate | None


@dataclass(frozen=True, slots=True)
class AnnotatorAgreement:
    """People against people on the dialogues with at least two labels.

    `exact` and `within_one` are for two people taken at random on one dialogue. `alpha` is
    Krippendorff's, `ac2` Gwet's (quadratic; all or nothing for a nominal level), `fleiss` is
    Fleiss' kappa, which exists only where each dialogue has the same number of labels.
    What could not be computed is None, and `reasons` says why under the field's name.
    """

    level: Level
    categories: tuple[float, ...]
    n_items: int
    n_labels: int
    n_clusters: int
    alpha: Estimate | None
    ac2: float | None
    fleiss: float | None
    exact: Estimate
    within_one: Estimate | None
    raters: tuple[Rater, ...]
    pairs: tuple[RaterPair, ...]
    components: Components | None
    reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def confusion(self) -> IntArray:
        """How often two people gave each two categories to one dialogue, each pair both ways."""
        one_way = np.sum([pair.confusion for pair in self.pairs], axis=0)
        both: IntArray = one_way + one_way.T
        return both


def annotator_agreement(  # noqa: PLR0913 - the published signature, and weights
    ratings: ArrayLike,
    *,
    level: Level,
    categories: ArrayLike,
    cluster: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    boot: int = 2000,
    seed: int = 0,
) -> AnnotatorAgreement:
    """Compare the rows of `ratings` (annotators x dialogues, NaN where there is no label).

    `cluster` and `weights` (1/pi) are per dialogue. Raises `ShapeError` for a value outside
    `categories`, `TooFewLabels` unless at least one dialogue has two labels, and
    `TooFewClusters` when all those dialogues are of one persona.
    """
    everything = _table(ratings, categories, cluster, weights)
    shared = everything.where(everything.given.sum(axis=0) >= 2)
    shown = _Alpha(shared, level, boot, seed)
    reasons: dict[str, str] = {}
    found = shown.estimate()
    if found is None:
        reasons["alpha"] = NO_VARIATION
    ac2 = _ac2(everything, level)
    if ac2 is None:
        reasons["ac2"] = NO_VARIATION
    return AnnotatorAgreement(
        level=level,
        categories=tuple(float(c) for c in everything.categories),
        n_items=shared.n_items,
        n_labels=int(shared.given.sum()),
        n_clusters=shared.n_clusters,
        alpha=found,
        ac2=ac2,
        fleiss=_fleiss(shared, reasons),
        exact=_likeness(shared, 0),
        within_one=None if level == "nominal" else _likeness(shared, 1),
        raters=tuple(_rater(everything, shown, r) for r in range(len(everything.values))),
        pairs=_pairs(shared, level, boot, seed),
        components=_components(everything, level, reasons),
        reasons=reasons,
    )


# --- the table ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Table:
    """Checked ratings with the cluster and weight of each dialogue."""

    values: FloatArray
    given: BoolArray
    code: IntArray
    n_clusters: int
    weights: FloatArray | None
    categories: FloatArray
    unit: str

    @property
    def n_items(self) -> int:
        return len(self.code)

    @property
    def counts(self) -> FloatArray:
        """How often each dialogue got each category."""
        counts = np.zeros((self.n_items, len(self.categories)))
        raters, items = np.nonzero(self.given)
        np.add.at(counts, (items, places(self.values[raters, items], self.categories)), 1.0)
        return counts

    @property
    def weight(self) -> FloatArray:
        return np.ones(self.n_items) if self.weights is None else self.weights

    def where(self, kept: BoolArray) -> _Table:
        """The same for some of the dialogues. Raises `TooFewLabels`, `TooFewClusters`."""
        if not kept.any():
            raise TooFewLabels("no dialogue has labels of two annotators")
        code, n_clusters = clusters(self.code[kept], int(kept.sum()))
        return replace(
            self,
            values=self.values[:, kept],
            given=self.given[:, kept],
            code=code,
            n_clusters=n_clusters,
            weights=None if self.weights is None else mean_one(self.weights[kept], sum(kept)),
        )

    def mean(self, values: FloatArray, *, rate: bool) -> Estimate | None:
        """The weighted mean of a value per dialogue; None where there are too few."""
        try:
            return (rate_ci if rate else mean_ci)(values, cluster=self.code, weights=self.weights)
        except TooFewClusters:
            return None


def _table(
    ratings: ArrayLike, categories: ArrayLike, cluster: ArrayLike | None, weights: ArrayLike | None
) -> _Table:
    values = np.asarray(ratings, dtype=np.float64)
    if values.ndim != 2 or len(values) < 2:
        raise TooFewLabels("agreement needs at least two annotators")
    if values.shape[1] == 0:
        raise TooFewLabels("no dialogue has a label")
    kinds = known_categories(categories)
    given = ~np.isnan(values)
    places(values[given], kinds)
    code, n_clusters = clusters(cluster, values.shape[1])
    return _Table(
        values=values,
        given=given,
        code=code,
        n_clusters=n_clusters,
        weights=mean_one(weights, values.shape[1]),
        categories=kinds,
        unit="dialogues" if cluster is None else "personas",
    )


# --- coefficients ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Alpha:
    """Alpha of a table, of its bootstrap, and of the table without one annotator."""

    table: _Table
    level: Level
    boot: int
    seed: int

    def statistic(self, tables: FloatArray) -> FloatArray:
        return alpha(tables, self.table.categories, self.level)

    def estimate(self) -> Estimate | None:
        table = self.table
        each = coincidences(table.counts) * table.weight[:, None, None]
        found = resampled(
            summed(each, table.code, table.n_clusters),
            self.statistic,
            boot=self.boot,
            seed=self.seed,
            unit=table.unit,
        )
        return as_estimate(found, f"{self.level} alpha", table.n_items, table.n_clusters)

    def without(self, rater: int) -> float | None:
        values = np.delete(self.table.values, rater, axis=0)
        rest = replace(self.table, values=values, given=~np.isnan(values))
        total = (coincidences(rest.counts) * rest.weight[:, None, None]).sum(axis=0)
        return _finite(self.statistic(total))


def _ac2(table: _Table, level: Level) -> float | None:
    """Gwet's AC2 of many annotators; chance from all labels, agreement from shared dialogues."""
    rated = table.given.any(axis=0)
    counts, weight = table.counts[rated], table.weight[rated]
    labels = counts.sum(axis=1)
    near = credit(table.categories, "identity" if level == "nominal" else "quadratic")
    agreeing = (counts * (counts @ near - 1)).sum(axis=1) / np.maximum(labels * (labels - 1), 1)
    shared = labels >= 2
    seen = float(np.average(agreeing[shared], weights=weight[shared]))
    margin = np.average(counts / labels[:, None], axis=0, weights=weight)
    chance = float(gwet_chance(margin, near))
    return (seen - chance) / (1 - chance) if chance < 1 else None


def _fleiss(table: _Table, reasons: dict[str, str]) -> float | None:
    counts = table.counts
    labels = counts.sum(axis=1)
    if np.ptp(labels) > 0:
        reasons["fleiss"] = "dialogues have different numbers of labels"
        return None
    n = labels[0]
    agreeing = (counts * (counts - 1)).sum(axis=1) / (n * (n - 1))
    seen = float(np.average(agreeing, weights=table.weight))
    chance = float((np.average(counts / n, axis=0, weights=table.weight) ** 2).sum())
    if chance >= 1:
        reasons["fleiss"] = NO_VARIATION
        return None
    return (seen - chance) / (1 - chance)


def _likeness(table: _Table, reach: float) -> Estimate:
    """How often two people on one dialogue are at most `reach` apart."""
    counts = table.counts
    apart = np.abs(table.categories[:, None] - table.categories[None, :])
    near = (apart <= reach).astype(np.float64)
    labels = counts.sum(axis=1)
    shares = (counts * (counts @ near - 1)).sum(axis=1) / (labels * (labels - 1))
    return rate_ci(shares, cluster=table.code, weights=table.weights)


def _components(table: _Table, level: Level, reasons: dict[str, str]) -> Components | None:
    if level == "nominal" and len(table.categories) > 2:
        reasons["components"] = "categories without an order have no variance"
        return None
    try:
        return variance_components(table.values)
    except Degenerate as error:
        reasons["components"] = str(error)
        return None


# --- annotators -----------------------------------------------------------------------------


def _rater(everything: _Table, shown: _Alpha, rater: int) -> Rater:
    own = everything.values[rater][everything.given[rater]]
    table = shown.table
    mine = table.given[rater]
    return Rater(
        rater=rater,
        n=len(own),
        n_shared=int(mine.sum()),
        mean=float(own.mean()) if len(own) else math.nan,
        severity=_severity(table, rater),
        alpha_without=shown.without(rater) if len(table.values) > 2 else None,
    )


def _severity(table: _Table, rater: int) -> Estimate | None:
    mine = table.given[rater]
    if mine.sum() < 2:
        return None
    known = np.where(table.given, table.values, 0.0)
    others = (known.sum(axis=0) - known[rater])[mine] / (table.given.sum(axis=0)[mine] - 1)
    try:
        part = table.where(mine)
    except TooFewClusters:
        return None
    return part.mean(table.values[rater][mine] - others, rate=False)


def _pairs(table: _Table, level: Level, boot: int, seed: int) -> tuple[RaterPair, ...]:
    found = combinations(range(len(table.values)), 2)
    return tuple(_pair(table, a, b, (level, boot, seed)) for a, b in found)


def _pair(table: _Table, a: int, b: int, how: tuple[Level, int, int]) -> RaterPair:
    both = table.given[a] & table.given[b]
    n = int(both.sum())
    confusion = _confusion(table, both, a, b)
    try:
        part = table.where(both)
    except (TooFewLabels, TooFewClusters):
        return RaterPair(a, b, n, confusion, None, None, None, None)
    apart = part.values[a] - part.values[b]
    level = how[0]
    return RaterPair(
        a=a,
        b=b,
        n=n,
        confusion=confusion,
        exact=part.mean((apart == 0).astype(float), rate=True),
        within_one=None if level == "nominal" else part.mean((abs(apart) <= 1) * 1.0, rate=True),
        difference=part.mean(apart, rate=False),
        kappa=_pair_kappa(part, a, b, how),
    )


def _confusion(table: _Table, both: BoolArray, a: int, b: int) -> IntArray:
    k = len(table.categories)
    spots = [places(table.values[r][both], table.categories) for r in (a, b)]
    counts = np.bincount(spots[0] * k + spots[1], minlength=k * k)
    return counts.reshape(k, k).astype(np.intp)


def _pair_kappa(part: _Table, a: int, b: int, how: tuple[Level, int, int]) -> Estimate | None:
    level, boot, seed = how
    near = credit(part.categories, "identity" if level == "nominal" else "quadratic")
    k = len(part.categories)
    tables = np.zeros((part.n_clusters, k, k))
    spots = [places(part.values[r], part.categories) for r in (a, b)]
    np.add.at(tables, (part.code, spots[0], spots[1]), part.weight)
    found = resampled(tables, lambda t: kappa(t, near), boot=boot, seed=seed, unit=part.unit)
    return as_estimate(found, "kappa", part.n_items, part.n_clusters)


def _finite(value: FloatArray) -> float | None:
    return float(value) if np.isfinite(value) else None
