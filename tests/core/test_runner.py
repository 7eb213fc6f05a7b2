"""Working off a study: everything once, nothing paid twice, faults in their place."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from core.errors import ModelMisconfigured, ModelRefused, ModelUnavailable, RunFailed
from core.judging import judge_study
from core.limits import BudgetReached, Caps
from core.parties import STOP_TOKEN
from core.ports import Again, ChatRequest, DialogueFilter, IsCancelled, OnDelta, Reply, Study
from core.runner import Runner
from core.study import plan
from core.study_file import ArmEntry, JudgeEntry, ModelEntry, StudySpec
from core.types import JudgementStatus, ModelSpec, Part, StopReason, StudyState
from tests.builders import NOW, fill_dataset, make_persona, make_study_spec

Fault = Callable[[int, ChatRequest], Exception | None]


def no_fault(_: int, __: ChatRequest) -> None:
    return None


@dataclass
class Talkers:
    """A model for all sides. It tells them apart by the token in the user agent's prompt."""

    fault: Fault = no_fault
    price: float | None = 0.001
    asked: list[ChatRequest] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def reply(
        self,
        request: ChatRequest,
        *,
        on_delta: OnDelta | None = None,
        is_cancelled: IsCancelled | None = None,
        again: Again | None = None,
    ) -> Reply:
        with self.lock:
            self.asked.append(request)
            number = len(self.asked)
        if (error := self.fault(number, request)) is not None:
            raise error
        return Reply(self._text(request), tokens_in=10, tokens_out=5, cost_usd=self.price)

    def worst_cost(self, request: ChatRequest) -> float | None:
        return self.price

    def _text(self, request: ChatRequest) -> str:
        last = request.messages[-1].content
        if request.schema is not None:
            return '{"value": 3, "rationale": "It fits.", "evidence": [1]}'
        if STOP_TOKEN not in last:
            return "I can do that. Shall I?"
        return f"Yes, thanks. {STOP_TOKEN}" if "I can do that" in last else "Could you help me?"

    def repeated(self) -> Counter[str]:
        return Counter({h: n for h, n in Counter(r.hash for r in self.asked).items() if n > 1})


def spec_of(**changes: Any) -> StudySpec:
    values: dict[str, Any] = {
        "arms": (ArmEntry(name="m", model="fake/assistant", context=tuple(Part)),),
        "user_agent": ModelEntry(model="fake/user"),
        "judges": (JudgeEntry(model="fake/judge", rubrics=("personalization", "grounding")),),
    }
    return make_study_spec(**(values | changes))


@pytest.fixture
def people(sqlite_store: Any) -> Any:
    """Twelve scenarios: their personas differ, so that no two requests are the same."""
    folk = [make_persona(f"user{i}", age=f"{20 + i} years old") for i in range(12)]
    fill_dataset(sqlite_store, personas=folk)
    return sqlite_store


def runner_of(
    store: Any, model: Talkers, spec: StudySpec | None = None, *, caps: Caps | None = None
) -> Runner:
    study = plan(spec or spec_of(), store, lambda: NOW).study
    return Runner(study, store, model, caps=caps or Caps(concurrency=4))


def test_every_unit_becomes_one_judged_dialogue(people: Any) -> None:
    model = Talkers()
    progress = runner_of(people, model).run()
    assert (progress.units, progress.done, progress.failed, progress.owed) == (12, 12, 0, 0)
    assert progress.state is StudyState.DONE
    assert (progress.judgements, progress.unscored) == (24, 0)
    # opening, answer, last words, last answer; and two rubrics
    assert len(model.asked) == 12 * 6
    assert progress.cost_usd == pytest.approx(12 * 6 * 0.001)
    dialogue = people.get_dialogue(people.list_dialogues(DialogueFilter())[0].id)
    assert [m.content for m in dialogue.messages] == [
        "Could you help me?",
        "I can do that. Shall I?",
        "Yes, thanks.",
        "I can do that. Shall I?",
    ]


def test_second_run_of_a_finished_study_calls_nothing(people: Any) -> None:
    runner_of(people, Talkers()).run()
    model = Talkers()
    progress = runner_of(people, model).run()
    assert model.asked == []
    assert progress.done == 12


