"""Dialogues: find them, read one, and give its judgements another value."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.overrides import UNDONE
from core.ports import Finished
from core.types import Dialogue, Judgement, OverrideReason
from pages._ui import dialogue_query, replay, transcript
from tests.builders import (
    fill_dataset,
    later,
    make_arm,
    make_call,
    make_dialogue,
    make_instrument,
    make_judgement,
    make_override,
    make_persona,
    make_study,
    make_study_spec,
    make_task,
)
from tests.support.app import links, marked, no_fault, open_page, own_store, texts
from tests.support.sample import sample_database

WEIRD = "é 😀 $5 *x* <b> ![](http://127.0.0.1:9/x.png) :smile: \u202eRTL"
SHOWN = WEIRD.replace("\u202e", "")
BOOKS, TRIP = make_task(), make_task("MD-task-1", domains=("Books", "Flights"), intent="Fly away.")


@pytest.fixture(scope="module")
def _template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_database(tmp_path_factory.mktemp("sample"))


@pytest.fixture(autouse=True)
def _with_sample(_template: Path, tmp_path: Path) -> None:
    """A database that holds the sample already: to copy it is cheaper than to import it."""
    shutil.copy(_template, tmp_path)


@pytest.fixture
def store() -> Iterator[Any]:
    """The store of the app, with people, tasks and a study of two arms."""
    with own_store() as opened:
        people = [make_persona("user0"), make_persona("user1", reside_country="Norway")]
        fill_dataset(opened, "mine", personas=people, tasks=[BOOKS, TRIP])
        spec = make_study_spec(dataset="mine", arms=["scripted/attentive", "scripted/pushy"])
        opened.add_study(make_study(spec=spec))
        yield opened


def add(store: Any, dialogue: Dialogue, *judgements: Judgement) -> Dialogue:
    store.add_finished([Finished(dialogue, judgements)])
    return dialogue


def talk(name: str = "d1", *lines: str, **fields: Any) -> Dialogue:
    lines = lines or ("user: hi", "assistant: hello", "user: a book", "assistant: here")
    return make_dialogue(*lines, id=name, dataset="mine", **fields)


def rated(store: Any, **fields: Any) -> Judgement:
    """A stored dialogue with one judgement."""
    dialogue = talk()
    judgement = make_judgement(dialogue, **fields)
    add(store, dialogue, judgement)
    return judgement


def rows(app: AppTest) -> list[str]:
    """Personas and arms of the rows shown, in their order."""
    frame = app.dataframe[0].value
    return [f"{p} {a}" for p, a in zip(frame["Persona"], frame["Arm"], strict=True)]


def shown(app: AppTest) -> str:
    return next(c.value for c in app.caption if c.value.endswith(" shown"))


# --- the list -----------------------------------------------------------------------------------


def test_a_newcomer_is_told_how_dialogues_come_about() -> None:
    app = open_page("dialogues")
    assert no_fault(app)
    assert "There are no dialogues yet" in app.info[0].value
    assert ("launch", "") in links(app)


def test_dialogues_are_listed_newest_first_with_their_number(store: Any) -> None:
    add(store, talk("d1", persona_id="user0"))
    add(store, talk("d2", persona_id="user1", created_at=later(9), arm=make_arm("pushy")))
    app = open_page("dialogues")
    assert no_fault(app)
    assert rows(app) == ["user1 pushy", "user0 attentive"]
    assert shown(app) == "2 dialogues, 2 shown"


@pytest.fixture
def several(store: Any) -> Any:
    """Dialogues that differ in everything that can be filtered by."""
    first = talk("d1", "user: a Needle here", "assistant: yes", persona_id="user0")
    add(store, first, make_judgement(first, value=4))
    second = talk("d2", persona_id="user1", arm=make_arm("pushy"), created_at=later(1), task=TRIP)
    low = make_judgement(second, value=2)
    add(store, second, low)
    store.add_override(make_override(low, value=3))
    add(store, talk("d3", persona_id="user0", stop="model_error", created_at=later(2)))
    return store


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"study": "s1"}, ["user0 attentive", "user1 pushy", "user0 attentive"]),
        ({"arm": "pushy"}, ["user1 pushy"]),
        ({"persona": "norway"}, ["user1 pushy"]),
        ({"persona": "user1"}, ["user1 pushy"]),
        ({"domain": "Flights"}, ["user1 pushy"]),
        ({"kind": "multi"}, ["user1 pushy"]),
        ({"stop": "model_error"}, ["user0 attentive"]),
        ({"text": "needle"}, ["user0 attentive"]),
        ({"overridden": "yes"}, ["user1 pushy"]),
        ({"dimension": "personalization", "min": "3"}, ["user0 attentive"]),
        ({"dimension": "personalization", "max": "2"}, ["user1 pushy"]),
        ({"dimension": "personalization"}, ["user1 pushy", "user0 attentive"]),
        ({"sort": "oldest", "kind": "single"}, ["user0 attentive", "user0 attentive"]),
    ],
)
def test_the_address_filters(several: Any, query: dict[str, str], expected: list[str]) -> None:
    app = open_page("dialogues", **query)
    assert no_fault(app)
    assert rows(app) == expected
    assert shown(app) == f"3 dialogues, {len(expected)} shown"


def test_what_the_address_says_wrongly_is_left_out(several: Any) -> None:
    app = open_page(
        "dialogues", kind="x", stop="y", sort="; DROP", page="-1", min="9", dimension="z"
    )
    assert no_fault(app)
    assert len(rows(app)) == 3


def test_a_filter_that_is_set_goes_into_the_address_and_can_be_cleared(several: Any) -> None:
    app = open_page("dialogues", page="2")
    app.multiselect(key="dialogues.arm").set_value(["pushy"]).run()
    assert app.query_params["arm"] == "pushy"
    assert "page" not in app.query_params
    app.text_input(key="dialogues.text").set_value("nobody said this").run()
    assert [i.value for i in app.info] == ["No dialogue fits; take a filter out."]
    app.button(key="dialogues.clear").click().run()
    assert no_fault(app)
    assert len(rows(app)) == 3
    assert dict(app.query_params) == {}


def test_a_value_range_is_set_with_its_dimension(several: Any) -> None:
    app = open_page("dialogues")
    app.selectbox(key="dialogues.dimension").set_value("personalization").run()
    app.selectbox(key="dialogues.max").set_value("2").run()
    assert no_fault(app)
    assert rows(app) == ["user1 pushy"]
    app.selectbox(key="dialogues.dimension").set_value("task_completion").run()
    assert "max" not in app.query_params


def test_a_long_list_is_read_page_by_page(store: Any) -> None:
    many = [talk(f"d{i:03}", created_at=later(-i), persona_id=f"p{i:03}") for i in range(120)]
    store.add_finished([Finished(d) for d in many])
    app = open_page("dialogues", page="3")
    assert no_fault(app)
    assert rows(app)[0] == "p100 attentive"
    assert len(rows(app)) == 20
    assert shown(app) == "120 dialogues, 120 shown"


# --- the way through the list -------------------------------------------------------------------


def test_next_and_previous_follow_the_filtered_list(several: Any) -> None:
    app = open_page("dialogues", dialogue="d3", persona="user0")
    assert "1 of 2" in marked(app)
    assert app.button(key="dialogues.previous").disabled
    app.button(key="dialogues.next").click().run()
    assert no_fault(app)
    assert app.query_params["dialogue"] == "d1"
    assert app.button(key="dialogues.next").disabled
    app.button(key="dialogues.previous").click().run()
    assert app.query_params["dialogue"] == "d3"
    app.button(key="dialogues.back").click().run()
    assert rows(app) == ["user0 attentive", "user0 attentive"]


def test_next_goes_over_to_the_next_page(store: Any) -> None:
    many = [talk(f"d{i:03}", created_at=later(-i)) for i in range(60)]
    store.add_finished([Finished(d) for d in many])
    app = open_page("dialogues", dialogue="d049")
    app.button(key="dialogues.next").click().run()
    assert (app.query_params["dialogue"], app.query_params["page"]) == ("d050", "2")
    assert "51 of 60" in marked(app)


def test_a_dialogue_outside_of_the_filter_opens_without_a_place(several: Any) -> None:
    app = open_page("dialogues", dialogue="d2", persona="user0")
    assert no_fault(app)
    assert app.button(key="dialogues.previous").disabled
    assert app.button(key="dialogues.next").disabled


def test_an_unknown_dialogue_is_said_so() -> None:
    app = open_page("dialogues", dialogue="nowhere")
    assert no_fault(app)
    assert "There is no dialogue" in app.warning[0].value


# --- one dialogue -------------------------------------------------------------------------------


def test_a_dialogue_shows_who_said_what_and_how_it_ended(store: Any) -> None:
    add(store, talk(arm=make_arm("attentive", context=("situation",))))
    app = open_page("dialogues", dialogue="d1")
    assert no_fault(app)
    assert texts(app)[:4] == ["hi", "hello", "a book", "here"]
    heads = [c.value.partition(" **")[2] for c in app.caption if "**" in c.value]
    assert heads == ["1 User**", "1 Assistant**", "2 User**", "2 Assistant**"]
    line = next(c.value for c in app.caption if "2 turns" in c.value)
    assert "user0" in line
    assert "told situation" in line
    assert "User finished" in line
    knew = next(e.label for e in app.expander if "knew" in e.label)
    assert knew.endswith("demographics – · interaction summaries – · situation ✓")


def test_what_the_assistant_was_and_was_not_told_can_be_read(store: Any) -> None:
    add(store, talk(arm=make_arm("attentive", context=("situation",))))
    app = open_page("dialogues", dialogue="d1")
    assert "**Situation**: told" in marked(app)
    assert "**Demographics**: not told" in marked(app)
    said = "\n".join(texts(app))
    assert "- Location: kitchen" in said
    assert "The person asked the assistant about books twice." in said
    assert "Books, Genre: crime, travel, matters for this task" in said


def test_a_dialogue_that_broke_off_says_why_and_is_not_judged(store: Any) -> None:
    add(store, talk(stop="model_error", stop_detail="ModelUnavailable: It was *busy*."))
    app = open_page("dialogues", dialogue="d1")
    assert no_fault(app)
    assert "It was &#42;busy&#42;." in app.warning[0].value
    assert "ModelUnavailable" not in app.warning[0].value
    assert not [b for b in app.button if b.key == "dialogues.judge_again"]


def test_a_dialogue_without_its_dataset_can_be_read(store: Any) -> None:
    add(store, replace(talk(), dataset=None))
    app = open_page("dialogues", dialogue="d1")
    assert no_fault(app)
    assert texts(app)[:2] == ["hi", "hello"]


def test_weird_words_are_shown_as_they_are_written(store: Any) -> None:
    dialogue = talk("d1", f"user: {WEIRD}", f"assistant: {WEIRD}", arm=make_arm(WEIRD[:9]))
    odd = make_judgement(dialogue, rationale=WEIRD, instrument=make_instrument(judge=WEIRD))
    add(store, dialogue, odd)
    store.add_override(make_override(odd, author=WEIRD, reason=WEIRD))
    app = open_page("dialogues", dialogue="d1")
    assert no_fault(app)
    assert texts(app).count(SHOWN) == 4  # two messages, the rationale, the reason
    for words in marked(app):
        assert "![](" not in words
        assert "<b>" not in words
        assert ":smile:" not in words


def test_rendered_markdown_loads_no_image_and_keeps_dollars(store: Any) -> None:
    add(store, talk("d1", "user: **b** $5 and $6 ![](http://127.0.0.1:9/x.png)", "assistant: ok"))
    app = open_page("dialogues", dialogue="d1")
    app.toggle(key="dialogues.rendered").set_value(True).run()
    drawn = next(m.value for m in app.markdown if "**b**" in m.value)
    assert "![" not in drawn
    assert drawn.count("\\$") == 2


def test_taming_leaves_code_as_it_is() -> None:
    assert transcript.tamed("`a $x :smile:` $y") == "`a $x :smile:` \\$y"
    assert transcript.tamed("# Big\n:red[x]") == "##### Big\n:\u2060red[x]"


def test_the_calls_of_parties_and_judges_are_counted(store: Any) -> None:
    add(store, talk())
    store.add_calls([make_call("d1"), make_call("d1:0a1b", "judge:personalization", cost_usd=None)])
    store.add_calls([make_call("d10"), make_call("d10:0a1b")])
    app = open_page("dialogues", dialogue="d1")
    assert no_fault(app)
    assert "Model calls (2)" in [t.label for t in app.tabs]
    assert "2 calls, 0.8 s in all, cost unknown in part" in marked(app)


def test_a_link_leads_back_to_the_dialogue(store: Any) -> None:
    add(store, talk())
    app = open_page("dialogues", dialogue="d1")
    assert any(c.value.endswith("/dialogues?dialogue=d1") for c in app.code)


# --- replay -------------------------------------------------------------------------------------


def test_a_replay_shows_the_dialogue_message_by_message(store: Any) -> None:
    add(store, talk())
    app = open_page("dialogues", dialogue="d1")
    app.toggle(key="dialogues.replay").set_value(True).run()
    assert "hello" not in texts(app)
    app.button(key="dialogues.step.next").click().run()
    assert texts(app)[:2] == ["hi", "hello"]
    assert "a book" not in texts(app)
    app.button(key="dialogues.step.last").click().run()
    assert "here" in texts(app)
    app.button(key="dialogues.step.first").click().run()
    assert no_fault(app)
    assert "message 1 of 4" in marked(app)


def test_a_replay_plays_at_its_pace_and_stops_at_the_end() -> None:
    played = replay.Replay("d1", step=1)
    played.toggle(3, now=10.0)
    played.advance(3, 1.5, now=10.5)
    assert played.step == 1
    played.advance(3, 1.5, now=11.5)
    assert (played.step, played.playing) == (2, True)
    played.advance(3, 1.5, now=13.0)
    assert (played.step, played.playing) == (3, False)
    played.toggle(3, now=20.0)
    assert (played.step, played.playing) == (1, True)


# --- judgements ---------------------------------------------------------------------------------


def test_a_judgement_is_shown_with_reason_evidence_and_instrument(store: Any) -> None:
    rated(store, value=3, evidence=(2,), rationale="It used the genre.")
    app = open_page("dialogues", dialogue="d1")
    assert no_fault(app)
    assert "It used the genre." in texts(app)
    assert "Judge: 3, strong" in marked(app)
    assert "Evidence: turn 2, marked in the transcript" in marked(app)
    cited = [c.value for c in app.caption if "**evidence**" in c.value]
    assert [("2 User" in c, "2 Assistant" in c) for c in cited] == [(True, False), (False, True)]
    assert any("Rubric: personalization@1" in t for t in texts(app))


def test_a_verdict_is_yes_or_no(store: Any) -> None:
    rated(store, value=1, dimension="task_completion")
    app = open_page("dialogues", dialogue="d1")
    assert "**yes**" in marked(app)
    assert "**1**" not in marked(app)


def test_an_unscored_judgement_says_why_and_shows_the_answer(store: Any) -> None:
    rated(store, value=None, status="unparsable", raw="I *cannot* say")
    app = open_page("dialogues", dialogue="d1")
    assert no_fault(app)
    assert "Judge: no value. Answer not understood" in marked(app)
    assert "I *cannot* say" in [c.value for c in app.code]


def test_values_by_turn_stand_in_a_strip_and_each_has_its_card(store: Any) -> None:
    dialogue = talk()
    by_turn = [
        make_judgement(dialogue, value=v, dimension="personalization_per_turn", turn=t)
        for t, v in ((1, 2), (2, 4))
    ]
    add(store, dialogue, *by_turn)
    app = open_page("dialogues", dialogue="d1", judgement=by_turn[1].id)
    assert no_fault(app)
    assert ":gray-badge[1: 2] :gray-badge[2: 4]" in marked(app)
    assert "Judge: 4, exceptional" in marked(app)


def test_another_dimension_is_opened_by_its_row(store: Any) -> None:
    dialogue = talk()
    first = make_judgement(dialogue, value=3)
    second = make_judgement(dialogue, value=1, dimension="task_completion", rationale="Done so.")
    add(store, dialogue, first, second)
    app = open_page("dialogues", dialogue="d1")
    assert "Done so." not in texts(app)
    app.button(key="dialogues.judgement.1").click().run()
    assert app.query_params["judgement"] == second.id
    assert "Done so." in texts(app)


# --- override -----------------------------------------------------------------------------------


def write(app: AppTest, judgement: Judgement, value: str, author: str | None = "Ana") -> AppTest:
    """Fill the form and save it."""
    key = f"dialogues.override.{{}}.{judgement.id}".format
    group = next(g for g in app.segmented_control if g.key == key("value"))
    group.set_value(value)
    app.selectbox(key=key("reason")).set_value(OverrideReason.MISREAD)
    app.text_area(key=key("words")).set_value(WEIRD)
    if author:
        app.text_input(key="dialogues.author").set_value(author)
    return app.button(key="dialogues.save").click().run()


def test_an_override_is_saved_with_author_and_reason_and_shown_at_once(store: Any) -> None:
    judgement = rated(store, value=3)
    app = write(open_page("dialogues", dialogue="d1"), judgement, "2")
    assert no_fault(app)
    row = store.list_overrides("d1")[0]
    assert (row.value, row.author, row.reason) == (2, "Ana", WEIRD)
    assert row.reason_kind is OverrideReason.MISREAD
    assert ":orange[:material/edit:] In force: **2, basic**, set by Ana" in marked(app)
    assert any("Ana set **2** (judge misread the dialogue)" in words for words in marked(app))
    assert SHOWN in texts(app)
    assert app.session_state["author"] == "Ana"


def test_an_override_is_not_saved_without_value_reason_and_name(store: Any) -> None:
    rated(store)
    app = open_page("dialogues", dialogue="d1")
    app.button(key="dialogues.save").click().run()
    assert app.warning[0].value == (
        "Nothing is saved yet: choose a value and a reason and your name."
    )
    assert store.list_overrides("d1") == []


def test_no_value_is_a_value_that_a_person_can_set(store: Any) -> None:
    judgement = rated(store, value=3)
    app = write(open_page("dialogues", dialogue="d1"), judgement, "none")
    assert no_fault(app)
    assert store.list_overrides("d1")[0].value is None
    assert ":orange[:material/edit:] none" in marked(app)


def test_undo_is_one_more_row_that_gives_the_judges_value_back(store: Any) -> None:
    judgement = rated(store, value=3)
    app = write(open_page("dialogues", dialogue="d1"), judgement, "2")
    app.button(key="dialogues.undo").click().run()
    assert no_fault(app)
    first, second = store.list_overrides("d1")
    assert (second.value, second.reason, second.supersedes) == (3, UNDONE, first.id)
    assert "History (2)" in [e.label for e in app.expander]
    assert not any("In force" in m.value for m in app.markdown)


def test_a_second_override_supersedes_the_first_one_seen(store: Any) -> None:
    judgement = rated(store, value=3)
    app = write(open_page("dialogues", dialogue="d1"), judgement, "2")
    app = write(app, judgement, "1", author=None)
    assert no_fault(app)
    assert [row.value for row in store.list_overrides("d1")] == [2, 1]


def test_whoever_is_late_is_told_who_was_first_and_loses_no_words(store: Any) -> None:
    judgement = rated(store, value=3)
    app = open_page("dialogues", dialogue="d1")
    store.add_override(make_override(judgement, value=4, author="Ben *B*"))
    app = write(app, judgement, "2")
    assert not app.exception
    told = app.warning[0].value
    assert told.startswith("Ben &#42;B&#42; was first")
    assert "**4** is in force" in told
    assert [row.value for row in store.list_overrides("d1")] == [4]
    assert app.text_area(key=f"dialogues.override.words.{judgement.id}").value == WEIRD
    app.button(key="dialogues.save").click().run()
    assert [row.value for row in store.list_overrides("d1")] == [4, 2]


# --- judging again ------------------------------------------------------------------------------


def test_another_rubric_is_judged_and_shown(store: Any) -> None:
    add(store, talk())
    app = open_page("dialogues", dialogue="d1")
    assert app.button(key="dialogues.judge_again").disabled
    app.multiselect(key="dialogues.rubrics").set_value(["personalization"]).run()
    app.button(key="dialogues.judge_again").click().run()
    assert no_fault(app)
    assert [j.dimension for j in store.list_judgements("d1")] == ["personalization"]
    app.button(key="dialogues.judge_again").click().run()
    assert "has rated this dialogue by these rubrics already" in app.error[0].value
    assert len(store.list_judgements("d1")) == 1


def test_a_judge_without_a_key_is_told_before_it_is_asked(store: Any) -> None:
    add(store, talk())
    app = open_page("dialogues", dialogue="d1")
    app.selectbox(key="dialogues.judge").set_value("another model").run()
    app.text_input(key="dialogues.judge.name").set_value("openai/gpt-4o-mini").run()
    app.multiselect(key="dialogues.rubrics").set_value(["personalization"]).run()
    assert "OPENAI" in app.warning[0].value
    assert app.button(key="dialogues.judge_again").disabled


# --- the query ----------------------------------------------------------------------------------


def test_equal_filters_have_equal_keys_whatever_the_order_of_their_sets() -> None:
    one = dialogue_query.DialogueFilter(arms=frozenset(["a", "b"]))
    other = dialogue_query.DialogueFilter(arms=frozenset(["b", "a"]))
    assert dialogue_query.key_of(one) == dialogue_query.key_of(other)
    assert dialogue_query.key_of(one) != dialogue_query.key_of(dialogue_query.DialogueFilter())
