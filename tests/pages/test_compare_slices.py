"""The tabs of Compare that cut the same numbers another way; each is drawn only when open."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.clock import new_id, now
from core.comparison import Ends
from core.faults import name_fault
from core.review_types import Party
from core.slicing import AtTurn, Slice, Sliced
from pages._ui.slice_charts import slices_chart, slices_words, turns_chart
from tests.support.app import marked, no_fault, open_page, own_store
from tests.support.reviewing import fill_study

SCALE = Ends(1, 4)
WEIRD = "é $5 *x* <b>"


@pytest.fixture
def store() -> Iterator[Any]:
    with own_store() as opened:
        fill_study(opened, 30, dataset="mine")
        yield opened


def figures(app: AppTest) -> list[dict[str, Any]]:
    return [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]


def tab(name: str) -> AppTest:
    app = open_page("compare", study="pilot")
    app.session_state["compare.tab"] = name
    return app.run()


@pytest.mark.usefixtures("store")
def test_slices_have_chart_sentence_table_and_file() -> None:
    app = tab("Slices")
    assert no_fault(app)
    assert len(figures(app)) == 1
    assert len(app.dataframe[0].value) >= 1
    assert any("discovery rate is held at 5" in m for m in marked(app))
    assert len(app.get("download_button")) == 1


@pytest.mark.usefixtures("store")
def test_turns_say_what_they_are_not() -> None:
    app = tab("By turns")
    assert no_fault(app)
    assert len(figures(app)) == 1
    shown = " ".join(marked(app))
    assert "no effect of length" in shown
    assert "rated for whole dialogues" in shown


@pytest.mark.usefixtures("store")
def test_closed_tabs_draw_nothing() -> None:
    app = open_page("compare", study="pilot")
    assert len(figures(app)) == 2  # arms and differences
    assert not [s for s in app.selectbox if s.key == "compare.slice_arm"]


def sliced(**of: Any) -> Sliced:
    values: dict[str, Any] = {
        "n": 60, "n_personas": 30, "estimate": 3.2, "lo": 3.0, "hi": 3.4, "shrunk": 3.1, "p": 0.6,
    }  # fmt: skip
    few = {"n": 3, "n_personas": 2, "estimate": None, "lo": None, "hi": None}
    rows = (
        Slice(name=WEIRD, **(values | of)),
        Slice(name="Hotels", **(values | few | {"shrunk": None, "p": None})),
    )
    return Sliced(WEIRD, "domain", rows, 3.0)


def test_slices_chart_says_too_few_and_keeps_marks_inert() -> None:
    figure = slices_chart(
        sliced(), dimension="personalization", ends=SCALE, arms=["attentive", WEIRD]
    )
    drawn = json.loads(figure.to_json())
    labels = drawn["layout"]["yaxis"]["ticktext"]
    assert "too few to say" in labels[1]
    assert "<b>" not in "".join(labels)
    marks = [t for t in drawn["data"] if t.get("customdata")]
    assert {tuple(t["customdata"][0]) for t in marks} == {(WEIRD, WEIRD)}
    assert [t["x"] for t in marks] == [[3.2], [3.1]]


def test_words_name_what_differs_only_where_it_does() -> None:
    said = slices_words(sliced(p=0.01), dimension="personalization", ends=SCALE)
    assert f"differs from the rest in {WEIRD}" in said
    assert "1 of 2\u00a0slices is too few to say" in said.replace(" slices", "\u00a0slices")
    quiet = slices_words(sliced(), dimension="personalization", ends=SCALE)
    assert "No domain is shown to differ" in quiet
    none = slices_words(sliced(p=None), dimension="personalization", ends=SCALE)
    assert "not enough" in none


def test_turns_chart_draws_too_few_hollow() -> None:
    rows = [
        AtTurn("a", 1, 2.0, 1.8, 2.2, 50, 25),
        AtTurn("a", 2, 3.0, None, None, 4, 4),
    ]
    figure = turns_chart(rows, dimension="personalization", ends=SCALE, arms=["a"], at="turn")
    drawn = json.loads(figure.to_json())
    symbols = drawn["data"][0]["marker"]["symbol"]
    assert symbols[1] == f"{symbols[0]}-open"
    assert drawn["data"][0]["error_y"]["array"][1] == 0
    assert drawn["layout"]["yaxis"]["range"][0] < 1
    assert "turn" in drawn["layout"]["xaxis"]["title"]["text"]


def test_confirmed_faults_leave_dialogues_out_and_both_numbers_are_shown(store: Any) -> None:
    app = tab("Without faults")
    assert any("No dialogue has a confirmed fault" in m for m in marked(app))
    worst = [d for d in store.iter_dialogues("s1") if d.persona_id in ("user0", "user4", "user8")]
    for dialogue in worst:  # rated 1
        if dialogue.arm.name == "attentive":
            store.add_fault(name_fault(dialogue.id, Party.USER, "Ana", now=now, new_id=new_id))
    proposal = next(d for d in store.iter_dialogues("s1") if d.persona_id == "user1")
    store.add_fault(
        name_fault(proposal.id, Party.USER, "model", confirmed=False, now=now, new_id=new_id)
    )
    app = tab("Without faults")
    assert no_fault(app)
    table = {row["arm"]: row for row in app.dataframe[0].value.to_dict("records")}
    assert (table["attentive"]["n"], table["attentive"]["n without"]) == (30, 27)
    assert table["attentive"]["left out"] == 3
    assert table["attentive"]["without faults"] > table["attentive"]["estimate"]
    assert table["forgetful"]["without faults"] == table["forgetful"]["estimate"]
    shown = " ".join(marked(app))
    assert "quote both numbers" in shown
    assert "1 proposed fault" in shown.replace("\u00a0", " ")
    assert len(figures(app)) == 1
