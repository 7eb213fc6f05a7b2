"""What a large study of scripted parties takes: time, memory and space.

    python -m benchmarks.scripted_scale [1000 10000 100000] [--workers 2] [--keep scale.db]

A study of four arms on the sample, judged by the scripted judge on two rubrics, is defined and
run by `cli.py run`, killed (`kill -9`) when half of it is done, run again to its end, and run
once more, which must find nothing to do. Peak memory is that of the largest of these processes.
With `--keep` the last database stays, for `pages.py --database`.
Exit code 1 when a process took 1 GB or more, or a dialogue is missing or there twice.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from benchmarks.rig import POSTGRES, Process, Ran, cli, end_tidily, fresh, templates
from core.types import StudyProgress

KINDS = ("attentive", "forgetful", "inventive", "pushy")
SCENARIOS = 500  # of the sample, at most
MOST_MB = 1024.0
NAME = "scale"


@dataclass(frozen=True, slots=True)
class Scale:
    """What one size took."""

    dialogues: int
    judgements: int
    distinct: int
    defined: float
    working: float
    idle: float
    peak_mb: float
    megabytes: float

    @property
    def wrong(self) -> bool:
        return self.peak_mb >= MOST_MB or self.distinct != self.dialogues

    def row(self) -> str:
        rate = self.dialogues / self.working
        return (
            f"| {self.dialogues:,} | {self.judgements:,} | {self.defined:.1f} "
            f"| {self.working:.0f} | {rate:.0f} | {self.idle:.1f} | {self.peak_mb:.0f} "
            f"| {self.megabytes:.0f} |"
        )


def study(size: int) -> dict[str, Any]:
    """As many dialogues as four arms and whole repetitions allow; `size` where they do."""
    repetitions = max(1, math.ceil(size / len(KINDS) / SCENARIOS))
    return {
        "name": NAME,
        "dataset": "sample",
        "scenarios": {"limit": max(1, size // len(KINDS) // repetitions), "seed": 7},
        "arms": [{"name": k, "model": f"scripted/{k}", "context": "all"} for k in KINDS],
        "repetitions": repetitions,
        "judges": [{"model": "scripted/judge", "rubrics": ["personalization", "task_completion"]}],
    }


def measure(template: str, size: int, workers: int, keep: Path | None) -> Scale:
    with fresh(template) as (url, world), contextlib.ExitStack() as ended:
        file = Path(world["RAPPORT_DATA_DIR"]) / "study.yaml"
        file.write_text(yaml.safe_dump(study(size)), encoding="utf-8")

        def run() -> Process:
            options = ("--workers", str(workers), "--json")
            process = cli("run", str(file), *options, world=world)
            ended.callback(process.end)
            return process

        first = run()
        defined_at = _wait_for(first, url, share=0.0)
        _wait_for(first, url, share=0.5)
        first.kill_all()
        runs = [first.finish(), run().finish(), run().finish()]
        distinct, dialogues = _count(url)
        if keep is not None and url.startswith("sqlite"):
            _keep(url, keep)
        return Scale(
            dialogues=dialogues,
            judgements=runs[-1].result["judgements"],
            distinct=distinct if runs[-1].result["units"] == dialogues else -1,
            defined=defined_at - first.began_at,
            working=_working(runs, defined_at),
            idle=runs[-1].wall,
            peak_mb=max(r.peak_mb for r in runs),
            megabytes=_megabytes(url),
        )


def _working(runs: list[Ran], defined_at: float) -> float:
    """Seconds from the first units to the kill and of the whole second run."""
    return runs[0].ended_at - defined_at + runs[1].wall


def _wait_for(process: Process, url: str, share: float) -> float:
    """When so much of the study was done, or the process had ended."""
    pause = 0.1
    while process.alive():
        time.sleep(pause)
        asked = time.monotonic()
        progress = _progress(url)
        if progress is not None and progress.units and progress.done >= share * progress.units:
            break
        pause = max(0.1, 10 * (time.monotonic() - asked))  # counting shall cost next to nothing
    return time.time()


def _progress(url: str) -> StudyProgress | None:
    from storage.store import open_store

    store = open_store(url)
    try:
        found = store.find_study(NAME)
        return None if found is None else store.progress(found.id)
    finally:
        store.close()


def _count(url: str) -> tuple[int, int]:
    """Units that have a dialogue, and dialogues."""
    from storage.store import open_store

    store = open_store(url)
    try:
        units = [d.unit_id for d in store.iter_dialogues(store.get_study(NAME).id)]
    finally:
        store.close()
    return len(set(units)), len(units)


def _megabytes(url: str) -> float:
    import sqlalchemy as sa

    if url.startswith("sqlite"):
        file = url.removeprefix("sqlite:///")
        return sum(f.stat().st_size for f in Path(file).parent.glob("rapport.db*")) / 1e6
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        size = connection.exec_driver_sql("SELECT pg_database_size(current_database())").scalar()
    engine.dispose()
    return float(size or 0) / 1e6


def _keep(url: str, target: Path) -> None:
    from storage.store import open_store

    open_store(url).close()  # brings in what a killed process left in the write-ahead log
    shutil.copyfile(url.removeprefix("sqlite:///"), target)


def rows(sizes: list[int], engine: str, workers: int, keep: Path | None) -> Iterator[Scale]:
    with templates([engine], POSTGRES) as made:
        for size in sizes:
            last = keep if size == sizes[-1] else None
            yield measure(made[engine], size, workers, last)


def main() -> None:
    end_tidily()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sizes", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    parser.add_argument("--engine", choices=("SQLite", "PostgreSQL"), default="SQLite")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="where the last SQLite database is to stay")
    given = parser.parse_args()
    print("| dialogues | judgements | defined, s | working, s | dialogues/s ", end="")
    print("| finding nothing to do, s | peak memory, MB | database, MB |")
    print(f"|{'---|' * 8}", flush=True)
    wrong = False
    for scale in rows(given.sizes, given.engine, given.workers, given.keep):
        print(scale.row(), flush=True)
        wrong |= scale.wrong
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
