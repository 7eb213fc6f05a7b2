"""A judged study to review: dialogues of many personas and arms, and a clock that ticks."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from core.clock import new_id
from core.ports import Finished
from core.review_designs import Wish, rubrics_of
from core.review_queue import Queue
from core.review_types import Method, ReviewDesign, Stratum
from core.types import Dialogue
from tests.builders import (
    NOW,
    fill_dataset,
    later,
    make_arm,
    make_dialogue_of,
    make_judgement,
    make_ref,
    make_study,
    make_unit,
)

DIMENSION = "personalization"


def counter(prefix: str = "id") -> Callable[[], str]:
    numbers = itertools.count(1)
    return lambda: f"{prefix}{next(numbers):05}"


def ticking(step: float = 1.0) -> Callable[[], datetime]:
    """A clock that is a step later each time somebody looks."""
    ticks = itertools.count(1)
    return lambda: later(next(ticks) * step)


def fill_study(
    store: Any,
    personas: int = 20,
    arms: Sequence[str] = ("attentive", "forgetful"),
    value: Callable[[int, str], int | None] = lambda i, _: 1 + i % 4,
    dataset: str = "sample",
) -> list[Dialogue]:
    """One judged dialogue of each persona with each arm; `value` is what the judge says."""
    fill_dataset(store, dataset)
    store.add_study(make_study())
    units = [
        make_unit(make_ref(f"user{i}", dataset=dataset), arm=make_arm(arm))
        for i in range(personas)
        for arm in arms
    ]
    store.add_units(units)
    dialogues = [make_dialogue_of(unit) for unit in units]
    store.add_finished(
        [
            Finished(d, (make_judgement(d, value=value(int(d.persona_id[4:]), d.arm.name)),))
            for d in dialogues
        ]
    )
    return dialogues


def wish(budget: int = 10, **fields: Any) -> Wish:
    values: dict[str, Any] = {
        "name": "pilot",
        "study_id": "s1",
        "rubrics": rubrics_of([DIMENSION]),
        "seed": 7,
        "author": "Ana",
        "overlap": 0.0,
    } | fields
    return Wish(budget=budget, **values)


def make_design(design_id: str = "d1", **fields: Any) -> ReviewDesign:
    values: dict[str, Any] = {
        "root_id": design_id,
        "name": "pilot",
        "study_id": "s1",
        "arms": (),
        "rubrics": {DIMENSION: f"{DIMENSION}@1"},
        "method": Method.RANDOM,
        "by": Stratum.NONE,
        "budget": 2,
        "overlap": 0.0,
        "floor": 0.2,
        "seed": 7,
        "annotators": (),
        "frame_hash": "0",
        "created_at": NOW,
        "author": "Ana",
    } | fields
    return ReviewDesign(design_id, **values)


def queue(store: Any, design: ReviewDesign, annotator: str = "Ana", **fields: Any) -> Queue:
    values: dict[str, Any] = {"now": ticking(), "new_id": new_id} | fields
    return Queue(design, annotator, store, **values)
