"""What every statistic returns, and how it refuses."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]


class StatsError(ValueError):
    """A statistic cannot be computed from what it was given."""


class ShapeError(StatsError):
    """Arrays that belong together differ in length, are empty, or hold impossible values."""


class MissingScoreError(StatsError):
    """A value is missing where the method has no place for missing values."""


class NotProbabilitySample(StatsError):
    """The labelled rows were not drawn by a recorded random design."""


class TooFewLabels(StatsError):
    """Fewer human labels than the method needs."""


class TooFewClusters(StatsError):
    """Fewer personas than the method needs."""


class MixedInstruments(StatsError):
    """Values of more than one judge, prompt or rubric version would be put together."""


class Degenerate(StatsError):
    """No variation, or no connection, where the method needs one."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """One number with its uncertainty and its origin.

    `se` and the interval are clustered where clusters were given; `df` is None where the
    interval uses no t distribution. `n_effective` is the sample size that a clustered rate's
    interval is worth. `warnings` are short clauses for a reader.
    """

    est: float
    se: float
    lo: float
    hi: float
    conf: float
    n: int
    n_clusters: int
    df: int | None
    method: str
    target: str = "superpop"
    warnings: tuple[str, ...] = ()
    n_effective: float | None = None


@dataclass(frozen=True, slots=True)
class PairedDiff:
    """The mean of `y_b - y_a` over the same items, and what says whether it is 0.

    `estimate` holds the difference with its clustered t interval; `p_signflip` is the exact
    (or sampled) sign-flip test over personas, and is the p to report. `superiority` is
    P(b > a) + P(tie) / 2. `wins`, `losses` and `ties` count items from b's side.
    """

    estimate: Estimate
    t: float
    p_t: float
    p_signflip: float
    superiority: Estimate
    wins: int
    losses: int
    ties: int

    @property
    def net_win_rate(self) -> Estimate:
        """Share of items that b wins minus the share that it loses, from -1 to 1.

        Ties count half in `superiority`; it is the same number on another scale.
        """
        half = self.superiority
        return replace(
            half, est=2 * half.est - 1, se=2 * half.se, lo=2 * half.lo - 1, hi=2 * half.hi - 1
        )


@dataclass(frozen=True, slots=True)
class PairResult:
    """One pair of a family: columns `b` minus `a`, with the p adjusted for the family."""

    a: int
    b: int
    diff: PairedDiff
    p_adjusted: float
