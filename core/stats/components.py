"""How much of the spread of ratings is the dialogue, the annotator, and the rest.

Two-way random effects without interaction. Where everybody rated everything this is the usual
analysis of variance; where not, the method of fitting constants (Henderson's third), which
gives the same numbers in the balanced case and stays unbiased in the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from core.stats.types import Degenerate, FloatArray, IntArray, ShapeError


@dataclass(frozen=True, slots=True)
class Components:
    """Variances of one rating: between dialogues, between annotators, and the rest.

    `ms_*` are the mean squares they come from (of dialogues and annotators each adjusted for
    the other). A variance that comes out below 0 is 0 here, and the warnings say so.
    """

    item: float
    rater: float
    noise: float
    ms_item: float
    ms_rater: float
    ms_noise: float
    n_items: int
    n_raters: int
    n_labels: int
    balanced: bool
    method: str
    warnings: tuple[str, ...] = ()

    def absolute(self, raters: int = 1) -> float:
        """ICC(A, k): reliability of the mean of `raters` annotators, their severity included."""
        return self._reliability(self.noise + self.rater, raters)

    def consistency(self, raters: int = 1) -> float:
        """ICC(C, k): the same where all dialogues have the same annotators."""
        return self._reliability(self.noise, raters)

    def _reliability(self, disturbance: float, raters: int) -> float:
        whole = self.item + disturbance / raters
        return self.item / whole if whole > 0 else math.nan

    def mean_se(self, items: int, labels_each: float = 1, raters: int | None = None) -> float:
        """Standard error of a mean over `items` dialogues.

        With `raters` it holds for annotators like these, which more dialogues cannot improve;
        without, for just this panel.
        """
        variance = self.item / items + self.noise / (items * labels_each)
        return math.sqrt(variance + (self.rater / raters if raters else 0.0))


def variance_components(ratings: ArrayLike) -> Components:
    """Components from `ratings` (annotators x dialogues), NaN where there is no label.

    Raises `ShapeError`, and `Degenerate` where annotators share too few dialogues.
    """
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2:
        raise ShapeError("ratings must be a table of annotators and dialogues")
    given = ~np.isnan(table)
    table, given = _rated(table, given)
    sums = _Sums.of(table, given)
    df_noise = sums.n - sums.items - sums.rank
    if sums.rank == 0 or df_noise < 1 or sums.n <= sums.raters:
        raise Degenerate("annotators share too few dialogues to tell them from the rest")
    ms_noise = sums.noise / df_noise
    found = {
        "noise": ms_noise,
        "rater": (sums.rater - sums.rank * ms_noise) / (sums.n - sums.items),
        "item": (sums.item - sums.df_item * ms_noise) / (sums.n - sums.raters),
    }
    balanced = bool(given.all())
    names = {"rater": "annotators", "item": "dialogues", "noise": "the rest"}
    return Components(
        item=max(0.0, found["item"]),
        rater=max(0.0, found["rater"]),
        noise=max(0.0, found["noise"]),
        ms_item=sums.item / sums.df_item if sums.df_item else math.nan,
        ms_rater=sums.rater / sums.rank,
        ms_noise=ms_noise,
        n_items=sums.items,
        n_raters=sums.raters,
        n_labels=sums.n,
        balanced=balanced,
        method="analysis of variance" if balanced else "fitting constants, not all rated all",
        warnings=tuple(
            f"the variance of {names[name]} came out below 0 and is taken as 0"
            for name, value in found.items()
            if value < 0
        ),
    )


@dataclass(frozen=True, slots=True)
class _Sums:
    """Sums of squares: of dialogues given annotators, annotators given dialogues, the rest."""

    item: float
    rater: float
    noise: float
    items: int
    raters: int
    n: int
    rank: int

    @property
    def df_item(self) -> int:
        return self.items + self.rank - self.raters

    @classmethod
    def of(cls, table: FloatArray, given: np.typing.NDArray[np.bool_]) -> _Sums:
        """Dialogues are swept out, so that only a table of annotators has to be inverted."""
        y = np.where(given, table - table[given].mean(), 0.0) if given.any() else table
        seen = given.astype(np.float64)
        per_item, per_rater = seen.sum(axis=0), seen.sum(axis=1)
        of_items = float((y.sum(axis=0) ** 2 / per_item).sum())
        of_raters = float((y.sum(axis=1) ** 2 / per_rater).sum())
        adjusted = y.sum(axis=1) - seen @ (y.sum(axis=0) / per_item)
        information = np.diag(per_rater) - (seen / per_item) @ seen.T
        inverse = np.linalg.pinv(information, rcond=1e-10, hermitian=True)
        rater = float(adjusted @ inverse @ adjusted)
        model = of_items + rater
        return cls(
            item=max(0.0, model - of_raters),
            rater=rater,
            noise=max(0.0, float((y**2).sum()) - model),
            items=table.shape[1],
            raters=table.shape[0],
            n=int(seen.sum()),
            rank=int(np.linalg.matrix_rank(information, tol=1e-8, hermitian=True)),
        )


def _rated(
    table: FloatArray, given: np.typing.NDArray[np.bool_]
) -> tuple[FloatArray, np.typing.NDArray[np.bool_]]:
    """Without annotators and dialogues that have no label."""
    items: IntArray = np.flatnonzero(given.any(axis=0))
    raters: IntArray = np.flatnonzero(given.any(axis=1))
    if not len(items):
        raise Degenerate("there is no label")
    return table[np.ix_(raters, items)], given[np.ix_(raters, items)]
