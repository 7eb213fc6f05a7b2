"""Studies: define one by its fields, see its YAML, launch it, and watch how it comes along."""

from __future__ import annotations

import shutil
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from streamlit.testing.v1 import AppTest

from core import launcher
from core.clock import now
from core.ports import Finished
from core.sample import SAMPLE_STUDY
from core.settings import Settings
from core.shelf import list_drafts, saved_studies
from core.study_file import load_study, parse_study
from core.types import StopReason, StudyState
from pages._ui import text
from tests.builders import (
    make_arm,
    make_call,
    make_dialogue_of,
    make_judgement,
    make_ref,
    make_study,
    make_study_spec,
    make_unit,
)
from tests.support.app import links, marked, no_fault, open_page, own_store
from tests.support.sample import sample_database

WEIRD = "é 😀 $5 *x* <b> :smile:"


@pytest.fixture(scope="module")
def _template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_database(tmp_path_factory.mktemp("sample"))


@pytest.fixture(autouse=True)
def _with_sample(_template: Path, tmp_path: Path) -> None:
    shutil.copy(_template, tmp_path)


def shown_yaml(app: AppTest) -> str:
    """The text of the preview beside the form."""
    return str(next(c.value for c in app.code if c.value.startswith("name:"))) + "\n"


def new_study(button: str = "studies.new") -> AppTest:
    app = open_page("studies")
    assert no_fault(app)
    return app.button(key=button).click().run()


def faults(app: AppTest) -> list[str]:
    assert not app.exception
    return [e.value for e in app.error]


# --- the list ---------------------------------------------------------------------------------


def test_newcomer_is_told_how_to_begin() -> None:
    app = open_page("studies")
    assert no_fault(app)
    assert any("There is no study yet" in m for m in marked(app))


def test_studies_are_listed_newest_first_with_their_progress() -> None:
    with own_store() as store:
        fill(store, state=StudyState.RUNNING)
    app = open_page("studies")
    assert no_fault(app)
    (table,) = (d.value for d in app.dataframe)
    assert list(table["Study"]) == ["pilot"]
    assert list(table["Dialogues"]) == ["2 of 4"]
    assert list(table["Failed"]) == ["1"]


def test_collections_of_imported_dialogues_are_no_studies() -> None:
    with own_store() as store:
        store.add_study(make_study("i1", name="imported", kind="imported"))
    app = open_page("studies")
    assert any("There is no study yet" in m for m in marked(app))


def test_home_and_dialogues_lead_to_the_monitor_and_it_leads_back() -> None:
    with own_store() as store:
        fill(store)
    assert ("studies", "study=s1") in links(open_page("home"))
    assert ("studies", "study=s1") in links(open_page("dialogues", study="s1"))
    app = open_page("studies", study="s1")
    assert no_fault(app)
    assert {("dialogues", "study=s1"), ("compare", "study=pilot")} <= set(links(app))


# --- defining ---------------------------------------------------------------------------------


def test_the_sample_study_can_be_defined_by_fields_and_is_the_same_yaml() -> None:
    app = new_study()
    app.text_input(key="studies.name").set_value("sample-study").run()
    question = load_study(SAMPLE_STUDY).question
    app.text_input(key="studies.question").set_value(question)
    app.number_input(key="studies.limit").set_value(120)
    arms = [("attentive · all", "attentive", 3), ("attentive · none", "attentive", 0)]
    arms += [("forgetful · all", "forgetful", 3), ("inventive · all", "inventive", 3)]
    for i, (name, model, parts) in enumerate(arms):
        if i:
            app.button(key="studies.arm.add").click().run()
        app.text_input(key=f"studies.arm.{i}.title").set_value(name)
        app.selectbox(key=f"studies.arm.{i}").set_value(f"scripted/{model}")
        told = ["demographics", "interactions", "situation"][:parts]
        app.multiselect(key=f"studies.arm.{i}.context").set_value(told)
    rubrics = list(load_study(SAMPLE_STUDY).judges[0].rubrics)
    app.multiselect(key="studies.judge.0.rubrics").set_value(rubrics)
    app.run()
    assert no_fault(app)
    assert shown_yaml(app) == load_study(SAMPLE_STUDY).to_yaml()
    app.button(key="studies.save").click().run()
    assert no_fault(app)
    assert saved_studies(Settings.from_env()) == [load_study(SAMPLE_STUDY)]
    assert list_drafts(Settings.from_env()) == []


