"""Which side is preferred: pairwise choices as a table, strengths, ranks and how sure they are.

Whole personas are drawn again for every interval: single choices of one persona are not
independent. With two sides the model adds nothing; read the share of the one pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from core.stats.davidson import Fitted, bounded, connected, fit, probabilities
from core.stats.intervals import FEW_CLUSTERS, clusters, mean_ci, scores
from core.stats.resample import counted
from core.stats.types import (
    Degenerate,
    Estimate,
    FloatArray,
    IntArray,
    ShapeError,
    TooFewClusters,
)

Ties = Literal["davidson", "half"]
_TAILS = (0.025, 0.975)
PSEUDO = 0.5
"""Comparisons added to each pair that met, evenly over the outcomes, where a side that is never
beaten (or never wins) would have an infinite strength."""


@dataclass(frozen=True, slots=True)
class Strength:
    """One side: its strength (all add up to 0), its rank (1 is best), and P(best).

    All limits are percentiles over the same draws of personas.
    """

    side: str
    t: float
    lo: float
    hi: float
    rank: int
    rank_lo: int
    rank_hi: int
    best: float


@dataclass(frozen=True, slots=True)
class PairChoice:
    """Two sides by name: counts, the share of the first (ties split), strengths a minus b.

    `share` is None where the two have met in fewer than two personas.
    """

    a: str
    b: str
    n: int
    wins: int
    losses: int
    ties: int
    share: Estimate | None
    difference: float
    lo: float
    hi: float

    @property
    def resolved(self) -> bool:
        return self.lo > 0 or self.hi < 0

    @property
    def net(self) -> float | None:
        """Net win rate: share won minus share lost."""
        return (self.wins - self.losses) / self.n if self.n else None


@dataclass(frozen=True, slots=True)
class Strengths:
    """Sides from the strongest down, and all pairs of them.

    `bands` gives each side's band, 0 the top: a side joins the band above when its difference
    to that band's first side is not resolved. `cyclic`: majorities go round in a circle, so
    that a matrix tells more than a ladder. `nu` is Davidson's, None where ties are half wins.
    """

    sides: tuple[Strength, ...]
    pairs: tuple[PairChoice, ...]
    bands: tuple[int, ...]
    cyclic: bool
    nu: float | None
    n: int
    n_clusters: int
    draws: int
    warnings: tuple[str, ...] = ()

    def probabilities(self, a: str, b: str) -> tuple[float, float, float]:
        """The model's probability that a wins, that b wins, and of a tie."""
        t = {side.side: side.t for side in self.sides}
        return probabilities(t[a], t[b], self.nu or 0.0)

    def share(self, a: str, b: str) -> float | None:
        """How often a was preferred to b, ties split; None where they never met."""
        for pair in self.pairs:
            if {pair.a, pair.b} == {a, b} and pair.n:
                first = (pair.wins + pair.ties / 2) / pair.n
                return first if pair.a == a else 1 - first
        return None


def pairwise_strengths(  # noqa: PLR0913 - the published signature
    left: ArrayLike,
    right: ArrayLike,
    outcome: ArrayLike,
    *,
    cluster: ArrayLike,
    ties: Ties = "davidson",
    boot: int = 1000,
    seed: int = 0,
) -> Strengths:
    """Strengths of sides from choices between `left` and `right`: 1 left, 0 right, 0.5 a tie.

    Pairs judged in both orders come in once, settled (`core.stats.bias.settled`). Raises
    `Degenerate` where pairs do not connect all sides or all outcomes are ties, `ShapeError`,
    `MissingScoreError`, `TooFewClusters`.
    """
    choices = _Choices.of(left, right, outcome, cluster)
    half = ties == "half"
    whole, added = _finite(choices.tables.sum(axis=0)[None], choices, half=half)
    if not len(whole):
        raise Degenerate("the pairs do not connect all sides, or every choice is a tie")
    found = fit(whole, choices.pairs, len(choices.sides), half=half)
    drawn = np.tensordot(counted(choices.n_clusters, boot, seed), choices.tables, axes=1)
    usable, mended = _finite(drawn, choices, half=half)
    if len(usable) < boot / 2:
        raise Degenerate("most draws of personas do not connect all sides; collect more choices")
    again = fit(usable, choices.pairs, len(choices.sides), half=half)
    sides = _sides(choices.sides, found.t[0], again.t)
    pairs = _pairs(choices, found, again)
    return Strengths(
        sides=sides,
        pairs=pairs,
        bands=_bands(sides, pairs),
        cyclic=_cyclic(choices),
        nu=None if half else float(found.nu[0]),
        n=len(choices.outcome),
        n_clusters=choices.n_clusters,
        draws=len(usable),
        warnings=_warnings(choices, bool(added), mended, boot - len(usable)),
    )


