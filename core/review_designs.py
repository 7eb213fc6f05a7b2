"""Drawing dialogues for people to label, so that what they say is evidence of all the others.

Every dialogue of a frame gets a probability and a permanent random number, drawn or not. With
equal probabilities the lowest numbers of each stratum are drawn, so that a draw has exactly the
size that was asked for and a larger one contains it; with unequal ones a dialogue is drawn when
its number lies below its probability (`core.stats.design`).
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from core.assets import load_rubric
from core.errors import StudyError
from core.labels import standing
from core.review_ports import Eligible, ReviewingStore
from core.review_types import Method, ReviewDesign, ReviewItem, Stratum
from core.stats.design import allocate, plan_reviews
from core.stats.types import FloatArray, StatsError
from core.types import digest

FLOOR = 0.2
OVERLAP = 0.15
_PSEUDO = 3.0  # rows that shrink the error of a judge's value towards that of all
_MINUTES = 2.5  # a review takes, until people have shown what it takes them


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody wants to have labelled. Empty `arms` are all; `rubrics` names versions."""

    name: str
    study_id: str
    rubrics: Mapping[str, str]
    budget: int
    seed: int
    author: str
    arms: tuple[str, ...] = ()
    method: Method = Method.RANDOM
    by: Stratum = Stratum.NONE
    overlap: float = OVERLAP
    floor: float = FLOOR
    annotators: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Drawn:
    """A draw before it is stored."""

    items: tuple[ReviewItem, ...]
    strata: Mapping[str, tuple[int, int]]  # name -> dialogues in the frame, drawn

    @property
    def selected(self) -> int:
        return sum(item.selected for item in self.items)

    @property
    def labels(self) -> int:
        """How many people's labels the draw asks for, for each dimension."""
        return sum(1 + item.doubled for item in self.items if item.selected)


def rubrics_of(dimensions: Sequence[str]) -> dict[str, str]:
    """Each dimension with the newest version of its rubric. Raises `AssetError`."""
    return {name: load_rubric(name).ref for name in dimensions}


def draw(wish: Wish, store: ReviewingStore) -> Drawn:
    """Draw from all judgeable dialogues of the study's arms, as they stand now.

    Raises `StudyError` when the wish cannot be met: no dialogues, a budget above them or below
    2, no labels yet for an active draw.
    """
    return _draw(wish, store.eligible(wish.study_id, wish.arms, tuple(wish.rubrics)), store)


def store_draw(
    wish: Wish,
    store: ReviewingStore,
    *,
    now: Callable[[], datetime],
    new_id: Callable[[], str],
) -> ReviewDesign:
    """Draw, and store the whole of it."""
    drawn = draw(wish, store)
    design_id = new_id()
    design = _design(wish, drawn, design_id, now())
    store.add_design(design, drawn.items)
    return design


def extend(
    design: ReviewDesign,
    budget: int,
    author: str,
    store: ReviewingStore,
    *,
    now: Callable[[], datetime],
    new_id: Callable[[], str],
) -> ReviewDesign:
    """Draw more of the same frame; whatever was drawn stays drawn.

    Raises `StudyError` for a budget that is no larger, and `AlreadyDecided` when somebody has
    extended this very design.
    """
    if budget <= design.budget:
        raise StudyError(f"This design has {design.budget} dialogues; choose more than that.")
    before = {item.dialogue_id: item for item in store.list_items(design.id)}
    frame = [
        e
        for e in store.eligible(design.study_id, design.arms, design.dimensions)
        if e.dialogue_id in before
    ]
    if len(frame) < len(before):
        raise StudyError(
            "Some dialogues of this design's frame have been simulated again since; draw a new "
            "design."
        )
    wish = Wish(
        name=design.name,
        study_id=design.study_id,
        rubrics=design.rubrics,
        budget=budget,
        seed=design.seed,
        author=author,
        arms=design.arms,
        method=design.method,
        by=design.by,
        overlap=design.overlap,
        floor=design.floor,
        annotators=design.annotators,
    )
    drawn = _draw(wish, frame, store, before)
    new = _design(wish, drawn, new_id(), now())
    new = replace(new, root_id=design.root_id, parent_id=design.id)
    store.add_design(new, drawn.items)
    return new


