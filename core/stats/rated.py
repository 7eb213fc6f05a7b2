"""Checked ratings: categories, the place of each value among them, and weights.

Agreement is counted in tables, so every value must be one of the categories that the caller
names; one that is not is an error and never rounded.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from core.stats.resample import Resampled
from core.stats.types import Estimate, FloatArray, IntArray, ShapeError


def known_categories(categories: ArrayLike) -> FloatArray:
    """The categories in ascending order. Raises `ShapeError` for fewer than two."""
    kinds = np.unique(np.asarray(categories, dtype=np.float64))
    if len(kinds) < 2 or not np.isfinite(kinds).all():
        raise ShapeError("there must be at least two categories")
    return kinds


def places(values: FloatArray, categories: FloatArray) -> IntArray:
    """The place of each value in `categories`. Raises `ShapeError` for one that is not there."""
    found = np.minimum(np.searchsorted(categories, values), len(categories) - 1)
    strange = categories[found] != values
    if strange.any():
        value = values[strange].flat[0]
        raise ShapeError(f"the value {value:g} is not one of the categories")
    return found


def mean_one(weights: ArrayLike | None, n: int) -> FloatArray | None:
    """Weights scaled to mean 1, so that counts keep their size; None where all are equal."""
    if weights is None:
        return None
    weight = np.asarray(weights, dtype=np.float64)
    if weight.shape != (n,) or not (weight > 0).all() or not np.isfinite(weight).all():
        raise ShapeError("there must be one weight above 0 for each value")
    if np.ptp(weight) == 0:
        return None
    scaled: FloatArray = weight / weight.mean()
    return scaled


def as_estimate(found: Resampled, name: str, n: int, n_clusters: int) -> Estimate | None:
    """A bootstrapped coefficient as an estimate; None where it is not defined."""
    if not np.isfinite(found.est):
        return None
    return Estimate(
        est=found.est,
        se=found.se,
        lo=found.lo,
        hi=found.hi,
        conf=0.95,
        n=n,
        n_clusters=n_clusters,
        df=None,
        method=f"{name}, {found.method}",
        warnings=found.warnings,
    )
