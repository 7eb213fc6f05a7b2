"""Strengths from pairwise choices: Davidson's model with ties, or ties as half wins.

`P(i) ~ e^t_i`, `P(j) ~ e^t_j`, `P(tie) ~ nu e^((t_i + t_j) / 2)`, the strengths t adding up to
0. Many sets of counts are fitted at once, so that a bootstrap is one call. The likelihood is
concave, and Newton's method with halved steps finds its top.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.stats.types import FloatArray, IntArray

BoolArray = NDArray[np.bool_]
_STEPS, _HALVINGS, _TOLERANCE = 100, 30, 1e-11


@dataclass(frozen=True, slots=True)
class Fitted:
    """Strengths (sets x sides) and `nu` of each set; `nu` is 0 where ties are half wins."""

    t: FloatArray
    nu: FloatArray


def fit(counts: FloatArray, pairs: IntArray, n_sides: int, *, half: bool) -> Fitted:
    """Fit sets of `counts` (sets x pairs x [first wins, second wins, ties]).

    `pairs` names the two sides of each pair. Each set must be `bounded` and `connected`.
    """
    if half:
        counts = counts[..., :2] + counts[..., 2:] / 2
    design = _design(pairs, n_sides, half=half)
    tied = np.zeros(len(counts), dtype=bool) if half else counts[..., 2].sum(axis=1) > 0
    beta = _newton(counts, design, n_sides, tied)
    t = beta[:, :n_sides]
    nu = np.zeros(len(beta)) if half else np.where(tied, np.exp(beta[:, -1]), 0.0)
    return Fitted(t - t.mean(axis=1, keepdims=True), nu)


def bounded(counts: FloatArray, pairs: IntArray, n_sides: int, *, half: bool) -> BoolArray:
    """Whether each set leads from every side to every other by wins (ties are half wins)."""
    ahead = counts[..., :2] + (counts[..., 2:] if half else 0)
    found = np.zeros((len(counts), n_sides, n_sides), dtype=bool)
    found[:, pairs[:, 0], pairs[:, 1]] = ahead[..., 0] > 0
    found[:, pairs[:, 1], pairs[:, 0]] = ahead[..., 1] > 0
    return _reaches_all(found)


def connected(counts: FloatArray, pairs: IntArray, n_sides: int) -> BoolArray:
    """Whether each set leads from every side to every other by pairs that met."""
    met = counts.sum(axis=-1) > 0
    found = np.zeros((len(counts), n_sides, n_sides), dtype=bool)
    found[:, pairs[:, 0], pairs[:, 1]] = found[:, pairs[:, 1], pairs[:, 0]] = met
    return _reaches_all(found)


def probabilities(t_one: float, t_other: float, nu: float) -> tuple[float, float, float]:
    """Probability that the first wins, the second wins, and of a tie."""
    top = max(t_one, t_other)
    first, second = np.exp(t_one - top), np.exp(t_other - top)
    tie = nu * np.sqrt(first * second)
    total = first + second + tie
    return float(first / total), float(second / total), float(tie / total)


def _reaches_all(steps: BoolArray) -> BoolArray:
    reach = (steps | np.eye(steps.shape[-1], dtype=bool)).astype(np.float32)
    for _ in range(max(1, int(np.ceil(np.log2(steps.shape[-1]))))):
        reach = (reach @ reach > 0).astype(np.float32)
    return np.asarray((reach > 0).all(axis=(-2, -1)))


def _design(pairs: IntArray, n_sides: int, *, half: bool) -> FloatArray:
    """The linear predictor of each outcome of each pair: pairs x outcomes x parameters."""
    one, other = np.eye(n_sides)[pairs[:, 0]], np.eye(n_sides)[pairs[:, 1]]
    if half:
        return np.stack([one, other], axis=1)
    rows = np.stack([one, other, (one + other) / 2], axis=1)
    is_tie = np.zeros((*rows.shape[:2], 1))
    is_tie[:, 2] = 1.0
    return np.concatenate([rows, is_tie], axis=2)


def _newton(counts: FloatArray, design: FloatArray, n_sides: int, tied: BoolArray) -> FloatArray:
    sets, (n_pairs, outcomes, k) = len(counts), design.shape
    flat = design.reshape(n_pairs * outcomes, k)
    square = (flat[:, :, None] * flat[:, None, :]).reshape(-1, k * k)
    n = counts.sum(axis=-1)
    # Strengths have no origin, and a set without ties no nu: both are held where they are.
    hold = np.zeros((sets, k, k))
    hold[:, :n_sides, :n_sides] = 1 / n_sides
    if k > n_sides:
        hold[:, -1, -1] = np.where(tied, 0.0, 1.0)
    closed = np.zeros((sets, 1, outcomes))
    if k > n_sides:
        closed[~tied, :, 2] = -np.inf
    beta = np.zeros((sets, k))
    value = _likelihood(counts, n, design, closed, beta)
    for _ in range(_STEPS):
        p = _chances(design, closed, beta)
        gradient = ((counts - n[..., None] * p).reshape(sets, -1)) @ flat
        if np.abs(gradient).max() <= _TOLERANCE * max(1.0, float(n.sum(axis=1).max())):
            break
        mean = np.einsum("bpo,poq->bpq", p, design)
        spread = ((n[..., None] * p).reshape(sets, -1) @ square).reshape(sets, k, k)
        curve = spread - (mean * n[..., None]).swapaxes(-1, -2) @ mean
        step = np.linalg.solve(curve + hold, gradient[..., None])[..., 0]
        beta, value = _climb(counts, n, design, closed, (beta, value, step))
    return beta


def _climb(
    counts: FloatArray,
    n: FloatArray,
    design: FloatArray,
    closed: FloatArray,
    at: tuple[FloatArray, FloatArray, FloatArray],
) -> tuple[FloatArray, FloatArray]:
    """Go along the step, halved for each set until the likelihood does not fall."""
    beta, value, step = at
    size = np.ones(len(beta))
    for _ in range(_HALVINGS):
        moved = beta + size[:, None] * step
        reached = _likelihood(counts, n, design, closed, moved)
        fell = ~(reached >= value - 1e-9 * np.abs(value))
        if not fell.any():
            break
        size = np.where(fell, size / 2, size)
    return moved, reached


def _scores(design: FloatArray, closed: FloatArray, beta: FloatArray) -> FloatArray:
    scores: FloatArray = np.einsum("poq,bq->bpo", design, beta) + closed
    return scores


def _chances(design: FloatArray, closed: FloatArray, beta: FloatArray) -> FloatArray:
    scores = _scores(design, closed, beta)
    weight = np.exp(scores - scores.max(axis=-1, keepdims=True))
    chances: FloatArray = weight / weight.sum(axis=-1, keepdims=True)
    return chances


def _likelihood(
    counts: FloatArray, n: FloatArray, design: FloatArray, closed: FloatArray, beta: FloatArray
) -> FloatArray:
    scores = _scores(design, closed, beta)
    top = scores.max(axis=-1)
    log_total = top + np.log(np.exp(scores - top[..., None]).sum(axis=-1))
    seen = np.where(counts > 0, counts * np.where(counts > 0, scores, 0.0), 0.0)
    value: FloatArray = seen.sum(axis=(-2, -1)) - (n * log_total).sum(axis=-1)
    return value
