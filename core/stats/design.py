"""What to review next, and how much: draws with known probabilities, and sample sizes.

Reviews enter a correction only if every row of the frame had a known, positive chance of being
drawn. A row is drawn when its permanent random number lies below its probability (Poisson
sampling), so raising a probability later only ever adds rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.stats.types import (
    FloatArray,
    IntArray,
    NotProbabilitySample,
    ShapeError,
    TooFewLabels,
)

_PER_STRATUM = 5
"""Reviews that each stratum gets where the budget allows; 2 where it does not."""


@dataclass(frozen=True, slots=True)
class ReviewPlan:
    """Which rows to review, and with what probability each row of the frame is drawn.

    `stratum` names the strata, in the order of `n_h` and `value_per_minute`; `n_h` is the
    expected number of reviews in each, earlier ones included. `expected_se` is the design
    standard error of the corrected mean of these rows if `u` is the size of the judge's error.
    `value_per_minute` is the variance that one more minute of reviewing in a stratum takes away
    (per review where no minutes are known): use it to resize strata, never to pick rows.
    """

    pi: FloatArray
    selected: NDArray[np.bool_]
    stratum: tuple[str, ...]
    n_h: FloatArray
    expected_se: float
    value_per_minute: FloatArray


@dataclass(frozen=True, slots=True)
class SampleSize:
    """How many reviews a question needs.

    `exact` is the formula's value, `n` the whole number of reviews (or pairs) above it.
    `n_clusters` is the fewest personas that suffice: each is then reviewed once, and the
    design effect is gone.
    """

    exact: float
    n: int
    n_clusters: int

    def minutes(self, per_review: float) -> float:
        """Time for all `n`, when one review takes `per_review` minutes."""
        return self.n * per_review


def plan_reviews(  # noqa: PLR0913 - the published signature
    u: ArrayLike,
    prn: ArrayLike,
    *,
    budget: int,
    floor: float = 0.2,
    stratum: ArrayLike | None = None,
    minutes: ArrayLike | None = None,
    pi_prev: ArrayLike | None = None,
) -> ReviewPlan:
    """Plan `budget` reviews of a frame of rows: probabilities, and the draw.

    `u` is how large the judge's error of each row is expected to be (any scale for the draw,
    the unit of the scores for `expected_se`), `prn` its permanent random number in [0, 1).
    Within a stratum `pi = floor * n/N + (1 - floor) * (n u / sum u, at most 1)`. Strata share
    the budget by `sum u / sqrt(minutes)`, at least 2 each. `pi_prev` holds the probabilities of
    an earlier stage of the same design: none is ever lowered, and `budget` counts both stages.
    The number drawn is random; its expectation is `n_h`, which is above `budget` only where
    earlier probabilities are.

    Raises `ShapeError` (budget above N or below 1, u below 0, lengths, ranges),
    `NotProbabilitySample` (a row without any chance), `TooFewLabels` (below 2 per stratum).
    """
    size = _column("u", u, None)
    n_rows = len(size)
    number = _column("prn", prn, n_rows)
    cost = np.ones(n_rows) if minutes is None else _column("minutes", minutes, n_rows)
    before = np.zeros(n_rows) if pi_prev is None else _column("pi_prev", pi_prev, n_rows)
    _check_frame(size, number, cost, before)
    _check_budget(size, budget, floor)
    names, code = _strata(stratum, n_rows)
    weight = size / np.sqrt(cost) if size.max() > 0 else 1 / np.sqrt(cost)
    share = allocate(_by(code, weight), np.bincount(code), budget)
    pi = np.maximum(_probabilities(weight, code, share, floor), before)
    return ReviewPlan(
        pi=pi,
        selected=number < pi,
        stratum=names,
        n_h=_by(code, pi),
        expected_se=math.sqrt(float(((1 - pi) / pi * size**2).sum())) / n_rows,
        value_per_minute=_value(size, pi, cost, code),
    )


def sample_size(  # noqa: PLR0913 - the published signature
    *,
    half_width: float | None = None,
    delta: float | None = None,
    sd: float,
    deff: float = 1.0,
    rho: float = 0.0,
    N: int | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    comparisons: int = 1,
) -> SampleSize:
    """Say how many reviews reach an interval of `half_width`, or find a difference of `delta`.

    `sd` is that of the scores (for `delta`: of the paired differences; for verdicts
    `sqrt(share discordant - delta^2)`), `deff` the design effect of several rows per persona,
    `rho` the correlation of judge and people (0: people alone), `N` the rows of the frame when
    the question is about those rows only. `comparisons` divides `alpha`.
    Raises `ShapeError` unless exactly one of `half_width` and `delta` is given, or for values
    out of range.
    """
    if (half_width is None) == (delta is None):
        raise ShapeError("give either a half-width or a difference, not both")
    _check_spread(sd, deff, rho, N)
    goal = half_width if half_width is not None else abs(delta or 0.0)
    if not goal > 0:
        raise ShapeError("the half-width or difference must be above 0")
    z = _quantiles(None if delta is None else power, alpha, comparisons)
    n0 = (z * sd / goal) ** 2 * (1 - rho**2) * deff
    exact = n0 if N is None else n0 / (1 + n0 / N)
    # A hair below the ceiling, so that 200.0000000001 is 200.
    n = max(2, math.ceil(exact - 1e-9))
    return SampleSize(exact=exact, n=n, n_clusters=max(2, math.ceil(exact / deff - 1e-9)))


def detectable_difference(
    n: int,
    *,
    sd: float,
    deff: float = 1.0,
    rho: float = 0.0,
    power: float = 0.8,
    comparisons: int = 1,
) -> float:
    """The smallest difference that `n` pairs find with the given power, at alpha 0.05."""
    _check_spread(sd, deff, rho, None)
    if n < 2:
        raise ShapeError("a difference needs at least 2 pairs")
    z = _quantiles(power, 0.05, comparisons)
    return z * sd * math.sqrt((1 - rho**2) * deff / n)


def optimal_shares(
    n_h: ArrayLike, sd_h: ArrayLike, *, minutes: ArrayLike | None = None
) -> FloatArray:
    """Shares of the reviews that are best for strata of `n_h` rows: `N_h S_h / sqrt(c_h)`."""
    rows = np.asarray(n_h, dtype=np.float64)
    cost = np.ones_like(rows) if minutes is None else np.asarray(minutes, dtype=np.float64)
    weight = rows * np.asarray(sd_h, dtype=np.float64) / np.sqrt(cost)
    if not weight.sum() > 0:
        raise ShapeError("at least one stratum must have rows and spread")
    found: FloatArray = weight / weight.sum()
    return found


def allocate(weight: ArrayLike, rows: ArrayLike, budget: int) -> IntArray:
    """Whole reviews for each stratum in proportion to `weight`, by the largest remainder.

    Each stratum gets at least 5 where the budget allows (never fewer than 2, or all its rows)
    and at most its `rows`. Raises `TooFewLabels` where the budget is below that.
    """
    most = np.asarray(rows, dtype=np.float64)
    low = max(2, min(_PER_STRATUM, budget // (2 * len(most))))
    least = np.minimum(most, low)
    if least.sum() > budget:
        least = np.minimum(most, 2)
    if least.sum() > budget:
        raise TooFewLabels(f"the budget must allow 2 reviews in each of {len(most)} strata")
    exact = bounded_shares(np.asarray(weight, dtype=np.float64), budget, least, most)
    whole = np.floor(exact + 1e-9).astype(np.intp)
    missing = budget - int(whole.sum())
    # Ties go to the earlier stratum, so that a plan is the same on every machine.
    order = np.argsort(-(exact - whole), kind="stable")
    whole[order[:missing]] += 1
    return whole


def bounded_shares(
    weight: FloatArray, total: float, low: FloatArray, high: FloatArray
) -> FloatArray:
    """Split `total` in proportion to `weight`, each part between `low` and `high`.

    What a part above its limit cannot take is shared among the others (water-filling).
    """
    top = float(weight.max())
    # Parts of no weight take something only once every other part is full.
    w = np.ones_like(weight) if top <= 0 else np.maximum(weight, 1e-12 * top)
    out, free = np.zeros_like(w), np.ones(len(w), dtype=bool)
    while free.any():
        trial = w * (total - out[~free].sum()) / w[free].sum()
        clipped = np.clip(trial, low, high)
        excess = float((clipped - trial)[free].sum())
        out[free] = clipped[free]
        if abs(excess) <= 1e-12 * max(total, 1.0):
            break
        free &= ~(clipped > trial) if excess > 0 else ~(clipped < trial)
    return out


# --- parts ----------------------------------------------------------------------------------


def _probabilities(weight: FloatArray, code: IntArray, share: IntArray, floor: float) -> FloatArray:
    pi = np.zeros(len(weight))
    for h, n in enumerate(share):
        rows = code == h
        count = int(rows.sum())
        filled = bounded_shares(weight[rows], float(n), np.zeros(count), np.ones(count))
        pi[rows] = floor * n / count + (1 - floor) * filled
    return np.minimum(pi, 1.0)


def _value(size: FloatArray, pi: FloatArray, cost: FloatArray, code: IntArray) -> FloatArray:
    """Derivative of the variance by minutes, when a stratum's probabilities grow together."""
    mean_cost = _by(code, cost) / np.bincount(code)
    found: FloatArray = _by(code, size**2 / pi) / (_by(code, pi) * mean_cost * len(size) ** 2)
    return found


