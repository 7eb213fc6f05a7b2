"""Judges: fit or not within one click, new wordings of rubrics, drift and panels."""

from __future__ import annotations

import json

import pytest
from streamlit.testing.v1 import AppTest

from tests.builders import make_instrument, make_judgement
from tests.support.app import marked, no_fault, open_page, own_store
from tests.support.judged import store_judged
from tests.support.provider import Provider


def tab(app: AppTest, name: str) -> AppTest:
    app.session_state["judges.tab"] = name
    return app.run()


def test_scripted_judge_passes_after_one_click() -> None:
    app = open_page("judges")
    assert no_fault(app)
    app.button(key="judges.run_check").click().run()
    assert no_fault(app)
    assert any("passes all 5 checks" in m for m in marked(app))
    means = app.dataframe[0].value
    assert list(means["scored"]) == [12, 12, 12]
    assert means["mean"][0] > means["mean"][1]


def test_judge_that_always_answers_three_is_exposed_by_one_click(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    three = json.dumps({"evidence": [1], "rationale": "Good.", "value": 3})
    with Provider(rule=lambda _: three) as provider:
        monkeypatch.setenv("RAPPORT_JUDGE_MODEL", "openai/constant")
        monkeypatch.setenv("RAPPORT_API_BASE", provider.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        app = open_page("judges")
        app.button(key="judges.run_check").click().run(timeout=60)
    assert not app.exception
    assert any("fails 3 of 5 checks" in e.value for e in app.error)
    shown = " ".join(marked(app))
    assert "36 of 36" in shown
    assert "failed: rates attentive above forgetful" in shown


def test_rubric_editor_shows_what_changed_and_what_is_wrong() -> None:
    app = tab(open_page("judges"), "Rubrics")
    assert no_fault(app)
    assert any("nothing to save" in m for m in marked(app))
    area = app.text_area[0]
    area.set_value(area.value.replace("title:", "title: New", 1)).run()
    assert no_fault(app)
    assert any(c.value.startswith("---") and "+title: New" in c.value for c in app.code)
    assert any(b.label.startswith("Save as") for b in app.button)
    area = app.text_area[0]
    area.set_value(area.value.replace("version: 2", "version: 9", 1)).run()
    assert any("never edited" in m for m in marked(app))
    assert not any(b.label.startswith("Save as") for b in app.button)


def test_draft_is_tried_on_three_dialogues_and_nothing_is_stored() -> None:
    app = tab(open_page("judges"), "Rubrics")
    with own_store() as store:
        study = store_judged(store, dimensions=("naturalness_assistant",))
        before = len(list(store.iter_judgements(study.id)))
    box = app.selectbox(key="judges.rubric")
    box.set_value("naturalness_assistant").run()
    area = app.text_area[0]
    area.set_value(area.value.replace("title:", "title: New", 1)).run()
    app.button(key="judges.try").click().run()
    assert no_fault(app)
    assert sum("draft" in e.label for e in app.expander) == 3
    with own_store() as store:
        assert len(list(store.iter_judgements(study.id))) == before


def test_two_instruments_are_compared_and_averaged_into_a_panel() -> None:
    with own_store() as store:
        study = store_judged(store, dimensions=("personalization",))
        other = make_instrument("personalization@1", judge="openai/strict")
        store.add_judgements(
            [
                make_judgement(
                    store.get_dialogue(j.dialogue_id),
                    value=max(1, (j.value or 1) - 1),
                    instrument=other,
                )
                for j in list(store.iter_judgements(study.id))
            ]
        )
    app = tab(open_page("judges"), "Drift and panel")
    assert no_fault(app)
    assert any("**drift**" in m for m in marked(app))
    app.multiselect(key="judges.panel").set_value(_ids(app)).run()
    assert no_fault(app)
    assert len(app.get("plotly_chart")) == 1


def _ids(app: AppTest) -> list[str]:
    return [app.selectbox(key="judges.old").value, app.selectbox(key="judges.new").value]


def test_one_instrument_is_told_how_to_get_another() -> None:
    with own_store() as store:
        store_judged(store)
    app = tab(open_page("judges"), "Drift and panel")
    assert no_fault(app)
    assert any("with another" in m for m in marked(app))
