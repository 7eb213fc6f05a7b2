"""Launch: choose a scenario and an arm, see what everybody is told, watch what comes of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.assets import dialogue_text
from core.live import LiveDialogue, LiveState
from core.settings import Settings
from core.types import Role, StopReason
from pages._ui.live_registry import LiveRegistry, registry
from tests.builders import fill_dataset, make_persona, make_task
from tests.support.answers import Fault
from tests.support.app import links, marked, no_fault, open_page, own_store, texts
from tests.support.provider import Provider
from tests.support.sample import sample_database

WEIRD = "é 😀 $5 *x* <b> ![](http://127.0.0.1:9/x.png) :smile: \u202eRTL"
SHOWN = WEIRD.replace("\u202e", "")


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider() as running:
        yield running


@pytest.fixture(scope="module")
def _template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_database(tmp_path_factory.mktemp("sample"))


@pytest.fixture(autouse=True)
def _with_sample(_template: Path, tmp_path: Path) -> None:
    """A database that holds the sample already: to copy it is cheaper than to import it."""
    shutil.copy(_template, tmp_path)


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails is not tried again: the tests are about what is said of it."""
    monkeypatch.setenv("RAPPORT_RETRY_SECONDS", "0")


def at_once(app: AppTest) -> AppTest:
    return app.segmented_control(key="launch.pace").set_value("at once").run()


def launched(app: AppTest) -> LiveDialogue:
    """Press the button, and wait until the dialogue is over."""
    app.button(key="launch.start").click().run()
    live = registry(Settings.from_env()).find(app.query_params["live"])
    assert live is not None
    assert live.wait(20).over
    app.run()
    return live


def with_model(app: AppTest, side: str, provider: Provider, model: str) -> AppTest:
    app.selectbox(key=f"launch.{side}").set_value("another model").run()
    app.text_input(key=f"launch.{side}.name").set_value(f"openai/{model}").run()
    return app.text_input(key=f"launch.{side}.base").set_value(provider.url).run()


def code(app: AppTest) -> list[str]:
    return [block.value for block in app.code]


# --- the form ---------------------------------------------------------------------------------


def test_the_address_chooses_the_scenario_when_it_names_one() -> None:
    app = open_page("launch", dataset="sample", persona="user7", task="SD-Books-task-0")
    assert no_fault(app)
    assert app.selectbox(key="launch.persona").value == "user7"
    with own_store() as store:
        scenario = store.get_scenario("sample", "user7", app.selectbox(key="launch.task").value)
    assert scenario.task.intent in texts(app)
    assert any("Location" in words for words in marked(app))


def test_another_person_begins_with_that_persons_first_task() -> None:
    app = open_page("launch", dataset="sample", persona="user7")
    person = app.selectbox(key="launch.persona")
    other = next(p for p in person.options if not p.startswith("user7"))
    person.set_value(other.split(" ")[0]).run()
    assert no_fault(app)
    assert app.query_params["persona"] == other.split(" ")[0]
    assert app.query_params["task"] == app.selectbox(key="launch.task").value


def test_a_person_without_tasks_is_said_so_when_there_is_nothing_to_launch() -> None:
    with own_store() as store, store.write_dataset("lonely", "personalens") as writer:
        writer.add_personas([make_persona("user0")])
    app = open_page("launch", dataset="lonely")
    assert no_fault(app)
    assert [i.value for i in app.info] == ["This person has no tasks; choose somebody else."]
    assert not [b for b in app.button if b.key == "launch.start"]


def test_fifteen_hundred_people_can_be_chosen_from() -> None:
    people = [make_persona(f"user{i}") for i in range(1_500)]
    with own_store() as store:
        fill_dataset(store, "large", personas=people)
    app = open_page("launch", dataset="large", persona="user1499")
    assert no_fault(app)
    assert len(app.selectbox(key="launch.persona").options) == 1_500
    assert app.selectbox(key="launch.persona").value == "user1499"


def test_weird_words_of_a_scenario_are_shown_as_they_are() -> None:
    task = make_task(intent=WEIRD, relevant=())
    with own_store() as store:
        fill_dataset(store, "weird", personas=[make_persona("user0", age=WEIRD)], tasks=[task])
    app = open_page("launch", dataset="weird")
    assert no_fault(app)
    assert SHOWN in texts(app)
    assert any(SHOWN in words for words in code(app))
    assert not any("![](" in words or "<b>" in words for words in marked(app))


# --- what each party is told --------------------------------------------------------------------


