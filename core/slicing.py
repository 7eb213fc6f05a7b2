"""One arm in slices: domains, or what personas are. Raw for claims, shrunken for ranking.

The values are the judge's own. Slices too small to say anything are listed and not estimated;
whether one differs from the rest is tested with the false-discovery rate held (method book, 9).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.comparison import MULTI_DOMAIN, Ends
from core.stats.intervals import mean_ci, rate_ci
from core.stats.slices import LEAST_PERSONAS, LEAST_REVIEWS, slice_report
from core.stats.types import Estimate, StatsError
from core.types import StopReason

if TYPE_CHECKING:
    import pandas as pd

MOST_SLICES = 40
UNKNOWN = "not told"
_JUDGED = frozenset(str(reason) for reason in StopReason if reason.judged)


@dataclass(frozen=True, slots=True)
class Slice:
    """One slice of an arm. Without `estimate` it is too small to say; `shrunk` is for ranking.

    `p` compares it with all the others, and is adjusted for how many slices were looked at.
    """

    name: str
    n: int
    n_personas: int
    estimate: float | None
    lo: float | None
    hi: float | None
    shrunk: float | None
    p: float | None

    @property
    def too_few(self) -> bool:
        return self.n < LEAST_REVIEWS or self.n_personas < LEAST_PERSONAS

    @property
    def differs(self) -> bool:
        return self.p is not None and self.p < 0.05


@dataclass(frozen=True, slots=True)
class Sliced:
    """The slices of an arm by one thing, the highest first; `mean` is what they have in common."""

    arm: str
    by: str
    slices: tuple[Slice, ...]
    mean: float | None
    warnings: tuple[str, ...] = ()


def scenario_values(ratings: pd.DataFrame, instrument_id: str) -> pd.DataFrame:
    """One row for each scenario and arm: its mean over turns, then over repetitions.

    `ratings` is of one dimension (`Store.ratings`). Columns arm, persona_id, task_id, domains,
    turns, value, n (dialogues).
    """
    there = ratings[
        (ratings["instrument_id"] == instrument_id)
        & ratings["stop_reason"].isin(_JUDGED)
        & ratings["value"].notna()
    ]
    dialogues = there.groupby("dialogue_id", sort=False, as_index=False).agg(
        arm=("arm", "first"),
        persona_id=("persona_id", "first"),
        task_id=("task_id", "first"),
        domains=("domains", "first"),
        turns=("turns", "first"),
        value=("value", "mean"),
    )
    return dialogues.groupby(
        ["arm", "persona_id", "task_id"], sort=False, as_index=False, dropna=False
    ).agg(
        domains=("domains", "first"),
        turns=("turns", "first"),
        value=("value", "mean"),
        n=("dialogue_id", "size"),
    )


def domain_of(domains: str) -> str:
    """What a dialogue counts under: its domain, or that it has several."""
    return MULTI_DOMAIN if "|" in domains else domains or UNKNOWN


def sliced_by_domain(scenarios: pd.DataFrame, *, arm: str, ends: Ends) -> Sliced:
    mine = scenarios[scenarios["arm"] == arm]
    return _sliced(mine, [domain_of(str(d)) for d in mine["domains"]], arm, "domain", ends)


def sliced_by_persona(
    scenarios: pd.DataFrame, told: Mapping[str, str], *, arm: str, by: str, ends: Ends
) -> Sliced:
    """Slices by what is told of each persona (`told`: persona to value) under the name `by`."""
    mine = scenarios[scenarios["arm"] == arm]
    names = [told.get(str(p)) or UNKNOWN for p in mine["persona_id"]]
    return _sliced(mine, names, arm, by, ends)


def fields_to_slice(demographics: Iterable[Mapping[str, str]]) -> list[str]:
    """What personas can be sliced by: fields with at least two and not too many values."""
    seen: dict[str, set[str]] = {}
    for person in demographics:
        for name, value in person.items():
            seen.setdefault(name, set()).add(value)
    return sorted(name for name, values in seen.items() if 2 <= len(values) <= MOST_SLICES)


def _sliced(rows: pd.DataFrame, names: list[str], arm: str, by: str, ends: Ends) -> Sliced:
    found = []
    for name, part in rows.groupby(np.array(names, dtype=object), sort=True):
        n, personas = int(part["n"].sum()), int(part["persona_id"].nunique())
        found.append((str(name), n, personas, estimate_of(part, ends)))
    few = (n < LEAST_REVIEWS or personas < LEAST_PERSONAS for _, n, personas, _ in found)
    told = [None if small else e for small, (*_, e) in zip(few, found, strict=True)]
    try:
        report = slice_report(
            [e.est if e else math.nan for e in told],
            [e.se if e else math.nan for e in told],
            [n for _, n, _, _ in found],
            [personas for _, _, personas, _ in found],
        )
    except StatsError as error:
        alone = [_slice(row, e, math.nan, math.nan) for row, e in zip(found, told, strict=True)]
        return Sliced(arm, by, tuple(alone), None, (str(error),))
    slices = [
        _slice(row, e, float(shrunk), float(p))
        for row, e, shrunk, p in zip(found, told, report.shrunk, report.p_adjusted, strict=True)
    ]
    slices.sort(key=lambda s: (s.estimate is None, -(s.shrunk or s.estimate or 0), s.name))
    mean = None if math.isnan(report.mu) else report.mu
    return Sliced(arm, by, tuple(slices), mean, report.warnings)


def estimate_of(rows: pd.DataFrame, ends: Ends) -> Estimate | None:
    """The mean of scenarios, clustered by persona; None below two personas."""
    if rows["persona_id"].nunique() < 2:
        return None
    persona = rows["persona_id"].astype(str).to_numpy()
    return (rate_ci if ends.verdict else mean_ci)(rows["value"].to_numpy(float), cluster=persona)


def _slice(
    row: tuple[str, int, int, Estimate | None], told: Estimate | None, shrunk: float, p: float
) -> Slice:
    name, n, personas, _ = row
    return Slice(
        name=name,
        n=n,
        n_personas=personas,
        estimate=told.est if told else None,
        lo=told.lo if told else None,
        hi=told.hi if told else None,
        shrunk=None if math.isnan(shrunk) else shrunk,
        p=None if math.isnan(p) else p,
    )


# --- by number of turns ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AtTurn:
    """One arm at one turn, or in dialogues of so many turns; no interval where too few."""

    arm: str
    turn: int
    estimate: float
    lo: float | None
    hi: float | None
    n: int
    n_personas: int

    @property
    def too_few(self) -> bool:
        return self.n < LEAST_REVIEWS or self.n_personas < LEAST_PERSONAS


def by_length(scenarios: pd.DataFrame, ends: Ends) -> tuple[AtTurn, ...]:
    """Each arm in dialogues of one, two, … turns. How long one was is no choice of the study's."""
    return _at_turns(scenarios.rename(columns={"turns": "_turn"}), ends)


def by_turn(ratings: pd.DataFrame, instrument_id: str, ends: Ends) -> tuple[AtTurn, ...]:
    """Each arm at its first, second, … turn, where turns are rated one by one; else nothing."""
    there = ratings[
        (ratings["instrument_id"] == instrument_id)
        & ratings["stop_reason"].isin(_JUDGED)
        & ratings["value"].notna()
        & ratings["turn"].notna()
    ]
    return _at_turns(there.assign(_turn=there["turn"].astype(int), n=1), ends)


def _at_turns(rows: pd.DataFrame, ends: Ends) -> tuple[AtTurn, ...]:
    found = []
    for (arm, turn), part in rows.groupby(["arm", "_turn"], sort=True):
        told = estimate_of(part, ends)
        n, personas = int(part["n"].sum()), int(part["persona_id"].nunique())
        enough = told is not None and n >= LEAST_REVIEWS and personas >= LEAST_PERSONAS
        found.append(
            AtTurn(
                arm=str(arm),
                turn=int(str(turn)),
                estimate=float(part["value"].mean()),
                lo=told.lo if told and enough else None,
                hi=told.hi if told and enough else None,
                n=n,
                n_personas=personas,
            )
        )
    return tuple(found)