@pytest.mark.parametrize("after", [1, 7, 30, 71])
def test_nothing_answered_is_asked_again_when_a_run_breaks_off(people: Any, after: int) -> None:
    """The process 'dies' at a call: the error is none that a runner handles."""

    class Died(Exception):
        pass

    dying = Talkers(lambda n, _: Died() if n > after else None)
    with pytest.raises(RunFailed, match="Died") as failed:
        runner_of(people, dying, caps=Caps(concurrency=1)).run()
    assert isinstance(failed.value.__cause__, Died)
    stands = people.list_progress()[0]
    assert (stands.state, stands.message) == (StudyState.FAILED, str(failed.value))
    assert (stands.failed, people.lease_owners(stands.study_id)) == (0, [])
    later = Talkers()
    progress = runner_of(people, later).run()
    assert (progress.done, progress.owed, progress.judgements) == (12, 0, 24)
    answered = dying.asked[:after]
    assert {r.hash for r in answered}.isdisjoint(r.hash for r in later.asked)
    assert len(answered) + len(later.asked) == 12 * 6


def test_unavailable_model_fails_its_dialogue_and_no_other(people: Any) -> None:
    def fault(_: int, request: ChatRequest) -> Exception | None:
        spoilt = "23 years old" in request.messages[-1].content and request.schema is None
        return ModelUnavailable("503") if spoilt else None

    progress = runner_of(people, Talkers(fault)).run()
    assert (progress.done, progress.failed, progress.owed) == (11, 1, 0)
    assert dict(progress.stop_reasons) == {"user_done": 11, "model_error": 1}
    failed = people.list_dialogues(DialogueFilter(stop_reasons=frozenset({StopReason.MODEL_ERROR})))
    assert people.list_judgements(failed[0].id) == []

    study = people.list_studies()[0]
    assert people.reopen_failed(study.id) == 1
    progress = runner_of(people, Talkers()).run()
    assert (progress.done, progress.failed, progress.owed) == (12, 0, 0)


def test_judge_that_fails_leaves_a_judgement_without_a_value(people: Any) -> None:
    def fault(_: int, request: ChatRequest) -> Exception | None:
        return ModelRefused("no") if request.schema is not None else None

    progress = runner_of(people, Talkers(fault)).run()
    assert (progress.done, progress.judgements, progress.unscored) == (12, 24, 24)
    study = people.list_studies()[0]
    statuses = {j.status for j in people.iter_judgements(study.id)}
    assert statuses == {JudgementStatus.REFUSED}


def test_bad_key_pauses_the_study_with_its_reason_and_fails_nothing(people: Any) -> None:
    model = Talkers(lambda n, _: ModelMisconfigured("The key is wrong.") if n > 3 else None)
    runner = runner_of(people, model)
    with pytest.raises(ModelMisconfigured, match="key is wrong"):
        runner.run()
    progress = people.progress(runner.study.id)
    assert progress.state is StudyState.PAUSED
    assert progress.message == "The key is wrong."
    assert progress.failed == 0
    assert len(model.asked) < 12


def test_budget_is_never_passed_and_more_budget_goes_on(people: Any) -> None:
    model = Talkers(price=0.01)
    with pytest.raises(BudgetReached):
        runner_of(people, model, caps=Caps(concurrency=4, budget_usd=0.2)).run()
    assert len(model.asked) * 0.01 <= 0.2 + 1e-9
    study = people.list_studies()[0]
    progress = people.progress(study.id)
    assert progress.state is StudyState.PAUSED
    assert progress.failed == 0

    later = Talkers(price=0.01)
    caps = Caps(concurrency=4, budget_usd=5)
    assert runner_of(people, later, caps=caps).run().done == 12
    assert len(model.asked) + len(later.asked) == 12 * 6


