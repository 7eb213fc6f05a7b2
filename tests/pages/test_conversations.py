"""The pages about conversations: threads, instances, forecasts."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.importing import import_source
from core.limits import Caps
from core.personaconv.generator import Size, generate, write_flat
from core.personaconv.types import Task
from core.runner import Runner
from core.study import plan
from core.study_file import parse_study
from tests.builders import NOW
from tests.support.app import links, marked, no_fault, open_page, own_store, texts
from tests.support.conversations import make_comment, make_post, write_json

ODD = "é 😀 $5 *x* <b> ![](http://x/y.png) :smile:"


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[Any]:
    """The app's store with a dataset of conversations."""
    path = tmp_path / "raw.json"
    write_flat(path, generate(3, Size(users=3, posts=2, domains=("books", "science"))))
    with own_store() as store:
        import_source(path, kind="personaconv", name="talk", store=store, now=lambda: NOW)
        yield store


def rows_of(app: AppTest, key: str) -> Any:
    return app.get_by_key(key).value


def run_study(store: Any, **changes: Any) -> None:
    values: dict[str, Any] = {
        "name": "conv",
        "dataset": "talk",
        "instances": {"split": "all"},
        "arms": [
            {"name": f"copy {s}", "model": "scripted/copy-demo", "setting": s}
            for s in ("P-Conv", "NP-Conv")
        ],
    }
    study = plan(parse_study(values | changes, source="x"), store, lambda: NOW).study
    Runner(study, store, None, caps=Caps()).run()  # type: ignore[arg-type]


# --- conversations -------------------------------------------------------------------------------


@pytest.mark.parametrize("page", ["conversations", "instances", "forecasts"])
def test_without_conversations_a_page_says_what_to_do(page: str) -> None:
    app = open_page(page)
    assert no_fault(app)
    assert len(app.info) == 1


def test_threads_are_listed_and_narrowed_by_domain(talk: Any) -> None:
    app = open_page("conversations")
    assert no_fault(app)
    assert len(rows_of(app, "conversations.table")) == 12
    app.selectbox(key="conversations.domain").set_value("books").run()
    shown = rows_of(app, "conversations.table")
    assert set(shown["Domain"]) == {"books"}
    assert len(shown) == 6


def test_a_thread_is_a_tree_with_masked_scores(talk: Any, caplog: pytest.LogCaptureFixture) -> None:
    app = open_page("conversations", dataset="talk", thread="u1p1")
    assert no_fault(app)
    tree = rows_of(app, "tree.rows")
    thread = talk.get_threads("talk", ["u1p1"])["u1p1"]
    assert len(tree) == len(thread.comments) + 1
    assert set(tree["Score"]) == {"••"}
    with caplog.at_level(logging.INFO):
        app.toggle(key="tree.scores").set_value(True).run()
    assert "••" not in set(rows_of(app, "tree.rows")["Score"])
    assert any("scores shown" in record.getMessage() for record in caplog.records)


def test_all_may_be_folded_and_unfolded(talk: Any) -> None:
    app = open_page("conversations", dataset="talk", thread="u1p1")
    whole = len(rows_of(app, "tree.rows"))
    app.button(key="tree.fold").click().run()
    assert len(rows_of(app, "tree.rows")) < whole
    app.button(key="tree.unfold").click().run()
    assert len(rows_of(app, "tree.rows")) == whole


def test_a_picked_message_is_shown_whole_and_a_target_can_be_asked_about(talk: Any) -> None:
    target = talk.list_targets("talk")[0]
    address = {"dataset": "talk", "thread": target.thread_id, "message": str(target.number)}
    app = open_page("conversations", **address)
    assert no_fault(app)
    thread = talk.get_threads("talk", [target.thread_id])[target.thread_id]
    assert thread.comment(target.number).text in texts(app)
    assert any(page.endswith("instances") or "instances" in page for page, _ in links(app))


def test_an_unknown_thread_is_one_sentence(talk: Any) -> None:
    app = open_page("conversations", dataset="talk", thread="u99p9")
    assert not app.exception
    assert [e.value for e in app.error] == ["There is no thread u99p9 in talk."]


def test_texts_of_people_are_never_markup(tmp_path: Path) -> None:
    reply = make_comment("ann", ODD, "11:00", 5)
    post = make_post("ann", make_comment("bob", ODD, "10:00", 2, reply), title=ODD, content=ODD)
    path = write_json(tmp_path / "odd.json", [post])
    with own_store() as store:
        import_source(path, kind="personaconv", name="odd", store=store, now=lambda: NOW)
        (target,) = store.list_targets("odd")
    app = open_page("conversations", dataset="odd", thread="u1p1", message="2")
    assert no_fault(app)
    assert any("😀 $5 *x*" in t for t in texts(app))
    assert not any("<b>" in m for m in marked(app))
    app = open_page("instances", dataset="odd", thread="u1p1", reply=str(target.number))
    assert no_fault(app)
    assert not any("<b>" in m for m in marked(app))


