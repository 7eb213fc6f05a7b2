"""A runner among faults: its own, its database's, its models', and its death."""

from __future__ import annotations

import threading
import time
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from core.assets import load_rubric
from core.clock import LEASE_SECONDS
from core.errors import ModelMisconfigured, ModelUnavailable, RunFailed, StoreUnavailable
from core.failed import Reopened, retry_failed
from core.judging import judge_study
from core.limits import Caps
from core.patience import Patience
from core.ports import Again, ChatRequest, DialogueFilter, IsCancelled, OnDelta, Reply
from core.runner import Runner, open_at_once
from core.study import plan
from core.study_file import JudgeEntry
from core.types import JudgementStatus, ModelSpec, StudyState
from storage.database import Database
from storage.store import open_store
from tests.builders import NOW, fill_dataset, make_persona
from tests.core.test_runner import Talkers, runner_of, spec_of

SIX = (
    "personalization",
    "grounding",
    "naturalness_user",
    "naturalness_assistant",
    "coherence_user",
    "coherence_assistant",
)


class Sleepy(Talkers):
    """Takes `seconds` for each call, and knows how many were in flight at once."""

    seconds = 0.05
    in_flight = peak = 0

    def reply(
        self,
        request: ChatRequest,
        *,
        on_delta: OnDelta | None = None,
        is_cancelled: IsCancelled | None = None,
        again: Again | None = None,
    ) -> Reply:
        with self.lock:
            self.in_flight += 1
            self.peak = max(self.peak, self.in_flight)
        time.sleep(self.seconds)
        try:
            return super().reply(request, on_delta=on_delta, is_cancelled=is_cancelled)
        finally:
            with self.lock:
                self.in_flight -= 1


@pytest.fixture
def people(store: Any) -> Any:
    """Forty scenarios, on each engine."""
    folk = [make_persona(f"user{i}", age=f"{20 + i} years old") for i in range(40)]
    fill_dataset(store, personas=folk)
    return store


@pytest.fixture
def few(sqlite_store: Any) -> Any:
    folk = [make_persona(f"user{i}", age=f"{20 + i} years old") for i in range(12)]
    fill_dataset(sqlite_store, personas=folk)
    return sqlite_store


def judges(*rubrics: str) -> tuple[JudgeEntry, ...]:
    return (JudgeEntry(model="fake/judge", rubrics=rubrics),)


def asks_for_grounding(request: ChatRequest) -> bool:
    return load_rubric("grounding").question in "".join(m.content for m in request.messages)


# --- side by side ------------------------------------------------------------------------------


def test_all_rubrics_of_a_dialogue_are_asked_at_once(few: Any) -> None:
    """A barrier lets none of the six through before all are there."""
    barrier = threading.Barrier(6, timeout=20)

    def meet(_: int, request: ChatRequest) -> None:
        if request.schema is not None:
            barrier.wait()

    spec = spec_of(judges=judges(*SIX))
    progress = runner_of(few, Talkers(meet), spec, caps=Caps(concurrency=8)).run()
    assert (progress.done, progress.judgements, progress.unscored) == (12, 72, 0)
    assert not barrier.broken


def test_turns_are_judged_side_by_side_and_a_replay_finds_each_answer(few: Any) -> None:
    spec = spec_of(judges=judges("personalization_per_turn"))
    runner = runner_of(few, Talkers(), spec, caps=Caps(concurrency=8))
    progress = runner.run()
    assert (progress.done, progress.judgements) == (12, 24)
    calls = [
        call
        for dialogue in few.iter_dialogues(runner.study.id)
        for call in few.list_judge_calls(dialogue.id)
    ]
    assert Counter((c.party, c.seq) for c in calls) == {
        ("judge:personalization_per_turn:1", 0): 12,
        ("judge:personalization_per_turn:2", 0): 12,
    }


