"""What a monitor reads again and again, and what past studies tell an estimate."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from core.monitor import ArmProgress, CallsSeen, LeaseHolder, Past, TurnsSeen
from core.ports import Finished
from core.types import StopReason, TaskKind
from tests.builders import (
    NOW,
    later,
    make_arm,
    make_call,
    make_dialogue_of,
    make_judgement,
    make_ref,
    make_study,
    make_study_spec,
    make_unit,
)


@pytest.fixture
def units(store: Any) -> list[Any]:
    """Two people with each of two arms, of which nothing is done."""
    store.add_study(make_study())
    arms = (make_arm("attentive"), make_arm("forgetful"))
    found = [make_unit(make_ref(p), arm=a) for p in ("user0", "user1") for a in arms]
    store.add_units(found)
    return found


def test_each_arm_has_its_own_progress(store: Any, units: list[Any]) -> None:
    done = make_dialogue_of(units[0])
    failed = make_dialogue_of(units[1], stop=StopReason.MODEL_ERROR)
    store.add_finished([Finished(done), Finished(failed)])
    assert store.arm_progress("s1") == [
        ArmProgress("attentive", units=2, done=1, failed=0),
        ArmProgress("forgetful", units=2, done=0, failed=1),
    ]


def test_a_study_without_units_has_no_arms(store: Any) -> None:
    store.add_study(make_study())
    assert store.arm_progress("s1") == []
    assert store.lease_holders("s1") == []
    assert store.judgement_statuses("s1") == {}


def test_who_is_at_work_holds_leases_until_a_moment(store: Any, units: list[Any]) -> None:
    store._now = lambda: NOW
    store.claim_units("s1", "host:1:a", limit=3, lease_seconds=30)
    assert store.lease_holders("s1") == [LeaseHolder("host:1:a", 3, later(30))]
    store.release_units("s1", "host:1:a")
    assert store.lease_holders("s1") == []


def test_dialogues_of_the_last_minutes_are_counted(store: Any, units: list[Any]) -> None:
    times = [NOW, later(30), later(90)]
    store.add_finished(
        [Finished(make_dialogue_of(u, created_at=t)) for u, t in zip(units, times, strict=False)]
    )
    assert store.count_finished_since("s1", later(10)) == 2
    assert store.count_finished_since("s1", NOW - timedelta(1)) == 3
    assert store.count_finished_since("other", NOW - timedelta(1)) == 0


def test_judgements_are_counted_by_status(store: Any, units: list[Any]) -> None:
    dialogue = make_dialogue_of(units[0])
    rated = make_judgement(dialogue, value=3)
    blank = make_judgement(dialogue, value=None, dimension="grounding")
    store.add_finished([Finished(dialogue, (rated, blank))])
    assert store.judgement_statuses("s1") == {"ok": 1, "unparsable": 1}


def test_the_past_is_of_the_dataset_and_its_models(store: Any, units: list[Any]) -> None:
    two = ("user: a", "assistant: b", "user: c", "assistant: d")
    dialogues = [make_dialogue_of(units[0]), make_dialogue_of(units[2], *two)]
    store.add_finished([Finished(d) for d in dialogues])
    store.add_calls(
        [
            make_call("u1", "assistant", 0, tokens_in=100, tokens_out=10, seconds=1.0),
            make_call("u1", "assistant", 1, tokens_in=300, tokens_out=30, seconds=3.0),
            make_call("d1:x", "judge:personalization", tokens_in=500, tokens_out=50, seconds=5.0),
            make_call("u2", "assistant", 0, error="ModelUnavailable: no", tokens_in=9000),
        ]
    )
    past = store.past("sample")
    assert past.turns == (TurnsSeen("scripted/attentive", TaskKind.SINGLE, 2, 1.5, 0.5),)
    assert sorted(past.calls, key=lambda c: c.role) == [
        CallsSeen("openai/gpt-4o-mini", "assistant", 2, 200, 20, 2.0),
        CallsSeen("openai/gpt-4o-mini", "judge", 1, 500, 50, 5.0),
    ]


def test_another_dataset_has_no_past(store: Any, units: list[Any]) -> None:
    store.add_finished([Finished(make_dialogue_of(units[0]))])
    assert store.past("mine") == Past()
    store.add_study(make_study("s2", name="other", spec=make_study_spec(dataset="mine")))
    assert store.past("mine") == Past()
