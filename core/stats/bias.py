"""What pushes judgements that should not: position, length, kinship; and what the judge does
to people who have seen it.

A bias of the judge is looked for in the residual (judge minus people), since a rating alone
mixes it with true quality: long answers may be better ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.stats.intervals import clusters, rate_ci, scores, t_quantile, t_two_sided
from core.stats.types import (
    Degenerate,
    Estimate,
    FloatArray,
    IntArray,
    ShapeError,
    TooFewClusters,
    TooFewLabels,
)

BoolArray = NDArray[np.bool_]
_CONF = 0.95


# --- position -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PositionBias:
    """Pairs that were judged in both orders.

    `consistent` is the share with the same outcome both times. A flip is a pair whose winner
    is the side that stands first (`first_both`), or second, both times; a pair that is a tie
    one time only is neither. `first_share` is the share of flips for the first, None without
    flips, and `p` tests it against a half.
    """

    n: int
    consistent: Estimate
    first_both: int
    second_both: int
    half_ties: int
    first_share: Estimate | None
    p: float | None


def position_bias(
    first: ArrayLike, second: ArrayLike, *, cluster: ArrayLike | None = None
) -> PositionBias:
    """Compare the outcomes of pairs, for the same side when it stood first and second.

    An outcome is 1 when that side wins, 0 when it loses, 0.5 for a tie. Raises `ShapeError`,
    `MissingScoreError`, `TooFewClusters`.
    """
    one, other = _both_orders(first, second)
    code, _ = clusters(cluster, len(one))
    ahead, behind = (one == 1) & (other == 0), (one == 0) & (other == 1)
    flips = ahead | behind
    return PositionBias(
        n=len(one),
        consistent=rate_ci((one == other) * 1.0, cluster=code),
        first_both=int(ahead.sum()),
        second_both=int(behind.sum()),
        half_ties=int(((one != other) & ~flips).sum()),
        first_share=_rate(ahead, flips, code),
        p=_even(int(ahead.sum()), int(flips.sum())),
    )


def settled(first: ArrayLike, second: ArrayLike) -> FloatArray:
    """One outcome for each pair judged in both orders: where they differ it is a tie."""
    one, other = _both_orders(first, second)
    return np.where(one == other, one, 0.5)


def _both_orders(first: ArrayLike, second: ArrayLike) -> tuple[FloatArray, FloatArray]:
    one, other = scores(first), scores(second)
    if len(one) != len(other):
        raise ShapeError("each pair needs an outcome in both orders")
    if not np.isin(np.concatenate([one, other]), (0.0, 0.5, 1.0)).all():
        raise ShapeError("an outcome is 1 (win), 0.5 (tie) or 0 (loss)")
    return one, other


def _even(k: int, n: int) -> float | None:
    from scipy.stats import binomtest

    return float(binomtest(k, n).pvalue) if n else None


# --- length, kinship, or whatever is suspected ------------------------------------------------


@dataclass(frozen=True, slots=True)
class Effect:
    """How much the judge's residual changes with one unit of a factor, the others held still."""

    name: str
    est: float
    se: float
    lo: float
    hi: float
    p: float


@dataclass(frozen=True, slots=True)
class ResidualBias:
    """Effects on judge minus people; `intercept` is the bias where all factors are 0."""

    intercept: Effect
    effects: tuple[Effect, ...]
    n: int
    n_clusters: int
    df: int


def residual_bias(
    residual: ArrayLike,
    factors: ArrayLike,
    *,
    names: Sequence[str],
    cluster: ArrayLike,
    weights: ArrayLike | None = None,
) -> ResidualBias:
    """Regress judge minus people on `factors` (dialogues x factors), clustered by persona.

    `weights` are 1/pi. For length use `doublings`. Raises `ShapeError`, `MissingScoreError`,
    `TooFewClusters`, and `TooFewLabels` or `Degenerate` where the effects cannot be told apart.
    """
    r = scores(residual)
    x = _design(factors, len(r), len(names))
    code, count = clusters(cluster, len(r))
    w = np.ones(len(r)) if weights is None else np.asarray(weights, dtype=np.float64)
    if w.shape != r.shape or not (w > 0).all():
        raise ShapeError("there must be one weight above 0 for each value")
    coefficients, errors = _clustered_fit(r, x, w, code, count)
    half = t_quantile(count - 1, _CONF)
    found = [
        Effect(
            name=name,
            est=float(b),
            se=float(se),
            lo=float(b - half * se),
            hi=float(b + half * se),
            p=t_two_sided(b / se, count - 1) if se > 0 else math.nan,
        )
        for name, b, se in zip(("intercept", *names), coefficients, errors, strict=True)
    ]
    return ResidualBias(found[0], tuple(found[1:]), len(r), count, count - 1)


