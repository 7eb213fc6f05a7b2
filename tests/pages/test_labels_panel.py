"""The page Data: labels to files and back."""

from __future__ import annotations

import html
import io
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.ports import Finished
from core.review_types import Reason
from tests.builders import make_annotation, make_dialogue, make_judgement, make_study
from tests.support.app import marked, no_fault, open_page, own_store

HEAD = "dialogue_id,dimension,annotator,value,submitted_at\n"


@pytest.fixture
def store() -> Iterator[Any]:
    """A study of two dialogues, one of them labelled."""
    with own_store() as opened:
        opened.add_study(make_study())
        for name in ("d1", "d2"):
            dialogue = make_dialogue(id=name)
            opened.add_finished([Finished(dialogue, (make_judgement(dialogue),))])
        opened.add_annotations([make_annotation("d1", value=2, note="<b>=1+1</b>")])
        yield opened


def said(app: AppTest, words: str) -> bool:
    return any(words in html.unescape(line) for line in marked(app))


def bring(app: AppTest, name: str, text: str, people: str = "") -> AppTest:
    app.get_by_key("data.labels.file").set_value((name, text.encode(), "text/csv"))
    app.text_input(key="data.labels.people").set_value(people)
    return app.button(key="data.labels.import").click().run()


def test_without_a_study_there_is_nothing_to_label() -> None:
    app = open_page("data")
    assert no_fault(app)
    assert "Labels" not in [s.value for s in app.subheader]


def test_the_labels_of_a_study_can_be_downloaded(store: Any) -> None:
    app = open_page("data")
    app.button(key="data.labels.export").click().run()
    assert no_fault(app)
    asked, made = app.session_state["data.labels.made"]
    assert asked == ("s1", "all of them", "csv", False)
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        assert sorted(archive.namelist()) == ["README.txt", "labels.csv", "labels.manifest.json"]


def test_what_cannot_be_written_is_said(store: Any) -> None:
    with own_store() as opened:
        opened.add_study(make_study("s2", name="other", kind="imported"))
    app = open_page("data")
    app.selectbox(key="data.labels.study").set_value("s2").run()
    app.selectbox(key="data.labels.form").set_value("argilla").run()
    app.button(key="data.labels.export").click().run()
    assert not app.exception
    assert "no labels yet" in app.error[0].value
    assert "data.labels.made" not in app.session_state


def test_labels_come_back_and_the_page_says_what_they_are_worth(store: Any) -> None:
    line = "d2,personalization,7,3,2026-03-01T12:00:00Z\n"
    app = bring(open_page("data"), "mine.csv", HEAD + line, "7=Ana <b>B</b>")
    assert no_fault(app)
    assert said(app, "1 of 1 label added, 0 of them drawn by a design here.")
    assert said(app, "1 not drawn: no design and item come with it.")
    row = store.study_annotations("s1")[-1]
    assert (row.annotator, row.reason, row.value) == ("Ana <b>B</b>", Reason.IMPORTED, 3)


def test_a_bad_row_is_named_and_nothing_is_stored(store: Any) -> None:
    line = "d2,personalization,Ana,9,2026-03-01T12:00:00Z\n"
    app = bring(open_page("data"), "mine.csv", HEAD + line)
    assert not app.exception
    assert "row 1: 9 is no value" in html.unescape(app.error[0].value)
    assert len(store.study_annotations("s1")) == 1


def test_where_rapport_is_shared_labels_come_back_from_the_terminal_alone(
    store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAPPORT_ADDRESS", "0.0.0.0")
    app = open_page("data")
    assert no_fault(app)
    assert said(app, "python cli.py labels import FILE")
    assert not [b for b in app.button if b.key == "data.labels.import"]