def test_a_thread_of_five_thousand_comments_is_drawn_in_a_second(tmp_path: Path) -> None:
    top = [make_comment(f"m{n}", f"comment {n}", "10:00", 1) for n in range(4990)]
    top[0]["replies"] = [make_comment("ann", "so be it", "11:00", 3)]
    path = write_json(tmp_path / "long.json", [make_post("ann", *top)])
    with own_store() as store:
        import_source(path, kind="personaconv", name="long", store=store, now=lambda: NOW)
    app = open_page("conversations", dataset="long", thread="u1p1")
    assert no_fault(app)
    assert len(rows_of(app, "tree.rows")) > 4000
    begun = time.perf_counter()
    app.run()
    assert time.perf_counter() - begun < 1


# --- instances -----------------------------------------------------------------------------------


def test_an_instance_shows_question_prompt_and_history(talk: Any) -> None:
    app = open_page("instances", dataset="talk")
    assert no_fault(app)
    shown = "\n".join(texts(app))
    assert "Community: books" in shown
    assert "Was the reply received positively or negatively?" in shown
    assert any("no leak found" in m for m in marked(app))
    assert not any(e.value == "What happened" for e in app.caption)


@pytest.mark.parametrize("task", Task)
def test_what_happened_is_hidden_until_revealed(talk: Any, task: Task) -> None:
    target = [t for t in talk.list_targets("talk") if t.score and abs(t.score) > 4][-1]
    app = open_page("instances", dataset="talk", thread=target.thread_id, reply=str(target.number))
    app.segmented_control(key="instances.task").set_value(task).run()
    assert no_fault(app)
    gold = talk.get_threads("talk", [target.thread_id])[target.thread_id]
    text = gold.comment(target.number).text
    told = {
        Task.SENTIMENT: "positive" if (target.score or 0) > 0 else "negative",
        Task.IMPACT: f"{target.score:g}",
        Task.REPLY: text,
    }[task]
    before = texts(app).count(told)
    toggle = next(t for t in app.toggle if t.key and t.key.startswith("instances.gold"))
    toggle.set_value(True).run()
    assert no_fault(app)
    assert texts(app).count(told) == before + 1


def test_the_tree_of_an_instance_is_locked_after_its_moment(talk: Any) -> None:
    target = talk.list_targets("talk")[0]
    app = open_page("instances", dataset="talk", thread=target.thread_id, reply=str(target.number))
    tree = rows_of(app, "instances.tree.rows")
    assert list(tree["Mark"]).count("target") == 1
    assert "path" in set(tree["Mark"])
    assert any("locked" in t for t in tree["Text"])


def test_settings_stand_side_by_side(talk: Any) -> None:
    app = open_page("instances", dataset="talk")
    app.multiselect(key="instances.settings").set_value(["P-Conv", "NP-NonConv"]).run()
    assert no_fault(app)
    assert "None are given." in texts(app)


def test_a_reference_prompt_shows_its_leaks(talk: Any) -> None:
    app = open_page("instances", dataset="talk", thread="u1p1")
    app.segmented_control(key="instances.task").set_value(Task.REPLY).run()
    app.segmented_control(key="instances.mode").set_value("reference").run()
    assert not app.exception
    assert any("leak" in m for m in marked(app)) or app.error


def test_answers_of_studies_stand_with_their_status(talk: Any) -> None:
    run_study(talk)
    target = [t for t in talk.list_targets("talk") if t.score and abs(t.score) > 4][-1]
    app = open_page("instances", dataset="talk", thread=target.thread_id, reply=str(target.number))
    assert no_fault(app)
    assert sum("copy P" in m for m in marked(app)) >= 1
    assert any("exact" in m for m in marked(app))


# --- forecasts -----------------------------------------------------------------------------------


def test_forecasts_stand_beside_baselines_and_published_figures(talk: Any) -> None:
    run_study(talk)
    app = open_page("forecasts")
    assert no_fault(app)
    shown = marked(app)
    assert any("copy P" in m for m in shown)
    assert any("majority" in m and "baseline" in m for m in shown)
    assert any("198" in m for m in shown)
    assert any("Published, not measured here" in m for m in shown)
    for task in Task:
        app.segmented_control(key="forecasts.task").set_value(task).run()
        assert no_fault(app), task


def test_a_study_without_answers_shows_its_baselines(talk: Any) -> None:
    values = {
        "name": "later",
        "dataset": "talk",
        "instances": {"split": "all"},
        "arms": [{"name": "m", "model": "openai/none", "setting": "P-Conv"}],
    }
    plan(parse_study(values, source="x"), talk, lambda: NOW)
    app = open_page("forecasts")
    assert no_fault(app)
    assert any("No answer of this study" in i.value for i in app.info)
    assert any("majority" in m and "baseline" in m for m in marked(app))