def _by(code: IntArray, values: FloatArray) -> FloatArray:
    return np.bincount(code, weights=values).astype(np.float64)


def _strata(stratum: ArrayLike | None, n: int) -> tuple[tuple[str, ...], IntArray]:
    if stratum is None:
        return ("all",), np.zeros(n, dtype=np.intp)
    labels = np.asarray(stratum)
    if labels.shape != (n,):
        raise ShapeError("there must be one stratum for each row")
    names, code = np.unique(labels, return_inverse=True)
    return tuple(str(name) for name in names), code


def _column(name: str, values: ArrayLike, n: int | None) -> FloatArray:
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1 or len(column) == 0 or (n is not None and len(column) != n):
        raise ShapeError(f"{name} must hold one number for each row")
    if not np.isfinite(column).all():
        raise ShapeError(f"{name} must hold numbers only")
    return column


def _check_frame(
    size: FloatArray, number: FloatArray, cost: FloatArray, before: FloatArray
) -> None:
    if size.min() < 0:
        raise ShapeError("u, the expected size of an error, cannot be below 0")
    if number.min() < 0 or number.max() >= 1:
        raise ShapeError("prn must lie in [0, 1)")
    if cost.min() <= 0:
        raise ShapeError("minutes must be above 0")
    if before.min() < 0 or before.max() > 1:
        raise ShapeError("pi_prev must lie in [0, 1]")


def _check_budget(size: FloatArray, budget: int, floor: float) -> None:
    if not 1 <= budget <= len(size):
        raise ShapeError(f"the budget must lie between 1 and {len(size)} reviews")
    if not 0 <= floor <= 1:
        raise ShapeError("the floor must lie between 0 and 1")
    if floor == 0 and size.max() > 0 and size.min() == 0:
        raise NotProbabilitySample("a row of u = 0 is never drawn; set a floor above 0")


def _check_spread(sd: float, deff: float, rho: float, n_rows: int | None) -> None:
    if not (sd > 0 and deff > 0 and -1 < rho < 1):
        raise ShapeError("sd and deff must be above 0, and rho between -1 and 1")
    if n_rows is not None and n_rows < 1:
        raise ShapeError("N must be at least 1")


def _quantiles(power: float | None, alpha: float, comparisons: int) -> float:
    from scipy.special import ndtri

    if not (0 < alpha < 1 and comparisons >= 1 and (power is None or 0 < power < 1)):
        raise ShapeError("alpha and power must lie between 0 and 1, comparisons be at least 1")
    z = float(ndtri(1 - alpha / comparisons / 2))
    return z if power is None else z + float(ndtri(power))