def doublings(length: ArrayLike) -> FloatArray:
    """Lengths as doublings of their median: 0 for the median, 1 for twice as long."""
    values = scores(length)
    if not (values > 0).all():
        raise ShapeError("a length must be above 0")
    found: FloatArray = np.log2(values / np.median(values))
    return found


def _design(factors: ArrayLike, n: int, k: int) -> FloatArray:
    x = np.asarray(factors, dtype=np.float64)
    x = x[:, None] if x.ndim == 1 else x
    if x.shape != (n, k):
        raise ShapeError("there must be one row of factors for each value, one name for each")
    if not np.isfinite(x).all():
        raise ShapeError("a factor is missing or not finite")
    if n <= k + 1:
        raise TooFewLabels("there must be more dialogues than effects")
    x = np.column_stack([np.ones(n), x])
    if np.linalg.matrix_rank(x) <= k:
        raise Degenerate("a factor does not vary, or follows from the others")
    return x


def _clustered_fit(
    r: FloatArray, x: FloatArray, w: FloatArray, code: IntArray, count: int
) -> tuple[FloatArray, FloatArray]:
    """Weighted least squares, with errors from the sandwich over clusters."""
    n, k = x.shape
    bread = np.linalg.inv(x.T @ (w[:, None] * x))
    coefficients = bread @ (x.T @ (w * r))
    scored = np.zeros((count, k))
    np.add.at(scored, code, (w * (r - x @ coefficients))[:, None] * x)
    factor = count / (count - 1) * (n - 1) / (n - k)
    covariance = factor * bread @ (scored.T @ scored) @ bread
    return coefficients, np.sqrt(np.maximum(np.diag(covariance), 0.0))


# --- anchoring ------------------------------------------------------------------------------

LEANS = 0.5
FEWEST_APART = 5


@dataclass(frozen=True, slots=True)
class Moves:
    """What people did when the judge was revealed after their blind label.

    Of `n` labels, `n_apart` differed from the judge. `towards`, `away` and `off` count changes:
    closer to the judge, further from it, and of a label that agreed; the rest of the changes
    were as far off on the other side (`across`). `onto` counts labels that became the judge's.
    `moved` is the share of all labels that changed, `adopted` of those apart that became the
    judge's. `shift` is the mean change in points of the scale.
    """

    n: int
    n_apart: int
    towards: int
    away: int
    across: int
    off: int
    onto: int
    shift: float
    moved: Estimate | None
    adopted: Estimate | None

    @property
    def changed(self) -> int:
        return self.towards + self.away + self.across + self.off

    @property
    def towards_share(self) -> float | None:
        """Share of the changes that went towards the judge; None without a change."""
        return self.towards / self.changed if self.changed else None

    @property
    def leans(self) -> bool:
        """Whether this person takes the judge's value over more often than not, beyond doubt."""
        clear = self.adopted is not None and self.adopted.lo > LEANS
        return clear and self.n_apart >= FEWEST_APART


@dataclass(frozen=True, slots=True)
class Anchoring:
    """Moves of all annotators together and of each, by name."""

    together: Moves
    annotators: tuple[tuple[str, Moves], ...]


