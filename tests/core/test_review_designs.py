"""Draws have known probabilities, the size that was asked for, and contain earlier draws."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import AlreadyDecided, StudyError
from core.review_designs import draw, extend, half_width, latest, prn, store_draw
from core.review_queue import Given
from core.review_types import Method, Stratum
from core.types import StopReason
from tests.builders import NOW, make_dialogue
from tests.support.reviewing import DIMENSION, counter, fill_study, queue, wish


def drawn(store: Any, **fields: Any) -> Any:
    return store_draw(wish(**fields), store, now=lambda: NOW, new_id=counter("d"))


def test_a_random_draw_has_its_size_and_each_dialogue_the_same_chance(sqlite_store: Any) -> None:
    fill_study(sqlite_store, 20)
    design = drawn(sqlite_store, budget=12)
    items = sqlite_store.list_items(design.id)
    assert len(items) == 40
    assert {item.pi for item in items} == {12 / 40}
    assert sum(item.selected for item in items) == 12
    # the lowest numbers are drawn, so that a larger draw contains a smaller one
    numbers = sorted(item.prn for item in items)
    assert sorted(item.prn for item in items if item.selected) == numbers[:12]


def test_every_dialogue_is_drawn_as_often_as_its_probability_says(sqlite_store: Any) -> None:
    fill_study(sqlite_store, 10)
    counts: Counter[str] = Counter()
    for seed in range(400):
        counts.update(
            i.dialogue_id for i in draw(wish(5, seed=seed), sqlite_store).items if i.selected
        )
    share = np.array(list(counts.values())) / 400
    assert len(share) == 20
    assert abs(share.mean() - 0.25) < 1e-9
    assert np.all(abs(share - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 400))


@pytest.mark.parametrize("by", [Stratum.ARM, Stratum.JUDGE, Stratum.DOMAIN])
def test_strata_share_a_budget_and_each_row_says_its_chance(sqlite_store: Any, by: Stratum) -> None:
    fill_study(sqlite_store, 20)
    result = draw(wish(16, method=Method.STRATIFIED, by=by), sqlite_store)
    assert sum(taken for _, taken in result.strata.values()) == 16
    for name, (size, taken) in result.strata.items():
        mine = [item for item in result.items if item.stratum == name]
        assert {item.pi for item in mine} == {taken / size}
    if by is Stratum.ARM:
        assert result.strata == {"attentive": (20, 8), "forgetful": (20, 8)}


def test_pairs_are_drawn_whole(sqlite_store: Any) -> None:
    dialogues = {d.id: d for d in fill_study(sqlite_store, 15)}
    result = draw(wish(10, method=Method.PAIRS), sqlite_store)
    people = Counter(dialogues[i.dialogue_id].persona_id for i in result.items if i.selected)
    assert set(people.values()) == {2}
    assert len(people) == 5
    assert {item.pi for item in result.items} == {5 / 15}


def test_overlap_is_the_share_that_two_people_label(sqlite_store: Any) -> None:
    fill_study(sqlite_store, 200)
    result = draw(wish(200, overlap=0.2), sqlite_store)
    assert 0.12 < sum(i.doubled for i in result.items) / 400 < 0.28
    assert result.labels == 200 + sum(i.doubled for i in result.items if i.selected)


@pytest.mark.parametrize("method", [Method.RANDOM, Method.STRATIFIED, Method.PAIRS])
def test_what_was_drawn_stays_drawn_when_a_design_is_extended(store: Any, method: Method) -> None:
    fill_study(store, 20)
    first = drawn(store, budget=8, method=method, by=Stratum.JUDGE)
    second = extend(first, 20, "Ben", store, now=lambda: NOW, new_id=counter("e"))
    assert (second.root_id, second.parent_id) == (first.id, first.id)
    before, after = store.list_items(first.id), store.list_items(second.id)
    chosen = [{i.dialogue_id for i in items if i.selected} for items in (before, after)]
    assert chosen[0] <= chosen[1]
    assert len(chosen[1]) == 20
    old = {i.dialogue_id: (i.prn, i.doubled, i.stratum, i.pi) for i in before}
    for item in after:
        number, doubled, stratum, pi = old[item.dialogue_id]
        assert (item.prn, item.doubled, item.stratum) == (number, doubled, stratum)
        assert item.pi >= pi
    assert latest(store.list_designs()) == [second]
    with pytest.raises(AlreadyDecided, match="extended this design"):
        extend(first, 30, "Cleo", store, now=lambda: NOW, new_id=counter("f"))


def test_an_extension_has_the_frame_of_its_design(sqlite_store: Any) -> None:
    fill_study(sqlite_store, 10)
    design = drawn(sqlite_store, budget=4)
    from core.ports import Finished

    sqlite_store.add_finished([Finished(make_dialogue(id="new one", persona_id="user99"))])
    second = extend(design, 6, "Ana", sqlite_store, now=lambda: NOW, new_id=counter("e"))
    assert len(sqlite_store.list_items(second.id)) == 20
    assert second.frame_hash == design.frame_hash


def test_what_cannot_be_judged_is_in_no_frame(sqlite_store: Any) -> None:
    fill_study(sqlite_store, 5)
    from core.ports import Finished

    broken = make_dialogue(id="broken", stop=StopReason.MODEL_ERROR, persona_id="user1")
    sqlite_store.add_finished([Finished(broken)])
    frame = {e.dialogue_id for e in sqlite_store.eligible("s1", (), (DIMENSION,))}
    assert len(frame) == 10
    assert "broken" not in frame


def test_an_active_draw_asks_for_labels_first_and_then_goes_where_the_judge_errs(
    sqlite_store: Any,
) -> None:
    fill_study(sqlite_store, 60)
    with pytest.raises(StudyError, match="label 10 or more of a random design first"):
        draw(wish(20, method=Method.ACTIVE), sqlite_store)
    desk = queue(sqlite_store, drawn(sqlite_store, budget=60))
    while (at := desk.current()) is not None:
        said = desk.judged(at.dialogue_id)[DIMENSION].value
        assert said is not None
        # the judge is right but where it says 4
        desk.rate(at, {DIMENSION: Given(1 if said == 4 else said)}, 5.0)
        desk.answer(at, {})
    result = draw(wish(30, method=Method.ACTIVE, seed=9), sqlite_store)
    values = {
        e.dialogue_id: e.values[DIMENSION] for e in sqlite_store.eligible("s1", (), (DIMENSION,))
    }
    by_value = {
        v: np.mean([i.pi for i in result.items if values[i.dialogue_id] == v]) for v in (1, 4)
    }
    assert by_value[4] > 2 * by_value[1]
    # none has less than the floor's share
    assert min(i.pi for i in result.items) >= 0.2 * 30 / 120 - 1e-9


@pytest.mark.parametrize(("budget", "words"), [(1, "between 2 and 10"), (11, "between 2 and 10")])
def test_a_budget_that_cannot_be_drawn_is_refused(
    sqlite_store: Any, budget: int, words: str
) -> None:
    fill_study(sqlite_store, 5)
    with pytest.raises(StudyError, match=words):
        draw(wish(budget), sqlite_store)


def test_a_study_without_dialogues_says_so(sqlite_store: Any) -> None:
    with pytest.raises(StudyError, match="no finished dialogue"):
        draw(wish(5, study_id="none"), sqlite_store)


@given(st.integers(0, 2**31), st.text(max_size=40))
def test_a_permanent_random_number_is_in_range_and_stays(seed: int, key: str) -> None:
    assert 0 <= prn(seed, key) < 1
    assert prn(seed, key) == prn(seed, key)


def test_half_widths_are_those_of_the_method_book() -> None:
    # n0/(1+n0/N) with sd .48, half-width .05, N 2000: 300.785 and, with rho .7, 165.604
    assert half_width(301, 2000, sd=0.48) == pytest.approx(0.05, abs=5e-5)
    assert half_width(166, 2000, sd=0.48, rho=0.7) == pytest.approx(0.05, abs=2e-4)
    assert half_width(2000, 2000, sd=0.48) == 0
