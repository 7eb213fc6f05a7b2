"""What to review next: the number that it names does what it says."""

from __future__ import annotations

from typing import Any

import pytest

from core.clock import new_id
from core.correcting import Correction, correct
from core.next_review import next_review
from core.review_designs import extend
from core.review_queue import Given
from core.review_types import Method, ReviewDesign
from tests.builders import NOW
from tests.core.test_correcting import ARMS, drawn, instrument
from tests.support.reviewing import DIMENSION, fill_study, queue

FRAME = 800


def people(persona: str, arm: str) -> int:
    """People agree with the judge about half of the time."""
    number = int(persona[4:])
    return 1 + (number + (number // 4) % 3 * (number % 2)) % 4


def label(store: Any, design: ReviewDesign) -> None:
    desk = queue(store, design)
    while (at := desk.current()) is not None:
        dialogue = store.get_dialogue(at.dialogue_id)
        said = Given(people(dialogue.persona_id, dialogue.arm.name))
        if desk.rate(at, {DIMENSION: said}, 5.0):
            desk.answer(at, {})


def correction(store: Any, design: ReviewDesign, **more: Any) -> Correction:
    return correct(design, DIMENSION, instrument(store), store, arms=ARMS, baseline=ARMS[0], **more)


def widest(found: Correction) -> float:
    return max(row.found.estimate.se for row in found.arms if row.found is not None)


def test_labelling_what_it_says_about_halves_the_widest_interval(sqlite_store: Any) -> None:
    fill_study(sqlite_store, FRAME // 2)
    design = drawn(sqlite_store, 60)
    label(sqlite_store, design)
    before = correction(sqlite_store, design, target="finite")
    plan = next_review(before, frame=FRAME)
    assert plan is not None
    assert plan.reachable
    assert plan.budget is not None
    assert plan.label == plan.reviews == plan.budget - 60
    assert 100 < plan.label < 300
    assert plan.minutes(90) == round(plan.label * 1.5)
    more = extend(design, plan.budget, "Ana", sqlite_store, now=lambda: NOW, new_id=new_id)
    label(sqlite_store, more)
    after = correction(sqlite_store, more, target="finite")
    assert widest(after) == pytest.approx(widest(before) / 2, rel=0.3)


def test_what_is_drawn_already_needs_no_further_draw(sqlite_store: Any) -> None:
    fill_study(sqlite_store, 100)
    design = drawn(sqlite_store, 190)
    desk = queue(sqlite_store, design)
    for _ in range(20):
        at = desk.current()
        assert at is not None
        persona = sqlite_store.get_dialogue(at.dialogue_id).persona_id
        if desk.rate(at, {DIMENSION: Given(people(persona, ""))}, 5.0):
            desk.answer(at, {})
    plan = next_review(correction(sqlite_store, design, target="finite"), frame=200)
    assert plan is not None
    assert plan.label == plan.open > 0
    assert plan.budget is None


def test_where_no_label_helps_it_says_so(sqlite_store: Any) -> None:
    fill_study(sqlite_store, 40)
    design = drawn(sqlite_store, 70)
    label(sqlite_store, design)
    plan = next_review(correction(sqlite_store, design), frame=80)
    assert plan is not None
    assert not plan.reachable


def test_pairs_are_offered_where_none_were_drawn_and_extended_whole(sqlite_store: Any) -> None:
    fill_study(sqlite_store, 100)
    alone = drawn(sqlite_store, 40)
    label(sqlite_store, alone)
    plan = next_review(correction(sqlite_store, alone), frame=200)
    assert plan is not None
    assert plan.pairs is not None
    assert plan.pairs % 2 == 0
    assert 20 <= plan.pairs <= 200


def test_without_labels_there_is_nothing_to_halve(sqlite_store: Any) -> None:
    fill_study(sqlite_store, 20)
    design = drawn(sqlite_store, 10, method=Method.PAIRS)
    assert next_review(correction(sqlite_store, design), frame=40) is None