# --- choices ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Choices:
    """Checked choices; `tables` counts them by persona, pair, and first wins, second, tie."""

    sides: tuple[str, ...]
    pairs: IntArray
    pair: IntArray
    outcome: FloatArray
    code: IntArray
    n_clusters: int
    tables: FloatArray

    @classmethod
    def of(
        cls, left: ArrayLike, right: ArrayLike, outcome: ArrayLike, cluster: ArrayLike
    ) -> _Choices:
        said = scores(outcome)
        one, other = np.asarray(left).astype(str), np.asarray(right).astype(str)
        if not one.shape == other.shape == said.shape:
            raise ShapeError("each choice needs a left side, a right side and an outcome")
        if not np.isin(said, (0.0, 0.5, 1.0)).all():
            raise ShapeError("an outcome is 1 (left), 0.5 (tie) or 0 (right)")
        if (one == other).any():
            raise ShapeError("a side cannot be compared with itself")
        code, n_clusters = clusters(cluster, len(said))
        sides, places = np.unique(np.concatenate([one, other]), return_inverse=True)
        a, b = places[: len(one)], places[len(one) :]
        said = np.where(a < b, said, 1 - said)
        pairs = np.array(list(combinations(range(len(sides)), 2)))
        number = np.zeros((len(sides), len(sides)), dtype=np.intp)
        number[pairs[:, 0], pairs[:, 1]] = np.arange(len(pairs))
        pair = number[np.minimum(a, b), np.maximum(a, b)]
        tables = np.zeros((n_clusters, len(pairs), 3))
        kind = np.where(said == 1, 0, np.where(said == 0, 1, 2))
        np.add.at(tables, (code, pair, kind), 1.0)
        names = tuple(str(side) for side in sides)
        return cls(names, pairs, pair, said, code, n_clusters, tables)


def _finite(tables: FloatArray, choices: _Choices, *, half: bool) -> tuple[FloatArray, int]:
    """Sets of counts that can be fitted, those of infinite strengths mended; how many were."""
    n_sides = len(choices.sides)
    decided = tables[..., :2].sum(axis=(1, 2)) > 0
    kept = tables[connected(tables, choices.pairs, n_sides) & (decided | half)]
    endless = ~bounded(kept, choices.pairs, n_sides, half=half)
    met = (kept.sum(axis=-1) > 0)[..., None]
    outcomes = 2 if half else 3
    even = np.where(np.arange(3) < outcomes, PSEUDO / outcomes, 0.0)
    return kept + endless[:, None, None] * met * even, int(endless.sum())


# --- results ----------------------------------------------------------------------------------


def _sides(names: Sequence[str], t: FloatArray, drawn: FloatArray) -> tuple[Strength, ...]:
    lo, hi = np.quantile(drawn, _TAILS, axis=0)
    rank = _ranks(t[None])[0]
    ranks = _ranks(drawn)
    rank_lo, rank_hi = np.quantile(ranks, _TAILS, axis=0, method="inverted_cdf")
    best = (ranks == 1).mean(axis=0)
    found = [
        Strength(
            side=name,
            t=float(t[i]),
            lo=min(float(lo[i]), float(t[i])),
            hi=max(float(hi[i]), float(t[i])),
            rank=int(rank[i]),
            rank_lo=int(rank_lo[i]),
            rank_hi=int(rank_hi[i]),
            best=float(best[i]),
        )
        for i, name in enumerate(names)
    ]
    return tuple(sorted(found, key=lambda side: (-side.t, side.side)))


def _ranks(t: FloatArray) -> IntArray:
    """1 for the highest of each row; equal strengths share the better rank."""
    higher = t[:, None, :] > t[:, :, None] + 1e-12
    ranks: IntArray = 1 + higher.sum(axis=-1)
    return ranks


def _pairs(choices: _Choices, found: Fitted, again: Fitted) -> tuple[PairChoice, ...]:
    counts = choices.tables.sum(axis=0).astype(int)
    rows = []
    for k, (a, b) in enumerate(choices.pairs):
        gap = float(found.t[0, a] - found.t[0, b])
        lo, hi = (float(q) for q in np.quantile(again.t[:, a] - again.t[:, b], _TAILS))
        wins, losses, tied = (int(n) for n in counts[k])
        rows.append(
            PairChoice(
                a=choices.sides[a],
                b=choices.sides[b],
                n=wins + losses + tied,
                wins=wins,
                losses=losses,
                ties=tied,
                share=_share(choices, k),
                difference=gap,
                lo=min(lo, gap),
                hi=max(hi, gap),
            )
        )
    return tuple(rows)


def _share(choices: _Choices, k: int) -> Estimate | None:
    here = choices.pair == k
    if not here.any():
        return None
    try:
        return mean_ci(choices.outcome[here], cluster=choices.code[here])
    except TooFewClusters:
        return None


def _bands(sides: Sequence[Strength], pairs: Sequence[PairChoice]) -> tuple[int, ...]:
    apart = {frozenset((p.a, p.b)) for p in pairs if p.resolved}
    bands, first = [0], sides[0]
    for side in sides[1:]:
        new = frozenset((first.side, side.side)) in apart
        first = side if new else first
        bands.append(bands[-1] + new)
    return tuple(bands)


def _cyclic(choices: _Choices) -> bool:
    """Whether majorities go round: taking away sides that nobody beats leaves some over."""
    counts = choices.tables.sum(axis=0)
    beats = np.zeros((len(choices.sides),) * 2, dtype=bool)
    a, b = choices.pairs[:, 0], choices.pairs[:, 1]
    beats[a, b] = counts[:, 0] > counts[:, 1]
    beats[b, a] = counts[:, 1] > counts[:, 0]
    left = np.ones(len(choices.sides), dtype=bool)
    while left.any():
        unbeaten = left & ~beats[left].any(axis=0)
        if not unbeaten.any():
            return True
        left &= ~unbeaten
    return False


def _warnings(choices: _Choices, added: bool, mended: int, lost: int) -> tuple[str, ...]:
    notes: tuple[str, ...] = ()
    if choices.n_clusters < FEW_CLUSTERS:
        notes += (f"only {choices.n_clusters} personas",)
    if added:
        notes += ("a side was never beaten or never won: half a choice was added to each pair",)
    elif mended:
        notes += (f"half a choice was added to each pair in {mended} draws of personas",)
    if lost:
        notes += (f"{lost} draws of personas do not connect all sides and were left out",)
    if len(choices.sides) == 2:
        notes += ("with two sides read the share of choices, not the strengths",)
    return notes