def test_a_judge_with_a_bad_key_stores_nothing_half_and_loses_no_answer(few: Any) -> None:
    def fault(_: int, request: ChatRequest) -> Exception | None:
        return ModelMisconfigured("The key is wrong.") if asks_for_grounding(request) else None

    spec = spec_of(judges=judges(*SIX))
    first = Talkers(fault)
    with pytest.raises(ModelMisconfigured):
        runner_of(few, first, spec, caps=Caps(concurrency=8)).run()
    study = few.list_studies()[0]
    assert few.count_dialogues(DialogueFilter()) == 0
    assert list(few.iter_judgements(study.id)) == []
    later = Talkers()
    progress = runner_of(few, later, spec, caps=Caps(concurrency=8)).run()
    assert (progress.done, progress.judgements, progress.unscored) == (12, 72, 0)
    answered = [r for r in first.asked if not asks_for_grounding(r)]
    assert len(answered) + len(later.asked) == 12 * (4 + 6)


@pytest.mark.parametrize(
    ("concurrency", "finished", "open_"),
    [(64, 0, 64), (64, 30, 94), (64, 10**6, 192), (1000, 10**6, 1200), (1, 10**6, 3)],
)
def test_more_dialogues_are_opened_as_others_end(
    concurrency: int, finished: int, open_: int
) -> None:
    assert open_at_once(concurrency, finished) == open_


def test_more_dialogues_are_open_than_calls_in_flight_which_stay_within_the_limit(
    sqlite_store: Any,
) -> None:
    """What that is good for is measured by `benchmarks/scheduling.py`."""
    folk = [make_persona(f"user{i}", age=f"{20 + i} years old") for i in range(40)]
    fill_dataset(sqlite_store, personas=folk)
    model = Sleepy()
    runner = runner_of(sqlite_store, model, spec_of(judges=judges(*SIX)), caps=Caps(concurrency=8))
    real, open_ = sqlite_store.claim_units, []

    def claim_units(*args: Any, **options: Any) -> Any:
        claimed = real(*args, **options)
        held = sa.text("SELECT count(*) FROM unit WHERE owner IS NOT NULL")
        open_.append(sqlite_store._db.rows(held)[0][0])
        return claimed

    sqlite_store.claim_units = claim_units
    assert runner.run().done == 40
    assert len(model.asked) == 40 * 10
    assert model.peak == 8
    assert open_[0] == 8
    assert 8 < max(open_) <= 24 + 8  # and those that have ended but are not stored yet


# --- bad keys ----------------------------------------------------------------------------------


def test_a_bad_key_wastes_no_call_beyond_those_in_flight(people: Any) -> None:
    model = Sleepy(lambda *_: ModelMisconfigured("The key is wrong."))
    runner = runner_of(people, model, caps=Caps(concurrency=32))
    with pytest.raises(ModelMisconfigured, match="key is wrong"):
        runner.run()
    assert len(model.asked) <= 32
    progress = people.progress(runner.study.id)
    assert (progress.state, progress.message) == (StudyState.PAUSED, "The key is wrong.")
    assert (progress.failed, progress.owed) == (0, 40)
    assert people.count_dialogues(DialogueFilter()) == 0


def test_judging_again_with_a_bad_key_ends_with_that_sentence_at_once(few: Any) -> None:
    runner_of(few, Talkers(), spec_of(judges=())).run()
    study = few.list_studies()[0]
    model = Sleepy(lambda *_: ModelMisconfigured("The key is wrong."))
    with pytest.raises(ModelMisconfigured, match="key is wrong"):
        judge_study(study, SIX, ModelSpec("fake/judge"), few, model, caps=Caps(4))
    assert len(model.asked) <= 8  # four dialogues, and as many helpers
    assert list(few.iter_judgements(study.id)) == []


# --- faults of the runner ----------------------------------------------------------------------


class Odd(Exception):
    pass


def test_an_unforeseen_fault_fails_the_study_in_one_sentence(few: Any) -> None:
    runner = runner_of(few, Talkers(lambda n, _: Odd("secret") if n == 9 else None))
    with pytest.raises(RunFailed, match="Odd") as failed:
        runner.run()
    progress = few.progress(runner.study.id)
    assert (progress.state, progress.message) == (StudyState.FAILED, str(failed.value))
    assert "secret" not in progress.message
    assert few.lease_owners(runner.study.id) == []
    assert runner_of(few, Talkers()).run().done == 12


