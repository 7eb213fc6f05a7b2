"""Compare: a study's arms side by side, and what the page says of the numbers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.ports import Finished
from core.types import JudgementStatus
from pages._ui import text
from tests.builders import (
    make_arm,
    make_dialogue,
    make_instrument,
    make_judgement,
    make_study,
    make_study_spec,
    make_task,
)
from tests.support.app import links, marked, no_fault, open_page, own_store

WEIRD = "é 😀 $5 *x* <b> :smile:"
ARMS = ("attentive", "forgetful")


def fill(
    *,
    personas: int = 10,
    values: Sequence[int] = (4, 2),
    names: Sequence[str] = ARMS,
    unscored: int = 0,
    judges: Sequence[str] = ("scripted/judge",),
) -> str:
    """One judged dialogue for each persona and arm; returns the study's id."""
    arms = [make_arm(name, model="scripted/attentive") for name in names]
    study = make_study(
        spec=make_study_spec(
            arms=["scripted/attentive", "scripted/forgetful"], question="Who does better?"
        )
    )
    with own_store() as store:
        store.add_study(study)
        for persona in range(personas):
            for arm, value in zip(arms, values, strict=True):
                dialogue = make_dialogue(
                    "user: hi",
                    "assistant: hello",
                    arm=arm,
                    study_id=study.id,
                    persona_id=f"user{persona}",
                    task=make_task("MD-task-1", domains=("Books", "Hotels"))
                    if persona % 2
                    else make_task(),
                )
                blank = persona < unscored
                judgements = [
                    make_judgement(
                        dialogue,
                        value=None if blank else value - (persona == 1 and value > 2),
                        status=JudgementStatus.UNPARSABLE if blank else None,
                        instrument=make_instrument("personalization@1", judge=judge),
                    )
                    for judge in judges
                ]
                store.add_finished([Finished(dialogue, tuple(judgements))])
    return study.id


def figures(app: AppTest) -> list[dict[str, Any]]:
    return [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]


def words(figure: dict[str, Any]) -> str:
    return json.dumps(figure, ensure_ascii=False)


def test_newcomer_is_told_how_to_get_something_to_compare() -> None:
    app = open_page("compare")
    assert no_fault(app)
    assert any("nothing to compare yet" in m for m in marked(app))
    assert len(links(app)) == 2
    assert figures(app) == []


def test_study_without_judgements_says_how_to_judge_it() -> None:
    study = make_study()
    with own_store() as store:
        store.add_study(study)
        store.add_finished([Finished(make_dialogue(study_id=study.id))])
    app = open_page("compare")
    assert no_fault(app)
    assert any("has been judged yet" in m for m in marked(app))


def tab(app: AppTest, name: str) -> AppTest:
    """The page with another of its tabs open."""
    app.session_state["compare.tab"] = name
    return app.run()


def test_arms_are_drawn_with_the_sentence_that_says_what_they_are() -> None:
    fill()
    app = open_page("compare")
    assert no_fault(app)
    shown = " ".join(marked(app))
    assert "Who does better?" in shown
    assert "not yet checked by people" in shown
    assert "10 personas" in shown
    drawn = figures(app)
    assert len(drawn) == 2  # estimates and differences
    assert "attentive" in words(drawn[0])
    assert "forgetful" in words(drawn[0])


def test_each_tab_draws_its_own_part_and_nothing_else() -> None:
    fill()
    app = open_page("compare")
    assert len(app.dataframe) == 0
    (spread,) = figures(tab(app, "Distribution"))
    assert "attentive" in words(spread)
    (domains,) = figures(tab(app, "By domain"))
    assert "Multi-domain" in words(domains)
    assert figures(tab(app, "Numbers")) == []
    assert len(app.dataframe) == 1
    assert no_fault(app)


def test_numbers_of_the_table_are_those_of_the_comparison() -> None:
    fill()
    app = tab(open_page("compare"), "Numbers")
    table = app.dataframe[0].value
    found = dict(zip(table["arm"], table["estimate"], strict=True))
    assert found == pytest.approx({"attentive": 3.9, "forgetful": 2.0})
    assert list(table["n"]) == [10, 10]
    assert list(table["n_personas"]) == [10, 10]


def test_few_personas_get_dots_and_no_interval() -> None:
    fill(personas=3)
    app = open_page("compare")
    assert no_fault(app)
    assert any("personas" in m and "interval" in m for m in marked(app))
    assert tab(app, "Numbers").dataframe[0].value["lo"].isna().all()


def test_unscored_judgements_are_counted_and_never_averaged() -> None:
    fill(unscored=4)
    app = tab(open_page("compare"), "Numbers")
    table = app.dataframe[0].value
    assert list(table["n_unscored"]) == [4, 4]
    assert list(table["n"]) == [6, 6]
    assert table["estimate"].iloc[1] == 2.0


def test_two_instruments_are_never_mixed_and_a_person_chooses_one() -> None:
    study = fill(judges=("scripted/judge", "openai/judge"))
    app = open_page("compare", study=study)
    assert no_fault(app)
    box = app.selectbox(key="compare.instrument")
    assert len(box.options) == 2
    assert len(tab(app, "Numbers").dataframe[0].value) == 4


def test_choice_is_in_the_address_and_the_address_is_a_choice() -> None:
    study = fill()
    app = open_page("compare", study=study, baseline="forgetful")
    assert app.selectbox(key="compare.baseline").value == "forgetful"
    app.selectbox(key="compare.baseline").set_value("attentive").run()
    assert app.query_params["baseline"] in ("attentive", ["attentive"])
    assert app.query_params["study"] in (study, [study])


def test_address_that_names_nothing_falls_back_to_what_is_there() -> None:
    fill()
    app = open_page("compare", study="nowhere", dimension="charm", baseline="<script>")
    assert no_fault(app)
    assert app.selectbox(key="compare.dimension").value == "personalization"


def test_nasty_arm_name_is_shown_as_text() -> None:
    fill(names=(WEIRD, "plain"))
    app = open_page("compare")
    assert not app.exception
    for sentence in marked(app):
        assert "*x*" not in sentence
        assert "<b>" not in sentence
        assert ":smile:" not in sentence
    assert text.escape_md(WEIRD, one_line=True) in " ".join(marked(app))
    for figure in figures(app):
        # Plotly reads some markup in labels; what a click hands on is raw, and never drawn.
        kept = ("customdata", "legendgroup")
        drawn = [{k: v for k, v in d.items() if k not in kept} for d in figure["data"]]
        assert "<b> :smile:" not in words({"layout": figure["layout"], "data": drawn})


def test_broken_setting_is_told_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAPPORT_DATABASE_URL", "sqlite:////proc/nowhere/rapport.db")
    app = open_page("compare")
    assert not app.exception
    assert len(app.error) == 1


def test_published_results_are_off_until_wanted_and_labelled_as_not_ours() -> None:
    fill()
    app = open_page("compare")
    assert len(figures(app)) == 2
    app.toggle(key="compare.published").set_value(True).run()
    assert no_fault(app)
    theirs = figures(app)[-1]
    assert len(figures(app)) == 3
    assert "Claude 3 Sonnet" in words(theirs)
    assert "not measured by Rapport" in words(theirs)
    assert {round(x, 2) for d in theirs["data"] for x in d["x"]} >= {2.13, 2.59, 2.01}
    assert any("Taken second" in m for m in marked(app))
    assert "Claude" not in words(figures(app)[0])
