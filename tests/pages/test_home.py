"""Home: what is running, what was found, and where a newcomer begins."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core import launcher
from core.ports import Finished
from core.types import StudyState
from pages._ui import text
from tests.builders import (
    NOW,
    fill_dataset,
    make_arm,
    make_dialogue_of,
    make_judgement,
    make_study,
    make_study_spec,
    make_task,
    make_unit,
)
from tests.support.app import links, marked, no_fault, open_page, own_store

ARMS = ("scripted/attentive", "scripted/forgetful")


def fill_study(store: Any, *, name: str = "pilot", state: StudyState = StudyState.DONE) -> None:
    """Four people, two arms, one better than the other."""
    task = make_task(intent="You want *crime* :smile: <b>.")
    refs = fill_dataset(store, "mine", tasks=[task])
    store.add_study(make_study(name=name, spec=make_study_spec(name, arms=ARMS)))
    units = [make_unit(r, arm=make_arm(a.split("/")[1])) for r in refs for a in ARMS]
    store.add_units(units)
    for unit in units:
        dialogue = make_dialogue_of(unit, task=task)
        value = 4 if unit.arm.name == "attentive" else 2
        store.add_finished([Finished(dialogue, (make_judgement(dialogue, value=value),))])
    store.set_study_state("s1", state)


@pytest.fixture
def fake_cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A command line that only says why it does not work."""
    script = tmp_path / "cli.py"
    script.write_text("raise SystemExit('No *luck* today.')\n", encoding="utf-8")
    monkeypatch.setattr(launcher, "ROOT", tmp_path)
    return script


def test_a_newcomer_is_shown_three_steps() -> None:
    app = open_page("home")
    assert no_fault(app)
    assert [s.value for s in app.subheader] == ["New here? Three steps"]
    assert ("personas", "dataset=sample&persona=user7") in links(app)
    assert ("launch", "dataset=sample&persona=user7") in links(app)
    assert app.button(key="home.run_sample").label == "Run the sample study"


def test_a_study_its_finding_and_its_dialogues_are_shown() -> None:
    with own_store() as store:
        fill_study(store)
    app = open_page("home")
    assert no_fault(app)
    assert [s.value for s in app.subheader] == [
        "Studies",
        "Latest findings",
        "Latest dialogues",
        "New here? Three steps",
    ]
    assert any(m.startswith("**pilot**") and "Personalisation" in m for m in marked(app))
    assert ("compare", "study=pilot") in links(app)
    assert len([1 for page, query in links(app) if query.startswith("dialogue=")]) == 4


def test_the_intent_of_a_dialogue_is_inert_in_its_link() -> None:
    with own_store() as store:
        fill_study(store)
    app = open_page("home")
    labels = [e.proto.label for e in app.get("page_link")]
    escaped = text.escape_md("You want *crime* :smile: <b>.", one_line=True)
    assert any(escaped in label for label in labels)
    for raw in ("*crime*", ":smile:", "<b>"):
        assert [label for label in labels if raw in label] == []


def test_a_study_at_work_shows_how_far_it_is() -> None:
    with own_store() as store:
        refs = fill_dataset(store, "mine")
        store.add_study(make_study())
        units = [make_unit(r) for r in refs]
        store.add_units(units)
        store.add_finished([Finished(make_dialogue_of(units[0]))])
        store.set_study_state("s1", StudyState.RUNNING)
        store.heartbeat("s1", "host:1:x")
    app = open_page("home")
    assert no_fault(app)
    assert "Running" in [s.value for s in app.subheader]
    assert bar(app) == "pilot · running · 1 of 2 dialogues"
    assert "No study has been judged to its end yet." in [c.value for c in app.caption]


def test_a_study_whose_process_is_gone_is_not_called_running() -> None:
    with own_store(now=lambda: NOW) as store:
        refs = fill_dataset(store, "mine")
        store.add_study(make_study())
        store.add_units([make_unit(r) for r in refs])
        store.set_study_state("s1", StudyState.RUNNING)
        store.heartbeat("s1", "host:1:x")
    app = open_page("home")
    assert no_fault(app)
    assert bar(app) == "pilot · stopped without a word; resume it · 0 of 2 dialogues"


def bar(app: AppTest) -> str:
    shown: str = app.get("progress")[0].proto.text
    return shown


@pytest.mark.usefixtures("fake_cli")
def test_the_last_words_of_a_run_are_shown_when_it_does_not_start() -> None:
    app = open_page("home")
    app.button(key="home.run_sample").click().run()
    assert not app.exception
    until = time.monotonic() + 20
    while launcher.is_running(app.session_state["home.pid"] or 0) and time.monotonic() < until:
        time.sleep(0.05)
    app.run()
    assert not app.exception
    said = text.escape_md("The study did not start: No *luck* today.")
    assert [e.value for e in app.error] == [said]
    assert not app.button(key="home.run_sample").disabled


@pytest.mark.usefixtures("fake_cli")
def test_the_button_cannot_be_pressed_twice(fake_cli: Path) -> None:
    fake_cli.write_text("import time\ntime.sleep(30)\n", encoding="utf-8")
    app = open_page("home")
    app.button(key="home.run_sample").click().run()
    pid = app.session_state["home.pid"]
    try:
        assert no_fault(app)
        assert app.button(key="home.run_sample").disabled
        assert bar(app) == "Starting the sample study …"
    finally:
        launcher.os.kill(pid, 9)


def test_the_third_step_leads_to_the_comparison_when_the_sample_study_has_run() -> None:
    with own_store() as store:
        fill_study(store, name="sample-study")
    app = open_page("home")
    assert no_fault(app)
    assert links(app)[-1] == ("compare", "study=sample-study")
    assert "home.run_sample" not in {b.key for b in app.button}


def test_one_sentence_when_the_database_cannot_be_opened(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    monkeypatch.setenv("RAPPORT_DATABASE_URL", f"sqlite:///{tmp_path}/file/rapport.db")
    app = open_page("home")
    assert not app.exception
    assert len(app.error) == 1