def test_a_fault_before_any_call_fails_the_study_too(few: Any) -> None:
    runner = runner_of(few, Talkers())

    def broken(*_: object) -> None:
        raise Odd

    runner._bench.prepare = broken  # type: ignore[assignment,method-assign]
    with pytest.raises(RunFailed, match="Odd"):
        runner.run()
    progress = few.progress(runner.study.id)
    assert progress.state is StudyState.FAILED
    assert few.lease_owners(runner.study.id) == []


def test_a_runner_that_fails_leaves_a_study_alone_on_which_others_work(few: Any) -> None:
    runner = runner_of(few, Talkers(lambda *_: Odd()), caps=Caps(concurrency=1))
    few.claim_units(runner.study.id, "elsewhere:1:x", limit=2, lease_seconds=60)
    with pytest.raises(RunFailed):
        runner.run()
    assert few.progress(runner.study.id).state is StudyState.RUNNING
    assert few.lease_owners(runner.study.id) == ["elsewhere:1:x"]


# --- a database that goes away -----------------------------------------------------------------


@pytest.mark.postgres
def test_a_run_survives_the_end_of_all_its_connections(postgres_url: str) -> None:
    store = open_store(postgres_url)
    folk = [make_persona(f"user{i}", age=f"{20 + i} years old") for i in range(40)]
    fill_dataset(store, personas=folk)
    model = Sleepy()
    runner = runner_of(store, model, caps=Caps(concurrency=8))
    ended = threading.Event()
    killed: list[int] = []
    thread = threading.Thread(target=_cut, args=(postgres_url, ended, killed))
    thread.start()
    progress = runner.run()
    ended.set()
    thread.join()
    assert (progress.done, progress.failed, progress.owed) == (40, 0, 0)
    assert (progress.judgements, progress.state) == (80, StudyState.DONE)
    assert model.repeated() == Counter()
    assert sum(killed) > 0
    store.close()


