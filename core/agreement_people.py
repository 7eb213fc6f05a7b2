"""One annotator at a time, and one disagreement at a time: the rows below the coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from core.agreement_rows import Item, Labels
from core.stats.annotators import AnnotatorAgreement, Rater
from core.stats.bias import Effect, residual_bias
from core.stats.intervals import FEW_CLUSTERS, mean_ci
from core.stats.types import Degenerate, FloatArray, IntArray, TooFewClusters, TooFewLabels

BLOCK, MOST_BLOCKS = 10, 6
"""An annotator's labels in time are cut into blocks of at least this many, at most so many."""

WORST = 50

TOO_LITTLE = (Degenerate, TooFewClusters, TooFewLabels)
"""What a page shows as a gap with its reason; every other refusal is an error of the table."""


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of one annotator's labels: their mean minus the judge's on the same dialogues.

    The judge is one instrument and does not change, so that a trend is the annotator's. There
    is no interval from fewer than 8 personas.
    """

    start: Any
    end: Any
    n: int
    mean: float
    lo: float | None
    hi: float | None


@dataclass(frozen=True, slots=True)
class Annotator:
    """One annotator: how severe beside the others, and over time beside the judge.

    `rater` is None where people share too little to be compared. `change` is the later half of
    their labels minus the earlier, the judge's values subtracted from both.
    """

    name: str
    n: int
    mean: float
    rater: Rater | None
    blocks: tuple[Block, ...]
    change: Effect | None


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One dialogue (or turn) with what everybody said; `gap` is what it is sorted by."""

    item: Item
    judge: float | None
    labels: tuple[tuple[str, float], ...]
    gap: float


def annotator_rows(labels: Labels, people: AnnotatorAgreement | None) -> tuple[Annotator, ...]:
    """Every annotator by name, in the order of the rows of `people`."""
    return tuple(_annotator(labels, r, people) for r in range(len(labels.annotators)))


def far_from_judge(labels: Labels) -> tuple[Disagreement, ...]:
    """Where people's mean lies furthest from the judge; the worst first."""
    judge = labels.per_item(labels.judge)
    gap = np.abs(judge - np.nanmean(labels.table(), axis=0)) if len(labels.value) else judge
    return _sorted(labels, gap)


def among_people(labels: Labels) -> tuple[Disagreement, ...]:
    """Where labels of one dialogue lie furthest apart; the worst first."""
    lowest = np.full(len(labels.items), np.inf)
    highest = np.full(len(labels.items), -np.inf)
    np.minimum.at(lowest, labels.item, labels.value)
    np.maximum.at(highest, labels.item, labels.value)
    return _sorted(labels, highest - lowest)


def _annotator(labels: Labels, r: int, people: AnnotatorAgreement | None) -> Annotator:
    mine = np.flatnonzero(labels.annotator == r)
    scored = mine[~np.isnan(labels.judge[mine])]
    return Annotator(
        name=labels.annotators[r],
        n=len(mine),
        mean=float(labels.value[mine].mean()),
        rater=people.raters[r] if people is not None else None,
        blocks=_blocks(labels, scored),
        change=_change(labels, scored),
    )


def _blocks(labels: Labels, rows: IntArray) -> tuple[Block, ...]:
    """Equal stretches of rows, which are in the order of time; none below the least size."""
    many = min(MOST_BLOCKS, len(rows) // BLOCK)
    return tuple(_block(labels, part) for part in np.array_split(rows, many)) if many else ()


def _block(labels: Labels, rows: IntArray) -> Block:
    apart = labels.value[rows] - labels.judge[rows]
    lo = hi = None
    if _personas(labels, rows) >= FEW_CLUSTERS:
        found = mean_ci(apart, cluster=labels.persona[rows])
        lo, hi = found.lo, found.hi
    return Block(
        labels.at[int(rows[0])], labels.at[int(rows[-1])], len(rows), float(apart.mean()), lo, hi
    )


def _personas(labels: Labels, rows: IntArray) -> int:
    return len(np.unique(labels.persona[rows]))


def _change(labels: Labels, rows: IntArray) -> Effect | None:
    if len(rows) < 2 * BLOCK or _personas(labels, rows) < FEW_CLUSTERS:
        return None
    later = (np.arange(len(rows)) >= len(rows) / 2) * 1.0
    try:
        found = residual_bias(
            labels.value[rows] - labels.judge[rows],
            later,
            names=["later half"],
            cluster=labels.persona[rows],
        )
    except TOO_LITTLE:
        return None
    return found.effects[0]


def _sorted(labels: Labels, gap: FloatArray) -> tuple[Disagreement, ...]:
    judge = labels.per_item(labels.judge)
    order = [int(i) for i in np.argsort(-np.nan_to_num(gap), kind="stable") if gap[i] > 0]
    return tuple(
        Disagreement(
            item=labels.items[i],
            judge=None if np.isnan(judge[i]) else float(judge[i]),
            labels=_said(labels, i),
            gap=float(gap[i]),
        )
        for i in order[:WORST]
    )


def _said(labels: Labels, item: int) -> tuple[tuple[str, float], ...]:
    rows = np.flatnonzero(labels.item == item)
    return tuple(
        sorted((labels.annotators[labels.annotator[k]], float(labels.value[k])) for k in rows)
    )