def test_study_stops_soon_when_a_person_asks_and_goes_on_later(people: Any) -> None:
    runners: list[Runner] = []

    def stop_early(number: int, _: ChatRequest) -> None:
        if number == 10:
            runners[0].stop()

    model = Talkers(stop_early)
    runners.append(runner_of(people, model))
    progress = runners[0].run()
    assert progress.state is StudyState.PAUSED
    assert 0 < progress.owed < 13
    assert progress.failed == 0
    later = Talkers()
    assert runner_of(people, later).run().done == 12
    assert len(model.asked) + len(later.asked) == 12 * 6


def test_two_runners_share_the_work_and_do_nothing_twice(people: Any) -> None:
    model = Talkers()
    spec = spec_of()
    runners = [runner_of(people, model, spec, caps=Caps(concurrency=2)) for _ in range(2)]
    threads = [threading.Thread(target=r.run) for r in runners]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    progress = people.progress(runners[0].study.id)
    assert (progress.done, progress.owed, progress.state) == (12, 0, StudyState.DONE)
    assert len(model.asked) == 12 * 6


def test_scripted_study_calls_no_model(people: Any) -> None:
    spec = make_study_spec(
        arms=["scripted/attentive", "scripted/forgetful"],
        judges=(JudgeEntry(model="scripted/judge", rubrics=("personalization",)),),
    )
    model = Talkers()
    progress = runner_of(people, model, spec).run()
    assert (progress.done, progress.judgements, progress.cost_usd) == (24, 24, 0.0)
    assert model.asked == []


def test_scripted_study_makes_the_same_dialogues_each_time(people: Any) -> None:
    def messages(name: str) -> list[list[str]]:
        spec = make_study_spec(name, arms=["scripted/attentive"])
        runner = runner_of(people, Talkers(), spec)
        runner.run()
        made = sorted(people.iter_dialogues(runner.study.id), key=lambda d: d.persona_id)
        return [[m.content for m in d.messages] for d in made]

    assert messages("one") == messages("two")


def test_judging_again_adds_an_instrument_and_replaces_none(people: Any) -> None:
    runner_of(people, Talkers()).run()
    study: Study = people.list_studies()[0]
    before = {j.id for j in people.iter_judgements(study.id)}
    model = Talkers()
    other = ModelSpec("fake/other")
    assert judge_study(study, ["personalization"], other, people, model, caps=Caps(4)) == (12, 0)
    after = {j.id for j in people.iter_judgements(study.id)}
    assert before < after
    assert len(after) == len(before) + 12
    # and once more: nothing is owed
    assert judge_study(study, ["personalization"], other, people, Talkers()) == (0, 0)


def test_judge_that_could_not_be_reached_is_asked_again_and_counts_once(people: Any) -> None:
    runner_of(people, Talkers(), spec_of(judges=())).run()
    study: Study = people.list_studies()[0]
    spec = ModelSpec("fake/judge")
    down = Talkers(lambda *_: ModelUnavailable("503"))
    assert judge_study(study, ["personalization"], spec, people, down) == (12, 12)
    assert people.progress(study.id).unscored == 12
    assert judge_study(study, ["personalization"], spec, people, down) == (12, 12)
    assert judge_study(study, ["personalization"], spec, people, Talkers()) == (12, 0)
    progress = people.progress(study.id)
    assert (progress.judgements, progress.unscored) == (12, 0)
    assert list(people.ratings(study.id)["value"]) == [3.0] * 12
    assert len(list(people.iter_judgements(study.id))) == 36  # nothing is forgotten


def test_replaying_a_unit_over_its_call_log_proves_the_stored_dialogue(people: Any) -> None:
    from core.bench import Bench, How, make_dialogue
    from core.calls import Line
    from core.gate import Unlimited

    runner = runner_of(people, Talkers())
    runner.run()
    stored = next(iter(people.iter_dialogues(runner.study.id)))
    unit = next(u for u in plan(spec_of(), people, lambda: NOW).units if u.id == stored.unit_id)
    dead = Talkers(lambda *_: AssertionError("a replay calls nothing"))
    bench = Bench.open(people, "sample", Line(dead, Unlimited(), lambda *_: None, lambda: NOW))
    scenario = bench.prepare([unit])[unit.scenario.id]
    again = make_dialogue(unit, scenario, bench, How.of(spec_of(), stored.attempt))
    assert again.content_hash == stored.content_hash
