"""The tab "Corrected by people" of Compare: the advice on what to label next, and its buttons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.clock import new_id, now
from core.review_designs import latest, store_draw
from core.review_queue import Given, Queue
from core.review_types import Method, ReviewDesign
from tests.support.app import links, marked, no_fault, open_page, own_store
from tests.support.reviewing import DIMENSION, fill_study, wish


@pytest.fixture
def store() -> Iterator[Any]:
    with own_store() as opened:
        fill_study(opened, 60, dataset="mine")
        yield opened


def labelled(store: Any, budget: int, most: int = 10_000) -> ReviewDesign:
    design = store_draw(wish(budget), store, now=now, new_id=new_id)
    desk = Queue(design, "Ana", store, now, new_id)
    for _ in range(most):
        at = desk.current()
        if at is None:
            break
        persona = store.get_dialogue(at.dialogue_id).persona_id
        said = Given(1 + (int(persona[4:]) + int(persona[4:]) % 3) % 4)
        if desk.rate(at, {DIMENSION: said}, 120.0):
            desk.answer(at, {})
    return design


def corrected(person: str = "Ana", target: str = "These dialogues only") -> AppTest:
    app = open_page("compare", study="pilot")
    app.session_state["author"] = person
    app.session_state["compare.tab"] = "Corrected by people"
    app.session_state["compare.target"] = target
    return app.run()


def test_advice_names_labels_interval_and_minutes_at_ones_own_pace(store: Any) -> None:
    labelled(store, 30)
    app = corrected()
    assert no_fault(app)
    (said,) = [m for m in marked(app) if "to halve the interval" in m]
    button = app.button(key="compare.extend")
    more = int(button.label.split()[1])
    assert f"these {more} next" in said
    assert f"about {2 * more}" in said.replace("\u00a0", " ")  # two minutes each, as Ana takes


def test_button_extends_the_design_and_keeps_its_labels(store: Any) -> None:
    design = labelled(store, 30)
    app = corrected()
    more = int(app.button(key="compare.extend").label.split()[1])
    app.button(key="compare.extend").click().run()
    assert no_fault(app)
    (now_,) = latest(store.list_designs("s1"))
    assert (now_.root_id, now_.budget, now_.author) == (design.root_id, 30 + more, "Ana")
    assert any(f"now has {30 + more} dialogues" in m for m in marked(app))
    assert any(f"design={design.root_id}" in query for _, query in links(app))


def test_pairs_are_drawn_where_differences_cannot_be_corrected(store: Any) -> None:
    labelled(store, 30)
    app = corrected()
    app.button(key="compare.pairs").click().run()
    assert no_fault(app)
    (pairs,) = [d for d in store.list_designs("s1") if d.method is Method.PAIRS]
    drawn = [i.dialogue_id for i in store.list_items(pairs.id, selected=True)]
    people = [store.get_dialogue(i).persona_id for i in drawn]
    assert all(people.count(name) == 2 for name in people)  # both arms of each


def test_open_draw_is_labelled_before_more_is_drawn(store: Any) -> None:
    labelled(store, 40, most=1)
    app = corrected()
    assert no_fault(app)
    assert any("39 drawn dialogues that are left first" in m for m in marked(app))
    assert not [b for b in app.button if b.key == "compare.extend"]


def test_who_has_no_name_is_asked_before_anything_is_drawn(store: Any) -> None:
    labelled(store, 30)
    app = corrected(person="")
    assert app.button(key="compare.extend").disabled
    assert app.text_input(key="compare.author")
