"""Corrected arms: what people would say of all, from what some said of few."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from core.clock import new_id
from core.correcting import correct, designs_for, method_of
from core.review_designs import store_draw
from core.review_queue import Given
from core.review_types import Method, ReviewDesign
from core.stats.corrected import corrected_mean
from tests.builders import NOW, make_judgement
from tests.support.reviewing import DIMENSION, fill_study, queue, wish

ARMS = ("attentive", "forgetful")


def truth(persona: str, arm: str) -> int:
    """What people would say: the judge is one too high with one arm, and right with the other."""
    judge = 1 + int(persona[4:]) % 4
    return max(1, judge - 1) if arm == "forgetful" else judge


def drawn(store: Any, budget: int, **more: Any) -> ReviewDesign:
    return store_draw(wish(budget, **more), store, now=lambda: NOW, new_id=new_id)


def label(store: Any, design: ReviewDesign, most: int = 10_000) -> None:
    desk = queue(store, design)
    for _ in range(most):
        at = desk.current()
        if at is None:
            return
        dialogue = store.get_dialogue(at.dialogue_id)
        said = Given(truth(dialogue.persona_id, dialogue.arm.name))
        if desk.rate(at, {DIMENSION: said}, 5.0):  # a judge was shown
            desk.answer(at, {})


def instrument(store: Any) -> str:
    dialogue = next(iter(store.iter_dialogues("s1")))
    return make_judgement(dialogue).instrument.id


def found(store: Any, design: ReviewDesign, **more: Any) -> Any:
    return correct(design, DIMENSION, instrument(store), store, arms=ARMS, baseline=ARMS[0], **more)


def test_correction_finds_a_bias_that_only_one_arm_has(sqlite_store: Any) -> None:
    dialogues = fill_study(sqlite_store, 120)
    design = drawn(sqlite_store, 160)
    label(sqlite_store, design)
    result = found(sqlite_store, design)
    for row in result.arms:
        mine = [d for d in dialogues if d.arm.name == row.arm]
        people = np.mean([truth(d.persona_id, d.arm.name) for d in mine])
        assert row.found is not None
        assert method_of(row.found) == "corrected"
        assert row.found.estimate.lo <= people <= row.found.estimate.hi
        biased = row.arm == "forgetful"
        assert (row.found.naive.lo <= people <= row.found.naive.hi) is not biased
    assert (result.drawn, result.labelled, result.completion) == (160, 160, 1.0)


def test_an_arm_is_what_the_method_book_makes_of_its_rows(store: Any) -> None:
    fill_study(store, 40)
    design = drawn(store, 60)
    label(store, design)
    row = found(store, design).arms[0]
    items = {i.dialogue_id: i for i in store.list_items(design.id)}
    mine = [d for d in store.iter_dialogues("s1") if d.arm.name == "attentive"]
    judge = [1 + int(d.persona_id[4:]) % 4 for d in mine]
    human = [truth(d.persona_id, d.arm.name) if items[d.id].selected else np.nan for d in mine]
    pi = [items[d.id].pi for d in mine]
    by_hand = corrected_mean(judge, human, pi, cluster=[d.persona_id for d in mine])
    assert row.found is not None
    assert row.found.estimate.est == pytest.approx(by_hand.estimate.est, abs=1e-12)
    assert row.found.estimate.lo == pytest.approx(by_hand.estimate.lo, abs=1e-12)


def test_whoever_stops_early_has_drawn_fewer(sqlite_store: Any) -> None:
    fill_study(sqlite_store, 120)
    design = drawn(sqlite_store, 200)
    label(sqlite_store, design, most=100)
    result = found(sqlite_store, design)
    assert result.completion == 0.5
    for row in result.arms:
        assert row.found is not None
        people = np.mean([truth(f"user{i}", row.arm) for i in range(120)])
        assert row.found.estimate.lo - 0.05 <= people <= row.found.estimate.hi + 0.05


def test_below_thirty_labels_people_alone_are_the_headline(sqlite_store: Any) -> None:
    fill_study(sqlite_store, 40)
    design = drawn(sqlite_store, 30)
    label(sqlite_store, design)
    for row in found(sqlite_store, design).arms:
        assert row.found is not None
        assert method_of(row.found) == "human_only"
        assert row.found.headline == row.found.human_only


def test_without_labels_there_is_a_reason_and_no_number(sqlite_store: Any) -> None:
    fill_study(sqlite_store, 20)
    design = drawn(sqlite_store, 10)
    for row in found(sqlite_store, design).arms:
        assert row.found is None
        assert row.why_not


def test_a_difference_is_corrected_where_pairs_were_drawn_and_refused_elsewhere(
    sqlite_store: Any,
) -> None:
    fill_study(sqlite_store, 100)
    design = drawn(sqlite_store, 120, method=Method.PAIRS)
    label(sqlite_store, design)
    (gap,) = found(sqlite_store, design).gaps
    true = np.mean(
        [truth(f"user{i}", "forgetful") - truth(f"user{i}", "attentive") for i in range(100)]
    )
    assert gap.found is not None
    assert gap.n_pairs == 100
    assert gap.found.estimate.lo <= true <= gap.found.estimate.hi < 0
    assert gap.found.naive.est == 0  # the judge sees none
    other = drawn(sqlite_store, 40)
    label(sqlite_store, other)
    (refused,) = found(sqlite_store, other).gaps
    assert refused.found is None
    assert "draws scenarios with all arms" in refused.why_not


def test_unscored_dialogues_are_bounded_and_rest_on_their_own_labels(sqlite_store: Any) -> None:
    fill_study(sqlite_store, 80, value=lambda i, _: None if i % 7 == 0 else 1 + i % 4)
    design = drawn(sqlite_store, 140)
    label(sqlite_store, design)
    for row in found(sqlite_store, design).arms:
        assert row.n_unscored == 12
        assert row.bounds is not None
        assert row.bounds.high - row.bounds.low == pytest.approx(3 * 12 / 80)
        assert row.found is not None
        people = np.mean([truth(f"user{i}", row.arm) for i in range(80)])
        assert row.found.estimate.lo <= people <= row.found.estimate.hi


def test_these_dialogues_alone_are_known_better_than_personas_like_these(
    sqlite_store: Any,
) -> None:
    fill_study(sqlite_store, 60)
    design = drawn(sqlite_store, 100)
    label(sqlite_store, design)
    wide, narrow = found(sqlite_store, design), found(sqlite_store, design, target="finite")
    for a, b in zip(wide.arms, narrow.arms, strict=True):
        assert a.found is not None
        assert b.found is not None
        assert b.found.estimate.se < a.found.estimate.se
    assert designs_for(sqlite_store.get_study("s1"), DIMENSION, sqlite_store) == [design]
    assert designs_for(sqlite_store.get_study("s1"), "grounding", sqlite_store) == []
