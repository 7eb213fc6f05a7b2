"""Intervals for one mean or one rate, clustered by persona.

The persona is the cluster:
several dialogues of one persona are not several independent observations.
"""

from __future__ import annotations

import math
import warnings as python_warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from core.stats.types import (
    Estimate,
    FloatArray,
    IntArray,
    MissingScoreError,
    ShapeError,
    TooFewClusters,
)

FEW_CLUSTERS = 8
"""Below this many personas no interval is shown: its real coverage is not what it says."""

BCA_CLUSTERS = 20
_RESAMPLES = 9_999
_CONF = 0.95


def rate_ci(
    y: ArrayLike,
    *,
    cluster: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    conf: float = 0.95,
) -> Estimate:
    """Estimate a rate from `y` in [0, 1], with a Wilson interval.

    With clusters the interval is Wilson's at the effective sample size (cluster-Wilson), never
    taken to be larger than n; where every row is 0, or every row is 1, at the number of
    clusters. Without clusters, or with one row in each, it is plain Wilson.
    Raises `ShapeError`, `MissingScoreError`, `TooFewClusters` (fewer than 2).
    """
    values = scores(y)
    if values.min() < 0 or values.max() > 1:
        raise ShapeError("a rate needs values from 0 to 1")
    code, n_clusters = clusters(cluster, len(values))
    weight = _weights(weights, len(values))
    mean, se = cr1(values, code, n_clusters, weight)
    clustered = n_clusters < len(values) or weight is not None
    n_star: float = len(values)
    notes: tuple[str, ...] = ()
    if mean in (0.0, 1.0):
        n_star, notes = _clusters_only(n_clusters, clustered)
    elif clustered and se > 0:
        n_star = _effective_n(mean, se, len(values), n_clusters, conf)
    lo, hi = wilson(mean, n_star, conf)
    return Estimate(
        est=mean,
        se=se,
        lo=lo,
        hi=hi,
        conf=conf,
        n=len(values),
        n_clusters=n_clusters,
        df=None,
        method="cluster-Wilson" if clustered else "Wilson",
        warnings=notes + _few(n_clusters),
        n_effective=n_star,
    )


def mean_ci(
    y: ArrayLike,
    *,
    cluster: ArrayLike | None = None,
    method: Literal["cr1", "bca"] = "cr1",
    stat: Literal["mean", "median"] = "mean",
    weights: ArrayLike | None = None,
    seed: int = 0,
) -> Estimate:
    """Estimate a mean (or median) of `y` with a 95 % interval that knows the clusters.

    `cr1`: cluster-robust standard error and t on G - 1 degrees of freedom; means only.
    `bca`: bootstrap over whole clusters; falls back to the percentile interval, with a
    warning, where BCa is not defined, and for a median of fewer than 20 clusters.
    Raises `ShapeError`, `MissingScoreError`, `TooFewClusters` (fewer than 2).
    """
    values = scores(y)
    code, n_clusters = clusters(cluster, len(values))
    if method == "bca":
        if weights is not None:
            raise ShapeError("the bootstrap interval takes no weights")
        return _bootstrap(values, code, n_clusters, stat, seed)
    if stat != "mean":
        raise ShapeError("the CR1 interval is for means; use method='bca' for a median")
    mean, se = cr1(values, code, n_clusters, _weights(weights, len(values)))
    half = t_quantile(n_clusters - 1, _CONF) * se
    return Estimate(
        est=mean,
        se=se,
        lo=mean - half,
        hi=mean + half,
        conf=_CONF,
        n=len(values),
        n_clusters=n_clusters,
        df=n_clusters - 1,
        method="CR1 t",
        warnings=_few(n_clusters),
    )


# --- checks ---------------------------------------------------------------------------------


def scores(y: ArrayLike) -> FloatArray:
    """The values as a vector of floats. Raises `ShapeError` or `MissingScoreError`."""
    values = np.asarray(y, dtype=np.float64)
    if values.ndim != 1 or len(values) == 0:
        raise ShapeError("values must be a list of at least one number")
    if np.isnan(values).any():
        raise MissingScoreError("a missing score is neither 0 nor left out silently")
    return values


