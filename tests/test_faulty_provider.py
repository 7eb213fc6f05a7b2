"""A fifth of all replies is faulty, in every way a provider knows: none becomes a result.

RAPPORT_FAULTY_DIALOGUES=500 makes it the size that README quotes.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from typing import Any

import pytest

from core.clock import now
from core.failed import retry_failed
from core.limits import Caps
from core.models.litellm_model import LitellmModel
from core.ports import Study
from core.runner import Runner
from core.sample import ensure_sample
from core.settings import Settings
from core.study import plan
from core.study_file import ArmEntry, JudgeEntry, ModelEntry, ScenarioSelection, StudySpec
from core.types import JudgementStatus, ModelCall, Part, StopReason, StudyState
from tests.support.answers import Fault
from tests.support.provider import Provider

DIALOGUES = int(os.environ.get("RAPPORT_FAULTY_DIALOGUES", "60"))
CONCURRENCY = 32
REFUSALS = (Fault.REFUSAL, Fault.CONTENT_FILTER, Fault.FILTERED_PROMPT)
PASSING = (  # tried again, until the limit of time
    *(Fault.RATE_LIMIT, Fault.RATE_LIMIT_WAIT, Fault.SERVER_ERROR, Fault.UNAVAILABLE),
    *(Fault.RESET, Fault.STALL, Fault.TRUNCATED, Fault.INVALID_JSON, Fault.WRONG_SCHEMA),
)
ANSWERS = (Fault.SLOW, Fault.LENGTH, Fault.APOLOGY, Fault.WEIRD)  # odd, and answers all the same
FAULTS = (*REFUSALS, *PASSING, *ANSWERS, Fault.EMPTY, Fault.CONTEXT_OVERFLOW)
SHARE = 0.2
LATE = 2
RARE = 0.002  # of an answer of three million characters, which every later request repeats

REASONS = {
    StopReason.REFUSED: ("ModelRefused",),
    StopReason.CONTEXT_OVERFLOW: ("ContextOverflow",),
    StopReason.MODEL_ERROR: ("ModelUnavailable", "EmptyReply"),
}


def spec_of(provider: Provider) -> StudySpec:
    def model(name: str) -> dict[str, Any]:
        return {"model": f"openai/{name}", "api_base": provider.url}

    each = min(DIALOGUES, 60)
    rubrics = ("personalization", "task_completion", "grounding")
    return StudySpec(
        name="faulty",
        dataset="sample",
        scenarios=ScenarioSelection(kind="all", limit=each, seed=3),
        user_agent=ModelEntry(**model("user")),
        arms=(ArmEntry(name="local", context=tuple(Part), **model("local")),),
        repetitions=-(-DIALOGUES // each),
        judges=(JudgeEntry(rubrics=rubrics, params={"structured": True}, **model("judge")),),
    )


def run(study: Study, store: Any) -> Any:
    settings = Settings.from_env()
    return Runner(study, store, LitellmModel(settings), caps=Caps(CONCURRENCY)).run()


def calls_of(store: Any, study: Study) -> dict[str, list[ModelCall]]:
    """The call logs of all dialogues and of their judges, by dialogue."""
    return {
        d.id: [*store.list_calls(f"{d.unit_id}:{d.attempt}"), *store.list_judge_calls(d.id)]
        for d in store.iter_dialogues(study.id)
    }


def error_kind(call: ModelCall) -> str:
    return call.error.partition(":")[0]


@pytest.mark.slow
def test_a_study_among_faults_ends_with_right_reasons_and_retrying_completes_it(
    sqlite_store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAPPORT_RETRY_SECONDS", "5")
    monkeypatch.setenv("RAPPORT_REQUEST_TIMEOUT", "3")
    ensure_sample(sqlite_store)
    faults = {fault: SHARE / len(FAULTS) for fault in FAULTS} | {Fault.OVERSIZED: RARE}
    with Provider(latency=0.01, faults=faults, seed=11) as provider:
        study = plan(spec_of(provider), sqlite_store, now).study
        started = time.monotonic()
        first = run(study, sqlite_store)
        seconds = time.monotonic() - started
        served = Counter(request.fault for request in provider.requests)
        logs = calls_of(sqlite_store, study)
        _each_is_complete_or_stopped_with_its_reason(sqlite_store, study, logs)
        _every_refusal_is_told_from_a_fault(served, logs)
        kinds = {kind.kind: kind.count for kind in sqlite_store.failure_kinds(study.id)}

        provider.faults = {}
        reopened = retry_failed(study, sqlite_store)
        assert reopened.dialogues == first.failed > 0
        before = provider.served
        last = run(study, sqlite_store)
        again = provider.served - before

    assert (first.state, first.owed) == (StudyState.DONE, 0)
    assert first.done > 0
    assert set(served) >= {*FAULTS}
    assert (last.done, last.failed, last.owed) == (first.units, 0, 0)
    assert {kind.kind for kind in sqlite_store.failure_kinds(study.id)} <= {"retried"}
    statuses = Counter(j.status for j in sqlite_store.iter_judgements(study.id))
    faulty = sum(n for fault, n in served.items() if fault is not Fault.NONE)
    sys.stdout.write(
        f"\n{first.units} dialogues, {sum(served.values())} requests, {faulty} faulty, "
        f"{seconds:.0f} s; ended by {dict(first.stop_reasons)}; failures {kinds}; "
        f"tried again {reopened}, {again} requests; judgements {dict(statuses)}\n"
    )


def _each_is_complete_or_stopped_with_its_reason(
    store: Any, study: Study, logs: dict[str, list[ModelCall]]
) -> None:
    dialogues = list(store.iter_dialogues(study.id))
    assert len({d.unit_id for d in dialogues}) == len(dialogues)
    for dialogue in dialogues:
        talk = [c for c in logs[dialogue.id] if not c.party.startswith("judge:")]
        ended = list({(c.party, c.seq): c for c in talk}.values())  # the last try of each
        tried = [c for c in talk if c not in ended]
        assert {error_kind(c) for c in tried} <= {"ModelUnavailable", "EmptyReply"}
        judgements = store.list_judgements(dialogue.id)
        if dialogue.stop_reason.judged:
            assert [c for c in ended if c.error] == []
            assert len(judgements) == 3
            assert all(
                (j.value is None) == (j.status is not JudgementStatus.OK) for j in judgements
            )
        else:
            assert judgements == []
            assert error_kind(talk[-1]) in REASONS[dialogue.stop_reason]
            assert [c for c in ended[:-1] if c.error] == []


def _every_refusal_is_told_from_a_fault(
    served: Counter[Fault], logs: dict[str, list[ModelCall]]
) -> None:
    """Neither is tried again by itself, so that the log counts what the provider did.

    On a busy machine an answer may come when its client has given up waiting and asks again.
    """
    logged = Counter(error_kind(c) for calls in logs.values() for c in calls if c.error)
    refused = sum(served[fault] for fault in REFUSALS)
    assert refused - LATE <= logged["ModelRefused"] <= refused
    overflown = served[Fault.CONTEXT_OVERFLOW]
    assert overflown - LATE <= logged["ContextOverflow"] <= overflown
    assert set(logged) <= {kind for kinds in REASONS.values() for kind in kinds}
