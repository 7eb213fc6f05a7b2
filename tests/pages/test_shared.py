"""Where the app is shared, nobody writes whom no login vouches for, and nobody above their role."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.clock import new_id, now
from core.review_designs import store_draw
from core.review_queue import Given, Queue
from core.review_types import ReviewDesign
from core.roles import Guarded, NotAllowed, Role
from pages._ui.people_panel import audit_csv
from tests.builders import make_judgement, make_override
from tests.support.app import no_fault, open_page, own_store
from tests.support.reviewing import DIMENSION, fill_study, wish
from tests.support.sample import sample_database


@pytest.fixture(scope="module")
def _template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_database(tmp_path_factory.mktemp("sample"))


@pytest.fixture(autouse=True)
def _shared(_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The app listens on every address of the machine."""
    shutil.copy(_template, tmp_path)
    monkeypatch.setenv("RAPPORT_ADDRESS", "0.0.0.0")


@pytest.fixture
def store() -> Iterator[Any]:
    with own_store() as opened:
        fill_study(opened, dataset="mine")
        yield opened


@pytest.fixture
def design(store: Any) -> ReviewDesign:
    return store_draw(wish(6), store, now=now, new_id=new_id)


def test_everything_can_be_read_without_a_login(store: Any, design: ReviewDesign) -> None:
    for page in ("home", "dialogues", "compare", "agreement", "data", "settings"):
        assert no_fault(open_page(page)), page


def test_nobody_is_asked_for_a_name_that_proves_nothing(store: Any, design: ReviewDesign) -> None:
    app = open_page("desk", design=design.root_id)
    assert not [field for field in app.text_input if field.key == "desk.author"]
    assert any("shared and has no login" in i.value for i in app.info)
    assert store.list_assignments(design.root_id) == []


def test_a_name_that_a_page_holds_does_not_sign_anybody_in(
    store: Any, design: ReviewDesign
) -> None:
    app = open_page("desk", design=design.root_id)
    app.session_state["author"] = "Ana"
    app.run()
    assert store.list_assignments(design.root_id) == []
    assert store.list_annotations(root_id=design.root_id) == []


def test_a_study_is_not_started_by_who_may_not(store: Any) -> None:
    app = open_page("home")
    app.button(key="home.run_sample").click().run()
    assert any("role admin" in e.value for e in app.error)


def test_an_override_is_refused_in_a_sentence_and_nothing_is_stored(store: Any) -> None:
    dialogue = next(iter(store.iter_dialogues("s1")))
    app = open_page("dialogues", dialogue=dialogue.id)
    assert no_fault(app)
    assert not [field for field in app.text_input if field.key == "dialogues.author"]
    app.button(key="dialogues.save").click().run()
    assert store.list_overrides(dialogue.id) == []


def test_the_audit_is_a_table_in_which_nothing_is_a_formula(
    store: Any, design: ReviewDesign
) -> None:
    desk = Queue(design, "=1+1", store, now, new_id)
    at = desk.current()
    assert at is not None
    desk.rate(at, {DIMENSION: Given(2)}, 5.0)
    app = open_page("settings")
    app.session_state["settings.tab"] = "People and audit"
    app.run()
    assert no_fault(app)
    assert len(app.get("arrow_data_frame") or app.dataframe) == 1
    lines = audit_csv(store.list_events()).splitlines()
    assert lines[0] == "at,author,act,subject,detail"
    assert any(",'=1+1,rated," in line for line in lines)


def test_roles_are_given_by_nobody_who_is_not_signed_in(store: Any) -> None:
    app = open_page("settings")
    app.session_state["settings.tab"] = "People and audit"
    app.run()
    app.text_input(key="settings.person").set_value("Eve").run()
    app.button(key="settings.give").click().run()
    assert store.list_roles() == {}


def test_an_annotator_cannot_sign_with_anothers_name(store: Any, design: ReviewDesign) -> None:
    guarded: Any = Guarded(store, "Ana", lambda: Role.ANNOTATOR)
    mine = Queue(design, "Ana", guarded, now, new_id)
    at = mine.current()
    assert at is not None
    mine.rate(at, {DIMENSION: Given(2)}, 5.0)
    with pytest.raises(NotAllowed, match="your own name"):
        Queue(design, "Ben", guarded, now, new_id).current()
    judgement = make_judgement(store.get_dialogue(at.dialogue_id))
    with pytest.raises(NotAllowed, match="your own name"):
        guarded.add_override(make_override(judgement, author="Ben"))
    guarded.add_override(make_override(judgement, author="Ana"))
    assert {label.annotator for label in mine.labels()} == {"Ana"}


def test_a_role_that_is_taken_away_between_two_keys_holds_no_longer(
    store: Any, design: ReviewDesign
) -> None:
    store.give_role("Ana", "annotator", "root", now())
    guarded: Any = Guarded(store, "Ana", lambda: Role(store.role_of("Ana")))
    desk = Queue(design, "Ana", guarded, now, new_id)
    at = desk.current()
    assert at is not None
    store.give_role("Ana", "viewer", "root", now())
    with pytest.raises(NotAllowed, match="yours is viewer"):
        desk.rate(at, {DIMENSION: Given(2)}, 5.0)
    assert store.list_annotations(root_id=design.root_id) == []
