"""Keeping many workers on one study: everyone at work, the dead replaced, limits shared."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from core import scale_out
from core.errors import SettingsError, StudyError
from core.limits import Caps
from core.ports import Study
from core.runner import Runner
from core.scale_out import Crew, Ended, Order, form_crew, share_runner, when_parent_ends
from core.settings import Settings
from core.study import plan
from core.study_file import ArmEntry, Limits
from core.types import StudyProgress, StudyState
from tests.builders import NOW, fill_dataset, make_persona, make_study_spec
from tests.support.fakes import ScriptedModel

UNITS = 6
MODEL_ARM = ArmEntry(name="m", model="fake/assistant")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale_out, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(scale_out, "REPORT_SECONDS", 0.01)
    monkeypatch.setattr(scale_out, "FAREWELL_SECONDS", 0.2)


@dataclass
class Machines:
    """Workers that do what `act` says when they get an order; `act` sees who and how often."""

    here: set[str]
    act: Callable[[Machines, str, Order], Ended | None]
    sent: list[tuple[str, Order]] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    news: dict[str, Ended] = field(default_factory=dict)

    def present(self) -> set[str]:
        return set(self.here)

    def send(self, worker: str, order: Order) -> None:
        self.sent.append((worker, order))
        ended = self.act(self, worker, order)
        if ended is not None:
            self.news[worker] = ended

    def ended(self) -> dict[str, Ended]:
        news, self.news = self.news, {}
        return news

    def forget(self, worker: str) -> None:
        self.forgotten.append(worker)

    @property
    def who(self) -> list[str]:
        return [worker for worker, _ in self.sent]


@pytest.fixture
def study(sqlite_store: Any) -> Study:
    fill_dataset(sqlite_store, personas=[make_persona(f"user{i}") for i in range(UNITS)])
    return plan(make_study_spec(), sqlite_store, lambda: NOW).study


@pytest.fixture
def model_study(sqlite_store: Any) -> Study:
    fill_dataset(sqlite_store, personas=[make_persona(f"user{i}") for i in range(UNITS)])
    limits = Limits(concurrency=12, requests_per_minute=60)
    spec = make_study_spec("calling", arms=[MODEL_ARM], limits=limits)
    return plan(spec, sqlite_store, lambda: NOW).study


def work_off(store: Any, study: Study) -> Callable[..., Ended]:
    def act(*_: object) -> Ended:
        Runner(study, store, ScriptedModel([]), caps=Caps()).run()
        return Ended(0, "")

    return act


def idle(*_: object) -> None:
    return None


def crew_of(study: Study, store: Any, machines: Machines, **options: Any) -> Crew:
    options.setdefault("caps", Caps())
    return Crew(study, store, machines, **options)


def test_every_worker_gets_the_study_and_the_study_ends(study: Study, sqlite_store: Any) -> None:
    machines = Machines({"a", "b"}, idle)
    working = work_off(sqlite_store, study)
    machines.act = lambda _, worker, __: working() if worker == "b" else None
    progress = crew_of(study, sqlite_store, machines).run()
    assert machines.who == ["a", "b"]
    assert (progress.done, progress.owed, progress.state) == (UNITS, 0, StudyState.DONE)


def test_finished_study_is_said_to_be_done_when_the_last_runner_died_before(
    study: Study, sqlite_store: Any
) -> None:
    def die_at_the_end(machines: Machines, worker: str, _: Order) -> None:
        work_off(sqlite_store, study)()
        sqlite_store.set_study_state(study.id, StudyState.RUNNING)
        machines.here.discard(worker)

    progress = crew_of(study, sqlite_store, Machines({"a"}, die_at_the_end)).run()
    assert progress.state is StudyState.DONE


def test_worker_that_dies_is_replaced_by_one_that_joins(study: Study, sqlite_store: Any) -> None:
    def act(machines: Machines, worker: str, order: Order) -> Ended | None:
        if worker == "a":
            machines.here = {"b"}
            return None
        return work_off(sqlite_store, study)()

    machines = Machines({"a"}, act)
    progress = crew_of(study, sqlite_store, machines).run()
    assert (machines.who, machines.forgotten) == (["a", "b"], ["a"])
    assert progress.owed == 0


def test_dead_worker_is_replaced_under_a_budget_too(model_study: Study, sqlite_store: Any) -> None:
    """The ledger knows what the dead one had out, so that its successor cannot spend it again."""

    def die_once(machines: Machines, worker: str, order: Order) -> Ended | None:
        assert order.caps.budget_usd == 1.0
        if worker == "a":
            machines.here = {"b"}
            return None
        sqlite_store.set_study_state(model_study.id, StudyState.PAUSED)
        return Ended(1, "")

    machines = Machines({"a"}, die_once)
    crew_of(model_study, sqlite_store, machines, caps=Caps(budget_usd=1.0)).run()
    assert machines.who == ["a", "b"]


def test_whoever_joins_works_at_once_under_the_same_limits(
    model_study: Study, sqlite_store: Any
) -> None:
    machines = Machines({"a", "b", "c"}, idle)
    crew = form_crew(model_study, sqlite_store, machines, budget_usd=3.0)
    threading.Timer(0.1, crew.stop.set).start()
    crew.run()
    assert machines.who == ["a", "b", "c"]
    assert crew.caps == Caps(concurrency=12, requests_per_minute=60, budget_usd=3.0)


def test_worker_that_cannot_is_not_asked_again_and_its_reason_is_kept(
    study: Study, sqlite_store: Any
) -> None:
    machines = Machines({"a"}, lambda *_: Ended(2, "Set OPENAI_API_KEY."))
    progress = crew_of(study, sqlite_store, machines).run()
    assert machines.who == ["a"]
    assert (progress.state, progress.message) == (StudyState.PAUSED, "Set OPENAI_API_KEY.")


@pytest.mark.parametrize("code", [-9, 1])
def test_runner_that_fails_is_started_again_but_not_for_ever(
    study: Study, sqlite_store: Any, code: int
) -> None:
    machines = Machines({"a"}, lambda *_: Ended(code, "The database did not answer."))
    progress = crew_of(study, sqlite_store, machines).run()
    assert machines.who == ["a"] * scale_out.MOST_CRASHES
    assert progress.owed == UNITS


def test_paused_study_is_not_sent_out_again(study: Study, sqlite_store: Any) -> None:
    def pause(machines: Machines, worker: str, _: Order) -> Ended:
        sqlite_store.set_study_state(study.id, StudyState.PAUSED)
        machines.here.add("b")
        return Ended(1, "")

    machines = Machines({"a"}, pause)
    progress = crew_of(study, sqlite_store, machines).run()
    assert (machines.who, progress.state) == (["a"], StudyState.PAUSED)


def test_progress_is_reported_from_the_database(study: Study, sqlite_store: Any) -> None:
    heard: list[StudyProgress] = []
    crew = crew_of(study, sqlite_store, Machines({"a"}, idle))
    threading.Timer(0.1, crew.stop.set).start()
    crew.run(heard.append)
    assert {(p.units, p.owed) for p in heard} == {(UNITS, UNITS)}


# --- on a worker ------------------------------------------------------------------------------


def test_order_comes_back_from_its_text_and_holds_no_secret(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    order = Order.of(study, Caps(concurrency=3, budget_usd=1.5))
    assert Order.parse(order.to_text()) == order
    for word in ("sk-very-secret", "postgres", "sqlite"):
        assert word not in order.to_text()


def test_worker_of_another_database_is_refused(study: Study, sqlite_store: Any) -> None:
    for order in (
        Order("elsewhere", study.created_at.isoformat(), Caps()),
        Order(study.name, "2020-01-01T00:00:00+00:00", Caps()),
    ):
        with pytest.raises(SettingsError, match="RAPPORT_DATABASE_URL"):
            share_runner(order, sqlite_store, ScriptedModel([]), lambda _: None)


def test_worker_without_a_key_is_refused_before_it_claims(
    model_study: Study, sqlite_store: Any
) -> None:
    order = Order.of(model_study, Caps())
    with pytest.raises(StudyError, match="Set a key"):
        share_runner(order, sqlite_store, ScriptedModel([]), lambda _: "Set a key.")
    assert sqlite_store.lease_owners(model_study.id) == []


def test_runner_whose_worker_leaves_says_nothing_about_the_study(
    study: Study, sqlite_store: Any
) -> None:
    runner = share_runner(Order.of(study, Caps()), sqlite_store, ScriptedModel([]), lambda _: None)
    runner.leave()
    progress = runner.run()
    assert (progress.state, progress.owed) == (StudyState.RUNNING, UNITS)
    assert sqlite_store.lease_owners(study.id) == []


def test_end_of_standard_input_is_noticed() -> None:
    ended = threading.Event()
    when_parent_ends(ended.set, io.StringIO(""))
    assert ended.wait(5)


def test_sqlite_cannot_be_shared_by_machines() -> None:
    with pytest.raises(SettingsError, match="PostgreSQL"):
        scale_out.require_shared(Settings.from_env())