def clusters(cluster: ArrayLike | None, n: int) -> tuple[IntArray, int]:
    """Cluster codes from 0, and how many; rows are their own clusters where there are none."""
    if cluster is None:
        code, count = np.arange(n), n
    else:
        labels = np.asarray(cluster)
        if labels.shape != (n,):
            raise ShapeError("there must be one cluster label for each value")
        names, code = np.unique(labels, return_inverse=True)
        count = len(names)
    if count < 2:
        raise TooFewClusters("an interval needs at least 2 personas")
    return code, count


def _weights(weights: ArrayLike | None, n: int) -> FloatArray | None:
    if weights is None:
        return None
    weight = np.asarray(weights, dtype=np.float64)
    if weight.shape != (n,) or not (weight >= 0).all() or not weight.sum() > 0:
        raise ShapeError("there must be one weight, not negative, for each value")
    return weight


def _few(n_clusters: int) -> tuple[str, ...]:
    return (f"only {n_clusters} personas",) if n_clusters < FEW_CLUSTERS else ()


# --- formulas -------------------------------------------------------------------------------


def cr1(
    y: FloatArray, code: IntArray, n_clusters: int, weight: FloatArray | None = None
) -> tuple[float, float]:
    """Mean of `y` and its cluster-robust standard error with the factor G / (G - 1)."""
    w = np.ones_like(y) if weight is None else weight
    total = w.sum()
    # Centred at a value of the data, so that a constant vector has exactly no variance.
    mean = y[0] + float(np.dot(w, y - y[0]) / total)
    residual = np.bincount(code, weights=w * (y - mean), minlength=n_clusters)
    variance = n_clusters / (n_clusters - 1) * float(np.dot(residual, residual)) / total**2
    return float(mean), math.sqrt(variance)


def two_way_se(y: ArrayLike, cluster: ArrayLike, other: ArrayLike) -> float:
    """Standard error of the mean of `y` clustered in two ways at once (persona and task).

    `V = V_persona + V_task - V_cell`, each with its own factor: what the interval would be if
    tasks too were a sample. Where the sum is below 0 (few clusters) the larger one-way error
    stands in. Raises `ShapeError`, `MissingScoreError`, `TooFewClusters` (below 2 either way).
    """
    values = scores(y)
    ways = [clusters(labels, len(values)) for labels in (cluster, other)]
    cell = ways[0][0] * ways[1][1] + ways[1][0]
    one, two = (cr1(values, code, count)[1] for code, count in ways)
    both = cr1(values, *clusters(cell, len(values)))[1]
    variance = one**2 + two**2 - both**2
    return math.sqrt(variance) if variance > 0 else max(one, two)


def intraclass_correlation(y: ArrayLike, cluster: ArrayLike) -> float:
    """How alike rows of one persona are: the one-way analysis-of-variance estimate.

    It may be a little below 0. NaN where each persona has one row, or nothing varies.
    """
    values = scores(y)
    code, count = clusters(cluster, len(values))
    size = np.bincount(code).astype(np.float64)
    if len(values) == count:
        return math.nan
    means = np.bincount(code, weights=values) / size
    within = float(((values - means[code]) ** 2).sum()) / (len(values) - count)
    between = float(size @ (means - values.mean()) ** 2) / (count - 1)
    typical = (size.sum() - size @ size / size.sum()) / (count - 1)
    total = between + (typical - 1) * within
    return (between - within) / total if total > 0 else math.nan


def design_effect(y: ArrayLike, cluster: ArrayLike) -> float:
    """Clustered variance of the mean over that of independent rows; NaN where nothing varies."""
    values = scores(y)
    clustered = cr1(values, *clusters(cluster, len(values)))[1]
    alone = cr1(values, *clusters(None, len(values)))[1]
    return (clustered / alone) ** 2 if alone > 0 else math.nan


def t_quantile(df: int, conf: float) -> float:
    """The t value whose two-sided interval has confidence `conf`."""
    from scipy.special import stdtrit

    return float(stdtrit(df, (1 + conf) / 2))


