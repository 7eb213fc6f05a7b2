"""Conversations from the terminal: import, run, status, results."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import cli
from core.personaconv.generator import SAMPLE

SETTINGS = ("P-Conv", "P-NonConv", "NP-Conv", "NP-NonConv", "P-Conv-shuffled")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*args: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["cli.py", *map(str, args)])
        capsys.readouterr()
        try:
            cli.main()
            code = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
        got = capsys.readouterr()
        return code, got.out, got.err

    return call


Run = Callable[..., tuple[int, str, str]]


def study(folder: Path, **changes: Any) -> Path:
    values: dict[str, Any] = {
        "name": "talks",
        "dataset": "talk",
        "instances": {"limit": 20},
        "arms": [{"name": s, "model": "scripted/copy-demo", "setting": s} for s in SETTINGS],
    }
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump(values | changes), encoding="utf-8")
    return path


def test_the_sample_is_imported_run_and_read_without_a_model(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("import", SAMPLE, "--as", "personaconv", "--name", "talk", "--json")
    imported = json.loads(out)
    assert code == 0
    assert (imported["threads"], imported["personas"]) == (240, 60)
    assert imported["instances"] > 800
    assert len(imported["domains"]) == 10
    assert imported["domains"]["books"]["qualifying"] > 0
    assert imported["irregularities"]["deleted_text"] == 60

    code, out, err = run("run", study(tmp_path), "--json")
    assert code == 0, err
    assert json.loads(out)["done"] == 300
    _, out, _ = run("status", "talks", "--json")
    assert json.loads(out)["state"] == "done"

    code, out, _ = run("results", "talks", "--json")
    value = json.loads(out)
    assert code == 0
    dimensions = {row["dimension"] for row in value["results"]}
    assert {"sentiment.mcc", "impact.mae", "reply.rougeL"} <= dimensions
    arms = {row["arm"] for row in value["results"]}
    assert set(SETTINGS) <= arms
    assert "baseline: history-mean" in arms
    assert {row["leaks"] for row in value["results"] if "leaks" in row} == {0}


def test_words_tell_what_was_imported_by_domain(run: Run) -> None:
    code, out, _ = run("import", SAMPLE, "--as", "personaconv", "--name", "talk")
    assert code == 0
    assert "240 threads" in out
    assert "entrepreneur" in out
    code, out, _ = run("import", SAMPLE, "--as", "personaconv", "--name", "talk")
    assert "0 threads added" in out


@pytest.mark.parametrize("args", [("--users", "0-4"), ("--as", "talks")])
def test_wrong_use_is_one_sentence(run: Run, args: tuple[str, ...]) -> None:
    kind = () if "--as" in args else ("--as", "personaconv")
    code, _, err = run("import", SAMPLE, *kind, *args)
    assert code == 2
    assert len(err.strip().splitlines()) == 1


def test_a_study_of_conversations_is_estimated_as_one_call_each(run: Run, tmp_path: Path) -> None:
    run("import", SAMPLE, "--as", "personaconv", "--name", "talk")
    arms = [{"name": "m", "model": "openai/gpt-4o-mini", "setting": "P-Conv"}]
    code, out, err = run("run", study(tmp_path, arms=arms), "--dry-run", "--json")
    assert code == 0, err
    assert json.loads(out)["units"] == 60
    assert json.loads(out)["calls"] == {"low": 60, "expected": 60, "high": 60}


def test_the_sample_study_is_a_study(run: Run) -> None:
    run("import", SAMPLE, "--as", "personaconv", "--name", "sample-conversations")
    code, out, err = run("run", SAMPLE.with_name("study.yaml"), "--json")
    assert code == 0, err
    assert json.loads(out)["owed"] == 0
