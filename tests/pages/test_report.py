"""Report: what the page shows of a study, what its files hold, and one finding for a room."""

from __future__ import annotations

import json

import plotly.graph_objects as go

from core.ports import Finished
from pages._ui.report_view import enlarged
from tests.builders import make_dialogue, make_study
from tests.support.app import marked, no_fault, open_page, own_store
from tests.support.judged import store_judged


def test_newcomer_is_told_how_to_get_something_to_report() -> None:
    app = open_page("report")
    assert no_fault(app)
    assert any("nothing to compare yet" in m for m in marked(app))


def test_study_that_nobody_judged_says_so() -> None:
    study = make_study()
    with own_store() as store:
        store.add_study(study)
        store.add_finished([Finished(make_dialogue(study_id=study.id))])
    app = open_page("report", study=study.name)
    assert no_fault(app)
    assert any("nothing to report" in m for m in marked(app))


def test_preview_shows_sentence_charts_claims_and_files() -> None:
    with own_store() as store:
        store_judged(store)
    app = open_page("report")
    assert no_fault(app)
    assert any("Personalisation is lower with forgetful" in m for m in marked(app))
    assert len(app.get("plotly_chart")) == 2
    table = app.dataframe[0].value
    assert list(table["claim"])[0] == "Personalisation with attentive"
    assert "n 20" in table["rests on"][0]
    assert len(app.get("download_button")) == 3
    assert any("simulated" in m for m in marked(app))


def test_another_dimension_is_in_the_address() -> None:
    with own_store() as store:
        store_judged(store)
    app = open_page("report")
    box = app.selectbox(key="report.part")
    assert len(box.options) == 2
    box.select_index(1).run()
    assert no_fault(app)
    assert any("Naturalness" in m for m in marked(app))


def test_presentation_has_one_chart_three_dialogues_and_no_controls() -> None:
    with own_store() as store:
        store_judged(store)
    app = open_page("report", present="yes")
    assert no_fault(app)
    assert len(app.get("plotly_chart")) == 1
    assert len(app.selectbox) == len(app.button) == len(app.get("download_button")) == 0
    assert len(app.title) == 1
    assert app.title[0].value.startswith("Which?")
    assert sum("clearest" in m or "typical" in m or "least like" in m for m in marked(app)) == 3


def test_enlarged_chart_has_larger_letters_and_the_same_numbers() -> None:
    figure = go.Figure(go.Scatter(x=[1, 2], y=["a", "b"], marker={"size": 10}))
    figure.update_layout(
        height=200, font={"size": 12}, title={"text": "<i style='font-size:12px'>"}
    )
    large = json.loads(enlarged(figure, 1.5).to_json())
    assert large["layout"]["height"] == 300
    assert large["layout"]["font"]["size"] == 18
    assert "font-size:18px" in large["layout"]["title"]["text"]
    assert large["data"][0]["x"] == [1, 2]
    assert large["data"][0]["marker"]["size"] == 15