def t_two_sided(t: float, df: int) -> float:
    """Two-sided p of a t value; 0 for an infinite one."""
    from scipy.special import stdtr

    return float(2 * stdtr(df, -abs(t)))


def wilson(p: float, n: float, conf: float) -> tuple[float, float]:
    """Wilson's interval for a rate `p` seen in `n` (which need not be whole) cases."""
    from scipy.special import ndtri

    z = float(ndtri((1 + conf) / 2))
    centre = p + z * z / (2 * n)
    half = z * math.sqrt(max(p * (1 - p), 0.0) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return max(0.0, min(p, (centre - half) / scale)), min(1.0, max(p, (centre + half) / scale))


def _clusters_only(n_clusters: int, clustered: bool) -> tuple[float, tuple[str, ...]]:
    note = f"no variation: the interval counts each of {n_clusters} personas once"
    return float(n_clusters), (note,) if clustered else ()


def _effective_n(p: float, se: float, n: int, n_clusters: int, conf: float) -> float:
    """Korn and Graubard's effective sample size, not above n."""
    ratio = t_quantile(n - 1, conf) / t_quantile(n_clusters - 1, conf)
    return min(float(n), p * (1 - p) / se**2 * ratio**2)


# --- bootstrap over clusters ----------------------------------------------------------------

Statistic = Callable[..., Any]


def _bootstrap(y: FloatArray, code: IntArray, n_clusters: int, stat: str, seed: int) -> Estimate:
    data, statistic, value = _mean_setup(y, code) if stat == "mean" else _median_setup(y, code)
    few = n_clusters < BCA_CLUSTERS
    notes: tuple[str, ...] = (f"only {n_clusters} personas",) if few else ()
    methods = ["percentile"] if few and stat == "median" else ["BCa", "percentile"]
    lo, hi, se, used = _resample(data, statistic, methods, seed)
    if used != methods[0]:
        notes += ("BCa is not defined here; percentile interval",)
    return Estimate(
        est=value,
        se=se,
        lo=min(lo, value),
        hi=max(hi, value),
        conf=_CONF,
        n=len(y),
        n_clusters=n_clusters,
        df=None,
        method=f"cluster {used}",
        warnings=notes,
    )


def _mean_setup(y: FloatArray, code: IntArray) -> tuple[tuple[FloatArray, ...], Statistic, float]:
    sums = np.bincount(code, weights=y).astype(np.float64)
    counts = np.bincount(code).astype(np.float64)

    def ratio(s: FloatArray, c: FloatArray, axis: int = -1) -> Any:
        return s.sum(axis=axis) / c.sum(axis=axis)

    return (sums, counts), ratio, float(y.mean())


def _median_setup(y: FloatArray, code: IntArray) -> tuple[tuple[FloatArray, ...], Statistic, float]:
    order = np.argsort(code, kind="stable")
    members = np.split(y[order], np.cumsum(np.bincount(code))[:-1])

    def median(drawn: FloatArray) -> float:
        return float(np.median(np.concatenate([members[int(i)] for i in drawn])))

    return (np.arange(len(members), dtype=np.float64),), median, float(np.median(y))


def _resample(
    data: tuple[FloatArray, ...], statistic: Statistic, methods: list[str], seed: int
) -> tuple[float, float, float, str]:
    """Interval, standard error and method used: the first of `methods` that is defined."""
    from scipy import stats

    bootstrap: Callable[..., Any] = stats.bootstrap
    for method in methods:
        with python_warnings.catch_warnings():
            # A degenerate distribution gives NaN and a warning; the next method answers it.
            python_warnings.simplefilter("ignore")
            found = bootstrap(
                data,
                statistic,
                paired=True,
                vectorized=len(data) == 2,
                n_resamples=_RESAMPLES,
                confidence_level=_CONF,
                method=method,
                rng=np.random.default_rng(seed),
            )
        lo, hi = (float(x) for x in found.confidence_interval)
        if not (math.isnan(lo) or math.isnan(hi)):
            break
    return lo, hi, float(found.standard_error), method
