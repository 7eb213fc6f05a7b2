"""How long the import of conversations takes against parsing the same file's JSON alone.

    python -m benchmarks.import_personaconv [--megabytes 500] [--rounds 3] [--to FOLDER]

A file of made-up threads of that size is written first. Parsing loads it whole by `json.load`, as
anybody would; the import streams it into a new SQLite database. Both run in turn, each in a
process of its own. Exit code 1 when the median import takes more than four times the median
parsing, or 1 GB.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from core.personaconv.generator import Size, generate, write_flat

MOST_TIMES, MOST_MB = 4.0, 1000
SIZE = Size(users=1_000_000, posts=5, comments=(8, 60), domains=("books",))


def parse(path: Path) -> dict[str, Any]:
    """Parse the whole file and keep nothing."""
    with path.open(encoding="utf-8") as file:
        return {"posts": len(json.load(file))}


def import_file(path: Path) -> dict[str, Any]:
    """Import the file into a new SQLite database."""
    from core.personaconv.importing import import_conversations
    from storage.store import open_store

    with tempfile.TemporaryDirectory(dir=path.parent, ignore_cleanup_errors=True) as folder:
        store = open_store(f"sqlite:///{folder}/import.db")
        began, cpu = time.perf_counter(), time.process_time()
        report = import_conversations(path, name="talk", store=store, now=lambda: datetime.now(UTC))
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        counts = store.get_conversations("talk")
        size = Path(folder, "import.db").stat().st_size
        store.close()
    return {
        "seconds": seconds,
        "cpu": cpu,
        "threads": report.tasks,
        "comments": counts.comments,
        "targets": counts.targets,
        "database_mb": size / (1 << 20),
    }


def measure(job: str, path: Path) -> dict[str, Any]:
    """Run one job in a process of its own and return what it printed."""
    command = [sys.executable, "-m", "benchmarks.import_personaconv", "--job", job, "--to", path]
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=True, encoding="utf-8"
    )
    return cast(dict[str, Any], json.loads(done.stdout))


def run_job(job: str, path: Path) -> None:
    """Do one job and print its measurements as JSON: the child's side of `measure`."""
    began, cpu = time.perf_counter(), time.process_time()
    facts = {"parse": parse, "import": import_file}[job](path)
    facts.setdefault("seconds", time.perf_counter() - began)
    facts.setdefault("cpu", time.process_time() - cpu)
    facts["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(facts))


def main() -> int:
    """Measure, print the table, and say whether the limits hold."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--to", type=Path, default=None)
    parser.add_argument("--job", choices=["parse", "import"], help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.job:
        run_job(wanted.job, wanted.to)
        return 0
    with tempfile.TemporaryDirectory(dir=wanted.to) as folder:
        path = Path(folder, "conversations.json")
        write_flat(path, generate(1, SIZE), most_bytes=wanted.megabytes << 20)
        rounds = [(measure("parse", path), measure("import", path)) for _ in range(wanted.rounds)]
        return report(rounds, path.stat().st_size / (1 << 20))


def report(rounds: list[tuple[dict[str, Any], dict[str, Any]]], megabytes: float) -> int:
    """Print one row per round and the medians; 1 when a limit is passed."""
    print(f"Python {platform.python_version()}, {platform.machine()}, SQLite\n")
    print("| round | parse, s (CPU) | import, s (CPU) | ratio (CPU) | peak, MB | peak, MB |")
    print("|---|---|---|---|---|---|")
    for number, (read, done) in enumerate(rounds, 1):
        print(_row(str(number), read, done))
    keys = ("seconds", "cpu", "peak_mb")
    middle = [{k: statistics.median(r[side][k] for r in rounds) for k in keys} for side in (0, 1)]
    print(_row("median", *middle))
    last = rounds[-1][1]
    print(
        f"\n{megabytes:.0f} MB: {last['threads']:,} threads, {last['comments']:,} comments, "
        f"{last['targets']:,} targets; the database has {last['database_mb']:.0f} MB"
    )
    ratio = middle[1]["seconds"] / middle[0]["seconds"]
    return int(ratio > MOST_TIMES or middle[1]["peak_mb"] > MOST_MB)


def _row(name: str, read: dict[str, Any], done: dict[str, Any]) -> str:
    times = " | ".join(f"{side['seconds']:.2f} ({side['cpu']:.2f})" for side in (read, done))
    ratio = f"{done['seconds'] / read['seconds']:.2f} ({done['cpu'] / read['cpu']:.2f})"
    return f"| {name} | {times} | {ratio} | {read['peak_mb']:.0f} | {done['peak_mb']:.0f} |"


if __name__ == "__main__":
    sys.exit(main())
