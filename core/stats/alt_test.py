"""The alternative annotator test: may the judge stand in for one of the annotators?

Each annotator in turn is left out, and the judge and they are scored against the others
(Calderon, Reichart and Dror 2025). Passing says nothing about bias, and where one value is
common a judge that always says it passes too; the verdict is then withheld.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.stats.intervals import clusters, cr1
from core.stats.types import (
    FloatArray,
    MissingScoreError,
    ShapeError,
    TooFewLabels,
)

Scoring = Literal["exact", "neg_rmse"]
Outcome = Literal["passes", "fails", "withheld"]
BoolArray = NDArray[np.bool_]

MARGINS = {"experts": 0.2, "trained": 0.15, "crowd": 0.1}
"""The published `eps`: how much better than the judge annotators of each kind may be, since
asking them costs more."""

ADVISED_ITEMS, ADVISED_ANNOTATORS = 50, 3
_PASS = 0.5


@dataclass(frozen=True, slots=True)
class Beside:
    """The judge beside one annotator, by column, on the `n` dialogues shared with others.

    `judge_ahead` is the share where the judge is at least as close to the others, and
    `person_ahead` the share where the annotator is. `beaten`: they differ by less than the margin.
    """

    annotator: int
    n: int
    judge_ahead: float
    person_ahead: float
    p: float
    p_adjusted: float
    beaten: bool


@dataclass(frozen=True, slots=True)
class AltTest:
    """`winning_rate` (omega) is the share of annotators beaten, at least half of them to pass.

    `advantage` (rho) is the mean of `judge_ahead`: the number to compare judges by.
    `constant_passes` names the values that a judge could always say and pass; then `outcome` is
    `withheld` where it would be `passes`. `skipped` are annotators with too few dialogues.
    """

    scoring: Scoring
    eps: float
    winning_rate: float
    advantage: float
    passed: bool
    outcome: Outcome
    annotators: tuple[Beside, ...]
    skipped: tuple[int, ...]
    constant_passes: tuple[float, ...]
    clustered: bool
    warnings: tuple[str, ...] = ()

    @property
    def constant_judge_passes(self) -> bool:
        return bool(self.constant_passes)

    @property
    def n_beaten(self) -> int:
        return sum(row.beaten for row in self.annotators)


def alt_test(  # noqa: PLR0913 - the published signature
    judge: ArrayLike,
    humans: ArrayLike,
    *,
    scoring: Scoring,
    eps: float,
    q: float = 0.05,
    cluster: ArrayLike | None = None,
    min_items: int = 30,
) -> AltTest:
    """Test a judge (one value per dialogue) against `humans` (dialogues x annotators, NaN gaps).

    `exact` scores by the share of exact matches, for verdicts and names; `neg_rmse` by distance,
    for ratings. `eps` is one of `MARGINS`; `q` the false discovery rate. With `cluster` the
    tests know the personas; without, dialogues count as independent, as in the published test.
    Raises `TooFewLabels` when fewer than two annotators have `min_items` dialogues that others
    labelled too, `MissingScoreError`, `ShapeError`, `TooFewClusters`.
    """
    labels = _Labels.of(judge, humans, scoring, cluster, min_items)
    rows = labels.compared(labels.judge, eps, q)
    values = np.unique(labels.humans[~np.isnan(labels.humans)])
    constant = tuple(
        float(v) for v in values if _passes(labels.compared(np.full_like(labels.judge, v), eps, q))
    )
    passed = _passes(rows)
    return AltTest(
        scoring=scoring,
        eps=eps,
        winning_rate=_share(rows),
        advantage=float(np.mean([row.judge_ahead for row in rows])),
        passed=passed,
        outcome=("withheld" if constant else "passes") if passed else "fails",
        annotators=rows,
        skipped=labels.skipped,
        constant_passes=constant,
        clustered=cluster is not None,
        warnings=_warnings(rows),
    )


@dataclass(frozen=True, slots=True)
class _Labels:
    judge: FloatArray
    humans: FloatArray
    scoring: Scoring
    code: NDArray[np.intp]
    tested: tuple[int, ...]
    skipped: tuple[int, ...]

    @classmethod
    def of(
        cls,
        judge: ArrayLike,
        humans: ArrayLike,
        scoring: Scoring,
        cluster: ArrayLike | None,
        min_items: int,
    ) -> _Labels:
        said = np.asarray(judge, dtype=np.float64)
        table = np.asarray(humans, dtype=np.float64)
        if said.ndim != 1 or table.ndim != 2 or len(said) != len(table) or not len(said):
            raise ShapeError("there must be one row of annotators for each value of the judge")
        if np.isnan(said).any():
            raise MissingScoreError("the judge must have a value on each dialogue")
        given = ~np.isnan(table)
        usable = (given & (given.sum(axis=1, keepdims=True) >= 2)).sum(axis=0)
        tested = tuple(int(r) for r in np.flatnonzero(usable >= max(min_items, 2)))
        if len(tested) < 2:
            raise TooFewLabels(
                f"the test needs two annotators with {min_items} dialogues that others labelled too"
            )
        skipped = tuple(r for r in range(table.shape[1]) if r not in tested)
        return cls(said, table, scoring, clusters(cluster, len(said))[0], tested, skipped)

    def compared(self, judge: FloatArray, eps: float, q: float) -> tuple[Beside, ...]:
        """The judge beside each annotator, with p's adjusted for all of them."""
        from scipy.stats import false_discovery_control

        found = [self._beside(judge, r, eps) for r in self.tested]
        adjusted = false_discovery_control([row[-1] for row in found], method="by")
        return tuple(
            Beside(r, n, ahead, behind, p, float(p_adjusted), bool(p_adjusted <= q))
            for r, (n, ahead, behind, p), p_adjusted in zip(
                self.tested, found, adjusted, strict=True
            )
        )

    def _beside(self, judge: FloatArray, r: int, eps: float) -> tuple[int, float, float, float]:
        others = np.delete(self.humans, r, axis=1)
        used = ~np.isnan(self.humans[:, r]) & ~np.isnan(others).all(axis=1)
        ours = self._score(judge[used], others[used])
        theirs = self._score(self.humans[used, r], others[used])
        judge_ahead, person_ahead = (ours >= theirs) * 1.0, (theirs >= ours) * 1.0
        p = _p_below(person_ahead - judge_ahead, self.code[used], eps)
        return int(used.sum()), float(judge_ahead.mean()), float(person_ahead.mean()), p

    def _score(self, values: FloatArray, others: FloatArray) -> FloatArray:
        """How close each value is to the others' labels of its dialogue; more is closer."""
        if self.scoring == "exact":
            given = ~np.isnan(others)
            matches = ((others == values[:, None]) & given).sum(axis=1)
            share: FloatArray = matches / given.sum(axis=1)
            return share
        distance: FloatArray = -np.nanmean((others - values[:, None]) ** 2, axis=1)
        # The root changes no order, and without it equal distances stay exactly equal.
        return distance


def _p_below(d: FloatArray, code: NDArray[np.intp], eps: float) -> float:
    """One-sided p that the mean of `d` is not below `eps`; clustered where there are clusters."""
    from scipy.special import stdtr

    found, count = clusters(code, len(d))
    mean, se = cr1(d, found, count)
    if se == 0:
        return 0.0 if mean < eps else 1.0
    return float(stdtr(count - 1, (mean - eps) / se))


def _share(rows: tuple[Beside, ...]) -> float:
    return sum(row.beaten for row in rows) / len(rows)


def _passes(rows: tuple[Beside, ...]) -> bool:
    return _share(rows) >= _PASS


def _warnings(rows: tuple[Beside, ...]) -> tuple[str, ...]:
    notes: tuple[str, ...] = ()
    if len(rows) < ADVISED_ANNOTATORS:
        notes += (f"only {len(rows)} annotators, and {ADVISED_ANNOTATORS} are advised",)
    fewest = min(row.n for row in rows)
    if fewest < ADVISED_ITEMS:
        notes += (f"only {fewest} dialogues of one annotator, and {ADVISED_ITEMS} are advised",)
    return notes