def latest(designs: Sequence[ReviewDesign]) -> list[ReviewDesign]:
    """Of each design the last extension, newest first."""
    extended = {design.parent_id for design in designs}
    return [design for design in designs if design.id not in extended]


def half_width(
    drawn: int, frame: int, *, sd: float, rho: float = 0.0, overlap_of_personas: float = 1.0
) -> float:
    """The half-width of a 95 % interval that so many labels may buy (method book, 7).

    `sd` of the labels, `rho` their correlation with the judge's values: both are guesses until
    there are labels.
    """
    if drawn < 2:
        return math.inf
    left = sd * math.sqrt(max(0.0, 1 - rho**2)) * math.sqrt(overlap_of_personas)
    return 1.96 * left / math.sqrt(drawn) * math.sqrt(max(0.0, 1 - drawn / frame))


# --- drawing ------------------------------------------------------------------------------------


def prn(seed: int, key: str) -> float:
    """The permanent random number of `key`, in [0, 1)."""
    raw = hashlib.sha256(f"{seed}:{key}".encode()).digest()
    return int.from_bytes(raw[:6], "big") / 2**48


def _draw(
    wish: Wish,
    frame: Sequence[Eligible],
    store: ReviewingStore,
    before: Mapping[str, ReviewItem] | None = None,
) -> Drawn:
    if wish.method is Method.PAIRS:
        frame = _whole_scenarios(frame)
    _check(wish, frame)
    strata = [_stratum(wish, e) for e in frame]
    numbers = np.array([prn(wish.seed, _key(wish, e)) for e in frame])
    if wish.method is Method.ACTIVE:
        pi, taken = _unequal(wish, frame, numbers, store, before or {})
    elif wish.method is Method.PAIRS:
        pi, taken = _scenarios(wish, frame, numbers)
    else:
        had = Counter(item.stratum for item in (before or {}).values() if item.selected)
        pi, taken = _equal(strata, numbers, wish.budget, had)
    doubled = [prn(wish.seed, f"twice:{_key(wish, e)}") < wish.overlap for e in frame]
    items = tuple(
        ReviewItem(e.dialogue_id, s, float(p), float(u), bool(t), d)
        for e, s, p, u, t, d in zip(frame, strata, pi, numbers, taken, doubled, strict=True)
    )
    counts = {
        name: (
            sum(item.stratum == name for item in items),
            sum(item.stratum == name and item.selected for item in items),
        )
        for name in dict.fromkeys(strata)
    }
    return Drawn(items, counts)


def _check(wish: Wish, frame: Sequence[Eligible]) -> None:
    if not frame:
        raise StudyError("This study has no finished dialogue to label yet.")
    if not 2 <= wish.budget <= len(frame):
        raise StudyError(
            f"Choose between 2 and {len(frame):,} dialogues: so many can be drawn from."
        )


def _key(wish: Wish, e: Eligible) -> str:
    """With pairs, all dialogues of a scenario share one number and are drawn together."""
    return e.scenario if wish.method is Method.PAIRS else e.dialogue_id


def _whole_scenarios(frame: Sequence[Eligible]) -> list[Eligible]:
    arms = {e.arm for e in frame}
    found: dict[str, set[str]] = {}
    for e in frame:
        found.setdefault(e.scenario, set()).add(e.arm)
    return [e for e in frame if found[e.scenario] == arms]


def _stratum(wish: Wish, e: Eligible) -> str:
    if wish.method is not Method.STRATIFIED:
        return "all"
    if wish.by is Stratum.ARM:
        return e.arm
    if wish.by is Stratum.DOMAIN:
        return e.domain
    value = e.values[next(iter(wish.rubrics))]
    return "no value" if value is None else f"judge {value:g}"


