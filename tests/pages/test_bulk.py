"""Overriding the filtered list of dialogues at once, and finding where judge and people differ."""

from __future__ import annotations

import html
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.bulk_override import Special
from core.overrides import UNDONE
from core.ports import Finished
from core.types import OverrideReason
from tests.builders import (
    later,
    make_arm,
    make_dialogue,
    make_judgement,
    make_override,
    make_study,
    make_study_spec,
)
from tests.support.app import marked, no_fault, open_page, own_store
from tests.support.sample import sample_database

NASTY = "<b>Ana</b> ![](http://127.0.0.1:9/x.png)"


@pytest.fixture(scope="module")
def _template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_database(tmp_path_factory.mktemp("sample"))


@pytest.fixture
def store(_template: Path, tmp_path: Path) -> Iterator[Any]:
    """A study of four dialogues whose personalisation is 1, 2, 3, 1, by two arms."""
    shutil.copy(_template, tmp_path)
    with own_store() as opened:
        arms = ["scripted/attentive", "scripted/pushy"]
        opened.add_study(make_study(spec=make_study_spec(arms=arms)))
        for i, value in enumerate((1, 2, 3, 1)):
            arm = make_arm("pushy" if i == 3 else "attentive")
            dialogue = make_dialogue(id=f"d{i}", arm=arm, created_at=later(i))
            opened.add_finished([Finished(dialogue, (make_judgement(dialogue, value=value),))])
        yield opened


def begin(value: int | Special, **query: str) -> AppTest:
    """The list with the filters of `query`, a value chosen for all of it, and the preview."""
    app = open_page("dialogues", **query)
    app.toggle(key="dialogues.bulk").set_value(True).run()
    group = next(g for g in app.segmented_control if g.key and "bulk.value" in g.key)
    group.set_value(value).run()
    return app.button(key="dialogues.bulk.preview").click().run()


def sign(app: AppTest, author: str = "Ana") -> AppTest:
    app.selectbox(key="dialogues.bulk.reason").set_value(OverrideReason.RUBRIC)
    app.text_area(key="dialogues.bulk.words").set_value("all of them repeat the question")
    if author:
        app.text_input(key="dialogues.bulk.author").set_value(author)
    return app.button(key="dialogues.bulk.save").click().run()


def saved(store: Any) -> list[tuple[str, int | None]]:
    return sorted((o.dialogue_id, o.value) for o in store.list_all_overrides("s1"))


def said(app: AppTest, words: str) -> bool:
    return any(words in html.unescape(line) for line in marked(app))


def test_nothing_is_saved_before_the_preview_was_seen(store: Any) -> None:
    app = open_page("dialogues")
    app.toggle(key="dialogues.bulk").set_value(True).run()
    assert no_fault(app)
    assert app.button(key="dialogues.bulk.preview").disabled
    assert not [b for b in app.button if b.key == "dialogues.bulk.save"]


def test_the_filtered_list_is_previewed_and_saved_with_one_reason(store: Any) -> None:
    app = begin(2, arm="attentive")
    assert no_fault(app)
    assert said(app, "2 judgements of 2 dialogues would change: 1 from 1 to 2, 1 from 3 to 2.")
    assert said(app, "1 judgement held this already.")
    assert saved(store) == []
    app = sign(app)
    assert no_fault(app)
    assert said(app, "2 overrides saved.")
    assert saved(store) == [("d0", 2), ("d2", 2)]
    row = store.list_overrides("d0")[0]
    assert (row.author, row.reason_kind) == ("Ana", OverrideReason.RUBRIC)
    assert row.reason == "all of them repeat the question"


def test_a_preview_of_other_choices_cannot_be_saved(store: Any) -> None:
    app = begin(2)
    group = next(g for g in app.segmented_control if g.key and "bulk.value" in g.key)
    group.set_value(3).run()
    assert not [b for b in app.button if b.key == "dialogues.bulk.save"]
    app = begin(2)
    app.multiselect(key="dialogues.arm").set_value(["pushy"]).run()
    assert not [b for b in app.button if b.key == "dialogues.bulk.save"]


def test_without_a_reason_and_a_name_nothing_is_saved(store: Any) -> None:
    app = begin(2)
    app.button(key="dialogues.bulk.save").click().run()
    assert app.warning[0].value == "Nothing is saved yet: choose a reason and your name."
    assert saved(store) == []


def test_whoever_is_late_is_told_and_the_other_value_stays(store: Any) -> None:
    app = begin(4)
    first = next(j for j in store.list_judgements("d1"))
    store.add_override(make_override(first, value=3, author=NASTY))
    app = sign(app)
    assert no_fault(app)
    assert said(app, "3 overrides saved. 1 judgement somebody else overrode in the meantime")
    assert saved(store) == [("d0", 4), ("d1", 3), ("d2", 4), ("d3", 4)]


def test_undo_gives_back_what_held_before(store: Any) -> None:
    app = sign(begin(Special.NONE, arm="pushy"))
    assert saved(store) == [("d3", None)]
    app.button(key="dialogues.bulk.undo").click().run()
    assert no_fault(app)
    assert said(app, "1 override taken back.")
    last = store.list_overrides("d3")[-1]
    assert (last.value, last.reason) == (1, UNDONE)


def test_a_persons_value_is_named_in_the_preview_and_its_author_is_inert(store: Any) -> None:
    first = store.list_judgements("d1")[0]
    store.add_override(make_override(first, value=3, author=NASTY))
    app = begin(4)
    assert no_fault(app)
    assert said(app, "In 1 of them this replaces what a person said.")
    assert not any("![](" in line or "<b>" in line for line in marked(app))


def test_dialogues_where_judge_and_person_differ_are_found_by_the_address(store: Any) -> None:
    store.add_override(make_override(store.list_judgements("d0")[0], value=3))
    store.add_override(make_override(store.list_judgements("d1")[0], value=3))
    app = open_page("dialogues", differ="yes")
    assert no_fault(app)
    assert any(c.value == "4 dialogues, 1 shown" for c in app.caption)
    app = open_page("dialogues")
    app.toggle(key="dialogues.differ").set_value(True).run()
    assert app.query_params["differ"] == "yes"
    assert any(c.value == "4 dialogues, 1 shown" for c in app.caption)
    app.button(key="dialogues.clear").click().run()
    assert "differ" not in app.query_params
