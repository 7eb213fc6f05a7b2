"""The whole way: a study file, a runner, answers, results; and nothing is paid for twice."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from core.errors import ModelUnavailable, RunFailed, StudyError
from core.findings import study_results
from core.importing import import_source
from core.judging import judge_study
from core.limits import Caps
from core.personaconv.bench import InstanceBench, answer_of
from core.personaconv.generator import Size, generate, write_flat
from core.personaconv.results import find
from core.personaconv.types import Setting, Task
from core.ports import Again, ChatRequest, IsCancelled, OnDelta, Reply, Study
from core.runner import Runner
from core.study import check_study, plan
from core.study_file import StudySpec, parse_study
from core.types import ModelSpec, StopReason, StudyState, Target
from tests.builders import NOW

SIZE = Size(users=5, posts=3, domains=("books", "science"))


@pytest.fixture
def talk(sqlite_store: Any, tmp_path: Path) -> Any:
    """A store with a small dataset of conversations called `talk`."""
    path = tmp_path / "raw.json"
    write_flat(path, generate(3, SIZE))
    import_source(path, kind="personaconv", name="talk", store=sqlite_store, now=lambda: NOW)
    return sqlite_store


def spec_of(*, settings: tuple[str, ...] = ("P-Conv", "P-NonConv"), **changes: Any) -> StudySpec:
    """A study of one fake model in some settings."""
    values: dict[str, Any] = {
        "name": "conv",
        "dataset": "talk",
        "instances": {"split": "all", "limit": 12},
        "arms": [{"name": s, "model": "fake/one", "setting": s} for s in settings],
    }
    return parse_study(values | changes, source="study.yaml")


@dataclass
class Forecaster:
    """A model that answers each task in form, by a rule that depends on the prompt alone."""

    stop_after: int | None = None
    nonsense: bool = False
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
            if self.stop_after is not None and len(self.asked) >= self.stop_after:
                raise RuntimeError("killed")
            self.asked.append(request)
        return Reply(self._text(request), tokens_in=10, tokens_out=5, cost_usd=0.001)

    def worst_cost(self, request: ChatRequest) -> float | None:
        return 0.001

    def _text(self, request: ChatRequest) -> str:
        wanted = set((request.schema or {}).get("properties", {}))
        number = int(request.hash[:6], 16)
        if self.nonsense and number % 5 == 0:
            return "It depends, between 10 and 15, positive or negative."
        if "value" in wanted:
            return '{"value": 4, "rationale": "It fits.", "evidence": [1]}'
        if wanted == {"label"}:
            return json.dumps({"label": ("positive", "negative")[number % 3 == 0]})
        if wanted == {"score"}:
            return json.dumps({"score": number % 40 - 10})
        return json.dumps({"text": "My reading is that they vote on it again, thank you."})

    def repeated(self) -> dict[str, int]:
        return {h: n for h, n in Counter(r.hash for r in self.asked).items() if n > 1}


def run(store: Any, spec: StudySpec, model: Forecaster) -> Study:
    check_study(spec, store, lambda _: None)
    study = plan(spec, store, lambda: NOW).study
    Runner(study, store, model, caps=Caps(concurrency=4)).run()
    return study


def everything(store: Any, study: Study) -> dict[str, Any]:
    return study_results(study, store)


# --- the whole way -------------------------------------------------------------------------------


def test_all_settings_and_tasks_are_asked_and_answered(talk: Any) -> None:
    model = Forecaster()
    study = run(talk, spec_of(settings=tuple(Setting)), model)
    progress = talk.progress(study.id)
    assert (progress.state, progress.units, progress.done) == (StudyState.DONE, 180, 180)
    assert len(model.asked) == 180
    dialogues = list(talk.iter_dialogues(study.id))
    assert {d.prompts["parse"] for d in dialogues} == {"exact"}
    assert {d.prompts["leaks"] for d in dialogues} == {""}
    assert {d.arm.setting for d in dialogues} == set(Setting)
    assert all(answer_of(d).status.valid for d in dialogues)


def test_all_settings_ask_about_one_ordered_list(talk: Any) -> None:
    """Acceptance test 9."""
    units = plan(spec_of(settings=tuple(Setting)), talk, lambda: NOW).units
    lists = {
        setting: [u.scenario.task_id for u in units if u.arm.setting == setting]
        for setting in Setting
    }
    assert len({tuple(found) for found in lists.values()}) == 1
    assert len(lists[Setting.P_CONV]) == 36


def test_results_stand_beside_baselines_by_task_setting_and_domain(talk: Any) -> None:
    study = run(talk, spec_of(), Forecaster())
    found = find(study, talk, boot=50)
    arms = {row.arm for row in found.rows}
    assert {"P-Conv", "P-NonConv", "baseline: majority", "baseline: echo-parent"} <= arms
    assert {row.domain for row in found.rows} == {"all", "macro", "books", "science"}
    assert all(row.n == 12 for row in found.rows if row.domain == "all")
    assert {row.leaks for row in found.rows} == {0}
    metrics = {(row.task, row.figure.metric) for row in found.rows}
    for metric in ("accuracy", "f1", "f1_macro", "f1_weighted", "mcc", "balanced_accuracy"):
        assert (Task.SENTIMENT, metric) in metrics
    for metric in ("rmse", "mae", "median_ae", "rmse_log", "mae_log", "spearman"):
        assert (Task.IMPACT, metric) in metrics
    for metric in ("rouge1", "rougeL", "bleu", "meteor_exact_stem", "coverage"):
        assert (Task.REPLY, metric) in metrics
    assert {(d.arm, d.baseline) for d in found.differences} == {("P-NonConv", "P-Conv")}


def test_results_keep_the_keys_of_every_study(talk: Any) -> None:
    study = run(talk, spec_of(), Forecaster())
    value = everything(talk, study)
    json.dumps(value, allow_nan=False)
    keys = {"arm", "dimension", "estimate", "lo", "hi", "n", "n_personas", "n_unscored"}
    assert all(keys | {"method", "instrument"} <= set(row) for row in value["results"])
    keys = {"arm", "baseline", "dimension", "estimate", "lo", "hi", "p", "n"}
    assert all(keys <= set(row) for row in value["differences"])


# --- acceptance test 7 ---------------------------------------------------------------------------


def test_a_killed_run_goes_on_without_a_repeated_call_and_to_the_same_figures(talk: Any) -> None:
    unbroken = Forecaster()
    whole = run(talk, spec_of(name="whole"), unbroken)
    model, spec = Forecaster(stop_after=20), spec_of(name="cut")
    study = plan(spec, talk, lambda: NOW).study
    with pytest.raises(RunFailed):
        Runner(study, talk, model, caps=Caps(concurrency=1)).run()
    answered = len(model.asked)
    assert 0 < answered <= 20
    model.stop_after = None
    Runner(study, talk, model, caps=Caps(concurrency=4)).run()
    assert talk.progress(study.id).owed == 0
    assert len(model.asked) == 72
    assert model.repeated() == unbroken.repeated()  # settings that have nothing more to show
    one, two = everything(talk, whole), everything(talk, study)
    assert one["results"] == two["results"]
    assert one["differences"] == two["differences"]


def test_the_same_study_twice_asks_nothing_again(talk: Any) -> None:
    model = Forecaster()
    run(talk, spec_of(), model)
    run(talk, spec_of(), model)
    assert len(model.asked) == 72


# --- answers that cannot be read, models that fail ------------------------------------------------


def test_nonsense_lowers_coverage_and_counts_as_wrong(talk: Any) -> None:
    study = run(talk, spec_of(settings=("P-Conv",)), Forecaster(nonsense=True))
    rows = find(study, talk, boot=20).rows
    covered = [r for r in rows if r.figure.metric == "coverage" and r.model and r.domain == "all"]
    assert any((r.figure.value or 0) < 1 for r in covered if not r.variant)
    assert any(r.variant == "readable only" and r.figure.value == 1 for r in covered)
    assert any(r.n_invalid for r in covered)


def test_a_model_that_fails_is_an_error_and_is_counted(talk: Any) -> None:
    class Failing(Forecaster):
        def reply(self, request: ChatRequest, **_: Any) -> Reply:
            raise ModelUnavailable("away")

    study = run(talk, spec_of(settings=("P-Conv",)), Failing())
    dialogues = list(talk.iter_dialogues(study.id))
    assert {d.stop_reason for d in dialogues} == {StopReason.MODEL_ERROR}
    found = find(study, talk, boot=20)
    assert found.statuses["P-Conv", Task.REPLY] == {"error": 12}


# --- scripted arms, reference mode ---------------------------------------------------------------


def test_scripted_arms_answer_like_the_baselines_of_their_name(talk: Any) -> None:
    arms = [{"name": "copy", "model": "scripted/copy-demo", "setting": "P-Conv"}]
    study = run(talk, spec_of(arms=arms), Forecaster(stop_after=0))
    rows = find(study, talk, boot=20).rows
    values = {
        arm: {
            (r.task, r.figure.metric): r.figure.value
            for r in rows
            if r.arm == arm and r.domain == "all"
        }
        for arm in ("copy", "baseline: copy-demo")
    }
    assert values["copy"] == values["baseline: copy-demo"]


def test_reference_mode_asks_as_released_and_its_leaks_are_a_column(talk: Any) -> None:
    arms = [
        {"name": s, "model": "fake/one", "setting": s} for s in ("P-Conv", "P-NonConv", "NP-Conv")
    ]
    spec = spec_of(arms=arms, instances={"mode": "reference"})
    model = Forecaster()
    study = run(talk, spec, model)
    assert all(len(r.messages) == 1 and r.schema is None for r in model.asked)
    rows = find(study, talk, boot=20).rows
    leaks = {(r.arm, r.task): r for r in rows if r.model}
    assert leaks["P-Conv", Task.REPLY].leaks == leaks["P-Conv", Task.REPLY].n
    assert "later" in leaks["P-Conv", Task.REPLY].leak_kinds


# --- judges ---------------------------------------------------------------------------------------


def test_judges_read_generated_replies_and_nothing_else(talk: Any) -> None:
    rubrics = ["reply_relevance", "reply_style", "reply_stance", "reply_plausibility"]
    spec = spec_of(
        settings=("P-Conv",),
        judges=[{"model": "fake/judge", "rubrics": rubrics}],
        primary="reply_style",
    )
    model = Forecaster()
    study = run(talk, spec, model)
    judgements = list(talk.iter_judgements(study.id))
    assert Counter(j.dimension for j in judgements) == dict.fromkeys(rubrics, 12)
    assert {j.target for j in judgements} == {Target.ASSISTANT}
    seen = [r.messages[-1].content for r in model.asked if "value" in str(r.schema)]
    assert all("My reading is that they vote" in text for text in seen)
    assert all('{"text"' not in text for text in seen)
    dimensions = {row["dimension"] for row in everything(talk, study)["results"]}
    assert set(rubrics) <= dimensions


def test_a_stored_study_can_be_judged_later(talk: Any) -> None:
    study = run(talk, spec_of(settings=("P-Conv",)), Forecaster())
    judge = ModelSpec("fake/judge")
    added, unscored = judge_study(study, ["reply_stance"], judge, talk, Forecaster())
    assert (added, unscored) == (12, 0)


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"dataset": "nowhere"}, "no dataset called nowhere"),
        ({"instances": {"domains": ["cooking"]}}, "no domain called cooking"),
        (
            {"arms": [{"name": "a", "model": "scripted/majority", "setting": "P-Conv"}]},
            "no answer to the task reply",
        ),
        (
            {
                "instances": {"mode": "reference"},
                "arms": [{"name": "a", "model": "fake/one", "setting": "NP-NonConv"}],
            },
            "has no setting NP-NonConv",
        ),
        (
            {"judges": [{"model": "scripted/judge", "rubrics": ["reply_style"]}]},
            "No scripted judge",
        ),
    ],
)
def test_a_study_that_cannot_run_is_refused(talk: Any, changes: Any, words: str) -> None:
    with pytest.raises(StudyError, match=words):
        check_study(spec_of(**changes), talk, lambda _: None)


def test_settings_and_instances_belong_together(talk: Any) -> None:
    with pytest.raises(StudyError, match="setting"):
        spec_of(instances=None)
    with pytest.raises(StudyError, match="setting"):
        spec_of(arms=[{"name": "a", "model": "fake/one"}])
    values = {"name": "x", "dataset": "talk", "arms": [{"name": "a", "model": "fake/one"}]}
    with pytest.raises(StudyError, match="instances"):
        check_study(parse_study(values, source="x"), talk, lambda _: None)


def test_an_empty_selection_is_refused(talk: Any) -> None:
    spec = spec_of(instances={"split": "all", "dead_zone": 10**6, "tasks": ["sentiment"]})
    with pytest.raises(StudyError, match="No reply"):
        plan(spec, talk, lambda: NOW)


def test_prompts_read_later_are_those_that_were_sent(talk: Any) -> None:
    spec = spec_of(settings=tuple(Setting))
    study = run(talk, spec, Forecaster())
    assert spec.instances is not None
    bench = InstanceBench.reading(talk, "talk", spec.instances)
    dialogues = list(talk.iter_dialogues(study.id))
    cases = bench.cases([d.task_id for d in dialogues])
    for d in dialogues:
        prompt = bench.prompt(cases[d.task_id], Setting(d.arm.setting))
        assert prompt.hash == d.prompts["request"]
        assert not re.search(r"m-[a-z2-7]{16}, \d{4}", prompt.messages[-1].content)