def _cut(url: str, ended: threading.Event, killed: list[int]) -> None:
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    query = sa.text(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    while not ended.wait(0.3):
        with engine.connect() as connection:
            killed.append(connection.scalar(query))
    engine.dispose()


def test_a_run_survives_a_locked_database(few: Any, migrated_sqlite_url: str) -> None:
    """Locked for longer than one try waits: 0.2 seconds here, 30 in earnest."""
    sa.event.listen(
        few._db.engine,
        "checkout",
        lambda connection, *_: connection.execute("PRAGMA busy_timeout = 200").close(),
    )
    other = Database(migrated_sqlite_url)
    locked = threading.Event()

    def lock() -> None:
        with other.write():
            locked.set()
            time.sleep(1.5)

    def begin(number: int, _: ChatRequest) -> None:
        if number == 10:
            threading.Thread(target=lock).start()
            assert locked.wait(10)

    model = Talkers(begin)
    progress = runner_of(few, model).run()
    assert locked.is_set()
    assert (progress.done, progress.judgements, progress.owed) == (12, 24, 0)
    assert model.repeated() == Counter()
    other.close()


def test_a_database_that_stays_away_ends_the_run_in_a_sentence_and_loses_nothing(
    few: Any,
) -> None:
    study = plan(spec_of(), few, lambda: NOW).study
    down = threading.Event()
    real = few.add_calls

    def add_calls(calls: Any, **entries: Any) -> None:
        if down.is_set():
            raise StoreUnavailable("The database did not answer.")
        real(calls, **entries)

    few.add_calls = add_calls
    model = Talkers(lambda n, _: down.set() if n == 20 else None)
    patience = Patience(seconds=0.3)
    runner = Runner(study, few, model, caps=Caps(concurrency=4), patience=patience)
    with pytest.raises(StoreUnavailable, match="did not answer"):
        runner.run()
    progress = few.progress(study.id)
    assert (progress.state, progress.failed) == (StudyState.PAUSED, 0)
    assert "did not answer" in progress.message
    down.clear()
    later = Talkers()
    assert runner_of(few, later).run().done == 12
    lost = {r.hash for r in model.asked} & {r.hash for r in later.asked}
    assert len(lost) <= 4 + 4  # in flight, or asked while the database was being waited for


def test_units_claimed_without_our_knowing_are_worked_off(few: Any) -> None:
    """The word that a claim succeeded was lost on its way: the units are ours, and idle."""
    runner = runner_of(few, Talkers())
    few.claim_units(runner.study.id, runner.owner, limit=3, lease_seconds=LEASE_SECONDS)
    assert runner.run().done == 12


# --- trying again ------------------------------------------------------------------------------


def test_only_what_failed_is_tried_again_and_judging_needs_no_new_dialogue(few: Any) -> None:
    def fault(_: int, request: ChatRequest) -> Exception | None:
        text = request.messages[-1].content
        spoilt = "23 years old" in text and request.schema is None
        return ModelUnavailable("503") if asks_for_grounding(request) or spoilt else None

    progress = runner_of(few, Talkers(fault)).run()
    assert (progress.done, progress.failed, progress.judgements) == (11, 1, 22)
    assert progress.unscored == 11
    study = few.list_studies()[0]
    before = {d.id for d in few.iter_dialogues(study.id)}
    assert {k.kind: k.count for k in few.failure_kinds(study.id)} == {
        "unavailable": 1,
        "judge_unavailable": 11,
    }

    assert retry_failed(study, few) == Reopened(dialogues=1, judged=11)
    assert few.progress(study.id).owed == 12
    model = Talkers()
    progress = runner_of(few, model).run()
    assert (progress.done, progress.failed, progress.owed) == (12, 0, 0)
    assert (progress.judgements, progress.unscored) == (24, 0)
    assert len(model.asked) == 11 + 6  # the failed judgements, and one dialogue with its own
    after = {d.id for d in few.iter_dialogues(study.id)}
    assert before < after
    assert len(after) == 13
    assert few.failure_kinds(study.id) == []
    assert retry_failed(study, few) == Reopened(0, 0)


def test_only_the_turn_that_could_not_be_judged_is_judged_again(few: Any) -> None:
    def fault(_: int, request: ChatRequest) -> Exception | None:
        down = request.schema is not None and "in turn 2 only" in request.messages[-1].content
        return ModelUnavailable("503") if down else None

    spec = spec_of(judges=judges("personalization_per_turn"))
    assert runner_of(few, Talkers(fault), spec).run().unscored == 12
    study = few.list_studies()[0]
    assert retry_failed(study, few) == Reopened(0, 12)
    model = Talkers()
    progress = runner_of(few, model, spec).run()
    assert (progress.judgements, progress.unscored, progress.done) == (24, 0, 12)
    assert len(model.asked) == 12
    statuses = Counter(j.status for j in few.iter_judgements(study.id))
    assert statuses == {JudgementStatus.OK: 24, JudgementStatus.MODEL_ERROR: 12}


# --- death -------------------------------------------------------------------------------------


def test_a_study_whose_runner_died_is_stalled_within_a_lease_and_taken_over(few: Any) -> None:
    runner = runner_of(few, Talkers())
    few.set_study_state(runner.study.id, StudyState.RUNNING)
    few.claim_units(runner.study.id, "elsewhere:1:x", limit=5, lease_seconds=LEASE_SECONDS)
    begun, real = real_now(few), few._now
    few._now = lambda: begun + timedelta(seconds=LEASE_SECONDS)
    assert not few.progress(runner.study.id).stalled
    few._now = lambda: real() + timedelta(seconds=LEASE_SECONDS + 1)
    assert few.progress(runner.study.id).stalled
    progress = runner.run()
    assert (progress.done, progress.stalled, progress.state) == (12, False, StudyState.DONE)


def real_now(store: Any) -> Any:
    return store.progress(store.list_studies()[0].id).heartbeat_at
