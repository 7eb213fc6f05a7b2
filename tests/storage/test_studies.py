"""Studies, work units and their claims on both engines."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa

from core.errors import AlreadyDecided, NotFound
from core.ports import Finished, Study
from core.types import StopReason, StudyState, WorkUnit
from storage.database import Database
from storage.rows import call_values
from storage.store import SqlStore, open_store
from storage.tables import MODEL_CALL
from tests.builders import (
    NOW,
    WEIRD,
    later,
    make_arm,
    make_call,
    make_dialogue,
    make_dialogue_of,
    make_judgement,
    make_ref,
    make_study,
    make_study_spec,
    make_task,
    make_unit,
)


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now

    def pass_seconds(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(database_url: str, clock: Clock) -> Iterator[SqlStore]:
    opened = open_store(database_url, now=clock)
    yield opened
    opened.close()


def make_units(n: int, study_id: str = "s1") -> list[WorkUnit]:
    return [make_unit(make_ref(f"user{i}"), study_id=study_id, seed=i) for i in range(n)]


@pytest.fixture
def planned(store: SqlStore) -> SqlStore:
    store.add_study(make_study())
    store.add_units(make_units(5))
    return store


def claim(store: SqlStore, owner: str = "a", limit: int = 1) -> list[tuple[WorkUnit, int]]:
    return store.claim_units("s1", owner, limit=limit, lease_seconds=60)


def finish(store: SqlStore, unit: WorkUnit, stop: str = "user_done", attempt: int = 1) -> None:
    store.add_finished([Finished(make_dialogue_of(unit, stop=stop, attempt=attempt))])


# --- studies -----------------------------------------------------------------------------------


def test_a_study_is_found_by_name_and_by_id(store: SqlStore) -> None:
    study = make_study(spec=make_study_spec(question=WEIRD, arms=["scripted/a", "scripted/b"]))
    store.add_study(study)
    assert store.get_study("pilot") == store.get_study("s1") == study
    assert store.find_study("nobody") is None
    with pytest.raises(NotFound, match="nobody"):
        store.get_study("nobody")


def test_an_id_goes_before_a_name(store: SqlStore) -> None:
    by_name, by_id = make_study("s1", name="s2"), make_study("s2", name="other")
    store.add_study(by_name)
    store.add_study(by_id)
    assert store.find_study("s2") == by_id


@pytest.mark.parametrize("kind", ["imported", "launched"])
def test_a_collection_needs_no_spec(store: SqlStore, kind: str) -> None:
    collection = make_study(kind=kind)
    store.add_study(collection)
    assert collection.spec is None
    assert store.get_study("s1") == collection


@pytest.mark.parametrize("second", [make_study("s1", name="new"), make_study("new", name="pilot")])
def test_a_taken_id_or_name_is_refused(store: SqlStore, second: Study) -> None:
    store.add_study(make_study())
    with pytest.raises(AlreadyDecided, match=second.name):
        store.add_study(second)


def test_studies_are_listed_newest_first(store: SqlStore) -> None:
    old = make_study("s1", name="old")
    new = Study("s2", "new", None, StudyState.DEFINED, later(), "launched")
    store.add_study(old)
    store.add_study(new)
    assert store.list_studies() == [new, old]
    assert [p.study for p in store.list_progress()] == ["new", "old"]


def test_a_state_is_set_with_its_message(planned: SqlStore) -> None:
    planned.set_study_state("s1", StudyState.PAUSED, message="budget reached")
    assert planned.get_study("s1").state is StudyState.PAUSED
    assert planned.progress("s1").message == "budget reached"


def test_states_progress_and_heartbeat_of_an_unknown_study_are_not_found(store: SqlStore) -> None:
    with pytest.raises(NotFound, match="s9"):
        store.set_study_state("s9", StudyState.DONE)
    with pytest.raises(NotFound, match="s9"):
        store.heartbeat("s9", "a")
    with pytest.raises(NotFound, match="s9"):
        store.progress("s9")


def test_a_heartbeat_is_recorded_and_returns_the_wish_of_people(
    planned: SqlStore, clock: Clock
) -> None:
    planned.set_study_state("s1", StudyState.CANCELLED)
    clock.pass_seconds(30)
    assert planned.heartbeat("s1", "a") is StudyState.CANCELLED
    assert planned.progress("s1").heartbeat_at == later(30)


# --- units -------------------------------------------------------------------------------------


def test_a_running_study_is_stalled_once_it_was_silent_for_longer_than_a_lease(
    planned: SqlStore, clock: Clock
) -> None:
    def stalled() -> bool:
        assert planned.list_progress() == [planned.progress("s1")]
        return planned.progress("s1").stalled

    assert not stalled()
    clock.pass_seconds(3600)
    planned.set_study_state("s1", StudyState.RUNNING)
    assert not stalled()  # it has only just begun
    clock.pass_seconds(20)
    planned.heartbeat("s1", "a")
    clock.pass_seconds(30)
    assert not stalled()
    clock.pass_seconds(0.5)
    assert stalled()
    planned.heartbeat("s1", "b")
    assert not stalled()
    planned.set_study_state("s1", StudyState.PAUSED)
    clock.pass_seconds(3600)
    assert not stalled()


def test_adding_units_again_adds_only_new_ones(store: SqlStore) -> None:
    store.add_study(make_study())
    assert store.add_units([]) == 0
    assert store.add_units(make_units(2)) == 2
    assert store.add_units(make_units(5)) == 3
    assert store.progress("s1").units == 5


def test_claimed_units_come_back_whole_and_in_order(store: SqlStore) -> None:
    task = make_task(WEIRD, domains=("Books", "Flights"))
    unit = make_unit(
        make_ref(WEIRD, task, dataset=WEIRD),
        arm=make_arm(WEIRD, model="openai/x", context=["situation"], temperature=0.5),
        repetition=3,
        seed=2**62,
    )
    store.add_study(make_study())
    store.add_units([unit, *make_units(2)])
    assert claim(store, limit=9) == [(u, 1) for u in (unit, *make_units(2))]


def test_a_leased_unit_is_not_claimed_again(planned: SqlStore) -> None:
    first = claim(planned, "a", 3)
    assert [u.seed for u, _ in first] == [0, 1, 2]
    assert [u.seed for u, _ in claim(planned, "b", 9)] == [3, 4]
    assert claim(planned, "a", 9) == []


def test_an_expired_lease_is_taken_over(planned: SqlStore, clock: Clock) -> None:
    mine = claim(planned, "a", 5)
    clock.pass_seconds(59)
    assert claim(planned, "b", 5) == []
    clock.pass_seconds(2)
    assert claim(planned, "b", 5) == mine


def test_a_heartbeat_renews_only_the_leases_of_its_owner(planned: SqlStore, clock: Clock) -> None:
    claim(planned, "a", 2)
    others = claim(planned, "b", 3)
    clock.pass_seconds(50)
    planned.heartbeat("s1", "a")
    clock.pass_seconds(50)
    assert claim(planned, "c", 9) == others


def test_released_units_can_be_claimed_at_once(planned: SqlStore) -> None:
    held = claim(planned, "a", 2)
    claim(planned, "b", 3)
    planned.release_units("s1", "a")
    assert claim(planned, "c", 9) == held


def test_a_finished_unit_is_owed_no_more(planned: SqlStore, clock: Clock) -> None:
    (unit, _), *rest = claim(planned, "a", 5)
    finish(planned, unit)
    clock.pass_seconds(61)
    assert claim(planned, "b", 9) == rest


@pytest.mark.parametrize("reason", [r for r in StopReason if not r.judged])
def test_a_failed_unit_is_owed_again_after_reopening(planned: SqlStore, reason: StopReason) -> None:
    (failed, _), (good, _) = claim(planned, "a", 2)
    finish(planned, failed, stop=reason)
    finish(planned, good, stop="turn_limit")
    assert planned.progress("s1").failed == 1
    assert planned.reopen_failed("s1") == 1
    assert planned.reopen_failed("s1") == 0
    assert planned.progress("s1").failed == 0
    assert claim(planned, "b", 1) == [(failed, 2)]
    finish(planned, failed, attempt=2)
    assert (planned.progress("s1").done, planned.progress("s1").owed) == (2, 3)
    found = planned.find_dialogue_of_unit(failed.id)
    assert found is not None
    assert found.attempt == 2


def test_a_late_dialogue_of_an_earlier_attempt_leaves_the_unit_owed(planned: SqlStore) -> None:
    ((unit, _),) = claim(planned)
    finish(planned, unit, stop="model_error")
    planned.reopen_failed("s1")
    with pytest.raises(AlreadyDecided):
        finish(planned, unit, attempt=1)
    assert planned.progress("s1").owed == 5


def test_a_second_dialogue_of_one_attempt_is_refused(planned: SqlStore) -> None:
    ((unit, _),) = claim(planned)
    finish(planned, unit)
    with pytest.raises(AlreadyDecided):
        planned.add_finished([Finished(make_dialogue_of(unit, "user: other"))])
    assert planned.progress("s1").done == 1


def test_eight_threads_never_claim_a_unit_twice(store: SqlStore) -> None:
    store.add_study(make_study())
    store.add_units(make_units(200))

    def work(owner: str) -> list[str]:
        claimed: list[str] = []
        while units := claim(store, owner, limit=7):
            claimed += [unit.id for unit, _ in units]
        return claimed

    with ThreadPoolExecutor(8) as pool:
        shares = list(pool.map(work, "abcdefgh"))
    claimed = [unit for share in shares for unit in share]
    assert len(claimed) == 200
    assert set(claimed) == {unit.id for unit in make_units(200)}


def test_units_of_another_study_are_left_alone(planned: SqlStore) -> None:
    planned.add_study(make_study("s2", name="second"))
    planned.add_units(make_units(1, "s2"))
    assert len(claim(planned, limit=99)) == 5
    assert planned.progress("s2").owed == 1


# --- progress ----------------------------------------------------------------------------------


def test_progress_of_an_untouched_study_is_owed_and_free(planned: SqlStore) -> None:
    progress = planned.progress("s1")
    assert (progress.units, progress.done, progress.failed, progress.owed) == (5, 0, 0, 5)
    assert (progress.cost_usd, progress.cost_known) == (0.0, True)
    assert (progress.judgements, progress.unscored, progress.seconds) == (0, 0, 0.0)
    assert progress.stop_reasons == {}
    assert progress.heartbeat_at is None


def test_progress_counts_what_is_stored(planned: SqlStore, clock: Clock) -> None:
    clock.pass_seconds(-10)
    units = [unit for unit, _ in claim(planned, limit=3)]
    for unit, stop in zip(units, ("user_done", "turn_limit", "refused"), strict=True):
        dialogue = make_dialogue_of(unit, stop=stop, created_at=later(unit.seed))
        judgements = (
            make_judgement(dialogue),
            make_judgement(dialogue, value=None, dimension="grounding"),
        )
        planned.add_finished([Finished(dialogue, judgements if stop == "user_done" else ())])
    progress = planned.progress("s1")
    assert (progress.units, progress.done, progress.failed, progress.owed) == (5, 2, 1, 2)
    assert progress.stop_reasons == {"refused": 1, "turn_limit": 1, "user_done": 1}
    assert (progress.judgements, progress.unscored) == (2, 1)
    assert progress.seconds == 12.0
    assert planned.list_progress() == [progress]


def test_cost_is_the_sum_of_calls_and_unknown_when_one_is(planned: SqlStore) -> None:
    planned.add_calls([make_call(seq=0), make_call(seq=1), make_call("u9", study_id="other")])
    assert planned.progress("s1").cost_usd == 0.5
    planned.add_calls([make_call(seq=2, cost_usd=None)])
    assert planned.progress("s1").cost_usd is None
    assert planned.progress("s1").cost_known is False


def test_a_collection_counts_its_dialogues_as_its_units(store: SqlStore) -> None:
    store.add_study(make_study(kind="imported"))
    stops = ("user_done", "user_done", "model_error")
    store.add_finished(
        [Finished(make_dialogue(id=str(i), stop=stop)) for i, stop in enumerate(stops)]
    )
    progress = store.progress("s1")
    assert (progress.units, progress.done, progress.failed, progress.owed) == (3, 2, 1, 0)
    assert progress.stop_reasons == {"model_error": 1, "user_done": 2}


# --- revision ----------------------------------------------------------------------------------


def test_the_revision_changes_with_each_append_and_with_nothing_else(planned: SqlStore) -> None:
    seen = [planned.revision()]

    def changed() -> bool:
        seen.append(planned.revision())
        return seen[-1] != seen[-2]

    planned.list_progress()
    planned.heartbeat("s1", "a")
    assert not changed()
    ((unit, _),) = claim(planned)
    dialogue = make_dialogue_of(unit)
    judgement = make_judgement(dialogue)
    planned.add_finished([Finished(dialogue)])
    assert changed()
    planned.add_judgements([judgement])
    assert changed()
    planned.add_calls([make_call()])
    assert changed()
    planned.set_study_state("s1", StudyState.DONE)
    assert changed()
    planned.add_units([make_unit(repetition=9)])
    assert changed()
    planned.add_study(make_study("s2", name="second"))
    assert changed()
    with planned.write_dataset("sample", "personalens"):
        pass
    assert changed()
    assert len(set(seen)) == len(seen) - 1


@pytest.mark.postgres
def test_the_revision_changes_when_a_transaction_commits_after_a_later_one(
    postgres_url: str,
) -> None:
    store = open_store(postgres_url)
    slow = Database(postgres_url)
    with slow.write() as connection:
        connection.execute(sa.insert(MODEL_CALL), call_values(make_call("slow")))
        store.add_calls([make_call("quick")])
        before = store.revision()
    assert store.revision() != before
    slow.close()
    store.close()
