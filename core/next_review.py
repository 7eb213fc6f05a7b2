"""What to label next: how many more halve an interval, and how long that takes.

The variance of a corrected mean is what labels cannot take away plus what they share out among
themselves, `A + B/n`. Both come from the estimate at hand: labelled whole, an arm would be known
as well as people's own labels allow (method book, 7).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from core.correcting import Correction
from core.review_types import Method
from core.stats.corrected import CorrectedMean, Target
from core.stats.design import sample_size
from core.stats.types import StatsError

_Z = 1.959963984540054
_LEAST_PAIRS = 10


@dataclass(frozen=True, slots=True)
class Next:
    """The way to half the widest interval of a design.

    `label` dialogues are to be labelled, of which `open` are drawn already; `budget` is what the
    design is to be extended to, None where the open ones suffice. `reachable` is False when not
    even all dialogues of the frame halve it. `pairs` is the budget of a design of whole scenarios
    whose differences would be as sure as this arm is now, None where this design is one.
    """

    about: str
    half_width: float
    goal: float
    label: int
    open: int
    budget: int | None
    reviews: int
    reachable: bool
    pairs: int | None

    def minutes(self, seconds: float) -> int:
        """Time for it, when one review takes so many seconds."""
        return max(1, round(self.reviews * seconds / 60))


@dataclass(frozen=True, slots=True)
class _Widest:
    about: str
    found: CorrectedMean
    rows: int


def next_review(found: Correction, *, frame: int) -> Next | None:
    """What halves the widest interval; None while there is no interval to halve.

    `frame` is the number of dialogues that the design can draw from.
    """
    wide = _widest(found)
    if wide is None or not found.labelled:
        return None
    labels = wide.found.estimate.n
    shared = _shared(wide.found, wide.rows, found.target)
    se = wide.found.estimate.se
    if not (se > 0 and shared > 0 and labels):
        return None
    need = _needed(se, shared, labels, wide.rows, found.target)
    each = found.labelled / labels  # dialogues labelled for one label of this arm or pair
    total = min(frame, math.ceil(each * min(need, wide.rows) - 1e-9))
    label = max(0, total - found.labelled)
    return Next(
        about=wide.about,
        half_width=_Z * se,
        goal=_Z * se / 2,
        label=label,
        open=min(label, found.drawn - found.labelled),
        budget=_budget(found, total, frame) if total > found.drawn else None,
        reviews=math.ceil(label * (1 + found.design.overlap) - 1e-9),
        reachable=need <= wide.rows,
        pairs=_pairs(found, se, shared, frame),
    )


def _budget(found: Correction, total: int, frame: int) -> int | None:
    """What the design is asked for: above what it has, and with pairs in whole scenarios."""
    arms = len(found.arms) if found.design.method is Method.PAIRS else 1
    wanted = max(math.ceil(total / arms) * arms, found.design.budget + 1)
    return wanted if wanted <= frame else None


def _widest(found: Correction) -> _Widest | None:
    """The least sure difference where pairs were drawn, else the least sure arm."""
    there = [
        _Widest(f"{gap.arm} against {gap.baseline}", gap.found, gap.n_pairs)
        for gap in found.gaps
        if gap.found is not None
    ]
    there = there or [
        _Widest(row.arm, row.found, row.n_rows) for row in found.arms if row.found is not None
    ]
    return max(there, key=lambda wide: wide.found.estimate.se, default=None)


def _shared(found: CorrectedMean, rows: int, target: Target) -> float:
    """B: what labels share out among themselves."""
    labels, variance = found.estimate.n, found.estimate.se**2
    if labels >= rows:
        return 0.0
    left = 0.0 if target == "finite" else found.human_only.se**2 * labels / rows
    return (variance - left) / (1 / labels - 1 / rows)


def _needed(se: float, shared: float, labels: int, rows: int, target: Target) -> float:
    """Labels of this arm that halve its interval; infinity where none do."""
    if target == "finite":
        return sample_size(half_width=_Z * se / 2, sd=math.sqrt(shared), N=rows).n
    left = se**2 / 4 - (se**2 - shared / labels)
    if left <= 0:
        return math.inf
    try:
        return sample_size(half_width=_Z * math.sqrt(left), sd=math.sqrt(shared)).n
    except StatsError:
        return math.inf


def _pairs(found: Correction, se: float, shared: float, frame: int) -> int | None:
    arms = len(found.arms)
    if found.design.method is Method.PAIRS or arms < 2:
        return None
    pairs = sample_size(half_width=_Z * se, sd=math.sqrt(2 * shared)).n
    return min(max(pairs, _LEAST_PAIRS), frame // arms) * arms or None
