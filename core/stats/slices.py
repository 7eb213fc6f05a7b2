"""Slices side by side: shrunken for ranking, unshrunken for claims.

Each slice comes with its own estimate (corrected inside the slice, for a judge may be wrong in
one group and right in another). The extremes of many small slices are mostly noise: for ranking
they are drawn towards the common mean by random-effects weights (Paule and Mandel 1982, or
DerSimonian and Laird 1986). Whether a slice differs from the rest is tested on the raw values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.stats.paired import benjamini_hochberg, benjamini_yekutieli, holm
from core.stats.types import FloatArray, ShapeError

LEAST_PERSONAS = 10
LEAST_REVIEWS = 20
"""A slice with fewer is "too few to say": listed, and never estimated or tested."""

_SHRINK_FROM = 4
_SURE_FROM = 8


@dataclass(frozen=True, slots=True)
class SliceReport:
    """One value per slice in each array, in the order given.

    `raw` and `se` are what came in. `shrunk` and `sd` are for ranking; `z` and `p` compare a
    slice's raw value with all the others, `p_adjusted` for the family of slices. Slices that
    are `left_out` (`too_few`, or without any variation) hold NaN there and do not influence the
    rest. `mu` is the common mean, `tau2` the variance between slices, `q` Cochran's
    heterogeneity with its p.
    """

    raw: FloatArray
    se: FloatArray
    shrunk: FloatArray
    sd: FloatArray
    z: FloatArray
    p: FloatArray
    p_adjusted: FloatArray
    too_few: NDArray[np.bool_]
    left_out: NDArray[np.bool_]
    mu: float
    tau2: float
    q: float
    q_p: float
    warnings: tuple[str, ...]


def slice_report(
    est: ArrayLike,
    se: ArrayLike,
    n: ArrayLike,
    n_clusters: ArrayLike,
    *,
    method: Literal["pm", "dl"] = "pm",
    fdr: Literal["bh", "by", "holm"] = "bh",
) -> SliceReport:
    """Compare slices by their estimates, standard errors, reviews and personas.

    `by` is for slices that overlap, `holm` for slices on which a decision hangs.
    Below 4 usable slices nothing is shrunk. Raises `ShapeError` for fewer than 2 slices, lists
    that differ in length, or an `se` below 0.
    """
    raw, error = _column(est), _column(se)
    reviews, personas = _column(n), _column(n_clusters)
    if not len(raw) == len(error) == len(reviews) == len(personas):
        raise ShapeError("every slice needs an estimate, a standard error and its counts")
    if len(raw) < 2 or (error < 0).any():
        raise ShapeError("a report on slices needs at least 2 of them, with se not below 0")
    too_few = (reviews < LEAST_REVIEWS) | (personas < LEAST_PERSONAS)
    # An estimate of a slice too small to have one may be missing; any other may not.
    defined = np.isfinite(raw) & np.isfinite(error)
    if not (defined | too_few).all():
        raise ShapeError("a slice with enough reviews needs an estimate and its standard error")
    used = defined & ~too_few & (error > 0)
    fit = _shrink(raw[used], error[used], method)
    z = _gaps(raw[used], error[used])
    p = _two_sided(z)
    adjust = {"bh": benjamini_hochberg, "by": benjamini_yekutieli, "holm": holm}[fdr]
    return SliceReport(
        raw=raw,
        se=error,
        shrunk=_spread_out(used, fit.shrunk),
        sd=_spread_out(used, fit.sd),
        z=_spread_out(used, z),
        p=_spread_out(used, p),
        p_adjusted=_spread_out(used, adjust(p) if len(p) else p),
        too_few=too_few,
        left_out=~used,
        mu=fit.mu,
        tau2=fit.tau2,
        q=fit.q,
        q_p=fit.q_p,
        warnings=_notes(int(used.sum()), int((defined & ~too_few & (error == 0)).sum())),
    )


# --- parts ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Fit:
    shrunk: FloatArray
    sd: FloatArray
    mu: float
    tau2: float
    q: float
    q_p: float


def _shrink(est: FloatArray, se: FloatArray, method: str) -> _Fit:
    if len(est) < 2:
        return _Fit(est.copy(), se.copy(), math.nan, math.nan, math.nan, math.nan)
    q, df = _q(est, se, 0.0), len(est) - 1
    tau2 = _paule_mandel(est, se) if method == "pm" else _dersimonian_laird(se, q)
    weight = 1 / (se**2 + tau2)
    mu = float(weight @ est / weight.sum())
    if len(est) < _SHRINK_FROM:
        return _Fit(est.copy(), se.copy(), mu, tau2, q, _upper_chi2(q, df))
    b = tau2 / (tau2 + se**2)
    sd = np.sqrt(b * se**2 + (1 - b) ** 2 / weight.sum())
    return _Fit(mu + b * (est - mu), sd, mu, tau2, q, _upper_chi2(q, df))


def _q(est: FloatArray, se: FloatArray, tau2: float) -> float:
    weight = 1 / (se**2 + tau2)
    return float(weight @ (est - weight @ est / weight.sum()) ** 2)


def _dersimonian_laird(se: FloatArray, q: float) -> float:
    weight = 1 / se**2
    scale = float(weight.sum() - weight @ weight / weight.sum())
    return max(0.0, (q - (len(se) - 1)) / scale)


def _paule_mandel(est: FloatArray, se: FloatArray) -> float:
    """The variance between slices at which their heterogeneity is just what chance gives."""
    from scipy.optimize import brentq

    df = len(est) - 1
    if _q(est, se, 0.0) <= df:
        return 0.0
    top = float(((est - est.mean()) ** 2).sum() / df)
    while _q(est, se, top) > df:
        top *= 2
    return float(brentq(lambda tau2: _q(est, se, tau2) - df, 0.0, top, xtol=1e-15))


def _gaps(est: FloatArray, se: FloatArray) -> FloatArray:
    """Each slice against the precision-weighted mean of all the others, in standard errors."""
    weight = 1 / se**2
    rest = weight.sum() - weight
    if len(est) < 2:
        return np.full(len(est), math.nan)
    others = (weight @ est - weight * est) / rest
    found: FloatArray = (est - others) / np.sqrt(se**2 + 1 / rest)
    return found


def _two_sided(z: FloatArray) -> FloatArray:
    from scipy.special import ndtr

    known = z[np.isfinite(z)]
    return np.asarray(2 * ndtr(-np.abs(known)), dtype=np.float64)


def _upper_chi2(q: float, df: int) -> float:
    from scipy.special import chdtrc

    return float(chdtrc(df, q))


def _spread_out(used: NDArray[np.bool_], values: FloatArray) -> FloatArray:
    out = np.full(len(used), math.nan)
    if len(values) == used.sum():
        out[used] = values
    return out


def _column(values: ArrayLike) -> FloatArray:
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1:
        raise ShapeError("slices come as lists of numbers")
    return column


def _notes(n_used: int, n_flat: int) -> tuple[str, ...]:
    notes = []
    if n_used < _SHRINK_FROM:
        notes.append("fewer than 4 slices with enough reviews: nothing is shrunk")
    elif n_used < _SURE_FROM:
        notes.append(f"only {n_used} slices: how far to shrink is uncertain")
    if n_flat:
        notes.append(f"{n_flat} slices without any variation are left out")
    return tuple(notes)
