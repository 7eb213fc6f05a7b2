"""Three dialogues for each finding: the clearest for it, a typical one, the one least like it.

They are chosen by rule from the scenarios that both arms have, so that nobody picks the ones
that please: the largest and the smallest difference, and the one nearest to the mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.comparison import ArmEstimate, Comparison, Difference
from core.errors import NotFound
from core.ports import Store
from core.report_ledger import Claim, hash_lines
from core.types import Dialogue, Judgement

if TYPE_CHECKING:
    import pandas as pd

FOR, TYPICAL, AGAINST = "clearest for it", "typical", "least like it"
HIGH, MIDDLE, LOW = "highest", "in the middle", "lowest"


@dataclass(frozen=True, slots=True)
class Example:
    """A dialogue that shows a finding. `other` is what the same scenario got in the baseline."""

    finding: str  # the id of the claim it belongs to
    role: str
    dialogue: Dialogue
    judgement: Judgement | None
    value: float
    other: float | None = None

    @property
    def claim(self) -> Claim:
        return quote_claim(self.dialogue, self.judgement)


def quote_claim(dialogue: Dialogue, judgement: Judgement | None) -> Claim:
    """A quoted dialogue as a claim: these words, by these parties, judged so."""
    said = "" if judgement is None else f"{judgement.status}\t{judgement.rationale}"
    instrument = judgement.instrument if judgement else None
    dimension = judgement.dimension if judgement else ""
    facts = [dialogue.content_hash, dialogue.persona_id, dialogue.task_id, dialogue.arm.name]
    return Claim(
        id="|".join(("example", dialogue.id, judgement.id if judgement else "")),
        kind="example",
        arm=dialogue.arm.name,
        baseline="",
        dimension=dimension,
        instrument=instrument.label if instrument else "",
        instrument_id=instrument.id if instrument else "",
        method="quoted word for word",
        numbers={"value": judgement.value if judgement else None},
        data_hash=hash_lines([*facts, said]),
        dialogue_ids=(dialogue.id,),
    )


def quoted_now(claim_id: str, store: Store) -> Claim | None:
    """The claim of a quoted dialogue from what is stored now; None where it is not there."""
    _, dialogue_id, judgement_id = claim_id.split("|", 2)
    try:
        dialogue = store.get_dialogue(dialogue_id)
        judgement = store.get_judgement(judgement_id) if judgement_id else None
    except NotFound:
        return None
    return quote_claim(dialogue, judgement)


@dataclass(frozen=True, slots=True)
class _Pick:
    finding: str
    role: str
    dialogue_id: str
    dimension: str
    instrument_id: str
    value: float
    other: float | None


def find_examples(
    ratings: pd.DataFrame, comparison: Comparison, store: Store
) -> tuple[Example, ...]:
    """Up to three examples for each difference, or for each arm where there is only one."""
    means = _Means.of(ratings)
    picks: list[_Pick] = []
    if comparison.differences:
        for difference in comparison.differences:
            picks += _for_difference(difference, means)
    else:
        for row in comparison.rows:
            picks += _for_arm(row, means)
    known: dict[str, tuple[Dialogue, Sequence[Judgement]]] = {}
    return tuple(_example(pick, store, known) for pick in picks)


def distinct_claims(examples: Iterable[Example]) -> tuple[Claim, ...]:
    """One claim for each dialogue and dimension, however many findings it shows."""
    return tuple({claim.id: claim for claim in (e.claim for e in examples)}.values())


_Key = tuple[str, str, str]  # arm, dimension, instrument id
_Scenario = tuple[str, str]  # persona, task


@dataclass(frozen=True, slots=True)
class _Means:
    """The mean of each scenario in each arm, and the first dialogue it was had in."""

    mean: Mapping[_Key, Mapping[_Scenario, float]]
    dialogue: Mapping[_Key, Mapping[_Scenario, str]]

    @classmethod
    def of(cls, ratings: pd.DataFrame) -> _Means:
        by = ["arm", "dimension", "instrument_id", "persona_id", "task_id"]
        there = ratings[ratings["value"].notna()].sort_values(["repetition", "dialogue_id"])
        # Turns first within their dialogue, then repetitions, as a comparison does it.
        each = there.groupby([*by, "dialogue_id"], sort=False)["value"].mean().reset_index()
        whole = each.groupby(by, sort=False).agg({"value": "mean", "dialogue_id": "first"})
        mean: dict[_Key, dict[_Scenario, float]] = {}
        dialogue: dict[_Key, dict[_Scenario, str]] = {}
        for row in whole.reset_index().itertuples(index=False, name=None):
            key, scenario = row[:3], row[3:5]
            mean.setdefault(key, {})[scenario] = float(row[5])
            dialogue.setdefault(key, {})[scenario] = str(row[6])
        return cls(mean, dialogue)


def _for_difference(row: Difference, means: _Means) -> list[_Pick]:
    key = (row.arm, row.dimension, row.instrument_id)
    ours = means.mean.get(key, {})
    theirs = means.mean.get((row.baseline, row.dimension, row.instrument_id), {})
    shared = {s: ours[s] - theirs[s] for s in ours if s in theirs}
    claim = "|".join(("difference", row.arm, row.baseline, row.dimension, row.instrument_id))
    chosen = _three(shared, row.estimate or 0.0, rising=(row.estimate or 0) >= 0)
    return [
        _Pick(claim, role, means.dialogue[key][s], *key[1:], ours[s], theirs[s])
        for role, s in zip((FOR, TYPICAL, AGAINST), chosen, strict=False)
    ]


def _for_arm(row: ArmEstimate, means: _Means) -> list[_Pick]:
    key = (row.arm, row.dimension, row.instrument_id)
    ours = means.mean.get(key, {})
    chosen = _three(ours, row.estimate or 0.0, rising=True)
    return [
        _Pick("|".join(("arm", *key)), role, means.dialogue[key][s], *key[1:], ours[s], None)
        for role, s in zip((HIGH, MIDDLE, LOW), chosen, strict=False)
    ]


def _three(values: Mapping[_Scenario, float], middle: float, *, rising: bool) -> list[_Scenario]:
    """The far end in the finding's direction, the one nearest to the mean, and the other end."""
    sign = 1 if rising else -1
    order = sorted(values, key=lambda s: (-sign * values[s], s))
    if len(order) < 3:
        return order
    inner = min(order[1:-1], key=lambda s: (abs(values[s] - middle), s))
    return [order[0], inner, order[-1]]


def _example(
    pick: _Pick, store: Store, known: dict[str, tuple[Dialogue, Sequence[Judgement]]]
) -> Example:
    if pick.dialogue_id not in known:
        found = store.get_dialogue(pick.dialogue_id)
        known[pick.dialogue_id] = (found, store.list_judgements(pick.dialogue_id))
    dialogue, judgements = known[pick.dialogue_id]
    own = (
        j
        for j in judgements
        if j.dimension == pick.dimension
        and j.instrument.id == pick.instrument_id
        and j.value is not None
    )
    judgement = min(own, key=lambda j: (j.turn or 0, j.id), default=None)
    return Example(pick.finding, pick.role, dialogue, judgement, pick.value, pick.other)