def test_a_scripted_user_is_told_facts_and_what_matters_but_never_the_goal() -> None:
    app = open_page("launch", dataset="sample", persona="user7")
    with own_store() as store:
        task = store.get_task("sample", app.selectbox(key="launch.task").value)
    told = "\n".join(code(app))
    assert task.intent in told
    assert task.goal not in told
    named = ", ".join(f"{r.domain}: {r.name}" for r in task.relevant)
    assert named in texts(app)


def test_a_model_is_shown_word_for_word_what_it_will_be_sent(provider: Provider) -> None:
    provider.forget()
    app = at_once(open_page("launch", dataset="sample", persona="user7"))
    app = with_model(app, "user", provider, "any")
    shown = code(app)
    app.selectbox(key="launch.judge").set_value("none").run()
    launched(app)
    first = provider.requests[0].messages
    assert [m["content"] for m in first] == shown[:2]


def test_what_the_assistant_is_told_follows_the_switches() -> None:
    app = open_page("launch", dataset="sample", persona="user7")
    app.session_state["launch.told"] = "Assistant"
    app.toggle(key="launch.context.interactions").set_value(False).run()
    assert code(app) == ["Nothing is known."]
    app.toggle(key="launch.context.situation").set_value(True).run()
    assert any("The moment:" in words for words in code(app))


def test_assistant_and_judge_are_shown_word_for_word_what_they_will_be_sent(
    provider: Provider,
) -> None:
    provider.forget()
    app = at_once(open_page("launch", dataset="sample", persona="user7"))
    app = with_model(app, "assistant", provider, "helper")
    app = with_model(app, "judge", provider, "rater")
    app.multiselect(key="launch.rubrics").set_value(["personalization"]).run()
    app.session_state["launch.told"] = "Assistant"
    to_assistant = code(app.run())
    app.session_state["launch.told"] = "Judge"
    to_judge = code(app.run())
    said = launched(app).snapshot().messages
    sent = {
        model: next(r.messages for r in provider.requests if r.model == model)
        for model in ("helper", "rater")
    }
    placeholder = "User: (here stands the conversation so far)"
    to_assistant[1] = to_assistant[1].replace(placeholder, dialogue_text(said[:1]))
    to_judge[1] = to_judge[1].replace("(no messages yet)", dialogue_text(said, numbered=True))
    assert [m["content"] for m in sent["helper"]] == to_assistant
    assert [m["content"] for m in sent["rater"]] == to_judge


# --- launching ----------------------------------------------------------------------------------


def test_a_scripted_dialogue_is_launched_watched_judged_and_can_be_opened() -> None:
    app = at_once(open_page("launch", dataset="sample", persona="user7"))
    live = launched(app)
    assert live.snapshot().state is LiveState.DONE
    assert no_fault(app)
    said = live.snapshot().messages
    assert [m.content for m in said] == texts(app)
    assert "The user had finished and ended the conversation." in marked(app)
    assert ("dialogues", f"dialogue={live.id}") in links(app)
    with own_store() as store:
        assert len(store.list_judgements(live.id)) == 6
        stored = store.get_dialogue(live.id)
    assert stored.messages[0].role is Role.USER
    assert any("Personalisation 1–4" in words for words in marked(app))


def test_a_reload_goes_on_watching_what_the_address_names() -> None:
    app = at_once(open_page("launch"))
    live = launched(app)
    again = open_page("launch", live=live.id)
    assert no_fault(again)
    assert texts(again) == texts(app)


def test_the_form_is_filled_again_when_another_arm_is_wanted() -> None:
    app = at_once(open_page("launch", dataset="sample", persona="user7"))
    app.selectbox(key="launch.assistant").set_value("scripted/pushy").run()
    app.toggle(key="launch.context.situation").set_value(True).run()
    live = launched(app)
    app.button(key="launch.again").click().run()
    assert no_fault(app)
    assert "live" not in app.query_params
    assert app.selectbox(key="launch.persona").value == live.launch.scenario.persona.id
    assert app.selectbox(key="launch.assistant").value == "scripted/pushy"
    assert app.toggle(key="launch.context.situation").value is True


def test_a_dialogue_is_stopped_and_what_was_said_is_kept() -> None:
    app = open_page("launch", dataset="sample", persona="user7")
    app.segmented_control(key="launch.pace").set_value("slow").run()
    app.button(key="launch.start").click().run()
    live = registry(Settings.from_env()).find(app.query_params["live"])
    assert live is not None
    app.button(key="launch.stop").click().run()
    assert live.wait(20).stop_reason is StopReason.CANCELLED
    app.run()
    assert no_fault(app)
    assert any("Somebody stopped it." in words for words in marked(app))
    with own_store() as store:
        assert store.get_dialogue(live.id).stop_reason is StopReason.CANCELLED


