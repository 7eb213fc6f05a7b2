"""Comparison of arms on the same items: differences, sign-flip tests, families of pairs.

Two arms are compared by the differences on the same (persona, task), never by whether their
own intervals overlap. Personas are the clusters, and the unit whose sign is flipped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.stats.intervals import clusters, mean_ci, scores, t_two_sided
from core.stats.types import (
    Estimate,
    FloatArray,
    IntArray,
    MissingScoreError,
    PairedDiff,
    PairResult,
    ShapeError,
)

EXACT_CLUSTERS = 17
"""Up to this many personas all 2^G sign flips are gone through; above, a random draw."""

_CHUNK = 4_096
_TINY = 1e-9


def paired_diff(
    y_a: ArrayLike,
    y_b: ArrayLike,
    *,
    cluster: ArrayLike,
    n_perm: int = 100_000,
    seed: int = 0,
) -> PairedDiff:
    """Estimate the mean of `y_b - y_a` over items given in the same order.

    Raises `ShapeError` when the lists differ in length, `MissingScoreError` when a value is
    missing, `TooFewClusters` with fewer than 2 personas.
    """
    d = _differences(y_a, y_b)
    code, n_clusters = clusters(cluster, len(d))
    sums = cluster_sums(d[:, None], code, n_clusters)
    p = signflip_p(sums, n_perm=n_perm, seed=seed)
    return with_p(d, code, float(p[0]))


def with_p(d: FloatArray, code: IntArray, p_signflip: float) -> PairedDiff:
    """Describe differences whose sign-flip p is known: many pairs can share one set of flips."""
    estimate = mean_ci(d, cluster=code)
    better, worse = d > _TINY, d < -_TINY
    ahead = better + 0.5 * ~(better | worse)
    t = _t_value(estimate)
    return PairedDiff(
        estimate=estimate,
        t=t,
        p_t=t_two_sided(t, estimate.n_clusters - 1),
        p_signflip=p_signflip,
        superiority=mean_ci(ahead, cluster=code),
        wins=int(better.sum()),
        losses=int(worse.sum()),
        ties=int(len(d) - better.sum() - worse.sum()),
    )


def compare_many(
    y: ArrayLike,
    *,
    cluster: ArrayLike,
    pairs: Literal["all", "baseline"] = "all",
    method: Literal["maxt", "holm", "bh"] = "maxt",
    n_perm: int = 100_000,
    seed: int = 0,
) -> list[PairResult]:
    """Compare the columns of `y` (items x arms), with p adjusted for the family of pairs.

    `all` compares every later column with every earlier one; `baseline` every column with the
    first. `maxt` is the studentized max-T over sign flips that all pairs share; `holm` and
    `bh` adjust the sign-flip p's. Raises as `paired_diff` does.
    """
    table = np.asarray(y, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] < 2:
        raise ShapeError("values must be a table with at least two columns")
    chosen = _pairs(table.shape[1], pairs)
    d = np.column_stack([_differences(table[:, a], table[:, b]) for a, b in chosen])
    code, n_clusters = clusters(cluster, len(d))
    sums = cluster_sums(d, code, n_clusters)
    raw = signflip_p(sums, n_perm=n_perm, seed=seed)
    diffs = [with_p(d[:, k], code, float(raw[k])) for k in range(len(chosen))]
    if method == "maxt":
        counts = np.bincount(code, minlength=n_clusters).astype(np.float64)
        adjusted = _max_t(sums, counts, n_perm=n_perm, seed=seed)
    else:
        adjusted = holm(raw) if method == "holm" else benjamini_hochberg(raw)
    return [
        PairResult(a, b, diff, float(p))
        for (a, b), diff, p in zip(chosen, diffs, adjusted, strict=True)
    ]


def holm(p: ArrayLike) -> FloatArray:
    """Holm's adjustment: use it when a decision hangs on any one of the p's."""
    values = _probabilities(p)
    order = np.argsort(values, kind="stable")
    steps = values[order] * np.arange(len(values), 0, -1)
    return _unsorted(np.minimum(np.maximum.accumulate(steps), 1.0), order)


def benjamini_hochberg(p: ArrayLike) -> FloatArray:
    """Benjamini and Hochberg's adjustment (false discovery rate): for exploration."""
    values = _probabilities(p)
    order = np.argsort(values, kind="stable")
    steps = values[order] * len(values) / np.arange(1, len(values) + 1)
    return _unsorted(np.minimum(np.minimum.accumulate(steps[::-1])[::-1], 1.0), order)


def benjamini_yekutieli(p: ArrayLike) -> FloatArray:
    """Benjamini and Yekutieli's adjustment: as above, for p's that depend on each other."""
    values = _probabilities(p)
    harmonic = float((1 / np.arange(1, len(values) + 1)).sum())
    order = np.argsort(values, kind="stable")
    steps = harmonic * values[order] * len(values) / np.arange(1, len(values) + 1)
    return _unsorted(np.minimum(np.minimum.accumulate(steps[::-1])[::-1], 1.0), order)


