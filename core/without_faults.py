"""Arms with and without the dialogues in which something else than the assistant was at fault.

Only what a person confirmed is left out, and both numbers are always shown: leaving out is a
choice made after looking.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.compare import compare
from core.comparison import ArmEstimate, Difference

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class BothWays:
    """An arm, and its difference to the baseline, over all dialogues and without the faults.

    `left_out` counts its dialogues with a rating that a confirmed fault takes out. `gap` and
    `gap_without` are None for the baseline.
    """

    arm: str
    all: ArmEstimate
    without: ArmEstimate
    left_out: int
    gap: Difference | None
    gap_without: Difference | None


def both_ways(
    ratings: pd.DataFrame,
    faulty: Collection[str],
    *,
    arms: Sequence[str],
    baseline: str,
    instrument_id: str,
) -> tuple[BothWays, ...]:
    """Compare twice; `faulty` names dialogues (`core.faults.not_about_the_assistant`)."""
    mine = ratings[ratings["instrument_id"] == instrument_id]
    out = mine["dialogue_id"].isin(faulty)
    left = mine[out].groupby("arm")["dialogue_id"].nunique()
    whole = compare(mine, arms=arms, baseline=baseline)
    rest = compare(mine[~out], arms=arms, baseline=baseline)
    gaps = {d.arm: d for d in whole.differences}
    gaps_without = {d.arm: d for d in rest.differences}
    without = {row.arm: row for row in rest.rows}
    return tuple(
        BothWays(
            arm=row.arm,
            all=row,
            without=without.get(row.arm, _nothing(row)),
            left_out=int(left.get(row.arm, 0)),
            gap=gaps.get(row.arm),
            gap_without=gaps_without.get(row.arm),
        )
        for row in whole.rows
    )


def _nothing(row: ArmEstimate) -> ArmEstimate:
    """Every dialogue of every arm is left out."""
    return ArmEstimate(
        row.arm, row.dimension, row.instrument, row.instrument_id,
        None, None, None, 0, 0, 0, row.method,
    )  # fmt: skip
