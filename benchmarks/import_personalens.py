"""How long the import of PersonaLens takes against reading the archive and parsing its JSON.

    python benchmarks/import_personalens.py [ARCHIVE] [--rounds 5]

Both run in turn, each in a process of its own; the import writes a new SQLite database in the
system's folder for temporary files. Exit code 1 when the median import takes more than four
times the median reading, or 1.5 GB.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

ROOT = Path(__file__).resolve().parents[1]
ARCHIVE = ROOT.parent / "shared" / "data" / "personalens.tar.xz"
MOST_TIMES, MOST_MB = 4.0, 1500


def read_and_parse(archive: Path) -> dict[str, Any]:
    """Read every file of the archive with tarfile and parse its JSON; keep nothing."""
    count = 0
    with tarfile.open(archive, "r|*") as tar:
        for member in tar:
            if not member.name.endswith((".json", ".jsonl")):
                continue
            file = cast(Any, tar.extractfile(member))
            documents = file if member.name.endswith(".jsonl") else [file.read()]
            count += sum(json.loads(d) is not None for d in documents if d.strip())
    return {"documents": count}


def import_archive(archive: Path) -> dict[str, Any]:
    """Import the archive into a new SQLite database."""
    sys.path.insert(0, str(ROOT))
    from core.sources.personalens import import_personalens
    from storage.store import open_store

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        store = open_store(f"sqlite:///{folder}/import.db")
        # opening creates the tables, which is no part of an import
        began, cpu = time.perf_counter(), time.process_time()
        report = import_personalens(
            archive, name="personalens", store=store, now=lambda: datetime.now(UTC)
        )
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        unresolved = sum(
            i.count for i in report.irregularities if i.kind == "unresolvable_affinity"
        )
        references = _references(store)
        store.close()
    return {
        "seconds": seconds,
        "cpu": cpu,
        "personas": report.personas,
        "tasks": report.tasks,
        "scenarios": report.scenarios,
        "references": references,
        "unresolved": unresolved,
    }


def _references(store: Any) -> int:
    """Affinities that the scenarios' tasks refer to, names resolved."""
    from core.ports import ScenarioFilter

    relevant = {task.id: len(task.relevant) for task in store.list_tasks("personalens")}
    return sum(relevant[s.task_id] for s in store.list_scenarios("personalens", ScenarioFilter()))


def measure(job: str, archive: Path) -> dict[str, Any]:
    """Run one job in a process of its own and return what it printed."""
    command = [sys.executable, __file__, str(archive), "--job", job]
    done = subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8")
    return cast(dict[str, Any], json.loads(done.stdout))


def run_job(job: str, archive: Path) -> None:
    """Do one job and print its measurements as JSON: the child's side of `measure`."""
    began = time.perf_counter()
    facts = {"read": read_and_parse, "import": import_archive}[job](archive)
    facts.setdefault("seconds", time.perf_counter() - began)
    facts.setdefault("cpu", time.process_time())
    facts["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(facts))


def main() -> int:
    """Measure, print the table, and say whether the limits hold."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("archive", nargs="?", type=Path, default=ARCHIVE)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--job", choices=["read", "import"], help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.job:
        run_job(wanted.job, wanted.archive)
        return 0
    if not wanted.archive.exists():
        print(f"There is no archive {wanted.archive}.", file=sys.stderr)
        return 2
    rounds = [
        (measure("read", wanted.archive), measure("import", wanted.archive))
        for _ in range(wanted.rounds)
    ]
    return report(rounds)


def report(rounds: list[tuple[dict[str, Any], dict[str, Any]]]) -> int:
    """Print one row per round and the medians; 1 when a limit is passed."""
    print(f"Python {platform.python_version()}, {platform.machine()}, SQLite\n")
    print(
        "| round | read and parse, s (CPU) | import, s (CPU) | ratio (CPU) | peak, MB | peak, MB |"
    )
    print("|---|---|---|---|---|---|")
    for number, (read, done) in enumerate(rounds, 1):
        print(_row(str(number), read, done))
    middle = [
        {
            key: statistics.median(r[side][key] for r in rounds)
            for key in ("seconds", "cpu", "peak_mb")
        }
        for side in (0, 1)
    ]
    print(_row("median", *middle))
    last = rounds[-1][1]
    print(
        f"\n{last['personas']:,} personas, {last['tasks']} tasks, {last['scenarios']:,} scenarios; "
        f"{last['references']:,} references to affinities, {last['unresolved']} unresolved"
    )
    ratio = middle[1]["seconds"] / middle[0]["seconds"]
    return int(ratio > MOST_TIMES or middle[1]["peak_mb"] > MOST_MB)


def _row(name: str, read: dict[str, Any], done: dict[str, Any]) -> str:
    times = " | ".join(f"{side['seconds']:.2f} ({side['cpu']:.2f})" for side in (read, done))
    ratio = f"{done['seconds'] / read['seconds']:.2f} ({done['cpu'] / read['cpu']:.2f})"
    return f"| {name} | {times} | {ratio} | {read['peak_mb']:.0f} | {done['peak_mb']:.0f} |"


if __name__ == "__main__":
    sys.exit(main())