def test_an_address_of_a_dialogue_that_nobody_makes_any_more_says_so() -> None:
    app = open_page("launch", live="0" * 32)
    assert no_fault(app)
    assert "not being made any more" in app.warning[0].value
    app.button(key="launch.again").click().run()
    assert app.button(key="launch.start").disabled is False


def test_a_live_dialogue_of_an_earlier_start_leads_to_what_was_stored() -> None:
    app = at_once(open_page("launch"))
    live = launched(app)
    registry.clear()
    again = open_page("launch", live=live.id)
    assert no_fault(again)
    assert ("dialogues", f"dialogue={live.id}") in links(again)


# --- models that fail ---------------------------------------------------------------------------


def test_a_missing_key_is_told_before_anything_is_launched() -> None:
    app = open_page("launch")
    app.selectbox(key="launch.assistant").set_value("another model").run()
    assert app.button(key="launch.start").disabled
    app.text_input(key="launch.assistant.name").set_value("openai/gpt-4o-mini").run()
    assert "set OPENAI_API_KEY in the environment" in app.warning[0].value.replace("&#95;", "_")
    assert app.button(key="launch.start").disabled


def test_an_unknown_provider_is_told_before_anything_is_launched() -> None:
    app = open_page("launch")
    app.selectbox(key="launch.assistant").set_value("another model").run()
    app.text_input(key="launch.assistant.name").set_value("nonsense").run()
    assert "nonsense" in app.warning[0].value
    assert app.button(key="launch.start").disabled


@pytest.mark.parametrize(
    ("fault", "reason", "words"),
    [
        (Fault.SERVER_ERROR, StopReason.MODEL_ERROR, "A model failed"),
        (Fault.FILTERED_PROMPT, StopReason.REFUSED, "A model refused"),
    ],
)
def test_a_failing_model_ends_the_dialogue_with_a_sentence_and_keeps_it(
    provider: Provider, fault: Fault, reason: StopReason, words: str
) -> None:
    provider.script("faulty", [fault])
    app = with_model(at_once(open_page("launch")), "assistant", provider, "faulty")
    live = launched(app)
    assert no_fault(app)
    assert live.snapshot().stop_reason is reason
    told = next(w.value for w in app.warning if words in w.value)
    assert "ModelUnavailable" not in told
    assert "ModelRefused" not in told
    assert [m.content for m in live.snapshot().messages] == texts(app)
    with own_store() as store:
        assert store.get_dialogue(live.id).stop_reason is reason
        assert store.list_judgements(live.id) == []


def test_a_refused_key_is_a_sentence_and_the_form_is_kept(provider: Provider) -> None:
    provider.script("locked", [Fault.BAD_KEY])
    app = with_model(at_once(open_page("launch")), "assistant", provider, "locked")
    live = launched(app)
    assert live.snapshot().state is LiveState.FAILED
    assert not app.exception
    assert len(app.error) == 1
    assert "key" in app.error[0].value
    assert len(texts(app)) == 1  # what the user had said is still there to be read
    app.button(key="launch.again").click().run()
    assert app.text_input(key="launch.assistant.name").value == "openai/locked"
    assert app.text_input(key="launch.assistant.base").value == provider.url


def test_a_failing_judge_leaves_the_dialogue_and_says_what_is_wrong(provider: Provider) -> None:
    provider.script("judge", [Fault.UNKNOWN_MODEL])
    app = with_model(at_once(open_page("launch")), "judge", provider, "judge")
    live = launched(app)
    assert app.error[0].value.startswith("The dialogue is kept. ")
    assert ("dialogues", f"dialogue={live.id}") in links(app)


# --- registry -----------------------------------------------------------------------------------


class Over:
    """A live dialogue as the registry sees it."""

    def __init__(self, name: str, over: bool) -> None:
        self.id, self.over = name, over

    def snapshot(self) -> Any:
        return self


def test_of_dialogues_that_are_over_the_oldest_fall_out_and_no_running_one() -> None:
    lives: Any = LiveRegistry()
    lives.add(Over("running", over=False))
    for i in range(60):
        lives.add(Over(f"over{i}", over=True))
    assert lives.find("running") is not None
    assert lives.find("over59") is not None
    assert lives.find("over10") is not None
    assert lives.find("over9") is None
