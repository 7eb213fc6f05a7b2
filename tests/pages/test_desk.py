"""Desk, Agreement and Adjudicate: draw, rate blind, see the judge, differ, settle."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.clock import new_id, now
from core.review_designs import store_draw
from core.review_queue import Given, Queue
from core.review_types import Act, Party, ReviewDesign
from tests.support.app import links, marked, no_fault, open_page, own_store, texts
from tests.support.reviewing import DIMENSION, fill_study, wish
from tests.support.sample import sample_database


@pytest.fixture(scope="module")
def _template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_database(tmp_path_factory.mktemp("sample"))


@pytest.fixture(autouse=True)
def _with_sample(_template: Path, tmp_path: Path) -> None:
    shutil.copy(_template, tmp_path)


@pytest.fixture
def store() -> Iterator[Any]:
    """The store of the app, with a judged study of forty dialogues."""
    with own_store() as opened:
        fill_study(opened, dataset="mine")
        yield opened


def drawn(store: Any, budget: int = 6, **more: Any) -> ReviewDesign:
    return store_draw(wish(budget, **more), store, now=now, new_id=new_id)


def at_desk(design: ReviewDesign, person: str = "Ana") -> AppTest:
    app = open_page("desk", design=design.root_id)
    if not app.session_state["author"]:
        app.text_input(key="desk.author").set_value(person).run()
    assert no_fault(app)
    return app


def press(app: AppTest, ending: str) -> AppTest:
    """Press the button whose key ends so, and let the page draw what comes of it."""
    button = next(b for b in app.button if str(b.key).startswith(ending))
    return button.click().run()


def everything(app: AppTest) -> str:
    """All that the page holds, in whatever field of whatever element."""
    return str(app._tree) + str([element.proto for element in _all(app)])


def _all(app: AppTest) -> list[Any]:
    return [node for block in (app.main, app.sidebar) for node in block]


# --- designs --------------------------------------------------------------------------------------


def test_a_newcomer_is_told_what_a_design_is() -> None:
    app = open_page("desk")
    assert no_fault(app)
    assert "Nothing was drawn for review yet" in app.info[0].value
    assert any("run a study first" in c.value for c in app.caption)


def test_a_design_says_what_it_buys_and_is_drawn_as_it_was_shown(store: Any) -> None:
    app = open_page("desk")
    app.text_input(key="desk.author").set_value("Ana").run()
    app.number_input(key="desk.budget").set_value(12).run()
    said = next(c.value for c in app.caption if "reviews" in c.value)
    assert said.startswith("12 dialogues of 40")
    app.button(key="desk.draw").click().run()
    assert no_fault(app)
    (design,) = store.list_designs()
    assert (design.budget, design.author, design.dimensions) == (12, "Ana", (DIMENSION,))
    assert design.root_id in app.query_params["design"]


def test_a_budget_that_is_too_large_is_said_and_nothing_is_drawn(store: Any) -> None:
    app = open_page("desk")
    app.text_input(key="desk.author").set_value("Ana").run()
    app.number_input(key="desk.budget").set_value(4000).run()
    assert "between 2 and 40" in app.warning[0].value
    assert not [b for b in app.button if b.key == "desk.draw"]
    assert store.list_designs() == []


def test_a_design_can_be_made_larger_from_its_card(store: Any) -> None:
    design = drawn(store)
    app = open_page("desk")
    app.text_input(key="desk.author").set_value("Ana").run()
    app.number_input(key=f"desk.budget.{design.root_id}").set_value(10).run()
    app.button(key=f"desk.extend.{design.root_id}").click().run()
    assert no_fault(app)
    assert [d.budget for d in store.list_designs()] == [10, 6]


def test_a_design_that_is_not_there_says_so() -> None:
    app = open_page("desk", design="nothing")
    assert "no review design" in app.warning[0].value


# --- rating ---------------------------------------------------------------------------------------


def test_nothing_of_judge_arm_or_model_is_on_the_desk_before_a_rating_is_stored(
    store: Any,
) -> None:
    app = at_desk(drawn(store))
    (assignment,) = store.list_assignments(store.list_designs()[0].root_id)
    dialogue = store.get_dialogue(assignment.dialogue_id)
    (judgement,) = store.list_judgements(dialogue.id)
    held = everything(app)
    assert "hello" in held  # the dialogue itself is there
    for secret in (
        *(judgement.rationale, judgement.instrument.judge, judgement.instrument.id, judgement.id),
        *(dialogue.arm.name, dialogue.arm.assistant.model, dialogue.unit_id),
    ):
        assert secret not in held


def test_a_rating_is_stored_blind_then_the_judge_is_shown_and_the_next_one_comes(
    store: Any,
) -> None:
    design = drawn(store)
    app = at_desk(design)
    first = store.list_assignments(design.root_id)[0].dialogue_id
    app = press(app, f"desk.value.{DIMENSION}.2.")
    assert [b for b in app.button if str(b.key).startswith("desk.save.")][0].disabled is False
    app = press(app, "desk.save.")
    rows = store.list_annotations(root_id=design.root_id)
    assert [r.act for r in rows][:1] == [Act.RATED]
    assert (rows[0].value, rows[0].judge_visible_before) == (2, False)
    app.run()
    assert any("It used what it knew." in t for t in texts(app))  # the judge's reason
    app = press(app, "desk.go.")
    app.run()
    assert no_fault(app)
    assert {r.act for r in store.list_annotations(root_id=design.root_id)} >= {Act.AFTER}
    assert store.list_assignments(design.root_id)[-1].dialogue_id != first


def test_a_half_made_rating_is_there_again_in_another_session(store: Any) -> None:
    design = drawn(store)
    app = at_desk(design)
    app = press(app, f"desk.value.{DIMENSION}.3.")
    app.text_area[0].set_value("it asked tw").run()
    again = at_desk(design)
    assert again.text_area[0].value == "it asked tw"
    assert any("3 strong" in m for m in marked(again))


def test_cannot_judge_is_an_act_with_its_reason(store: Any) -> None:
    design = drawn(store)
    app = at_desk(design)
    app = press(app, "desk.cannot.")
    app = press(app, "desk.save.")
    (row,) = [r for r in store.list_annotations(root_id=design.root_id) if r.act is Act.RATED]
    assert (row.value, row.cannot) == (None, "it breaks off")


def test_the_last_rating_can_be_taken_back(store: Any) -> None:
    design = drawn(store)
    app = at_desk(design)
    app = press(press(app, f"desk.value.{DIMENSION}.2."), "desk.save.")
    app.run()
    app.button(key="desk.undo").click().run()
    assert no_fault(app)
    acts = [r.act for r in store.list_annotations(root_id=design.root_id)]
    assert acts == [Act.RATED, Act.REVEALED, Act.UNDONE]


def test_whose_fault_it_was_is_kept_at_once(store: Any) -> None:
    design = drawn(store)
    app = at_desk(design)
    pills = next(p for p in app.get("button_group") if "fault" in str(p.proto))
    pills.set_value(Party.USER).run()
    (fault,) = store.list_faults("s1")
    assert (fault.party, fault.author, fault.confirmed) == (Party.USER, "Ana", True)


def test_who_is_not_among_the_annotators_is_told_so(store: Any) -> None:
    design = drawn(store, annotators=("Ben",))
    app = open_page("desk", design=design.root_id)
    app.text_input(key="desk.author").set_value("Ana").run()
    assert "not among the annotators" in app.error[0].value


def test_a_dialogue_of_nasty_text_is_inert(store: Any) -> None:
    from core.ports import Finished
    from core.types import StopReason
    from tests.builders import make_dialogue, make_judgement

    nasty = "<script>x</script> $y$ ![](http://127.0.0.1:9/x.png) \u202eRTL"
    dialogue = make_dialogue(f"user: {nasty}", "assistant: ok", id="n1", persona_id="user99",
                             stop=StopReason.USER_DONE)  # fmt: skip
    store.add_finished([Finished(dialogue, (make_judgement(dialogue),))])
    design = drawn(store, 41)
    app = at_desk(design)
    desk = Queue(design, "Ana", store, now, new_id)
    for _ in range(60):
        at = desk.current()
        assert at is not None
        if at.dialogue_id == "n1":
            break
        desk.rate(at, {DIMENSION: Given(2)}, 5.0)
        desk.answer(at, {})
    app.run()
    assert nasty.replace("\u202e", "") in texts(app)


# --- agreement and adjudication -------------------------------------------------------------------


@pytest.fixture
def labelled(store: Any) -> ReviewDesign:
    """Forty dialogues by two people who differ on every fifth."""
    design = drawn(store, 40, overlap=1.0)
    for name in ("Ana", "Ben"):
        desk = Queue(design, name, store, now, new_id)
        while (at := desk.current()) is not None:
            judged = desk.judged(at.dialogue_id)[DIMENSION].value or 1
            off = name == "Ben" and int(at.dialogue_id[:4], 16) % 5 == 0
            desk.rate(at, {DIMENSION: Given(5 - judged if off else judged, note="why")}, 9.0)
            desk.answer(at, {})
    return design


def test_agreement_says_how_to_begin_when_nobody_has_labelled() -> None:
    app = open_page("agreement")
    assert no_fault(app)
    assert "Nobody has labelled anything yet" in app.info[0].value
    assert ("desk", "") in links(app)


def test_agreement_is_told_in_words_and_charts(labelled: ReviewDesign) -> None:
    app = open_page("agreement")
    assert no_fault(app)
    said = " ".join(marked(app))
    assert "From 80 blind labels of 40 dialogues drawn at random" in said
    assert "Judge and people give the same rating" in said
    assert labelled.budget == 40


def test_a_conflict_is_settled_with_a_reason_and_stays_in_the_list(
    store: Any, labelled: ReviewDesign
) -> None:
    app = open_page("adjudicate")
    app.text_input(key="adjudicate.author").set_value("Cleo").run()
    assert no_fault(app)
    settle = next(b for b in app.button if str(b.key).startswith("adjudicate.settle."))
    settle.click().run()
    assert "Nothing is saved yet" in app.warning[0].value
    app.get("button_group")[0].set_value("2")
    app.selectbox[1].set_value(app.selectbox[1].options[0])
    app.text_area[0].set_value("Turn 1 says it.")
    next(b for b in app.button if str(b.key).startswith("adjudicate.settle.")).click().run()
    assert no_fault(app)
    (decision,) = store.list_decisions(labelled.root_id)
    assert (decision.value, decision.author, len(decision.settles)) == (2, "Cleo", 2)
    assert any("1 settled" in c.value for c in app.caption)
