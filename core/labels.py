"""Labels as they stand, and what of them is evidence.

Only a blind label of a dialogue that a stored design drew counts: it is made so here, and there
is no other way to one. All else is left out, and counted by why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from core.agreement_rows import COLUMNS, BoolArray
from core.review_types import Act, Annotation, Reason, ReviewDesign, ReviewItem
from core.stats.types import FloatArray

if TYPE_CHECKING:
    import pandas as pd

    from core.review_ports import ReviewingStore

_EVIDENCE = (Reason.DESIGN, Reason.OVERLAP)


@dataclass(frozen=True, slots=True)
class Label:
    """One person's label of one dimension of one dialogue, as it stands.

    `value` is what was said blind and `after` what was said with the judge in sight, if
    anything was. `seen` tells that the judge was in sight before.
    """

    id: str
    root_id: str
    dialogue_id: str
    dimension: str
    turn: int | None
    annotator: str
    reason: Reason
    value: int | None
    cannot: str
    seen: bool
    rubric: str
    note: str
    marks: tuple[int, ...]
    opened_at: datetime
    submitted_at: datetime
    active_seconds: float
    revealed: bool = False
    after: int | None = None
    why: str = ""

    @property
    def evidence(self) -> bool:
        """Whether it may enter an estimate, once its design says with which probability."""
        return self.reason in _EVIDENCE and not self.seen

    @property
    def now(self) -> int | None:
        """The value in force for whoever reads it."""
        return self.value if self.after is None else self.after


def standing(annotations: Iterable[Annotation]) -> list[Label]:
    """The labels that were not taken back, in the order in which they were given."""
    rows = list(annotations)
    undone = {row.supersedes for row in rows if row.act is Act.UNDONE}
    after = {row.supersedes: row for row in rows if row.act is Act.AFTER}
    shown = {row.supersedes for row in rows if row.act is Act.REVEALED}
    return [
        _label(row, after.get(row.id), row.id in shown)
        for row in rows
        if row.act is Act.RATED and row.id not in undone
    ]


def _label(row: Annotation, after: Annotation | None, revealed: bool) -> Label:
    return Label(
        id=row.id,
        root_id=row.root_id,
        dialogue_id=row.dialogue_id,
        dimension=row.dimension,
        turn=row.turn,
        annotator=row.annotator,
        reason=row.reason,
        value=row.value,
        cannot=row.cannot,
        seen=row.judge_visible_before,
        rubric=row.rubric,
        note=row.note,
        marks=row.marks,
        opened_at=row.opened_at,
        submitted_at=row.submitted_at,
        active_seconds=row.active_seconds,
        revealed=revealed or after is not None,
        after=None if after is None else after.value,
        why="" if after is None else after.why,
    )


def annotation_rows(study_id: str, dimension: str, store: ReviewingStore) -> pd.DataFrame:
    """The labels of a study as `core.agreement` takes them: see `agreement_rows.COLUMNS`.

    One row for each label and each instrument that judged the same, or one without.
    """
    import pandas as pd

    labels = [
        label
        for label in standing(store.study_annotations(study_id))
        if label.dimension == dimension
    ]
    drawn = _probabilities(store.list_designs(study_id), store)
    judged = _judged(store.ratings(study_id, dimension=dimension))
    places = {e.dialogue_id: (e.persona_id, e.arm) for e in store.eligible(study_id, (), ())}
    rows = []
    for label in labels:
        persona, arm = places.get(label.dialogue_id, ("", ""))
        if not persona:
            continue  # its dialogue was replaced, or is a branch
        row = {
            "dialogue_id": label.dialogue_id,
            "persona_id": persona,
            "arm": arm,
            "dimension": dimension,
            "turn": label.turn,
            "annotator": label.annotator,
            "value_before_reveal": _number(label.value),
            "value_after_reveal": _number(label.now) if label.revealed else np.nan,
            "reason": str(label.reason),
            "pi": drawn.get((label.root_id, label.dialogue_id), np.nan),
            "submitted_at": label.submitted_at,
            "judge_visible_before": label.seen,
            "rubric": label.rubric,
        }
        beside = judged.get((label.dialogue_id, label.turn), ())
        rows += [row | said for said in beside or ({},)]
    extra = ("turn", "judge_visible_before", "rubric")
    frame = pd.DataFrame(rows, columns=[*COLUMNS, *extra])
    return frame.astype({"value_before_reveal": float, "value_after_reveal": float, "pi": float})


def _number(value: int | None) -> float:
    return np.nan if value is None else float(value)


def _probabilities(
    designs: Iterable[ReviewDesign], store: ReviewingStore
) -> dict[tuple[str, str], float]:
    """By root and dialogue the probability under the design's last extension, if drawn."""
    found: dict[tuple[str, str], float] = {}
    seen: set[str] = set()
    for design in designs:  # newest first
        if design.root_id in seen:
            continue
        seen.add(design.root_id)
        for item in store.list_items(design.id, selected=True):
            found[design.root_id, item.dialogue_id] = item.pi
    return found


