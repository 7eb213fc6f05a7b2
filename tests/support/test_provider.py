"""The test server itself: what other tests rely on."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.support.answers import Answer, Fault
from tests.support.provider import SLOW_SECONDS, Provider, faults_of, latency_of

ROOT = Path(__file__).parents[2]


def post(provider_port: int, *contents: str, **fields: Any) -> tuple[int, Any]:
    messages = [{"role": "user", "content": c} for c in contents]
    connection = http.client.HTTPConnection("127.0.0.1", provider_port, timeout=10)
    try:
        body = json.dumps({"model": "m", "messages": messages} | fields)
        connection.request("POST", "/v1/chat/completions", body)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def said(provider: Provider, *contents: str, **fields: Any) -> str:
    text: str = post(provider.port, *contents, **fields)[1]["choices"][0]["message"]["content"]
    return text


def test_a_user_opens_talks_and_is_done() -> None:
    with Provider() as provider:
        prompt = "You are a person. Write [[DONE]] when done."
        told, history = [], ""
        for _ in range(6):
            told.append(said(provider, f"{prompt}\n{history}"))
            history += f"User: {told[-1]}\nAssistant: fine\n"
            if "[[DONE]]" in told[-1]:
                break
    assert told[0].startswith("Hello")
    assert 3 <= len(told) <= 5
    assert told[-1].endswith("[[DONE]]")


def test_a_judge_answers_in_the_range_that_schema_or_words_name() -> None:
    schema = {"properties": {"value": {"type": "integer", "minimum": 6, "maximum": 7}}}
    format_ = {"type": "json_schema", "json_schema": {"schema": schema}}
    verdict = {"json_schema": {"schema": {"properties": {"value": {"enum": ["yes", "no"]}}}}}
    with Provider() as provider:
        by_schema = [said(provider, f"rate {n}", response_format=format_) for n in range(20)]
        by_words = [said(provider, f'{n}: 3 to 5, as {{"rationale": …}}') for n in range(30)]
        words = [said(provider, f"{n}", response_format=verdict) for n in range(20)]
    assert {json.loads(a)["value"] for a in by_schema} == {6, 7}
    assert {json.loads(a)["value"] for a in by_words} == {3, 4, 5}
    assert {json.loads(a)["value"] for a in words} == {"yes", "no"}


def outcomes(*, reverse: bool) -> dict[str, list[int]]:
    """Statuses by content when each is asked twice, in one order or the other, 8 at once."""
    contents = [f"content {n}" for n in range(40)]
    with Provider(faults={Fault.RATE_LIMIT: 0.3, Fault.SERVER_ERROR: 0.2}, seed=5) as provider:
        found: dict[str, list[int]] = {c: [] for c in contents}
        for _ in range(2):
            with ThreadPoolExecutor(8) as pool:
                order = contents[::-1] if reverse else contents
                for content, result in zip(
                    order, pool.map(lambda c: post(provider.port, c), order), strict=True
                ):
                    found[content].append(result[0])
        assert provider.served == 80
        assert set(provider.counts.values()) == {2}
    return found


def test_faults_are_the_same_whatever_the_order_of_arrival() -> None:
    forth = outcomes(reverse=False)
    assert forth == outcomes(reverse=True)
    shares = Counter(status for statuses in forth.values() for status in statuses)
    assert 12 <= shares[429] <= 36
    assert 6 <= shares[500] <= 26
    assert any(len(set(statuses)) == 2 for statuses in forth.values())


def test_many_wait_at_once_when_answers_take_their_time() -> None:
    with Provider(latency=0.3) as provider, ThreadPoolExecutor(64) as pool:
        started = time.monotonic()
        list(pool.map(lambda n: post(provider.port, str(n)), range(64)))
        assert time.monotonic() - started < 6  # one after the other: 19 seconds
        assert provider.peak > 8


def test_a_slow_answer_dribbles_in_and_is_whole() -> None:
    with Provider() as provider:
        provider.script("m", [Answer(text="all of it", fault=Fault.SLOW)])
        started = time.monotonic()
        assert said(provider, "x") == "all of it"
        assert time.monotonic() - started > SLOW_SECONDS / 2


def test_a_script_is_played_before_the_role() -> None:
    with Provider() as provider:
        provider.script("m", [Answer(text="first"), Fault.UNAVAILABLE])
        assert said(provider, "x") == "first"
        assert post(provider.port, "x")[0] == 503
        assert "Shall I go ahead?" in said(provider, "x")


def test_as_a_program_it_keeps_a_log_that_can_be_counted(tmp_path: Path) -> None:
    log = tmp_path / "requests.jsonl"
    command = [sys.executable, "-m", "tests.support.provider", "--log", str(log), "--latency", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline().split(":")[2].split("/")[0])
        for content in ("a", "b", "a"):
            post(port, content)
        process.kill()
    rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert sorted(Counter(r["hash"] for r in rows).values()) == [1, 2]
    assert [r["occurrence"] for r in rows] == [1, 1, 2]


def test_as_a_program_it_says_what_it_served_and_lets_users_write_as_many_messages_as_told() -> (
    None
):
    command = [sys.executable, "-m", "tests.support.provider", "--latency", "0.2", "--turns", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline().split(":")[2].split("/")[0])
        post(port, "Write [[DONE]] when done.")
        last = post(port, "Write [[DONE]] when done.\nUser: Hello")[1]
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", "/summary")
        summary = json.loads(connection.getresponse().read())
        connection.close()
        process.kill()
    assert last["choices"][0]["message"]["content"].endswith("[[DONE]]")
    assert (summary["served"], summary["distinct"], summary["peak"]) == (2, 2, 1)
    assert 0.4 <= summary["last_at"] - summary["first_at"] < 5
    assert 0 < summary["processor"] < 5


def test_latencies_and_faults_are_read_from_words() -> None:
    assert latency_of("0.5") == 0.5
    assert latency_of("0.3-0.7") == (0.3, 0.7)
    assert callable(latency_of("~0.5"))
    assert faults_of("rate_limit=0.05,reset=0.01") == {Fault.RATE_LIMIT: 0.05, Fault.RESET: 0.01}
