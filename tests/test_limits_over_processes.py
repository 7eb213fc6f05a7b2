"""Limits hold over threads and processes, counted by the server that is called."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from core.clock import now
from core.limits import caps_of
from core.models.litellm_model import LitellmModel
from core.runner import Runner
from core.sample import ensure_sample
from core.settings import Settings
from core.study import plan
from core.study_file import parse_study
from core.types import StudyProgress
from tests.support.answers import Answer, Fault, Received, usage
from tests.support.provider import Provider
from tests.support.roles import play
from tests.support.web import ROOT

PRICE_IN, PRICE_OUT = 2e-5, 4e-5
BUDGET = 1.0


Misbehave = Callable[[Received], Fault]
FREE = (Fault.SERVER_ERROR, Fault.UNAVAILABLE, Fault.RATE_LIMIT)  # what is not an answer
PAID = (
    *(Fault.EMPTY, Fault.REFUSAL, Fault.CONTENT_FILTER, Fault.LENGTH),
    *(Fault.TRUNCATED, Fault.INVALID_JSON, Fault.WRONG_SCHEMA, Fault.RESET),
)


def well(_: Received) -> Fault:
    return Fault.NONE


def first_time(*faults: Fault) -> Misbehave:
    """Each request gets one of the faults when it first comes, and an answer after that."""
    return lambda r: faults[int(r.hash, 16) % len(faults)] if r.occurrence == 1 else Fault.NONE


def always(fault: Fault) -> Misbehave:
    return lambda _: fault


@dataclass
class Bill:
    """What a server has charged: every answer it gave, heard or not, whole or broken."""

    provider: Provider
    misbehave: Misbehave = well
    usd: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, received: Received) -> Answer:
        fault = self.misbehave(received)
        if fault in FREE:
            return Answer(fault=fault)
        answer = Answer(fault=fault).with_text(lambda: play(received, self.provider.markers))
        used = usage(received, answer)
        cost = used["prompt_tokens"] * PRICE_IN + used["completion_tokens"] * PRICE_OUT
        with self.lock:
            self.usd += cost
        return answer


@contextmanager
def charging(misbehave: Misbehave = well, **options: Any) -> Iterator[tuple[Provider, Bill]]:
    with Provider(**options) as provider:
        bill = provider.rule = Bill(provider, misbehave)
        yield provider, bill


def study_file(folder: Path, provider: Provider, **limits: Any) -> Path:
    """Some 200 calls, which together cost about three times the budget."""
    params = {
        "input_cost_per_token": PRICE_IN,
        "output_cost_per_token": PRICE_OUT,
        "max_tokens": 300,
    }
    model = {"api_base": provider.url, "params": params}
    study = {
        "name": "limited",
        "dataset": "sample",
        "scenarios": {"kind": "all", "limit": 30, "seed": 3},
        "user_agent": {"model": "openai/user", **model},
        "arms": [{"name": "all", "context": "all", "model": "openai/local", **model}],
        "judges": [
            {
                "model": "openai/judge",
                **model,
                "params": params | {"structured": True},
                "rubrics": ["personalization"],
            }
        ],
        "limits": limits,
    }
    file = folder / "study.yaml"
    file.write_text(yaml.safe_dump(study), encoding="utf-8")
    return file


def command(url: str, *words: str) -> subprocess.Popen[str]:
    """A command line at work; whoever starts it waits with `ended` or reads what it says."""
    return subprocess.Popen(
        [sys.executable, "cli.py", *words, "--json"],
        cwd=ROOT,
        env=os.environ | {"RAPPORT_DATABASE_URL": url},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str], seconds: float = 180) -> int:
    """Its exit code; what it said is shown when the test fails."""
    out, said = process.communicate(timeout=seconds)
    print(out, said[-2000:])  # noqa: T201 -- pytest keeps it for a failure
    return process.returncode


def status(url: str) -> dict[str, Any]:
    out, _ = command(url, "status", "limited").communicate(timeout=60)
    value: dict[str, Any] = json.loads(out)
    return value


@pytest.mark.slow
def test_two_processes_have_no_more_calls_out_than_one_may(
    tmp_path: Path, database_url: str
) -> None:
    with charging(latency=0.05) as (provider, _):
        file = str(study_file(tmp_path, provider, concurrency=5))
        assert ended(command(database_url, "run", file, "--workers", "2"), 180) == 0
    found = status(database_url)
    assert (found["done"], found["failed"], found["possibly_paid"]) == (30, 0, 0)
    assert provider.peak == 5
    # Nothing was asked twice, though two processes worked on it.
    assert max(provider.counts.values()) == 1


@pytest.mark.slow
def test_two_processes_keep_to_the_requests_of_a_minute_together(
    tmp_path: Path, migrated_sqlite_url: str
) -> None:
    database_url = migrated_sqlite_url
    with charging() as (provider, _):
        file = str(study_file(tmp_path, provider, concurrency=8, requests_per_minute=40))
        process = command(database_url, "run", file, "--workers", "2")
        deadline = time.monotonic() + 60
        while provider.served < 40 and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(3.0)  # many polls, in which nothing more may come
        assert provider.served == 40
        process.terminate()
        process.communicate(timeout=60)
    assert status(database_url)["state"] == "paused"


@pytest.mark.slow
def test_budget_is_never_passed_by_several_processes_and_those_that_follow(
    tmp_path: Path, migrated_sqlite_url: str
) -> None:
    database_url = migrated_sqlite_url
    with charging(latency=0.02) as (provider, bill):
        file = str(study_file(tmp_path, provider, concurrency=12, budget_usd=BUDGET))
        process = command(database_url, "run", file, "--workers", "3")
        _, said = process.communicate(timeout=180)
        assert process.returncode == 1
        assert "budget of $1.00" in said
        assert 0.8 * BUDGET < bill.usd <= BUDGET

        again = command(database_url, "resume", "limited")
        again.communicate(timeout=60)
        assert again.returncode == 1
        assert bill.usd <= BUDGET
    found = status(database_url)
    assert found["state"] == "paused"
    assert found["cost_usd"] == pytest.approx(bill.usd)
    assert found["failed"] == 0


@pytest.mark.slow
def test_budget_is_never_passed_by_judging_what_is_stored(
    tmp_path: Path, migrated_sqlite_url: str
) -> None:
    with charging(first_time(Fault.NONE, Fault.EMPTY, Fault.REFUSAL)) as (provider, bill):
        study = yaml.safe_load(study_file(tmp_path, provider, concurrency=6).read_text("utf-8"))
        study |= {"user_agent": {"model": "scripted/user"}, "judges": []}
        study["arms"] = [{"name": "all", "context": "all", "model": "scripted/attentive"}]
        file = tmp_path / "scripted.yaml"
        file.write_text(yaml.safe_dump(study), encoding="utf-8")
        assert ended(command(migrated_sqlite_url, "run", str(file))) == 0
        for budget in ("0.30", "0.60"):
            judge = command(
                migrated_sqlite_url, "judge", "limited", "--rubric", "grounding",
                "--judge", "openai/judge", "--api-base", provider.url, "--budget-usd", budget,
                "--param", f"input_cost_per_token={PRICE_IN}",
                "--param", f"output_cost_per_token={PRICE_OUT}", "--param", "max_tokens=300",
            )  # fmt: skip
            _, said = judge.communicate(timeout=60)
            assert (judge.returncode, f"budget of ${budget}" in said) == (1, True), said
            assert float(budget) / 2 < bill.usd <= float(budget)


@pytest.mark.slow
def test_budget_is_never_passed_by_attempts_that_fail_and_are_charged(
    tmp_path: Path, migrated_sqlite_url: str
) -> None:
    """Refused, filtered, empty, cut off, broken on the way: each may cost as much as an answer."""
    with charging(first_time(*PAID, *FREE), latency=0.02) as (provider, bill):
        file = str(study_file(tmp_path, provider, concurrency=12, budget_usd=BUDGET))
        process = command(migrated_sqlite_url, "run", file, "--workers", "2")
        _, said = process.communicate(timeout=180)
        assert (process.returncode, "budget of $1.00" in said) == (1, True), said
        assert bill.usd <= BUDGET
    found = status(migrated_sqlite_url)
    # What nobody heard the end of counts at the most that it can have cost.
    assert found["possibly_paid"] > 0
    assert found["cost_usd"] < bill.usd <= found["cost_usd"] + found["possibly_paid_usd"] <= BUDGET


@pytest.mark.slow
@pytest.mark.parametrize("fault", [Fault.REFUSAL, Fault.EMPTY, Fault.TRUNCATED])
def test_budget_is_never_passed_when_no_attempt_succeeds(
    tmp_path: Path, migrated_sqlite_url: str, fault: Fault
) -> None:
    with charging(always(fault)) as (provider, bill):
        file = str(study_file(tmp_path, provider, concurrency=4, budget_usd=0.25))
        ended(command(migrated_sqlite_url, "run", file))
        assert 0 < bill.usd <= 0.25
    found = status(migrated_sqlite_url)
    assert bill.usd <= found["cost_usd"] + found["possibly_paid_usd"] + 1e-9


@pytest.mark.slow
def test_repeated_attempts_count_for_the_requests_of_a_minute(
    tmp_path: Path, migrated_sqlite_url: str
) -> None:
    with charging(first_time(*FREE)) as (provider, _):
        file = str(study_file(tmp_path, provider, concurrency=8, requests_per_minute=20))
        process = command(migrated_sqlite_url, "run", file)
        deadline = time.monotonic() + 60
        while provider.served < 20 and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(3.0)  # longer than any pause before another attempt
        assert provider.served == 20
        process.terminate()
        process.communicate(timeout=60)


@pytest.mark.slow
def test_budget_is_not_passed_by_what_a_killed_process_had_out(
    tmp_path: Path, migrated_sqlite_url: str
) -> None:
    database_url = migrated_sqlite_url
    with charging(latency=0.1) as (provider, bill):
        file = str(study_file(tmp_path, provider, concurrency=8, budget_usd=BUDGET))
        for served in (20, 50):
            process = command(database_url, "run", file)
            deadline = time.monotonic() + 90
            while provider.served < served and process.poll() is None:
                assert time.monotonic() < deadline
                time.sleep(0.005)
            process.send_signal(signal.SIGKILL)
            process.communicate()
        process = command(database_url, "run", file)
        process.communicate(timeout=180)
        assert process.returncode == 1
        assert bill.usd <= BUDGET
    found = status(database_url)
    assert 0 < found["possibly_paid"] <= 16
    assert found["cost_usd"] <= bill.usd + 1e-9
    assert found["cost_usd"] + found["possibly_paid_usd"] >= bill.usd - 1e-9
    assert found["cost_usd"] + found["possibly_paid_usd"] <= BUDGET


@pytest.mark.slow
def test_calls_that_are_out_are_heard_when_a_study_is_told_to_stop(
    tmp_path: Path, migrated_sqlite_url: str
) -> None:
    """They are paid for: a pause loses none of them, and nothing is asked again."""
    with charging(latency=1.0) as (provider, _):
        file = str(study_file(tmp_path, provider, concurrency=6))
        process = command(migrated_sqlite_url, "run", file)
        deadline = time.monotonic() + 60
        while provider.served < 12:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.terminate()
        process.communicate(timeout=30)
        assert status(migrated_sqlite_url)["possibly_paid"] == 0
        provider.latency = 0.0
        assert ended(command(migrated_sqlite_url, "resume", "limited"), 120) == 0
        assert max(provider.counts.values()) == 1


def test_answers_are_shared_by_studies_that_say_so_and_never_by_repetitions(
    tmp_path: Path, sqlite_store: Any
) -> None:
    ensure_sample(sqlite_store)
    with charging() as (provider, _):
        text = study_file(tmp_path, provider, concurrency=8, cache=True).read_text("utf-8")
        study = yaml.safe_load(text)
        study["scenarios"]["limit"] = 4

        def run(name: str, **changes: Any) -> StudyProgress:
            spec = parse_study(study | {"name": name} | changes, source="study")
            planned = plan(spec, sqlite_store, now).study
            caps = caps_of(spec.limits)
            return Runner(planned, sqlite_store, LitellmModel(Settings.from_env()), caps=caps).run()

        first = run("first")
        once = provider.served
        second = run("second", repetitions=2)
        assert provider.served == 2 * once  # the second repetition alone went out
        third = run("third", limits={"concurrency": 8})
        assert provider.served == 3 * once
    assert (first.cached_calls, second.cached_calls, third.cached_calls) == (0, once, 0)
    assert first.cost_usd is not None
    assert second.cost_usd == pytest.approx(first.cost_usd, rel=0.2)
    assert second.done == 8
    texts = [
        sorted([m.content for m in d.messages] for d in sqlite_store.iter_dialogues(p.study_id))
        for p in (first, second)
    ]
    assert all(text in texts[1] for text in texts[0])