def anchoring(
    before: ArrayLike,
    after: ArrayLike,
    judge: ArrayLike,
    *,
    annotator: ArrayLike,
    cluster: ArrayLike | None = None,
) -> Anchoring:
    """Compare blind labels with the same person's labels after the judge was revealed.

    Raises `ShapeError`, `MissingScoreError`.
    """
    blind, revealed, said = scores(before), scores(after), scores(judge)
    who = np.asarray(annotator)
    if not len(blind) == len(revealed) == len(said) == len(who):
        raise ShapeError("labels before, after, the judge and annotators must have one length")
    code = np.arange(len(blind)) if cluster is None else np.asarray(cluster)
    every = np.ones(len(blind), dtype=bool)

    def moves(kept: BoolArray) -> Moves:
        return _moves(blind[kept], revealed[kept], said[kept], code[kept])

    names = np.unique(who)
    return Anchoring(moves(every), tuple((str(name), moves(who == name)) for name in names))


def _moves(before: FloatArray, after: FloatArray, judge: FloatArray, code: IntArray) -> Moves:
    was, now = np.abs(before - judge), np.abs(after - judge)
    changed, apart = before != after, was > 0
    return Moves(
        n=len(before),
        n_apart=int(apart.sum()),
        towards=int((changed & (now < was)).sum()),
        away=int((changed & apart & (now > was)).sum()),
        across=int((changed & (now == was)).sum()),
        off=int((changed & ~apart).sum()),
        onto=int((apart & (now == 0)).sum()),
        shift=float((after - before).mean()),
        moved=_rate(changed, np.ones(len(before), dtype=bool), code),
        adopted=_rate(now == 0, apart, code),
    )


@dataclass(frozen=True, slots=True)
class RevealFirst:
    """Labels given with the judge in sight against blind ones, by a random choice of dialogues.

    `shown` and `blind` are shares that agree with the judge; `lo` and `hi` are Newcombe's limits
    of their difference. `adopted` is the share of would-be disagreements that the sight of the
    judge turned into agreement; None where all blind labels agree.
    """

    shown: Estimate
    blind: Estimate
    difference: float
    lo: float
    hi: float
    p: float
    adopted: float | None


def reveal_first(
    agrees: ArrayLike, shown: ArrayLike, *, cluster: ArrayLike | None = None
) -> RevealFirst:
    """Compare agreement with the judge where it was shown first with where it was not.

    Where there are clusters the limits rest on the clustered interval of each share; `p` is of
    the score test, which takes labels as independent. Raises `ShapeError`, `TooFewLabels`
    without labels of both kinds, `TooFewClusters`.
    """
    agreed, seen = scores(agrees), np.asarray(shown, dtype=bool)
    if agreed.shape != seen.shape or not np.isin(agreed, (0.0, 1.0)).all():
        raise ShapeError("each label agrees (1) or not (0), and was given in sight or blind")
    if seen.all() or not seen.any():
        raise TooFewLabels("there must be labels of both kinds, judge in sight and blind")
    code = np.arange(len(agreed)) if cluster is None else np.asarray(cluster)
    one, other = (rate_ci(agreed[kept], cluster=code[kept]) for kept in (seen, ~seen))
    lo, hi = newcombe(one, other)
    difference = one.est - other.est
    return RevealFirst(
        shown=one,
        blind=other,
        difference=difference,
        lo=lo,
        hi=hi,
        p=_score_p(one, other),
        adopted=difference / (1 - other.est) if other.est < 1 else None,
    )


def newcombe(one: Estimate, other: Estimate) -> tuple[float, float]:
    """Newcombe's limits of a difference of two independent rates, from their own intervals."""
    difference = one.est - other.est
    below = math.hypot(one.est - one.lo, other.hi - other.est)
    above = math.hypot(one.hi - one.est, other.est - other.lo)
    return difference - below, difference + above


def _score_p(one: Estimate, other: Estimate) -> float:
    from scipy.special import ndtr

    n = one.n + other.n
    pooled = (one.est * one.n + other.est * other.n) / n
    variance = pooled * (1 - pooled) * (1 / one.n + 1 / other.n) * n / (n - 1)
    if variance <= 0:
        return 1.0
    return float(2 * ndtr(-abs(one.est - other.est) / math.sqrt(variance)))


def _rate(hit: BoolArray, among: BoolArray, code: IntArray) -> Estimate | None:
    """The share of `hit` among the rows in `among`; None where there are too few of them."""
    if not among.any():
        return None
    try:
        return rate_ci(hit[among] * 1.0, cluster=code[among])
    except TooFewClusters:
        return None
