"""What failed in a study, by kind, on both engines."""

from __future__ import annotations

import pytest

from core.ports import Finished
from core.types import FailureExample, FailureKind, JudgementStatus, WorkUnit, digest
from storage.store import SqlStore
from tests.builders import (
    NOW,
    later,
    make_call,
    make_dialogue,
    make_dialogue_of,
    make_judgement,
    make_ref,
    make_study,
    make_unit,
)

DOWN = "ModelUnavailable: m did not answer: it took too long; try again later."


@pytest.fixture
def planned(store: SqlStore) -> SqlStore:
    store.add_study(make_study())
    store.add_units([make_unit(make_ref(f"user{i}"), seed=i) for i in range(9)])
    return store


def end(store: SqlStore, n: int, stop: str, detail: str = "", attempt: int = 1) -> str:
    """End unit `n`, and return the id of its dialogue."""
    dialogue = make_dialogue_of(
        unit(n), stop=stop, stop_detail=detail, attempt=attempt, created_at=later(n)
    )
    store.add_finished([Finished(dialogue)])
    return dialogue.id


def unit(n: int) -> WorkUnit:
    return make_unit(make_ref(f"user{n}"), seed=n)


def counts(store: SqlStore) -> dict[str, int]:
    return {kind.kind: kind.count for kind in store.failure_kinds("s1")}


def test_a_study_without_failures_has_no_kinds_of_failure(planned: SqlStore) -> None:
    end(planned, 0, "user_done")
    planned.add_calls([make_call()])
    assert planned.failure_kinds("s1") == []


def test_endings_are_counted_by_kind_and_the_most_frequent_comes_first(planned: SqlStore) -> None:
    ids = [end(planned, n, "model_error", DOWN) for n in range(3)]
    empty = end(planned, 3, "model_error", "EmptyReply: The user said nothing.")
    refused = [end(planned, n, "refused", "m declined to answer.") for n in (4, 5)]
    other = end(planned, 6, "model_error", "odd")
    end(planned, 7, "turn_limit")
    assert planned.failure_kinds("s1") == [
        FailureKind(
            "unavailable", 3, tuple(FailureExample(ids[n], DOWN, later(n)) for n in (2, 1, 0))
        ),
        FailureKind(
            "refused",
            2,
            tuple(
                FailureExample(refused[n], "m declined to answer.", later(4 + n)) for n in (1, 0)
            ),
        ),
        FailureKind(
            "empty_reply",
            1,
            (FailureExample(empty, "EmptyReply: The user said nothing.", later(3)),),
        ),
        FailureKind("model_error", 1, (FailureExample(other, "odd", later(6)),)),
    ]


def test_only_the_newest_five_are_shown_and_all_are_counted(planned: SqlStore) -> None:
    ids = [end(planned, n, "refused", "no") for n in range(7)]
    (kind,) = planned.failure_kinds("s1")
    assert kind.count == 7
    assert [example.dialogue_id for example in kind.examples] == ids[:1:-1]


def test_a_failure_that_is_owed_again_or_was_mended_counts_no_more(planned: SqlStore) -> None:
    end(planned, 0, "model_error", DOWN)
    end(planned, 1, "model_error", DOWN)
    assert counts(planned) == {"unavailable": 2}
    planned.reopen_failed("s1")
    assert counts(planned) == {}
    end(planned, 0, "user_done", attempt=2)
    end(planned, 1, "refused", attempt=2)
    assert counts(planned) == {"refused": 1}


def test_judgements_count_until_the_judge_was_reached(planned: SqlStore) -> None:
    first, second = (make_dialogue_of(unit(n)) for n in (0, 1))
    planned.add_finished([Finished(first), Finished(second)])
    unreached = [
        make_judgement(
            d, value=None, status=JudgementStatus.MODEL_ERROR, rationale=DOWN, id=f"j{i}"
        )
        for i, d in enumerate((first, second))
    ]
    planned.add_judgements([*unreached, make_judgement(second, value=None, dimension="grounding")])
    assert planned.failure_kinds("s1") == [
        FailureKind(
            "judge_unavailable",
            2,
            (FailureExample(second.id, DOWN, NOW), FailureExample(first.id, DOWN, NOW)),
        )
    ]
    planned.add_judgements([make_judgement(first)])
    assert counts(planned) == {"judge_unavailable": 1}


def test_calls_answered_after_several_attempts_lead_to_their_dialogues(planned: SqlStore) -> None:
    """Of a unit that is not finished yet there is no dialogue to open."""
    judged = end(planned, 0, "user_done")
    talked = planned.find_dialogue_of_unit(unit(0).id)
    assert talked is not None
    scopes = (f"{unit(0).id}:1", f"{unit(1).id}:1")
    calls = [make_call(scope, attempts=3, seconds=2.04) for scope in scopes]
    judging = make_call(f"{judged}:12345678", "judge:grounding", attempts=2, model="openai/j")
    failed = make_call("x:1", attempts=9, error="ModelUnavailable: no")
    planned.add_calls([*calls, judging, failed, make_call("y:1")])
    (kind,) = planned.failure_kinds("s1")
    told = "openai/gpt-4o-mini answered assistant at attempt 3, after 2.0 seconds."
    assert (kind.kind, kind.count) == ("retried", 3)
    assert [(e.dialogue_id, e.message) for e in kind.examples] == [
        (judged, "openai/j answered judge:grounding at attempt 2, after 0.4 seconds."),
        ("", told),
        ("", told),
    ]


def test_a_call_of_a_unit_leads_to_the_dialogue_of_that_attempt(planned: SqlStore) -> None:
    dialogue = make_dialogue_of(unit(0), id=digest(unit(0).id, 1))
    planned.add_finished([Finished(dialogue)])
    planned.add_calls([make_call(f"{unit(0).id}:1", attempts=2)])
    (kind,) = planned.failure_kinds("s1")
    assert [e.dialogue_id for e in kind.examples] == [dialogue.id]


def test_failures_of_imported_dialogues_and_of_other_studies_are_kept_apart(
    store: SqlStore,
) -> None:
    store.add_study(make_study(kind="imported"))
    store.add_study(make_study("s2", name="other"))
    store.add_finished([Finished(make_dialogue(stop="refused", stop_detail="no"))])
    store.add_finished([Finished(make_dialogue(stop="cancelled", study_id="s2"))])
    assert counts(store) == {"refused": 1}
