"""Coefficients of agreement, as functions of tables.

Each takes one table or a stack of them (the last two axes are the table's), so that a bootstrap
is one call. A coefficient that is 0/0 is NaN here; whoever shows it says why.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from core.stats.types import FloatArray

Level = Literal["nominal", "ordinal", "interval", "ratio"]
Weighting = Literal["identity", "linear", "quadratic"]
_TINY = 1e-12


def credit(categories: FloatArray, weighting: Weighting) -> FloatArray:
    """How much of an agreement each pair of categories is: 1 for equal, 0 for the two ends."""
    apart = np.abs(categories[:, None] - categories[None, :])
    if weighting == "identity":
        same: FloatArray = (apart == 0).astype(np.float64)
        return same
    share = apart / (categories[-1] - categories[0])
    closeness: FloatArray = 1 - (share if weighting == "linear" else share**2)
    return closeness


def shares(table: FloatArray) -> FloatArray:
    """The table divided by its sum; NaN where that is 0."""
    total = table.sum(axis=(-2, -1), keepdims=True)
    return np.where(total > 0, table / np.where(total > 0, total, 1.0), np.nan)


def observed(table: FloatArray, weight: FloatArray) -> FloatArray:
    """Share of the table that agrees, partial agreement counted by `weight`."""
    found: FloatArray = (shares(table) * weight).sum(axis=(-2, -1))
    return found


def kappa(table: FloatArray, weight: FloatArray) -> FloatArray:
    """Cohen's kappa with the given credit for near misses."""
    p = shares(table)
    rows, columns = p.sum(axis=-1), p.sum(axis=-2)
    expected = np.einsum("...i,ij,...j->...", rows, weight, columns)
    return _beyond(observed(table, weight), expected)


def gwet(table: FloatArray, weight: FloatArray) -> FloatArray:
    """Gwet's AC2 of two raters (AC1 where the credit is all or nothing)."""
    p = shares(table)
    mean_margin = (p.sum(axis=-1) + p.sum(axis=-2)) / 2
    return _beyond(observed(table, weight), gwet_chance(mean_margin, weight))


def gwet_chance(margin: FloatArray, weight: FloatArray) -> FloatArray:
    """The chance agreement of Gwet's coefficients, from the mean share of each category."""
    k = len(weight)
    chance: FloatArray = weight.sum() / (k * (k - 1)) * (margin * (1 - margin)).sum(axis=-1)
    return chance


def coincidences(counts: FloatArray) -> FloatArray:
    """Krippendorff's coincidence table of each item, from how often it got each category.

    An item with fewer than two labels has none.
    """
    labels = counts.sum(axis=-1)[..., None, None]
    pairs = counts[..., :, None] * counts[..., None, :]
    own = np.arange(counts.shape[-1])
    pairs[..., own, own] -= counts
    return np.where(labels >= 2, pairs / np.maximum(labels - 1, 1), 0.0)


def alpha(table: FloatArray, categories: FloatArray, level: Level) -> FloatArray:
    """Krippendorff's alpha of a summed coincidence table."""
    margin = table.sum(axis=-1)
    n = margin.sum(axis=-1)
    distance = _distance(margin, categories, level)
    seen = (table * distance).sum(axis=(-2, -1))
    chance = np.einsum("...i,...ij,...j->...", margin, distance, margin)
    flat = ~(chance > _TINY)
    ratio = (n - 1) * seen / np.where(flat, 1.0, chance)
    return np.where(flat, np.nan, 1 - ratio)


def spearman(table: FloatArray) -> FloatArray:
    """Rank correlation; blind to bias, so never an agreement."""
    p = shares(table)
    rows, columns = p.sum(axis=-1), p.sum(axis=-2)
    across = _centred(rows)[..., :, None] * _centred(columns)[..., None, :]
    spread = np.sqrt(_spread(rows) * _spread(columns))
    return _ratio((p * across).sum(axis=(-2, -1)), spread)


def kendall_b(table: FloatArray) -> FloatArray:
    """Kendall's tau b; blind to bias, so never an agreement."""
    p = shares(table)
    below = np.cumsum(np.cumsum(p, axis=-2), axis=-1)
    total = below[..., -1:, -1:]
    before = np.zeros_like(p)
    before[..., 1:, 1:] = below[..., :-1, :-1]
    later_rows = np.cumsum(p[..., ::-1, :], axis=-2)[..., ::-1, :]
    crossing = np.zeros_like(p)
    crossing[..., :-1, 1:] = np.cumsum(later_rows, axis=-1)[..., 1:, :-1]
    net = (p * (before - crossing)).sum(axis=(-2, -1))
    rows, columns = p.sum(axis=-1), p.sum(axis=-2)
    untied = [(total[..., 0, 0] ** 2 - (m**2).sum(axis=-1)) / 2 for m in (rows, columns)]
    return _ratio(net, np.sqrt(untied[0] * untied[1]))


def _beyond(seen: FloatArray, chance: FloatArray) -> FloatArray:
    return _ratio(seen - chance, 1 - chance)


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    flat = ~(np.abs(below) > _TINY)
    return np.where(flat, np.nan, above / np.where(flat, 1.0, below))


def _distance(margin: FloatArray, categories: FloatArray, level: Level) -> FloatArray:
    """Squared difference of each two categories; the ordinal one depends on how often each is."""
    if level == "ordinal":
        middle = np.cumsum(margin, axis=-1) - margin / 2
        return (middle[..., :, None] - middle[..., None, :]) ** 2
    k = len(categories)
    if level == "nominal":
        squared: FloatArray = 1.0 - np.eye(k)
    else:
        squared = (categories[:, None] - categories[None, :]) ** 2
        if level == "ratio":
            both = np.abs(categories[:, None] + categories[None, :])
            squared = squared / np.where(both > 0, both, 1.0) ** 2
    return np.broadcast_to(squared, (*margin.shape[:-1], k, k))


def _centred(margin: FloatArray) -> FloatArray:
    """Mid-ranks of the categories, less their mean."""
    middle = np.cumsum(margin, axis=-1) - margin / 2
    centred: FloatArray = middle - (margin * middle).sum(axis=-1, keepdims=True)
    return centred


def _spread(margin: FloatArray) -> FloatArray:
    spread: FloatArray = (margin * _centred(margin) ** 2).sum(axis=-1)
    return spread
