"""The page Personas: find people, and read one."""

from __future__ import annotations

import time
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from pages._ui import text
from tests.builders import fill_dataset, make_persona, make_task
from tests.support.app import links, marked, no_fault, open_page, own_store, texts

ODD = "é 😀 $5 *x* <b> ![](http://x/y.png) :smile:"


def shown_ids(app: AppTest) -> list[str]:
    frame: pd.DataFrame = app.get_by_key("personas.table").value
    return list(frame["Persona"])


def count_line(app: AppTest) -> str:
    return next(c.value for c in app.caption if c.value.endswith("shown"))


# --- finding ----------------------------------------------------------------------------------


def test_the_sample_is_listed_when_nothing_is_asked() -> None:
    app = open_page("personas")
    assert no_fault(app)
    assert count_line(app) == "14 personas, 14 shown"
    assert shown_ids(app)[:3] == ["user0", "user1", "user2"]
    assert app.query_params["dataset"] == "sample"


def test_search_looks_into_affinities_and_summaries() -> None:
    app = open_page("personas")
    app.text_input(key="personas.search").set_value("pablo neruda").run()
    assert no_fault(app)
    assert shown_ids(app) == ["user7"]
    assert count_line(app) == "14 personas, 1 shown"


def test_nobody_is_found_and_the_page_says_so_when_nothing_matches() -> None:
    app = open_page("personas")
    app.text_input(key="personas.search").set_value("%_ no such thing").run()
    assert not app.exception
    assert count_line(app) == "14 personas, 0 shown"
    assert [i.value for i in app.info] == ["Nobody matches; search for less or take a filter out."]


def test_filters_narrow_by_demographics_and_interests() -> None:
    app = open_page("personas")
    app.multiselect(key="personas.gender").set_value(["Male"]).run()
    men = shown_ids(app)
    assert "user7" in men
    assert "user0" not in men
    app.multiselect(key="personas.interests").set_value(["Sports", "Buses"]).run()
    assert no_fault(app)
    assert 0 < len(shown_ids(app)) < len(men)
    assert any(e.label == "Filters (2 in use)" for e in app.expander)


def test_a_dataset_without_a_demographic_has_no_filter_for_it() -> None:
    with own_store() as store:
        fill_dataset(store, "mine")
    app = open_page("personas", dataset="mine")
    keys = {m.key for m in app.multiselect}
    assert keys == {"personas.interests", "personas.age", "personas.reside_country"}


def test_another_dataset_closes_the_card() -> None:
    with own_store() as store:
        fill_dataset(store, "mine")
    app = open_page("personas", dataset="sample", persona="user7", task="SD-Alarm-task-1")
    app.selectbox(key="personas.dataset").set_value("mine").run()
    assert no_fault(app)
    assert app.query_params["dataset"] == "mine"
    assert "persona" not in app.query_params
    assert shown_ids(app) == ["user0", "user1"]


def test_an_unknown_dataset_in_the_address_gives_the_first_one() -> None:
    app = open_page("personas", dataset="../../etc")
    assert no_fault(app)
    assert app.query_params["dataset"] == "sample"


# --- reading ----------------------------------------------------------------------------------


def test_a_link_opens_the_card() -> None:
    app = open_page("personas", dataset="sample", persona="user7")
    assert no_fault(app)
    head = "user7 · 18-24 years old · Working part-time · lives in Chile"
    assert text.escape_md(head, one_line=True) in [s.value for s in app.subheader]
    assert app.session_state["personas.table"]["selection"]["rows"] == [7]


def test_the_card_of_nobody_is_one_sentence() -> None:
    app = open_page("personas", dataset="sample", persona="user999")
    assert not app.exception
    assert [w.value for w in app.warning] == [text.escape_md("sample has no persona 'user999'.")]
    assert len(shown_ids(app)) == 14


def test_closing_the_card_takes_the_persona_out_of_the_address() -> None:
    app = open_page("personas", dataset="sample", persona="user7")
    app.button(key="personas.close").click().run()
    assert no_fault(app)
    assert "persona" not in app.query_params
    assert not app.subheader


