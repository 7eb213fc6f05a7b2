"""Intervals over whole personas for statistics of summed tables.

Coefficients of agreement are functions of a table that is a sum over personas. Leaving one
persona out is then one subtraction; drawing personas again is drawing how often each one's table
is counted, and all draws are one product. Where personas are few the jackknife is used: it holds
the truth nearly as often as it says, and the bootstrap does not (`docs/coverage.md`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from core.stats.intervals import BCA_CLUSTERS, t_quantile
from core.stats.types import FloatArray, IntArray

Statistic = Callable[[FloatArray], FloatArray]
_CONF = 0.95
_USABLE = 0.5

JACKKNIFE_CLUSTERS = 40
"""With fewer clusters the jackknife is used; measured up to 30 it held the truth more often."""


@dataclass(frozen=True, slots=True)
class Resampled:
    """The interval of a statistic; `lo` and `hi` are NaN where most draws do not define it."""

    est: float
    se: float
    lo: float
    hi: float
    method: str
    warnings: tuple[str, ...]


def summed(parts: FloatArray, code: IntArray, n_clusters: int) -> FloatArray:
    """Sum the parts of rows (first axis) within each cluster."""
    found = np.zeros((n_clusters, *parts.shape[1:]))
    np.add.at(found, code, parts)
    return found


def counted(n_clusters: int, boot: int, seed: int) -> FloatArray:
    """How often each cluster is drawn in each of `boot` draws of `n_clusters` from all."""
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(n_clusters, np.full(n_clusters, 1 / n_clusters), size=boot)
    return drawn.astype(np.float64)


def resampled(
    parts: FloatArray, statistic: Statistic, *, boot: int, seed: int, unit: str = "personas"
) -> Resampled:
    """The interval of `statistic` of the sum of `parts` over their first axis, the clusters.

    The jackknife below 40 clusters, the bootstrap from there on and where the jackknife is not
    defined. The warnings say when there are few clusters.
    """
    if len(parts) < JACKKNIFE_CLUSTERS:
        found = jackknifed(parts, statistic, unit=unit)
        if found is not None:
            return found
    return bootstrapped(parts, statistic, boot=boot, seed=seed, unit=unit)


def jackknifed(
    parts: FloatArray, statistic: Statistic, *, unit: str = "personas"
) -> Resampled | None:
    """Estimate and t interval from leaving out one cluster at a time, within -1 and 1.

    None where the statistic of any such rest is not defined.
    """
    n_clusters = len(parts)
    total = parts.sum(axis=0)
    est = float(statistic(total[None])[0])
    rest = statistic(total - parts)
    if n_clusters < 2 or not np.isfinite(est) or not np.isfinite(rest).all():
        return None
    spread = float(((rest - rest.mean()) ** 2).sum())
    se = float(np.sqrt((n_clusters - 1) / n_clusters * spread))
    half = t_quantile(n_clusters - 1, _CONF) * se
    lo, hi = max(est - half, min(-1.0, est)), min(est + half, max(1.0, est))
    return Resampled(est, se, lo, hi, "cluster jackknife", _notes(n_clusters, unit, 0, 0))


def bootstrapped(
    parts: FloatArray, statistic: Statistic, *, boot: int, seed: int, unit: str = "personas"
) -> Resampled:
    """Estimate and interval from drawing clusters again: BCa from 20 on, else percentiles.

    Draws in which the statistic is not defined are left out, and counted in a warning.
    """
    n_clusters = len(parts)
    total = parts.sum(axis=0)
    est = float(statistic(total[None])[0])
    draws = statistic(np.tensordot(counted(n_clusters, boot, seed), parts, axes=1))
    kept = draws[np.isfinite(draws)]
    notes = _notes(n_clusters, unit, boot - len(kept), boot)
    if len(kept) < max(2, _USABLE * boot):
        return Resampled(est, float("nan"), float("nan"), float("nan"), "none", notes)
    tails = (0.5 - _CONF / 2, 0.5 + _CONF / 2)
    method = "cluster percentile"
    if n_clusters >= BCA_CLUSTERS:
        moved = bca_tails(est, kept, statistic(total - parts), tails)
        if moved is None:
            notes += ("BCa is not defined here; percentile interval",)
        else:
            tails, method = moved, "cluster BCa"
    lo, hi = (float(q) for q in np.quantile(kept, tails))
    return Resampled(est, float(kept.std(ddof=1)), min(lo, est), max(hi, est), method, notes)


def bca_tails(
    est: float, draws: FloatArray, jackknife: FloatArray, tails: tuple[float, float]
) -> tuple[float, float] | None:
    """The tails of the draws that make the interval bias-corrected and accelerated.

    None where that is not defined: all draws on one side, or no variation of the jackknife.
    """
    from scipy.special import ndtr, ndtri

    below = (np.mean(draws < est) + np.mean(draws <= est)) / 2
    apart = jackknife.mean() - jackknife
    spread = float((apart**2).sum())
    if not 0 < below < 1 or not np.isfinite(spread) or spread <= 0:
        return None
    bend = float((apart**3).sum()) / (6 * spread**1.5)
    centre = float(ndtri(below))
    z = centre + ndtri(np.asarray(tails))
    lo, hi = (float(tail) for tail in ndtr(centre + z / (1 - bend * z)))
    return (lo, hi) if 0 <= lo < hi <= 1 else None


def _notes(n_clusters: int, unit: str, lost: int, boot: int) -> tuple[str, ...]:
    notes: tuple[str, ...] = ()
    if n_clusters < BCA_CLUSTERS:
        notes += (f"only {n_clusters} {unit}",)
    if lost:
        notes += (f"not defined in {lost} of {boot} draws",)
    return notes
