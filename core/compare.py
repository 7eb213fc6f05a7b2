"""Compare the arms of a study: what judges said, with intervals, paired differences, domains.

The values are the judges' own, not corrected by people, and every row says so. A comparison is
made for one dimension and one instrument at a time; two instruments are two rulers and are
never put into one number. Personas are the clusters; repetitions of one scenario in one arm
are averaged first, since they are no new scenarios.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from core.comparison import (
    MULTI_DOMAIN,
    ArmEstimate,
    Comparison,
    Difference,
    Distribution,
    DomainEstimate,
    Ends,
    results_object,
)
from core.scenario_means import Cells, Group, cells, distinct, groups, sum_by
from core.stats.intervals import FEW_CLUSTERS, mean_ci, rate_ci
from core.stats.paired import EXACT_CLUSTERS, cluster_sums, holm, signflip_p, with_p
from core.stats.types import Estimate, FloatArray, IntArray, PairedDiff

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "MULTI_DOMAIN",
    "ArmEstimate",
    "Comparison",
    "Difference",
    "Distribution",
    "DomainEstimate",
    "Ends",
    "compare",
    "results_object",
    "rubric_ends",
]

UNSCORED_LIMIT = 0.05
SLICE_PERSONAS, SLICE_DIALOGUES = 10, 20
"""A domain with fewer is too few to say anything about; it is shown, and marked."""

FLIPS = 20_000


@dataclass(frozen=True, slots=True)
class _Part:
    group: Group
    scale: Ends
    cells: Cells


def compare(
    ratings: pd.DataFrame,
    *,
    arms: Sequence[str],
    baseline: str | None = None,
    instrument_ids: Collection[str] | None = None,
    ends: Mapping[str, Ends] | None = None,
) -> Comparison:
    """Compare `arms` on every dimension and instrument in `ratings` (see `Store.ratings`).

    The baseline is the first arm unless named. Only dialogues that ended with something to
    judge are used. `ends` gives the scales; by default those of the rubrics, and for a
    dimension without a rubric the values seen.
    """
    scales = rubric_ends() if ends is None else ends
    base = arms.index(baseline) if baseline is not None else 0
    parts: list[_Part] = []
    for group in groups(ratings, arms, instrument_ids):
        scale = _ends(scales.get(group.dimension), group.value)
        parts.append(_Part(group, scale, cells(group)))
    order = sorted(parts, key=lambda part: (part.group.dimension, part.group.instrument))
    return Comparison(
        arms=tuple(arms),
        baseline=arms[base] if arms else "",
        rows=tuple(row for part in order for row in _arm_rows(part, arms)),
        differences=tuple(_differences(order, arms, base)),
        distributions=tuple(row for part in order for row in _distributions(part, arms)),
        domains=tuple(row for part in order for row in _domain_rows(part, arms)),
        ends={part.group.dimension: part.scale for part in order},
    )


@cache
def rubric_ends() -> Mapping[str, Ends]:
    """The scale of each dimension, as the newest version of its rubric has it."""
    from core.assets import list_rubrics

    return {
        r.dimension: Ends(r.scale.low, r.scale.high, r.scale.kind == "verdict")
        for r in list_rubrics()
    }


def _ends(known: Ends | None, value: FloatArray) -> Ends:
    """The known scale; widened to what was seen where there is none, or values lie outside."""
    seen = value[~np.isnan(value)]
    if len(seen) == 0:
        return known or Ends(0, 1)
    low, high = int(np.floor(seen.min())), int(np.ceil(seen.max()))
    if known is None:
        return Ends(low, max(high, low + 1))
    if known.low <= low and high <= known.high:
        return known
    return Ends(min(low, known.low), max(high, known.high))


# --- rows ---------------------------------------------------------------------------------------


def _interval(mean: FloatArray, persona: IntArray, scale: Ends) -> Estimate | None:
    """An estimate with its interval, or None below two personas."""
    if len(persona) == 0 or (persona == persona[0]).all():
        return None
    return (rate_ci if scale.verdict else mean_ci)(mean, cluster=persona)


def _arm_rows(part: _Part, arms: Sequence[str]) -> Iterator[ArmEstimate]:
    group, cells = part.group, part.cells
    for index, arm in enumerate(arms):
        mine = cells.arm == index
        mean, persona = cells.mean[mine], cells.persona[mine]
        found = _interval(mean, persona, part.scale)
        n_personas = len(np.unique(persona))
        drawn = found if n_personas >= FEW_CLUSTERS else None
        unscored = int(cells.unscored[index]) if index < len(cells.unscored) else 0
        n = int(cells.dialogues[mine].sum())
        gaps = int(cells.gaps[index]) if index < len(cells.gaps) else 0
        yield ArmEstimate(
            arm=arm,
            dimension=group.dimension,
            instrument=group.instrument,
            instrument_id=group.instrument_id,
            estimate=float(mean.mean()) if n else None,
            lo=drawn.lo if drawn else None,
            hi=drawn.hi if drawn else None,
            n=n,
            n_personas=n_personas,
            n_unscored=unscored,
            method=_method(drawn),
            warnings=_warnings(n, n_personas, unscored, gaps) + _method_notes(drawn),
            dots=() if drawn else _persona_means(mean, persona),
        )


def _method(estimate: Estimate | None) -> str:
    if estimate is None:
        return "uncorrected judge mean, no interval"
    return f"uncorrected judge mean, {estimate.method} interval by persona"


def _method_notes(estimate: Estimate | None) -> tuple[str, ...]:
    return estimate.warnings if estimate else ()


def _warnings(n: int, n_personas: int, unscored: int, gaps: int) -> tuple[str, ...]:
    notes = []
    if n == 0:
        notes.append("no dialogue has a value yet")
    elif n_personas < FEW_CLUSTERS:
        notes.append(f"fewer than {FEW_CLUSTERS} personas: the dots are shown, no interval")
    if _too_many_unscored(n, unscored):
        notes.append(f"{unscored} of {n + unscored} dialogues unscored: no ranking")
    if gaps:
        notes.append(f"{gaps} turns without a value are left out")
    return tuple(notes)


def _too_many_unscored(n: int, unscored: int) -> bool:
    return unscored > UNSCORED_LIMIT * (n + unscored)


def _persona_means(mean: FloatArray, persona: IntArray) -> tuple[float, ...]:
    _, code = distinct(persona)
    return tuple(float(v) for v in sum_by(code, mean) / np.maximum(np.bincount(code), 1))


def _domain_rows(part: _Part, arms: Sequence[str]) -> Iterator[DomainEstimate]:
    group, cells = part.group, part.cells
    key = cells.domain * len(arms) + cells.arm
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    for rows in np.split(order, starts[1:]) if len(starts) else ():
        persona, n = cells.persona[rows], int(cells.dialogues[rows].sum())
        found = _interval(cells.mean[rows], persona, part.scale)
        n_personas = found.n_clusters if found else 1
        drawn = found if n_personas >= FEW_CLUSTERS else None
        yield DomainEstimate(
            arm=arms[int(cells.arm[rows[0]])],
            domain=group.domains[int(cells.domain[rows[0]])],
            dimension=group.dimension,
            instrument=group.instrument,
            instrument_id=group.instrument_id,
            estimate=float(cells.mean[rows].mean()),
            lo=drawn.lo if drawn else None,
            hi=drawn.hi if drawn else None,
            n=n,
            n_personas=n_personas,
            too_few=n_personas < SLICE_PERSONAS or n < SLICE_DIALOGUES,
        )


def _distributions(part: _Part, arms: Sequence[str]) -> Iterator[Distribution]:
    group, scale = part.group, part.scale
    there = ~np.isnan(group.value)
    for index, arm in enumerate(arms):
        mine = group.arm == index
        rounded = np.rint(group.value[mine & there]).astype(np.intp) - scale.low
        counts = np.bincount(rounded, minlength=scale.high - scale.low + 1)
        yield Distribution(
            arm=arm,
            dimension=group.dimension,
            instrument=group.instrument,
            instrument_id=group.instrument_id,
            counts=tuple((scale.low + i, int(c)) for i, c in enumerate(counts)),
            n_unscored=int((mine & ~there).sum()),
        )


# --- differences --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Pair:
    """The scenarios that an arm and the baseline share, on one dimension."""

    part: _Part
    arm: int
    mean: FloatArray
    baseline_mean: FloatArray
    persona: IntArray  # codes from 0 among the pair's own personas
    n_personas: int
    sums: FloatArray  # of differences, over all personas of the study
    single: int  # scenarios that only one of the two has


def _differences(parts: Sequence[_Part], arms: Sequence[str], base: int) -> Iterator[Difference]:
    """Pair each arm with the baseline. One set of sign flips serves all pairs of a dimension."""
    for part in parts:
        pairs = [_pair(part, index, base) for index in range(len(arms)) if index != base]
        p = _signflips(pairs)
        rows = [_difference(pair, value, arms, base) for pair, value in zip(pairs, p, strict=True)]
        yield from _adjusted(rows)


def _pair(part: _Part, index: int, base: int) -> _Pair:
    cells = part.cells
    ours, theirs = cells.arm == index, cells.arm == base
    _, left, right = np.intersect1d(
        cells.scenario[ours], cells.scenario[theirs], assume_unique=True, return_indices=True
    )
    mean, baseline_mean = cells.mean[ours][left], cells.mean[theirs][right]
    study_persona = cells.persona[ours][left]
    first, persona = distinct(study_persona)
    sums = cluster_sums((mean - baseline_mean)[:, None], study_persona, part.group.n_personas)
    single = int(ours.sum() + theirs.sum() - 2 * len(left))
    return _Pair(part, index, mean, baseline_mean, persona, len(first), sums[:, 0], single)


def _signflips(pairs: Sequence[_Pair]) -> FloatArray:
    """Sign-flip p of each pair; exact where the pair has few personas."""
    if not pairs:
        return np.zeros(0)
    sums = np.column_stack([pair.sums for pair in pairs])
    sums = sums[(sums != 0).any(axis=1)]
    p = signflip_p(sums, n_perm=FLIPS)
    if len(sums) > EXACT_CLUSTERS:
        for k, pair in enumerate(pairs):
            if pair.n_personas <= EXACT_CLUSTERS:
                p[k] = signflip_p(sums[sums[:, k] != 0, k : k + 1])[0]
    return p


def _difference(pair: _Pair, p: float, arms: Sequence[str], base: int) -> Difference:
    group = pair.part.group
    found: PairedDiff | None = None
    d = pair.mean - pair.baseline_mean
    if pair.n_personas >= 2:
        found = with_p(d, pair.persona, float(p))
    shown = found if pair.n_personas >= FEW_CLUSTERS else None
    return Difference(
        arm=arms[pair.arm],
        baseline=arms[base],
        dimension=group.dimension,
        instrument=group.instrument,
        instrument_id=group.instrument_id,
        estimate=float(d.mean()) if len(d) else None,
        lo=shown.estimate.lo if shown else None,
        hi=shown.estimate.hi if shown else None,
        p=shown.p_signflip if shown else None,
        n=len(d),
        n_personas=pair.n_personas,
        wins=found.wins if found else int((d > 0).sum()),
        losses=found.losses if found else int((d < 0).sum()),
        ties=found.ties if found else int((d == 0).sum()),
        superiority=found.superiority.est if found else None,
        arm_mean=float(pair.mean.mean()) if len(d) else None,
        baseline_mean=float(pair.baseline_mean.mean()) if len(d) else None,
        ranked=not any(_unranked(pair.part.cells, index) for index in (pair.arm, base)),
        warnings=_pair_warnings(pair, shown),
    )


def _pair_warnings(pair: _Pair, shown: PairedDiff | None) -> tuple[str, ...]:
    notes = []
    if shown is None:
        notes.append(f"fewer than {FEW_CLUSTERS} personas: no interval")
    elif (shown.p_t < 0.05) != (shown.p_signflip < 0.05):
        notes.append(f"the sign-flip test gives p = {shown.p_signflip:.3f}, against the interval")
    if pair.single:
        notes.append(f"{pair.single} scenarios with only one of the two arms are left out")
    return tuple(notes)


def _unranked(cells: Cells, index: int) -> bool:
    if index >= len(cells.unscored):
        return False
    n = int(cells.dialogues[cells.arm == index].sum())
    return _too_many_unscored(n, int(cells.unscored[index]))


def _adjusted(rows: Sequence[Difference]) -> Iterator[Difference]:
    known = [row.p for row in rows if row.p is not None]
    adjusted = iter(holm(known) if known else ())
    for row in rows:
        yield replace(row, p_adjusted=float(next(adjusted))) if row.p is not None else row