def test_values_said_in_the_summary_are_marked_and_counted() -> None:
    persona = make_persona(
        "user0",
        affinities={"Books": {"Genre": ["crime", "travel"], "Format": "ebook"}},
        interactions={"Books": "Asked for crime as an EBOOK."},
    )
    with own_store() as store:
        fill_dataset(store, "mine", personas=[persona])
    app = open_page("personas", dataset="mine", persona="user0")
    assert no_fault(app)
    cells = dict(app.table[0].value.to_numpy().tolist())
    badge = ":gray-badge[:material/check: in summary]"
    assert cells == {"Genre": f"crime {badge}  \ntravel", "Format": f"ebook {badge}"}
    assert any(
        c.value.startswith("Said word for word in the summary: 2 of 3 values") for c in app.caption
    )
    assert "Asked for crime as an EBOOK." in texts(app)


def test_another_domain_shows_its_own_summary() -> None:
    app = open_page("personas", dataset="sample", persona="user7")
    before = texts(app)
    app.pills(key="personas.domain").set_value("Books").run()
    assert no_fault(app)
    assert texts(app) != before
    assert any("Pablo Neruda" in cell for cell in marked(app))


def test_a_task_shows_intent_goal_values_situation_and_a_way_to_launch_it() -> None:
    app = open_page("personas", dataset="sample", persona="user7", task="SD-Alarm-task-1")
    assert no_fault(app)
    assert any(t.startswith("Set up the alarm for your normal mornings") for t in texts(app))
    assert any(t.startswith("An alarm is set whose time") for t in texts(app))
    relevant = app.table[0].value
    assert list(relevant.columns) == ["Affinity", "Value of user7"]
    assert relevant.iloc[0, 1].startswith(text.escape_md("05:30", one_line=True))
    assert any("Valparaíso" in m for m in marked(app))
    assert ("launch", "dataset=sample&persona=user7&task=SD-Alarm-task-1") in links(app)


def test_a_task_that_the_persona_does_not_have_is_not_shown() -> None:
    app = open_page("personas", dataset="sample", persona="user7", task="MD-task-999")
    assert no_fault(app)
    assert not [page for page, _ in links(app) if page == "launch"]


def test_a_persona_without_affinities_or_tasks_is_shown_all_the_same() -> None:
    bare = make_persona("user0", affinities={}, interactions={}, interests=[])
    with own_store() as store, store.write_dataset("bare", "personalens") as writer:
        writer.add_personas([bare])
    app = open_page("personas", dataset="bare", persona="user0")
    assert no_fault(app)
    assert "Nothing is known of this person's likings." in [i.value for i in app.info]
    assert any(tab.label == "Tasks (0)" for tab in app.tabs)


# --- untrusted text ---------------------------------------------------------------------------


@pytest.mark.parametrize("task", [None, "SD-Books-task-0"])
def test_text_of_others_is_shown_as_it_is_written(task: str | None) -> None:
    odd = make_persona(
        "user0",
        affinities={ODD: {ODD: [ODD]}, "Books": {"Genre": [ODD]}},
        interactions={ODD: ODD, "Books": ODD},
        age=ODD,
        employment_status=ODD,
        **{"odd_*field*": ODD},
    )
    want = make_task(intent=ODD, goal=ODD)
    with own_store() as store:
        fill_dataset(store, "odd", personas=[odd], tasks=[want])
    query = {"dataset": "odd", "persona": "user0"} | ({"task": task} if task else {})
    app = open_page("personas", **query)
    assert no_fault(app)
    assert ODD in texts(app)
    escaped = text.escape_md(ODD, one_line=True)
    assert any(escaped in cell for cell in marked(app))
    for raw in ("<b>", "![](", "*x*", ":smile:", "$5"):
        assert [m for m in marked(app) if raw in m] == []


# --- failure and speed ------------------------------------------------------------------------


def test_one_sentence_when_the_database_cannot_be_opened(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    monkeypatch.setenv("RAPPORT_DATABASE_URL", f"sqlite:///{tmp_path}/file/rapport.db")
    app = open_page("personas")
    assert not app.exception
    assert len(app.error) == 1
    assert "RAPPORT" in app.error[0].value


def test_1500_personas_answer_at_once() -> None:
    people = [make_persona(f"user{n}", reside_country=f"Land {n % 40}") for n in range(1500)]
    with own_store() as store:
        fill_dataset(store, "many", personas=people)
    app = open_page("personas", dataset="many", persona="user7")
    assert count_line(app) == "1,500 personas, 1,500 shown"
    began = time.perf_counter()
    app.multiselect(key="personas.reside_country").set_value(["Land 7"]).run()
    took = time.perf_counter() - began
    assert count_line(app) == "1,500 personas, 38 shown"
    assert took < 1.0, f"{took:.2f} s; measured 0.05 s on an idle machine"
