"""Counts that are kept are the counts of the tables, whenever one looks."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from core.ports import Finished
from storage import tally
from tests.builders import make_call, make_dialogue, make_judgement, make_study


def add(store: Any, number: int) -> None:
    """One dialogue with two judgements, one of them unscored, and a call of a quarter dollar."""
    dialogue = make_dialogue(persona_id=f"user{number}", study_id="s1")
    blank = make_judgement(dialogue, value=None, dimension="grounding")
    store.add_finished([Finished(dialogue, (make_judgement(dialogue), blank))])
    store.add_calls([make_call(f"u{number}", cost_usd=0.25)])


@pytest.mark.parametrize("lag", [0, 2, 100])
def test_each_look_counts_what_is_new_and_forgets_nothing(
    store: Any, lag: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    store._db.tally._lag = lag
    store.add_study(make_study(kind="imported"))
    for number in range(1, 6):
        add(store, number)
        found = store.progress("s1")
        assert (found.done, found.judgements, found.unscored) == (number, 2 * number, number)
        assert found.cost_usd == 0.25 * number
        assert store.judgement_statuses("s1") == {"ok": number, "unparsable": number}


def test_a_call_of_unknown_price_makes_the_cost_unknown_from_then_on(store: Any) -> None:
    store.add_study(make_study())
    store.add_calls([make_call("u1")])
    assert store.progress("s1").cost_usd == 0.25
    store.add_calls([make_call("u2", cost_usd=None)])
    assert store.progress("s1").cost_usd is None
    store.add_calls([make_call("u3")])
    assert store.progress("s1").cost_usd is None


def test_a_store_that_was_there_before_counts_what_others_add(
    store: Any, database_url: str
) -> None:
    from storage.store import open_store

    store.add_study(make_study(kind="imported"))
    assert store.progress("s1").done == 0
    other = open_store(database_url)
    try:
        add(other, 1)
    finally:
        other.close()
    assert store.progress("s1").done == 1


def test_many_look_at_once_while_one_adds(store: Any) -> None:
    store.add_study(make_study(kind="imported"))
    seen: list[list[int]] = [[], [], []]
    over = threading.Event()

    def look(into: list[int]) -> None:
        while not over.is_set():
            into.append(store.progress("s1").done)

    lookers = [threading.Thread(target=look, args=(into,)) for into in seen]
    for looker in lookers:
        looker.start()
    for number in range(20):
        add(store, number)
    over.set()
    for looker in lookers:
        looker.join()
    assert store.progress("s1").done == 20
    for numbers in seen:
        assert numbers == sorted(numbers)


def test_the_lag_is_that_of_the_engine(store: Any) -> None:
    assert store._db.tally._lag == (tally._UNSETTLED if store._db.postgres else 0)
