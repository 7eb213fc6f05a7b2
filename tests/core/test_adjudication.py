"""Conflicts by size, decisions with reasons, faults that only people confirm, and roles."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core import faults
from core.adjudication import Because, conflicts, decide
from core.errors import StudyError
from core.labels import standing
from core.review_designs import store_draw
from core.review_queue import Given
from core.review_types import Party
from core.roles import NEEDED, Guarded, NotAllowed, Role, claim_first, give, role_of
from tests.builders import NOW
from tests.support.reviewing import DIMENSION, counter, fill_study, queue, wish


@pytest.fixture
def labelled(store: Any) -> Any:
    """Two people who differ by 0, 1, 2, 0 … on dialogues that both have."""
    fill_study(store)
    design = store_draw(wish(6, overlap=1.0), store, now=lambda: NOW, new_id=counter("d"))
    for n, name in enumerate(("Ana", "Ben")):
        desk = queue(store, design, name)
        while (at := desk.current()) is not None:
            place = sorted(i.dialogue_id for i in store.list_items(design.id, selected=True))
            value = 1 + n * (place.index(at.dialogue_id) % 3)
            if desk.rate(at, {DIMENSION: Given(value)}, 5.0):
                desk.answer(at, {})
    return design


def test_conflicts_come_by_size_and_go_behind_the_rest_when_decided(
    store: Any, labelled: Any
) -> None:
    labels = standing(store.list_annotations(root_id=labelled.root_id))
    found = conflicts(labels, store.list_decisions(labelled.root_id))
    assert [c.size for c in found] == [2, 2, 1, 1]
    made = decide(
        found[0], 2, Because.OVERLOOKED, "Turn 1 says it.", "Cleo",
        now=lambda: NOW, new_id=counter("x"),
    )  # fmt: skip
    store.add_decision(made)
    again = conflicts(labels, store.list_decisions(labelled.root_id))
    assert [c.size for c in again] == [2, 1, 1, 2]
    assert again[-1].decision == made
    assert set(made.settles) == {label.id for label in found[0].labels}


def test_a_decision_needs_words_and_somebody_who_did_not_label(store: Any, labelled: Any) -> None:
    labels = standing(store.list_annotations(root_id=labelled.root_id))
    conflict = conflicts(labels, [])[0]
    made: dict[str, Any] = {"now": lambda: NOW, "new_id": counter("x")}
    with pytest.raises(StudyError, match="say in a sentence why"):
        decide(conflict, 2, Because.BOTH, " ", "Cleo", **made)
    with pytest.raises(StudyError, match="labelled this dialogue yourself"):
        decide(conflict, 2, Because.BOTH, "mine", "Ana", **made)


def test_cannot_judge_beside_a_value_is_a_conflict_of_one(store: Any, labelled: Any) -> None:
    labels = standing(store.list_annotations(root_id=labelled.root_id))
    same = [label for label in labels if label.dialogue_id == labels[0].dialogue_id]
    pair = [replace(same[0], value=None, cannot="cut off"), replace(same[1], value=3)]
    assert [c.size for c in conflicts(pair, [])] == [1]
    assert conflicts([pair[0], replace(pair[1], value=None)], []) == []


def test_a_model_proposes_a_fault_and_only_a_person_confirms_it(store: Any) -> None:
    first, second, *_ = fill_study(store)
    made: dict[str, Any] = {"now": lambda: NOW, "new_id": counter("f")}

    def name(dialogue: Any, party: Party, author: str, confirmed: bool = True) -> None:
        store.add_fault(
            faults.name_fault(dialogue.id, party, author, confirmed=confirmed, note="=1+1", **made)
        )

    name(first, Party.USER, "openai/judge", confirmed=False)
    rows = store.list_faults("s1")
    assert faults.in_force(rows) == {}
    assert faults.proposed(rows)[first.id].party is Party.USER
    name(first, Party.USER, "Ana")
    name(second, Party.ASSISTANT, "Ana")
    rows = store.list_faults("s1")
    assert faults.proposed(rows) == {}
    assert faults.not_about_the_assistant(rows) == {first.id}
    assert faults.tally(rows) == {Party.ASSISTANT: 1, Party.USER: 1}
    name(first, Party.NOBODY, "Ben")  # taken back
    assert faults.not_about_the_assistant(store.list_faults("s1")) == frozenset()
    with pytest.raises(StudyError, match="who you are"):
        name(first, Party.USER, " ")


# --- roles --------------------------------------------------------------------------------------

WRITES = [
    *(
        "add_override",
        "add_overrides",
        "add_annotations",
        "reserve",
        "keep_draft",
        "add_fault",
        "add_decision",
    ),
    *("add_design", "give_role", "add_study", "set_study_state", "add_units", "claim_units"),
    *("add_finished", "add_calls", "add_judgements", "add_import_report", "write_dataset"),
    *("release_units", "reopen_failed", "reopen_unjudged", "admit_calls", "end_calls"),
    *("write_conversations", "renew_calls", "lose_calls", "heartbeat"),
]


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("write", WRITES)
def test_each_write_of_the_store_asks_for_its_role(
    sqlite_store: Any, role: Role, write: str
) -> None:
    guarded = Guarded(sqlite_store, "Ana", lambda: role)
    allowed = list(Role).index(role) >= list(Role).index(NEEDED.get(write, Role.ADMIN))
    if allowed:  # it comes to the store itself, which asks for its arguments
        with pytest.raises(TypeError):
            getattr(guarded, write)()
    else:
        with pytest.raises(NotAllowed, match=f"yours is {role}"):
            getattr(guarded, write)()


def test_every_method_of_the_store_is_a_read_or_a_write_that_somebody_thought_of(
    sqlite_store: Any,
) -> None:
    """Whatever is added to the store is for admins until it is said to be a read."""
    viewer = Guarded(sqlite_store, "Ana", lambda: Role.VIEWER)
    public = [n for n in dir(sqlite_store) if not n.startswith("_")]
    reads = [n for n in public if getattr(viewer, n).__name__ != "checked"]
    assert {n for n in public if n not in reads} == set(WRITES)


def test_a_role_that_is_taken_away_holds_no_longer(store: Any) -> None:
    claim_first("Ana", store, now=lambda: NOW)
    claim_first("Ben", store, now=lambda: NOW)
    assert store.list_roles() == {"Ana": "admin"}
    assert role_of("Ben", store, shared=True) is Role.VIEWER
    assert role_of("Ben", store, shared=False) is Role.ADMIN
    give("Ben", Role.ANNOTATOR, "Ana", store, now=lambda: NOW)
    ben = Guarded(store, "Ben", lambda: role_of("Ben", store, shared=True))
    ben.add_annotations([])
    give("Ben", Role.VIEWER, "Ana", store, now=lambda: NOW)
    with pytest.raises(NotAllowed):
        ben.add_annotations([])
    with pytest.raises(NotAllowed, match="last admin"):
        give("Ana", Role.VIEWER, "Ana", store, now=lambda: NOW)


def test_the_audit_says_who_did_what(store: Any, labelled: Any) -> None:
    events = store.list_events()
    acts = {(e.author, e.act) for e in events}
    assert {("Ana", "drew a design"), ("Ana", "rated"), ("Ben", "revealed")} <= acts
    assert [e.at for e in events] == sorted((e.at for e in events), reverse=True)
    assert {e.author for e in store.list_events(author="Ben")} == {"Ben"}
    assert len(store.list_events(limit=3)) == 3
    assert labelled.name == "pilot"
