"""Bounds where some judge scores are missing and nobody reviewed those dialogues.

The missing values may be anything on the scale, so the answer is a range, with an interval for
the unknown value in it (Imbens and Manski 2004). A missing score is never 0, never "failed" and
never left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from core.stats.intervals import clusters, cr1
from core.stats.types import FloatArray, ShapeError

RANKABLE_SHARE = 0.05
"""With a larger share of values missing, arms are not ranked."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The mean lies between `low` and `high` whatever the missing values are.

    `lo` and `hi` are the 95 % interval of the mean itself. `complete_case` is the mean of what
    is there (NaN when nothing is): shown beside the bounds, never instead of them.
    """

    low: float
    high: float
    lo: float
    hi: float
    conf: float
    n: int
    n_missing: int
    n_clusters: int
    complete_case: float

    @property
    def rankable(self) -> bool:
        """Whether so few values are missing that arms may be ranked by this."""
        return self.n_missing <= RANKABLE_SHARE * self.n


def missing_bounds(
    y: ArrayLike, *, low: float, high: float, cluster: ArrayLike | None = None
) -> Bounds:
    """Bound the mean of `y` (NaN: missing), whose values lie between `low` and `high`.

    Raises `ShapeError` for values outside the scale, `TooFewClusters` below 2 personas.
    """
    values = _on_scale(y, low, high)
    return _bounds(_filled(values, low), _filled(values, high), values, cluster)


def missing_difference_bounds(
    y_a: ArrayLike, y_b: ArrayLike, *, low: float, high: float, cluster: ArrayLike | None = None
) -> Bounds:
    """Bound the mean of `y_b - y_a`: missing is worst for one side and best for the other."""
    a, b = _on_scale(y_a, low, high), _on_scale(y_b, low, high)
    if a.shape != b.shape:
        raise ShapeError("paired values must have the same length")
    least, most = _filled(b, low) - _filled(a, high), _filled(b, high) - _filled(a, low)
    return _bounds(least, most, b - a, cluster)


def _on_scale(y: ArrayLike, low: float, high: float) -> FloatArray:
    values = np.asarray(y, dtype=np.float64)
    if values.ndim != 1 or len(values) == 0:
        raise ShapeError("values must be a list of at least one number")
    if not low < high or (values < low).any() or (values > high).any():
        raise ShapeError(f"values must lie between {low:g} and {high:g}")
    return values


def _filled(values: FloatArray, value: float) -> FloatArray:
    return np.where(np.isnan(values), value, values)


def _bounds(
    least: FloatArray, most: FloatArray, values: FloatArray, cluster: ArrayLike | None
) -> Bounds:
    code, count = clusters(cluster, len(values))
    low, low_se = cr1(least, code, count)
    high, high_se = cr1(most, code, count)
    if cluster is None:
        # One row each: the plain standard error of a mean, as Imbens and Manski use it.
        shrink = math.sqrt((count - 1) / count)
        low_se, high_se = low_se * shrink, high_se * shrink
    c = _critical(high - low, max(low_se, high_se))
    there = values[~np.isnan(values)]
    return Bounds(
        low=low,
        high=high,
        lo=low - c * low_se,
        hi=high + c * high_se,
        conf=0.95,
        n=len(values),
        n_missing=int(np.isnan(values).sum()),
        n_clusters=count,
        complete_case=float(there.mean()) if len(there) else math.nan,
    )


def _critical(width: float, se: float) -> float:
    """C with Phi(C + width / se) - Phi(-C) = 0.95: from 1.96 (no width) down to 1.645."""
    from scipy.optimize import brentq
    from scipy.special import ndtr

    if se == 0:
        return 0.0

    def gap(c: float) -> float:
        return float(ndtr(c + width / se) - ndtr(-c)) - 0.95

    return float(brentq(gap, 1.0, 3.0, xtol=1e-13))