def _judged(ratings: pd.DataFrame) -> dict[tuple[str, int | None], list[dict[str, Any]]]:
    import pandas as pd

    found: dict[tuple[str, int | None], list[dict[str, Any]]] = {}
    names = ["dialogue_id", "turn", "value", "instrument", "instrument_id"]
    for dialogue, turn, value, instrument, instrument_id in ratings[names].itertuples(index=False):
        said = {"judge_value": value, "instrument": instrument, "instrument_id": instrument_id}
        key = (dialogue, None if pd.isna(turn) else int(turn))
        found.setdefault(key, []).append(said)
    return found


# --- evidence for estimates ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Evidence:
    """A frame as `core.stats.corrected_mean` takes it: one entry for each dialogue of it.

    `judge` is NaN where the judge gave no value, `human` where nobody labelled the dialogue:
    else it is the mean of its blind labels. `left_out` counts labels that are no evidence.
    """

    dialogue_ids: tuple[str, ...]
    personas: tuple[str, ...]
    arms: tuple[str, ...]
    strata: tuple[str, ...]
    scenarios: tuple[str, ...]
    selected: BoolArray
    pi: FloatArray
    judge: FloatArray
    human: FloatArray
    drawn: int
    labelled: int
    left_out: Mapping[str, int]

    @property
    def completion(self) -> float:
        """The share of drawn dialogues that somebody has labelled."""
        return self.labelled / self.drawn if self.drawn else 0.0


def evidence(
    design: ReviewDesign, dimension: str, instrument_id: str, store: ReviewingStore
) -> Evidence:
    """What a design's labels say of one dimension, beside one instrument's values.

    `design` is the last extension of its root. A dialogue that was drawn and not labelled has
    no human value; whoever estimates decides whether the rest may stand for it.
    """
    items = store.list_items(design.id)
    known = {e.dialogue_id: e for e in store.eligible(design.study_id, design.arms, ())}
    items = [item for item in items if item.dialogue_id in known]
    ratings = store.ratings(design.study_id, dimension=dimension)
    mine = ratings[ratings["instrument_id"] == instrument_id]
    judge = dict(zip(mine["dialogue_id"], mine["value"], strict=True))
    human, left_out = _blind_means(design, dimension, items, store)
    return Evidence(
        dialogue_ids=tuple(item.dialogue_id for item in items),
        personas=tuple(known[item.dialogue_id].persona_id for item in items),
        arms=tuple(known[item.dialogue_id].arm for item in items),
        strata=tuple(item.stratum for item in items),
        scenarios=tuple(known[item.dialogue_id].scenario for item in items),
        selected=np.array([item.selected for item in items], dtype=bool),
        pi=np.array([item.pi for item in items]),
        judge=np.array([judge.get(item.dialogue_id, np.nan) for item in items], dtype=float),
        human=np.array([human.get(item.dialogue_id, np.nan) for item in items], dtype=float),
        drawn=sum(item.selected for item in items),
        labelled=sum(item.dialogue_id in human for item in items),
        left_out=left_out,
    )


def _blind_means(
    design: ReviewDesign, dimension: str, items: Iterable[ReviewItem], store: ReviewingStore
) -> tuple[dict[str, float], Mapping[str, int]]:
    drawn = {item.dialogue_id for item in items if item.selected}
    values: dict[str, list[int]] = {}
    left_out: Counter[str] = Counter()
    for label in standing(store.study_annotations(design.study_id)):
        if label.dimension != dimension or label.turn is not None:
            continue
        if why := _refused(label, design, drawn):
            left_out[why] += 1
        else:
            assert label.value is not None
            values.setdefault(label.dialogue_id, []).append(label.value)
    return {name: float(np.mean(found)) for name, found in values.items()}, dict(left_out)


def _refused(label: Label, design: ReviewDesign, drawn: set[str]) -> str:
    """Why a label is no evidence under this design; empty when it is."""
    if label.root_id != design.root_id:
        return "of another design" if label.root_id else "not drawn"
    if label.reason not in _EVIDENCE or label.dialogue_id not in drawn:
        return "not drawn"
    if label.seen:
        return "judge in sight"
    if label.rubric != design.rubrics.get(label.dimension):
        return "another rubric version"
    return "cannot judge" if label.value is None else ""