def signflip_p(sums: FloatArray, *, n_perm: int = 100_000, seed: int = 0) -> FloatArray:
    """Two-sided p of each column of per-persona sums (personas x pairs), by sign flips.

    A persona without items in a pair has sum 0 there and changes nothing. All columns see the
    same flips. Exact up to 17 personas; else p = (1 + extreme) / (draws + 1).
    """
    observed = np.abs(sums.sum(axis=0))
    slack = _TINY * np.abs(sums).sum(axis=0) + 1e-12
    extreme = np.zeros(sums.shape[1])
    for signs in _flips(len(sums), n_perm, seed):
        extreme += (np.abs(signs @ sums) >= observed - slack).sum(axis=0)
    return _share(extreme, len(sums), n_perm)


def cluster_sums(d: FloatArray, code: IntArray, n_clusters: int) -> FloatArray:
    """Sum each column of `d` (items x pairs) within each cluster."""
    sums = np.zeros((n_clusters, d.shape[1]))
    np.add.at(sums, code, d)
    return sums


# --- parts ----------------------------------------------------------------------------------


def _differences(y_a: ArrayLike, y_b: ArrayLike) -> FloatArray:
    a, b = np.asarray(y_a, dtype=np.float64), np.asarray(y_b, dtype=np.float64)
    if a.shape != b.shape:
        raise ShapeError("paired values must have the same length")
    if np.isnan(a).any() or np.isnan(b).any():
        raise MissingScoreError("a pair needs both its values")
    return scores(b - a)


def _t_value(estimate: Estimate) -> float:
    if abs(estimate.est) <= _TINY:
        return 0.0
    if estimate.se <= _TINY:
        return math.copysign(math.inf, estimate.est)
    return estimate.est / estimate.se


def _pairs(columns: int, which: str) -> list[tuple[int, int]]:
    if which == "baseline":
        return [(0, b) for b in range(1, columns)]
    return list(combinations(range(columns), 2))


def _flips(n_clusters: int, n_perm: int, seed: int) -> Iterator[FloatArray]:
    """Rows of +1 and -1, in chunks: all of them, or `n_perm` drawn with `seed`."""
    if n_clusters <= EXACT_CLUSTERS:
        numbers = np.arange(2**n_clusters)
        for start in range(0, len(numbers), _CHUNK):
            bits = numbers[start : start + _CHUNK, None] >> np.arange(n_clusters) & 1
            yield _signs(bits)
        return
    rng = np.random.default_rng(seed)
    for start in range(0, n_perm, _CHUNK):
        rows = min(_CHUNK, n_perm - start)
        packed = rng.integers(0, 256, size=(rows, (n_clusters + 7) // 8), dtype=np.uint8)
        yield _signs(np.unpackbits(packed, axis=1, count=n_clusters))


def _signs(bits: NDArray[Any]) -> FloatArray:
    signs = bits.astype(np.float64)
    signs *= -2.0
    signs += 1.0
    return signs


def _share(extreme: FloatArray, n_clusters: int, n_perm: int) -> FloatArray:
    if n_clusters <= EXACT_CLUSTERS:
        return extreme / float(2**n_clusters)
    return (1 + extreme) / (n_perm + 1)


def _max_t(sums: FloatArray, counts: FloatArray, *, n_perm: int, seed: int) -> FloatArray:
    """Share of flips whose largest |t| over all pairs reaches each pair's own |t|."""
    observed = np.abs(_t_of_flips(np.ones((1, len(sums))), sums, counts))[0]
    extreme = np.zeros(sums.shape[1])
    for signs in _flips(len(sums), n_perm, seed):
        largest = np.abs(_t_of_flips(signs, sums, counts)).max(axis=1, keepdims=True)
        extreme += (largest >= observed - _TINY * np.maximum(observed, 1.0)).sum(axis=0)
    return _share(extreme, len(sums), n_perm)


def _t_of_flips(signs: FloatArray, sums: FloatArray, counts: FloatArray) -> FloatArray:
    """CR1 t of each pair after each flip; 0 where sum and variance are both 0."""
    n_clusters, n = len(sums), counts.sum()
    mean = signs @ sums / n
    cross = signs @ (sums * counts[:, None])
    spread = (sums**2).sum(axis=0) - 2 * mean * cross + mean**2 * (counts**2).sum()
    se = np.sqrt(np.maximum(spread, 0.0) * n_clusters / (n_clusters - 1)) / n
    flat = se <= _TINY * np.maximum(np.abs(mean), 1.0)
    limit = np.where(np.abs(mean) <= _TINY, 0.0, np.inf)
    return np.where(flat, limit, mean / np.where(flat, 1.0, se))


def _probabilities(p: ArrayLike) -> FloatArray:
    values = scores(p)
    if values.min() < 0 or values.max() > 1:
        raise ShapeError("a p value lies between 0 and 1")
    return values


def _unsorted(values: FloatArray, order: IntArray) -> FloatArray:
    back = np.empty_like(values)
    back[order] = values
    return back
