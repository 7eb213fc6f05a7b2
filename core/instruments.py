"""Instruments beside each other: has a new one drifted, and several as one panel.

Two instruments are two rulers. They meet only here, on the same dialogues: as a shift between
them, or averaged into a panel, which is an instrument of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.agreement_rows import Item, blind_labels, of_instrument
from core.comparison import Ends
from core.errors import StudyError
from core.numerals import number
from core.stats.drift import Drift, Equivalence, equivalent, judge_drift
from core.stats.paired import paired_diff
from core.stats.types import PairedDiff, ShapeError, TooFewClusters
from core.types import digest

if TYPE_CHECKING:
    import pandas as pd

_SAME = ("dialogue_id", "dimension", "target", "turn")


@dataclass(frozen=True, slots=True)
class Shift:
    """A new instrument minus an old one on the dialogues that both rated.

    `equivalence` tests it against the margin; "no drift" is claimed by nothing else.
    """

    old: str
    new: str
    n: int
    n_personas: int
    one_only: int
    diff: PairedDiff
    equivalence: Equivalence

    @property
    def verdict(self) -> str:
        if self.equivalence.shown:
            return "equivalent"
        return "drift" if self.diff.p_signflip < 0.05 else "unresolved"


def margin_of(ends: Ends) -> float:
    """The shift that does not matter: a twentieth of the scale, a tenth for a rate."""
    return 0.1 if ends.verdict else 0.05 * (ends.high - ends.low)


def instrument_shift(ratings: pd.DataFrame, old: str, new: str, *, margin: float) -> Shift:
    """Compare two instruments (by id) on what both gave a value; `ratings` of one dimension.

    Raises `StudyError` when they share too little.
    """
    there = ratings[ratings["value"].notna()]
    keep = ["dialogue_id", "turn", "persona_id", "value", "instrument"]
    left, right = (there.loc[there["instrument_id"] == i, keep] for i in (old, new))
    both = left.merge(right, on=["dialogue_id", "turn", "persona_id"], suffixes=("_old", "_new"))
    if both.empty:
        raise StudyError("No dialogue has a value of both instruments; judge them with both first.")
    try:
        diff = paired_diff(
            both["value_old"].to_numpy(float),
            both["value_new"].to_numpy(float),
            cluster=both["persona_id"].astype(str).to_numpy(),
        )
    except TooFewClusters:
        raise StudyError("Both instruments rated one persona only, which is too few.") from None
    return Shift(
        old=str(left["instrument"].iloc[0]),
        new=str(right["instrument"].iloc[0]),
        n=len(both),
        n_personas=int(both["persona_id"].nunique()),
        one_only=len(left) + len(right) - 2 * len(both),
        diff=diff,
        equivalence=equivalent(
            (both["value_new"] - both["value_old"]).to_numpy(float),
            cluster=both["persona_id"].astype(str).to_numpy(),
            margin=margin,
        ),
    )


def shift_words(shift: Shift) -> str:
    """What the shift means, in a sentence; plain text."""
    est = shift.diff.estimate
    size = number(abs(est.est), 2)
    word = "higher" if est.est > 0 else "lower"
    reach = f"95 % interval {number(est.lo, 2, sign=True)} to {number(est.hi, 2, sign=True)}"
    basis = f"{shift.n:,} ratings of the same dialogues, {shift.n_personas} personas"
    margin = number(shift.equivalence.margin, 2)
    ends = {
        "equivalent": f"that is inside ±{margin}, so the two may stand for each other here",
        "drift": "numbers of the two must not be put side by side without a bridge",
        "unresolved": f"neither a drift nor its absence (within ±{margin}) is shown",
    }
    return (
        f"{shift.new} scores {size} points {word} than {shift.old} ({reach}; {basis}); "
        f"{ends[shift.verdict]}."
    )


def drift_from_people(
    annotations: pd.DataFrame, dimension: str, old: str, new: str, *, margin: float
) -> Drift:
    """Two instruments against each other and against blind labels of the same dialogues.

    `annotations` has the columns of `core.agreement_rows.COLUMNS`; only labels that are evidence
    count, several of one dialogue by their mean. Raises `StudyError` when too little was
    labelled and scored by both.
    """
    before, after = (
        _labelled(annotations, dimension, instrument_id) for instrument_id in (old, new)
    )
    shared = [item for item in before if item in after]
    try:
        return judge_drift(
            [before[item][0] for item in shared],
            [after[item][0] for item in shared],
            [before[item][1] for item in shared],
            cluster=[item.persona_id for item in shared],
            margin=margin,
        )
    except (TooFewClusters, ShapeError):
        raise StudyError(
            "Too few blind labels lie beside values of both instruments; label more of what both "
            "have rated."
        ) from None


def _labelled(
    annotations: pd.DataFrame, dimension: str, instrument_id: str
) -> dict[Item, tuple[float, float]]:
    """The judge's value and the mean of people's labels, of each item that has both."""
    part, _ = of_instrument(annotations, dimension, instrument_id)
    labels = blind_labels(part)
    sums: dict[Item, list[float]] = {}
    judge: dict[Item, float] = {}
    for place, value, said in zip(labels.item, labels.value, labels.judge, strict=True):
        item = labels.items[int(place)]
        sums.setdefault(item, []).append(float(value))
        judge[item] = float(said)
    return {
        item: (judge[item], sum(values) / len(values))
        for item, values in sums.items()
        if not math.isnan(judge[item])
    }


def panel_ratings(ratings: pd.DataFrame, members: Sequence[str]) -> pd.DataFrame:
    """The ratings of a panel: the mean of its members where all of them gave a value.

    What a member did not score is unscored for the panel, never the mean of the others. The
    panel has an instrument id of its own. Raises `StudyError` for fewer than two members.
    """

    own = sorted(set(members))
    if len(own) < 2:
        raise StudyError("A panel has at least two judges; choose another instrument.")
    part = ratings[ratings["instrument_id"].isin(own)]
    labels = part.drop_duplicates("instrument_id").set_index("instrument_id")["instrument"]
    unknown = [i for i in own if i not in labels.index]
    if unknown:
        raise StudyError(f"Nothing was rated by {unknown[0]}; a panel needs what all have rated.")
    rows = part.assign(_turn=part["turn"].fillna(-1).astype(int))
    by = rows.groupby(["dialogue_id", "dimension", "_turn"], sort=False)
    first = by.head(1).set_index(["dialogue_id", "dimension", "_turn"])
    whole = by["value"].count() == len(own)
    mean = by["value"].mean().where(whole)
    found: pd.DataFrame = first.assign(
        value=mean.reindex(first.index),
        status=["ok" if ok else "unparsable" for ok in whole.reindex(first.index)],
        instrument=f"panel of {len(own)}: " + " + ".join(sorted(set(map(str, labels)))),
        instrument_id=digest("panel", own)[:16],
    )
    return found.reset_index().drop(columns="_turn")[list(ratings.columns)]