def _equal(
    strata: Sequence[str], numbers: FloatArray, budget: int, before: Mapping[str, int]
) -> tuple[FloatArray, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """The lowest numbers of each stratum; strata share the budget by their size.

    None gets fewer than it had `before`: what was drawn stays drawn.
    """
    names = list(dict.fromkeys(strata))
    code = np.array([names.index(s) for s in strata])
    sizes = np.bincount(code)
    try:
        share = allocate(sizes.astype(float), sizes, budget)
    except StatsError as error:
        raise StudyError(f"This budget is too small for these strata: {error}") from None
    pi, taken = np.zeros(len(numbers)), np.zeros(len(numbers), dtype=bool)
    for stratum, name in enumerate(names):
        n = max(int(share[stratum]), before.get(name, 0))
        mine = np.flatnonzero(code == stratum)
        taken[mine[np.argsort(numbers[mine], kind="stable")[:n]]] = True
        pi[mine] = n / len(mine)
    return pi, taken


def _scenarios(
    wish: Wish, frame: Sequence[Eligible], numbers: FloatArray
) -> tuple[FloatArray, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    keys = [e.scenario for e in frame]
    arms = len({e.arm for e in frame})
    ranked = sorted(dict(zip(keys, numbers, strict=True)).items(), key=lambda pair: pair[1])
    n = max(1, wish.budget // arms)
    chosen = {key for key, _ in ranked[:n]}
    pi = np.full(len(frame), min(1.0, n / len(ranked)))
    return pi, np.array([key in chosen for key in keys])


def _unequal(
    wish: Wish,
    frame: Sequence[Eligible],
    numbers: FloatArray,
    store: ReviewingStore,
    before: Mapping[str, ReviewItem],
) -> tuple[FloatArray, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    wrong = _expected_error(wish, frame, store)
    earlier = np.array([before[e.dialogue_id].pi if before else 0.0 for e in frame])
    try:
        plan = plan_reviews(wrong, numbers, budget=wish.budget, floor=wish.floor, pi_prev=earlier)
    except StatsError as error:
        raise StudyError(f"This draw cannot be made: {error}") from None
    return plan.pi, plan.selected


def _expected_error(wish: Wish, frame: Sequence[Eligible], store: ReviewingStore) -> FloatArray:
    """How wrong the judge was so far where it gave this value, shrunken towards all of it."""
    dimension = next(iter(wish.rubrics))
    judged = {e.dialogue_id: e.values[dimension] for e in frame}
    errors: dict[float, list[float]] = {}
    for label in standing(store.study_annotations(wish.study_id)):
        value = judged.get(label.dialogue_id)
        if value is None or label.value is None or label.dimension != dimension:
            continue
        if label.evidence:
            errors.setdefault(round(value), []).append(abs(value - label.value))
    seen = [e for found in errors.values() for e in found]
    if len(seen) < 10:
        raise StudyError(
            f"An active draw needs to know where the judge errs, and only {len(seen)} blind "
            "labels of a random draw are there; label 10 or more of a random design first."
        )
    mean = max(float(np.mean(seen)), 0.05)

    def guess(value: float | None) -> float:
        found = [] if value is None else errors.get(round(value), [])
        return (sum(found) + _PSEUDO * mean) / (len(found) + _PSEUDO)

    return np.array([guess(judged[e.dialogue_id]) for e in frame])


def _design(wish: Wish, drawn: Drawn, design_id: str, at: datetime) -> ReviewDesign:
    frame = sorted(item.dialogue_id for item in drawn.items)
    return ReviewDesign(
        id=design_id,
        root_id=design_id,
        name=wish.name.strip(),
        study_id=wish.study_id,
        arms=wish.arms,
        rubrics=dict(wish.rubrics),
        method=wish.method,
        by=wish.by,
        budget=wish.budget,
        overlap=wish.overlap,
        floor=wish.floor,
        seed=wish.seed,
        annotators=wish.annotators,
        frame_hash=digest(frame, sorted(wish.rubrics.items())),
        created_at=at,
        author=wish.author,
    )
