"""Labels as evidence of agreement: which rows of annotations count, and what they are.

Only a blind label of a dialogue that was drawn at random counts, at the inverse of the
probability with which it was drawn. Everything else is left out and counted by its reason; a
row that should count but cannot be weighted is an error and never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.stats.types import (
    FloatArray,
    IntArray,
    MixedInstruments,
    NotProbabilitySample,
    ShapeError,
)

if TYPE_CHECKING:
    import pandas as pd

BoolArray = NDArray[np.bool_]

EVIDENCE = frozenset({"design", "overlap"})
"""Reasons of an annotation that make it evidence: its dialogue was drawn at random."""

COLUMNS = (
    "dialogue_id", "persona_id", "arm", "dimension", "annotator", "value_before_reveal",
    "value_after_reveal", "reason", "pi", "judge_value", "instrument", "instrument_id",
    "submitted_at",
)  # fmt: skip
"""What a table of annotations must have: one row for each annotation and each instrument that
judged the same. `value_before_reveal` is NaN for "cannot judge", `value_after_reveal` where
nothing was revealed or said after, `pi` where nothing was drawn, `judge_value` where the judge
gave none (then the instrument may be missing too).

Optional: `turn` (per-turn dimensions), `judge_visible_before` (default no), `rubric` (the
version that the person saw)."""

SEEN, CANNOT, AGAIN = "judge in sight", "cannot judge", "labelled again"


@dataclass(frozen=True, slots=True)
class Item:
    """What was labelled: a dialogue, or one turn of it."""

    dialogue_id: str
    turn: int | None
    persona_id: str
    arm: str


@dataclass(frozen=True, slots=True)
class Labels:
    """The blind, drawn labels of one dimension, as codes into `items` and `annotators`.

    One label of each annotator for each item, ordered by when it was given; `weight` is 1/pi of
    its item, `judge` the judge's value of it or NaN.
    """

    items: tuple[Item, ...]
    annotators: tuple[str, ...]
    item: IntArray
    annotator: IntArray
    persona: IntArray
    value: FloatArray
    judge: FloatArray
    weight: FloatArray
    at: Sequence[Any]
    left_out: Mapping[str, int]

    @property
    def arms(self) -> tuple[str, ...]:
        return tuple(sorted({item.arm for item in self.items}))

    @property
    def n_personas(self) -> int:
        return len({item.persona_id for item in self.items})

    @property
    def equal_draws(self) -> bool:
        return len(self.weight) == 0 or bool(np.ptp(self.weight) == 0)

    @property
    def shared_weight(self) -> FloatArray:
        """The weight of each label: that of its item, shared by all who labelled it."""
        labels = np.bincount(self.item, minlength=len(self.items))
        shared: FloatArray = self.weight / labels[self.item]
        return shared

    def per_item(self, values: FloatArray) -> FloatArray:
        """One value for each item from one for each label of it, all the same."""
        found = np.full(len(self.items), np.nan)
        found[self.item] = values
        return found

    def table(self) -> FloatArray:
        """Annotators x items, NaN where there is no label."""
        found = np.full((len(self.annotators), len(self.items)), np.nan)
        found[self.annotator, self.item] = self.value
        return found


def instruments(rows: pd.DataFrame, dimension: str) -> dict[str, str]:
    """Instrument id to label, of those that judged what people labelled."""
    part = rows[(rows["dimension"] == dimension) & rows["judge_value"].notna()]
    pairs = part[["instrument_id", "instrument"]].drop_duplicates()
    return {str(key): str(label) for key, label in pairs.itertuples(index=False)}


def of_instrument(
    rows: pd.DataFrame, dimension: str, instrument_id: str | None
) -> tuple[pd.DataFrame, str]:
    """The rows of one dimension with the values of one instrument, and its label.

    An annotation that this instrument did not judge stays, without a judge's value. Raises
    `ShapeError` when a column is missing, `MixedInstruments` when several instruments judged
    and none is named, or people saw several versions of the rubric.
    """
    missing = [name for name in COLUMNS if name not in rows.columns]
    if missing:
        raise ShapeError(f"the table of annotations lacks {', '.join(missing)}")
    part = rows[rows["dimension"] == dimension]
    known = instruments(part, dimension)
    if instrument_id is None and len(known) > 1:
        raise MixedInstruments(
            f"{dimension} was rated by {len(known)} instruments; choose one of them: "
            + ", ".join(known.values())
        )
    wanted = instrument_id or next(iter(known), "")
    chosen = (part["instrument_id"] == wanted).to_numpy(dtype=bool)
    own = part.assign(judge_value=part["judge_value"].where(chosen))
    ranked = own.iloc[np.argsort(~chosen, kind="stable")]
    one = ranked[~ranked.duplicated([*_label_key(ranked), "submitted_at"])]
    _one_rubric(one, dimension)
    return one, known.get(wanted, "")


def _label_key(rows: pd.DataFrame) -> list[str]:
    """Columns that say who labelled what."""
    return ["dialogue_id", "annotator", *(["turn"] if "turn" in rows else [])]


def _one_rubric(part: pd.DataFrame, dimension: str) -> None:
    if "rubric" in part and part["rubric"].dropna().nunique() > 1:
        versions = ", ".join(sorted(part["rubric"].dropna().astype(str).unique()))
        raise MixedInstruments(
            f"people labelled {dimension} by several versions of its rubric ({versions}); "
            "choose the labels of one"
        )


def blind_labels(rows: pd.DataFrame) -> Labels:
    """The evidence among rows of one dimension and one instrument.

    Of several labels that one person gave one item the first counts. Raises
    `NotProbabilitySample` when a label that was drawn has no probability in (0, 1], or two.
    """
    ordered = rows.sort_values("submitted_at", kind="stable")
    ordered, left_out = _evidence(ordered)
    _drawn(ordered["pi"].to_numpy(dtype=np.float64))
    item, items = _items(ordered)
    people = ordered["annotator"].astype(str).to_numpy()
    annotators, annotator = np.unique(people, return_inverse=True)
    persona = np.unique(ordered["persona_id"].astype(str).to_numpy(), return_inverse=True)[1]
    weight = 1 / ordered["pi"].to_numpy(dtype=np.float64)
    _one_probability(item, weight, len(items))
    return Labels(
        items=items,
        annotators=tuple(str(name) for name in annotators),
        item=item,
        annotator=annotator,
        persona=persona,
        value=ordered["value_before_reveal"].to_numpy(dtype=np.float64),
        judge=ordered["judge_value"].to_numpy(dtype=np.float64),
        weight=weight,
        at=ordered["submitted_at"].tolist(),
        left_out=left_out,
    )


def visible_before(rows: pd.DataFrame) -> BoolArray:
    """Which rows were labelled with the judge in sight."""
    if "judge_visible_before" not in rows:
        return np.zeros(len(rows), dtype=bool)
    return rows["judge_visible_before"].fillna(False).to_numpy(dtype=bool)


def _evidence(rows: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, int]]:
    """The rows that count, and how many of the others there are by reason."""
    reason = rows["reason"].astype(str).to_numpy()
    drawn = np.isin(reason, list(EVIDENCE))
    seen = visible_before(rows)
    given = rows["value_before_reveal"].notna().to_numpy()
    why = np.where(~drawn, reason, np.where(seen, SEEN, np.where(given, "", CANNOT)))
    kept = rows[why == ""]
    again = kept.duplicated(_label_key(kept)).to_numpy()
    counts = {str(name): int((why == name).sum()) for name in np.unique(why) if name}
    if again.any():
        counts[AGAIN] = int(again.sum())
    return kept[~again], counts


def _drawn(pi: FloatArray) -> None:
    if not ((pi > 0) & (pi <= 1)).all():
        raise NotProbabilitySample(
            "a label of the random draw has no probability above 0; draw the review again"
        )


def _one_probability(item: IntArray, weight: FloatArray, n_items: int) -> None:
    lowest, highest = np.full(n_items, np.inf), np.zeros(n_items)
    np.minimum.at(lowest, item, weight)
    np.maximum.at(highest, item, weight)
    if (highest > lowest * (1 + 1e-9)).any():
        raise NotProbabilitySample(
            "a dialogue was drawn with two probabilities; look at one review design at a time"
        )


def _items(rows: pd.DataFrame) -> tuple[IntArray, tuple[Item, ...]]:
    turns = rows["turn"].tolist() if "turn" in rows else [None] * len(rows)
    names = ("dialogue_id", "persona_id", "arm")
    found: dict[tuple[str, int | None], int] = {}
    items: list[Item] = []
    code = np.zeros(len(rows), dtype=np.intp)
    columns = [rows[name].astype(str).tolist() for name in names]
    for i, (dialogue, persona, arm, raw) in enumerate(zip(*columns, turns, strict=True)):
        turn = None if raw is None or raw != raw else int(raw)
        key = (dialogue, turn)
        if key not in found:
            found[key] = len(items)
            items.append(Item(dialogue, turn, persona, arm))
        code[i] = found[key]
    return code, tuple(items)
