"""From the table of judgements to one mean per scenario and arm: what comparisons are made of.

Turns are averaged within their dialogue, and dialogues (repetitions) within their scenario and
arm. Names are turned into whole numbers once, so that 700,000 judgements take a second.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from core.comparison import MULTI_DOMAIN
from core.stats.types import FloatArray, IntArray
from core.types import StopReason

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Group:
    """The judgements of one dimension by one instrument, as codes into shared names."""

    dimension: str
    instrument: str
    instrument_id: str
    arm: IntArray
    persona: IntArray
    task: IntArray
    domain: IntArray
    dialogue: IntArray
    value: FloatArray
    domains: Sequence[str]
    n_personas: int
    n_tasks: int


@dataclass(frozen=True, slots=True)
class Cells:
    """Means over repetitions: one cell is a scenario in an arm. Sorted by arm, then scenario."""

    arm: IntArray
    scenario: IntArray
    persona: IntArray
    domain: IntArray
    mean: FloatArray
    dialogues: IntArray  # dialogues with a value in each cell
    unscored: IntArray  # dialogues without one, per arm
    gaps: IntArray  # turns without a value in dialogues that have one, per arm


def groups(
    ratings: pd.DataFrame, arms: Sequence[str], instrument_ids: Collection[str] | None
) -> Iterator[Group]:
    """Split the rows of judged dialogues of `arms` by dimension and instrument."""
    columns = {name: _codes(ratings[name]) for name in _CODED}
    keep = _usable(columns, arms, instrument_ids)
    code = {name: found[0][keep] for name, found in columns.items()}
    names = {name: found[1] for name, found in columns.items()}
    arm_index = np.array([_index(arms, name) for name in names["arm"]], dtype=np.intp)
    value = ratings["value"].to_numpy(dtype=np.float64, na_value=np.nan)[keep]
    domain_code, domains = _domains(names["domains"])
    labels = _labels(columns, names)
    n_instruments = max(len(names["instrument_id"]), 1)
    key = code["dimension"] * n_instruments + code["instrument_id"]
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    for rows in np.split(order, starts[1:]) if len(starts) else ():
        first = int(key[rows[0]])
        instrument = first % n_instruments
        yield Group(
            dimension=names["dimension"][first // n_instruments],
            instrument=labels[instrument],
            instrument_id=names["instrument_id"][instrument],
            arm=arm_index[code["arm"][rows]],
            persona=code["persona_id"][rows],
            task=code["task_id"][rows],
            domain=domain_code[code["domains"][rows]],
            dialogue=code["dialogue_id"][rows],
            value=value[rows],
            domains=domains,
            n_personas=len(names["persona_id"]),
            n_tasks=len(names["task_id"]),
        )


_CODED = (
    "dialogue_id", "persona_id", "task_id", "domains", "arm", "dimension", "instrument",
    "instrument_id", "stop_reason",
)  # fmt: skip


def _codes(column: pd.Series[Any]) -> tuple[IntArray, list[str]]:
    import pandas as pd

    codes, found = pd.factorize(column, use_na_sentinel=False)
    if column.name == "dialogue_id":  # many; neither their names nor their order is of use
        return codes.astype(np.intp), []
    names = [str(name) for name in found]
    # Sorted, so that the order of rows in the database changes no last digit.
    order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.empty(len(names), dtype=np.intp)
    rank[order] = np.arange(len(names))
    return rank[codes], [names[i] for i in order]


def _usable(
    columns: Mapping[str, tuple[IntArray, list[str]]],
    arms: Sequence[str],
    instrument_ids: Collection[str] | None,
) -> IntArray:
    judged = {str(reason) for reason in StopReason if reason.judged}
    keep = _among(columns["stop_reason"], judged) & _among(columns["arm"], arms)
    if instrument_ids is not None:
        keep &= _among(columns["instrument_id"], instrument_ids)
    return np.flatnonzero(keep)


def _among(column: tuple[IntArray, list[str]], wanted: Collection[str]) -> Any:
    codes, names = column
    return np.array([name in wanted for name in names], dtype=bool)[codes]


def _index(arms: Sequence[str], name: str) -> int:
    return arms.index(name) if name in arms else -1


def _domains(names: Sequence[str]) -> tuple[IntArray, list[str]]:
    """Code of the domain that each text of domains counts under, and the domains' names."""
    homes = [MULTI_DOMAIN if "|" in name else name for name in names]
    found = sorted(set(homes), key=lambda name: (name == MULTI_DOMAIN, name))
    return np.array([found.index(home) for home in homes], dtype=np.intp), found


def _labels(
    columns: Mapping[str, tuple[IntArray, list[str]]], names: Mapping[str, Sequence[str]]
) -> list[str]:
    """One label per instrument id; ids with the same label are told apart by their beginning."""
    label_of = np.zeros(len(names["instrument_id"]), dtype=np.intp)
    label_of[columns["instrument_id"][0]] = columns["instrument"][0]
    labels = [names["instrument"][int(i)] for i in label_of]
    return [
        f"{label} · {names['instrument_id'][i][:8]}" if labels.count(label) > 1 else label
        for i, label in enumerate(labels)
    ]


# --- from dialogues to cells ------------------------------------------------------------------


def cells(group: Group) -> Cells:
    """Average turns within dialogues, then dialogues (repetitions) within scenario and arm."""
    first, code = distinct(group.dialogue)
    there = ~np.isnan(group.value)
    values, rows = sum_by(code, np.where(there, group.value, 0.0)), _count_by(code, there)
    scored = rows > 0
    arm = group.arm[first]
    n_arms = int(arm.max()) + 1 if len(arm) else 0
    gaps = np.bincount(code, minlength=len(first)) - rows
    at = first[scored]
    key = (group.arm[at] * group.n_personas + group.persona[at]) * group.n_tasks + group.task[at]
    cell_first, cell = distinct(key)
    home = at[cell_first]
    dialogues = np.bincount(cell, minlength=len(home))
    return Cells(
        arm=group.arm[home],
        scenario=group.persona[home] * group.n_tasks + group.task[home],
        persona=group.persona[home],
        domain=group.domain[home],
        mean=sum_by(cell, values[scored] / rows[scored]) / np.maximum(dialogues, 1),
        dialogues=dialogues,
        unscored=np.bincount(arm[~scored], minlength=n_arms),
        gaps=sum_by(arm[scored], gaps[scored].astype(np.float64), n_arms).astype(np.intp),
    )


def distinct(key: IntArray) -> tuple[IntArray, IntArray]:
    """Position of the first of each distinct key, in the order of keys, and each row's rank."""
    _, first, code = np.unique(key, return_index=True, return_inverse=True)
    return first, code


def sum_by(code: IntArray, value: FloatArray, size: int = 0) -> FloatArray:
    return np.bincount(code, weights=value, minlength=size).astype(np.float64)


def _count_by(code: IntArray, flag: Any) -> IntArray:
    return np.bincount(code, weights=flag).astype(np.intp)
