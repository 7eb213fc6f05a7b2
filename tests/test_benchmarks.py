"""The benchmarks run, on loads that are too small to measure anything."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.coefficient_coverage import coverage
from benchmarks.kill import CYCLE, KINDS, Left, Load, compare, moments, schedule
from benchmarks.throughput import CALLS
from benchmarks.throughput import Load as Asked
from tests.support.web import ROOT

UNIT, OTHER = ("maya", "t1", "local", 0), ("omar", "t2", "local", 0)
RATING = (*UNIT, "personalization@1", "dialogue", None)


def left(**changes: object) -> Left:
    whole = {
        "dialogues": Counter([UNIT, OTHER]),
        "judgements": Counter([RATING]),
        "words": {UNIT: "hello", OTHER: "good evening", RATING: 3},
        "requests": Counter(["a", "b", "b"]),
    }
    return Left(**(whole | changes))  # type: ignore[arg-type]


def test_a_run_that_left_the_same_is_well() -> None:
    found = compare(left(), left())
    assert (found.lost, found.duplicated, found.differing, found.repaid) == (0, 0, 0, 0)
    assert not found.wrong


def test_what_is_missing_twice_or_otherwise_is_counted_apart() -> None:
    missing = compare(left(dialogues=Counter([UNIT]), judgements=Counter()), left())
    assert (missing.lost, missing.duplicated, missing.differing) == (2, 0, 0)
    twice = compare(left(judgements=Counter([RATING, RATING])), left())
    assert (twice.lost, twice.duplicated, twice.differing) == (0, 1, 0)
    other = compare(left(words={UNIT: "hello", OTHER: "good morning", RATING: 4}), left())
    assert (other.lost, other.duplicated, other.differing) == (0, 0, 2)
    assert missing.wrong
    assert twice.wrong
    assert other.wrong


def test_a_request_counts_as_paid_again_only_beyond_what_the_reference_asked() -> None:
    assert compare(left(requests=Counter("abbb")), left()).repaid == 1
    assert compare(left(requests=Counter("aab")), left()).repaid == 1
    assert compare(left(requests=Counter("abbc")), left()).differing == 1  # never asked before


def test_ten_rounds_take_every_kind_and_what_cannot_run_is_left_out() -> None:
    rounds = list(schedule(10, set(KINDS), {"SQLite", "PostgreSQL"}))
    assert [(kind, engine) for _, kind, engine in rounds] == list(CYCLE)
    alone = {(kind, engine) for _, kind, engine in schedule(10, set(KINDS), {"SQLite"})}
    assert alone == {("runner", "SQLite"), ("worker", "SQLite")}


def test_moments_lie_within_the_calls_of_the_study() -> None:
    drawn = [moments(random.Random(seed), 100, 0.05) for seed in range(200)]
    assert {len(d) for d in drawn} == {1, 2}
    assert all(0 <= m.calls <= 95 for d in drawn for m in d)
    assert len({m.calls for d in drawn for m in d}) > 60


def test_load_that_exceeds_the_sample_is_asked_for_in_repetitions() -> None:
    assert Asked(200, 0.5, 64).scenarios == (200, 1)
    assert Asked(600, 0.5, 64).scenarios == (300, 2)
    assert CALLS >= 10
    assert Load(12, 0.05, 8).study("http://127.0.0.1:1/v1")["limits"] == {"concurrency": 8}


def run(name: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", f"benchmarks.{name}", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.slow
def test_throughput_measures_a_study_and_prints_its_row() -> None:
    ran = run("throughput", "--only", "sqlite", "--dialogues", "3", "--latency", "0.02")
    row = cells(ran.stdout.splitlines()[2])
    assert row[:3] == ["Rapport, SQLite, 20 ms × 64", "3", str(3 * CALLS)], ran.stderr[-2000:]
    assert float(row[8].removesuffix(" %")) <= 100
    assert ran.returncode in (0, 1)  # so few dialogues cannot keep 64 calls in flight


@pytest.mark.slow
def test_killed_rounds_end_well() -> None:
    ran = run("kill", "--rounds", "1", "--only", "runner", "--dialogues", "4", "--seed", "1")
    total = cells(ran.stdout.splitlines()[-1])
    assert total[:3] == ["total", "", "1"], ran.stderr[-2000:]
    assert total[5:8] == ["0", "0", "0"], ran.stderr[-2000:]
    assert ran.returncode == 0


@pytest.mark.slow
def test_scale_is_measured_and_its_database_drawn(tmp_path: Path) -> None:
    kept = tmp_path / "scale.db"
    ran = run("scripted_scale", "40", "--keep", str(kept))
    assert cells(ran.stdout.splitlines()[2])[:2] == ["40", "80"], ran.stderr[-2000:]
    assert ran.returncode == 0
    drawn = run("pages", "--database", f"sqlite:///{kept}")
    drawn_rows = [cells(line) for line in drawn.stdout.splitlines()[2:]]
    assert ["40", "compare (one)"] in [row[:2] for row in drawn_rows], drawn.stderr[-2000:]


def test_the_jackknife_holds_the_truth_where_the_bootstrap_is_too_narrow() -> None:
    found = coverage("ordinal alpha", 10, runs=150, seed=2)
    (boot, boot_width), (knife, knife_width) = found["bootstrap"], found["jackknife"]
    assert knife >= 0.9
    assert knife >= boot
    assert knife_width > boot_width


@pytest.mark.slow
def test_import_of_conversations_is_measured_against_parsing(tmp_path: Path) -> None:
    ran = run("import_personaconv", "--megabytes", "1", "--rounds", "1", "--to", str(tmp_path))
    assert cells(ran.stdout.splitlines()[4])[0] == "1", ran.stderr[-2000:]
    assert "1 MB:" in ran.stdout
    assert ran.returncode in (0, 1)  # so small a file says nothing of the ratio