def test_the_example_is_counted_and_estimated() -> None:
    app = new_study("studies.example")
    assert no_fault(app)
    shown = " ".join(marked(app))
    assert ":small[Scenarios]  \n120" in shown
    assert ":small[People]  \n14" in shown
    assert ":small[Dialogues]  \n480" in shown
    assert ":small[Model calls]  \n0" in shown
    assert ":small[Cost]  \nnothing" in shown
    assert not app.button(key="studies.launch").disabled


def test_the_count_follows_the_selection() -> None:
    app = new_study("studies.example")
    app.number_input(key="studies.limit").set_value(10)
    app.number_input(key="studies.repetitions").set_value(3).run()
    assert ":small[Dialogues]  \n120" in " ".join(marked(app))


def test_eight_contexts_of_one_model_are_one_click() -> None:
    app = new_study()
    app.button(key="studies.arm.0.ablate").click().run()
    app.text_input(key="studies.name").set_value("ablation").run()
    assert no_fault(app)
    spec = parse_study(yaml.safe_load(shown_yaml(app)), source="it")
    assert len({arm.arm.context for arm in spec.arms}) == 8
    assert spec.arms[0].name == "attentive · none"
    assert {arm.model for arm in spec.arms} == {"scripted/attentive"}


def test_arms_are_duplicated_and_removed() -> None:
    app = new_study()
    app.button(key="studies.arm.0.duplicate").click().run()
    assert app.text_input(key="studies.arm.1.title").value == "attentive 2"
    app.button(key="studies.arm.0.remove").click().run()
    assert [t.key for t in app.text_input if t.key and t.key.endswith(".title")] == [
        "studies.arm.1.title"
    ]


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("studies.name", "", "a study's name is 1 to 80 letters"),
        ("studies.users", "nobody", "selects no users"),
        ("studies.users", "66", "names 1 users that are not here"),
        ("studies.arm.0.title", "<b>", "an arm's name is 1 to 80 letters"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(key: str, value: str, says: str) -> None:
    app = new_study("studies.example")
    app.text_input(key=key).set_value(value).run()
    (fault,) = faults(app)
    assert text.escape_md(says) in fault
    assert app.button(key="studies.launch").disabled


def test_a_name_that_is_taken_is_refused_before_launch() -> None:
    with own_store() as store:
        fill(store)
    app = new_study("studies.example")
    app.text_input(key="studies.name").set_value("pilot").run()
    assert faults(app) == [
        text.escape_md("There is a study called pilot already; give this one another name.")
    ]


def test_params_that_are_no_mapping_are_said_at_the_field_and_kept() -> None:
    app = new_study("studies.example")
    app.selectbox(key="studies.arm.0").set_value("another model").run()
    app.text_input(key="studies.arm.0.name").set_value("ollama/x").run()
    app.text_area(key="studies.arm.0.params").set_value("temperature").run()
    assert any("Parameters are a mapping" in w.value for w in app.warning)
    assert "arms.0.params" in faults(app)[0]
    assert list_drafts(Settings.from_env())[0].text.count("params: temperature") == 1


def test_an_unknown_price_asks_for_consent_before_launch() -> None:
    app = new_study("studies.example")
    app.selectbox(key="studies.arm.0").set_value("another model").run()
    app.text_input(key="studies.arm.0.name").set_value("hosted_vllm/mine").run()
    app.text_input(key="studies.arm.0.base").set_value("http://127.0.0.1:9/v1").run()
    shown = " ".join(marked(app))
    assert ":small[Cost]  \nunknown" in shown
    assert any("input" in w.value and "hosted" in w.value for w in app.warning)
    assert app.button(key="studies.launch").disabled
    app.checkbox(key="studies.consent").check().run()
    assert not app.button(key="studies.launch").disabled


def test_yaml_and_fields_are_two_ways_of_the_same_draft() -> None:
    app = new_study("studies.example")
    app.toggle(key="studies.as_yaml").set_value(True).run()
    assert no_fault(app)
    words = app.text_area(key="studies.yaml").value
    changed = words.replace("name: my-study", "name: by-hand").replace("limit: 120", "limit: 8")
    app.text_area(key="studies.yaml").set_value(changed).run()
    app.toggle(key="studies.as_yaml").set_value(False).run()
    assert no_fault(app)
    assert app.text_input(key="studies.name").value == "by-hand"
    assert app.number_input(key="studies.limit").value == 8
    assert shown_yaml(app) == changed


def test_text_that_is_no_yaml_is_kept_and_said() -> None:
    app = new_study("studies.example")
    app.toggle(key="studies.as_yaml").set_value(True).run()
    app.text_area(key="studies.yaml").set_value("name: [").run()
    assert "is not valid YAML (line 1)" in faults(app)[0]
    app.toggle(key="studies.as_yaml").set_value(False).run()
    assert app.toggle(key="studies.as_yaml").value is True
    assert app.text_area(key="studies.yaml").value == "name: ["


def test_a_draft_outlives_the_session() -> None:
    app = new_study("studies.example")
    app.text_input(key="studies.name").set_value("half made").run()
    (draft,) = list_drafts(Settings.from_env())
    again = open_page("studies", draft=draft.id)
    assert no_fault(again)
    assert again.text_input(key="studies.name").value == "half made"
    listed = open_page("studies")
    assert listed.button(key=f"studies.open.{draft.id}").label == "half made"
    listed.button(key=f"studies.drop.{draft.id}").click().run()
    assert list_drafts(Settings.from_env()) == []


def test_an_address_cannot_name_a_file() -> None:
    app = open_page("studies", draft="../../etc")
    assert no_fault(app)
    app = open_page("studies", draft="deadbeef")
    assert any("not here any more" in m for m in marked(app))


# --- launching --------------------------------------------------------------------------------


@pytest.fixture
def fake_cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A command line that only notes what it was told."""
    script = tmp_path / "cli.py"
    script.write_text(
        "import sys, pathlib\n"
        "pathlib.Path(__file__).with_name('told').write_text(' '.join(sys.argv[1:]))\n"
        "raise SystemExit('No *luck* today.')\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(launcher, "ROOT", tmp_path)
    return script


def told(fake_cli: Path) -> str:
    note = fake_cli.with_name("told")
    until = time.monotonic() + 20
    while not (note.exists() and note.read_text(encoding="utf-8")) and time.monotonic() < until:
        time.sleep(0.02)
    time.sleep(0.1)
    return note.read_text(encoding="utf-8")


def test_launch_saves_the_file_and_starts_a_process_on_it(fake_cli: Path) -> None:
    app = new_study("studies.example")
    app.number_input(key="studies.workers").set_value(3).run()
    app.button(key="studies.launch").click().run()
    assert app.query_params["study"] in ("my-study", ["my-study"])
    path = launcher.study_path("my-study", Settings.from_env())
    assert told(fake_cli) == f"run {path} --workers 3"
    assert load_study(path).name == "my-study"
    until = time.monotonic() + 20
    while not app.error and time.monotonic() < until:
        time.sleep(0.05)
        app.run()
    assert faults(app) == [text.escape_md("The study did not start: No *luck* today.")]
    assert not app.button(key="studies.start").disabled


# --- monitoring -------------------------------------------------------------------------------


def fill(store: Any, *, state: StudyState = StudyState.RUNNING, **spec: Any) -> None:
    """Four units: one done, one failed, two owed."""
    arms = (make_arm("attentive"), make_arm("forgetful"))
    models = [f"scripted/{a.name}" for a in arms]
    values: dict[str, Any] = {"arms": models, "question": f"Why {WEIRD}?"} | spec
    store.add_study(make_study(spec=make_study_spec(**values)))
    units = [make_unit(make_ref(p), arm=a) for p in ("user0", "user1") for a in arms]
    store.add_units(units)
    done = make_dialogue_of(units[0], created_at=now())
    failed = make_dialogue_of(
        units[1], stop=StopReason.MODEL_ERROR, stop_detail=f"ModelUnavailable: {WEIRD}"
    )
    rated = (make_judgement(done), make_judgement(done, value=None, dimension="grounding"))
    store.add_finished([Finished(done, rated), Finished(failed)])
    store.set_study_state("s1", state)


def test_monitor_shows_how_a_running_study_comes_along() -> None:
    with own_store() as store:
        fill(store)
        store.claim_units("s1", "box/ab:7:x", limit=1, lease_seconds=30)
        store.heartbeat("s1", "box/ab:7:x")
    app = open_page("studies", study="pilot")
    assert no_fault(app)
    bars = [e.proto.text for e in app.get("progress")]
    assert bars[0].startswith("Running · 2 of 4 dialogues · about")
    assert bars[1:] == [
        text.escape_md("attentive: 1 of 2"),
        text.escape_md("forgetful: 1 of 2, 1 failed"),
    ]
    shown = " ".join(marked(app))
    assert "2, 1 unscored" in shown
    assert text.escape_md("box, process 7: holds 1 dialogue") in shown
    assert "The model could not be reached: 1" in shown
    assert {"studies.pause", "studies.cancel", "studies.retry"} <= {b.key for b in app.button}
    assert len([q for _, q in links(app) if q.startswith("dialogue=")]) == 3  # 2 newest, 1 example
    assert len(app.get("plotly_chart")) == 1
    for raw in ("*x*", "<b>", ":smile:"):
        assert not any(raw in m for m in marked(app))


def test_pause_and_resume_go_through_the_database(fake_cli: Path) -> None:
    with own_store() as store:
        fill(store)
        store.heartbeat("s1", "box:7:x")
    app = open_page("studies", study="pilot")
    app.button(key="studies.pause").click().run()
    assert not app.exception
    with own_store() as store:
        assert store.get_study("pilot").state is StudyState.PAUSED
    app.number_input(key="studies.budget").set_value(2.5).run()
    app.button(key="studies.resume").click().run()
    assert told(fake_cli) == "resume pilot --budget-usd 2.50"


def test_cancelling_asks_first() -> None:
    with own_store() as store:
        fill(store)
        store.heartbeat("s1", "box:7:x")
    app = open_page("studies", study="pilot")
    app.button(key="studies.cancel").click().run()
    app.button(key="studies.cancel.no").click().run()
    with own_store() as store:
        assert store.get_study("pilot").state is StudyState.RUNNING
    app.button(key="studies.cancel").click().run()
    app.button(key="studies.cancel.yes").click().run()
    with own_store() as store:
        assert store.get_study("pilot").state is StudyState.CANCELLED


def test_a_stalled_study_says_so_and_can_be_resumed() -> None:
    with own_store(now=lambda: now() - timedelta(seconds=90)) as store:
        fill(store)
        store.heartbeat("s1", "box:7:x")
    app = open_page("studies", study="pilot")
    assert no_fault(app)
    assert any(w.value.startswith("No sign of life for 1 min 3") for w in app.warning)
    assert not app.button(key="studies.resume").disabled
    assert "studies.pause" not in {b.key for b in app.button}


def test_a_paused_study_says_why() -> None:
    with own_store() as store:
        fill(store)
        store.set_study_state("s1", StudyState.PAUSED, message=f"Set a key: {WEIRD}")
    app = open_page("studies", study="pilot")
    assert no_fault(app)
    assert text.escape_md(f"Set a key: {WEIRD}") in [w.value for w in app.warning]
    assert app.get("progress")[0].proto.text == "Paused · 2 of 4 dialogues"


def test_failed_units_are_tried_again_by_whoever_is_at_work() -> None:
    with own_store() as store:
        fill(store)
        store.heartbeat("s1", "box:7:x")
    app = open_page("studies", study="pilot")
    app.button(key="studies.retry").click().run()
    with own_store() as store:
        assert (store.progress("s1").failed, store.progress("s1").owed) == (0, 3)


def test_failed_units_of_an_ended_study_are_tried_again_by_a_new_process(fake_cli: Path) -> None:
    with own_store() as store:
        fill(store, state=StudyState.PAUSED)
    app = open_page("studies", study="pilot")
    app.button(key="studies.retry").click().run()
    assert told(fake_cli) == "resume pilot --failed"


def test_what_was_spent_is_shown_against_the_budget_and_unknown_is_said() -> None:
    with own_store() as store:
        fill(store, limits={"budget_usd": 5}, user_agent={"model": "openai/x"})
        store.add_calls([make_call(cost_usd=1.5)])
    assert text.escape_md("1.50 USD of 5.00 USD") in " ".join(
        marked(open_page("studies", study="pilot"))
    )
    with own_store() as store:
        store.add_calls([make_call("u2", cost_usd=None)])
    assert text.escape_md("unknown of 5.00 USD") in " ".join(
        marked(open_page("studies", study="pilot"))
    )


def test_newest_dialogues_are_filtered() -> None:
    with own_store() as store:
        fill(store)
    app = open_page("studies", study="pilot")
    app.selectbox(key="studies.news.arm").set_value("attentive").run()
    assert no_fault(app)
    assert len([q for _, q in links(app) if q.startswith("dialogue=")]) == 2  # 1 newest, 1 example
    app.text_input(key="studies.news.persona").set_value("nobody").run()
    assert "No dialogue fits." in marked(app)


def test_a_finished_study_is_exported_and_copied() -> None:
    with own_store() as store:
        fill(store, state=StudyState.DONE)
    app = open_page("studies", study="pilot")
    app.button(key="studies.export").click().run()
    assert no_fault(app)
    assert app.session_state["studies.exported"][2][:2] == b"PK"
    app.button(key="studies.copy").click().run()
    assert not app.exception
    assert app.text_input(key="studies.name").value == "pilot copy"


def test_an_unknown_study_is_said_to_be_unknown() -> None:
    app = open_page("studies", study="nothing")
    assert no_fault(app)
    assert any("no study of this name" in m for m in marked(app))
