"""The tab Corrected of the page Compare: what it says, and what it draws."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.clock import new_id, now
from core.comparison import Ends
from core.correcting import correct
from core.review_designs import store_draw
from core.review_queue import Given, Queue
from core.review_types import Method
from pages._ui.corrected_chart import corrected_chart, gaps_chart
from pages._ui.corrected_parts import arm_words, gap_words
from tests.builders import make_judgement
from tests.support.app import links, marked, no_fault, open_page, own_store
from tests.support.reviewing import DIMENSION, fill_study, wish
from tests.support.sample import sample_database

ENDS = Ends(1, 4)


@pytest.fixture(scope="module")
def _template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_database(tmp_path_factory.mktemp("sample"))


@pytest.fixture(autouse=True)
def _with_sample(_template: Path, tmp_path: Path) -> None:
    shutil.copy(_template, tmp_path)


@pytest.fixture
def store() -> Iterator[Any]:
    with own_store() as opened:
        fill_study(opened, 60, dataset="mine")
        yield opened


def labelled(store: Any, budget: int, **more: Any) -> Any:
    """People say what the judge says with one arm, and one less with the other."""
    design = store_draw(wish(budget, **more), store, now=now, new_id=new_id)
    desk = Queue(design, "Ana", store, now, new_id)
    while (at := desk.current()) is not None:
        judge = desk.judged(at.dialogue_id)[DIMENSION].value or 1
        arm = store.get_dialogue(at.dialogue_id).arm.name
        desk.rate(at, {DIMENSION: Given(max(1, judge - (arm == "forgetful")))}, 9.0)
        desk.answer(at, {})
    return design


def corrected(store: Any, design: Any) -> Any:
    instrument = make_judgement(next(iter(store.iter_dialogues("s1")))).instrument.id
    arms = ("attentive", "forgetful")
    return correct(design, DIMENSION, instrument, store, arms=arms, baseline=arms[0])


def test_without_a_design_the_tab_says_how_to_get_one(store: Any) -> None:
    app = open_page("compare", study="pilot")
    app.session_state["compare.tab"] = "Corrected by people"
    app.run()
    assert no_fault(app)
    assert any("nobody has checked them" in i.value for i in app.info)
    assert ("desk", "") in links(app)


def test_with_labels_the_headline_is_corrected_and_the_judge_stands_beside_it(store: Any) -> None:
    design = labelled(store, 80)
    app = open_page("compare", study="pilot")
    app.session_state["compare.tab"] = "Corrected by people"
    app.run()
    assert no_fault(app)
    said = [m for m in marked(app) if "corrected by people" in m]
    assert len(said) == 2
    assert all("The judge alone says" in words for words in said)
    assert any("80 of 80 drawn dialogues are labelled" in m for m in marked(app))
    assert design.budget == 80


def test_words_name_what_is_estimated_and_how_sure(store: Any) -> None:
    found = corrected(store, labelled(store, 80))
    words = arm_words(found.arms[1], found, ENDS)
    assert words.startswith("Personalisation with forgetful: ")
    assert "95 % interval" in words
    assert "personas" in words
    assert gap_words(found.gaps[0], DIMENSION, ENDS).endswith("draws scenarios with all arms.")


def test_a_corrected_difference_is_said_and_drawn_for_pairs(store: Any) -> None:
    found = corrected(store, labelled(store, 90, method=Method.PAIRS))
    words = gap_words(found.gaps[0], DIMENSION, ENDS)
    assert "lower with forgetful than with attentive" in words
    figure = gaps_chart(found.gaps, dimension=DIMENSION, ends=ENDS)
    assert [list(t.customdata[0]) for t in figure.data if t.customdata is not None] == [
        ["forgetful"]
    ] * 3


def test_the_chart_draws_each_arm_three_times_with_its_interval(store: Any) -> None:
    found = corrected(store, labelled(store, 80))
    figure = corrected_chart(found.arms, dimension=DIMENSION, ends=ENDS)
    marks = [t for t in figure.data if t.customdata is not None]
    assert len(marks) == 6
    first = found.arms[0].found
    assert [m.x[0] for m in marks[:3]] == [
        first.estimate.est, first.human_only.est, first.naive.est
    ]  # fmt: skip
    assert all(m.error_x.array[0] >= 0 for m in marks)
    assert {m.marker.symbol for m in marks} == {"diamond", "circle", "square"}
    assert len(figure.layout.annotations) == 2  # the headline of each arm


def test_too_few_labels_say_so_and_draw_nothing(store: Any) -> None:
    design = store_draw(wish(20), store, now=now, new_id=new_id)
    found = corrected(store, design)
    assert "0 labels so far, too few to say" in arm_words(found.arms[0], found, ENDS)
    figure = corrected_chart(found.arms, dimension=DIMENSION, ends=ENDS)
    assert [t for t in figure.data if t.customdata is not None] == []
