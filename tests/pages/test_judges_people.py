"""Judges against people: replay of a new rubric, drift from people, what pushes a judge."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.clock import new_id, now
from core.review_designs import store_draw
from core.review_queue import Given, Queue
from tests.builders import fill_dataset, make_instrument, make_judgement, make_persona
from tests.support.app import marked, no_fault, open_page, own_store
from tests.support.provider import Provider
from tests.support.reviewing import DIMENSION, fill_study, wish


@pytest.fixture
def store() -> Iterator[Any]:
    """Thirty personas, all labelled as the judge rated; nobody is quite of its mind."""
    with own_store() as opened:
        fill_study(opened, 30, dataset="mine")
        fill_dataset(opened, "mine", personas=[make_persona(f"user{p}") for p in range(30)])
        design = store_draw(wish(50), opened, now=now, new_id=new_id)
        desk = Queue(design, "Ana", opened, now, new_id)
        while (at := desk.current()) is not None:
            number = int(opened.get_dialogue(at.dialogue_id).persona_id[4:])
            said = Given(max(1, 1 + number % 4 - (number % 5 == 0)))
            if desk.rate(at, {DIMENSION: said}, 5.0):
                desk.answer(at, {})
        yield opened


def shown(app: AppTest) -> str:
    """What a reader sees: escapes undone."""
    words = html.unescape(" ".join(marked(app)))
    return words.replace("\u00a0", " ").replace("\\", "").replace("\u2060", "")


def tab(name: str) -> AppTest:
    app = open_page("judges", study="pilot")
    app.session_state["judges.tab"] = name
    return app.run()


def test_two_instruments_are_held_against_people(store: Any) -> None:
    other = make_instrument("personalization@1", judge="openai/strict")
    store.add_judgements(
        [
            make_judgement(
                store.get_dialogue(j.dialogue_id), value=max(1, (j.value or 1) - 1),
                instrument=other,
            )
            for j in list(store.iter_judgements("s1"))
        ]
    )  # fmt: skip
    app = tab("Drift and panel")
    assert no_fault(app), [e.value for e in (*app.error, *app.exception)]
    words = shown(app)
    assert "Judge minus people: old" in words
    assert "50 dialogues labelled blind" in words
    assert "nearer to them" in words or "further from them" in words


@pytest.mark.usefixtures("store")
def test_one_instrument_alone_is_asked_what_moves_it() -> None:
    app = tab("Drift and panel")
    assert no_fault(app), [e.value for e in (*app.error, *app.exception)]
    words = shown(app)
    assert "What moves it away from people" in words
    assert "family" in words or "alike in length" in words


@pytest.mark.usefixtures("store")
def test_draft_says_which_labels_survive_and_what_asking_costs() -> None:
    app = tab("Rubrics")
    app.selectbox(key="judges.rubric").set_value(DIMENSION).run()
    area = app.text_area[0]
    area.set_value(area.value.replace("title:", "title: New", 1)).run()
    assert no_fault(app), [e.value for e in (*app.error, *app.exception)]
    words = shown(app)
    assert "50 of 50 labels by personalization@1 still count" in words
    assert "50 labelled dialogues of 50 to rate by personalization@2: 50 calls" in words
    assert "Save the version to ask the judge" in words
    assert not [b for b in app.button if b.key == "judges.replay"]
    area = app.text_area[0]
    area.set_value(area.value.replace("question:", "question: Really,", 1)).run()
    assert "0 of 50 labels by personalization@1 still count" in shown(app)


def _replay_page() -> None:
    from core.assets import load_rubric
    from pages._ui import judge_replay

    old = load_rubric("personalization@1")
    new = old.model_copy(update={"version": 2, "notes": ("Mind the tone.",)})
    judge_replay.show(old, new, saved=True)


@pytest.mark.usefixtures("store")
def test_saved_version_is_asked_of_labelled_dialogues_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = json.dumps({"evidence": [1], "rationale": "So.", "value": 3})
    with Provider(rule=lambda _: said) as provider:
        monkeypatch.setenv("RAPPORT_JUDGE_MODEL", "openai/some-judge")
        monkeypatch.setenv("RAPPORT_API_BASE", provider.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        app = AppTest.from_function(_replay_page, default_timeout=60).run()
        assert not app.exception, app.exception[0].value
        assert not app.error, [e.value for e in app.error]
        app.button(key="judges.replay").click().run()
    assert not app.exception
    assert not app.error
    assert "50 lack a rating by one version" in shown(app)  # this judge never used the old one
    with own_store() as opened:
        rated = [
            j for j in opened.iter_judgements("s1") if j.instrument.judge.endswith("some-judge")
        ]
        assert len(rated) == 50
