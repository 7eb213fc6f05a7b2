"""A study of scripted parties on the real PersonaLens archive, with its judges.

    python -m benchmarks.scripted_study ../shared/data/personalens.tar.xz

500 single-domain and 100 multi-domain scenarios of the benchmark's 50-user list meet eight arms:
attentive, forgetful, inventive and pushy, each with no context and with all of it. The same
study is run by one process and by two, and the ranking it must show is checked.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
KINDS = ("attentive", "forgetful", "inventive", "pushy")
RUBRICS = (
    "task_completion",
    "personalization",
    "naturalness_user",
    "naturalness_assistant",
    "coherence_user",
    "coherence_assistant",
)


def study(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "dataset": "personalens",
        "scenarios": {"users": "sample-50", "limit_single": 500, "limit_multi": 100, "seed": 7},
        "user_agent": {"model": "scripted/user"},
        "arms": [
            {"name": f"{kind} {context}", "model": f"scripted/{kind}", "context": context}
            for kind in KINDS
            for context in ("none", "all")
        ],
        "judges": [{"model": "scripted/judge", "rubrics": list(RUBRICS)}],
        "primary": "personalization",
    }


def cli(folder: Path, *args: str) -> dict[str, Any]:
    world = os.environ | {
        "RAPPORT_DATA_DIR": str(folder),
        "RAPPORT_DATABASE_URL": f"sqlite:///{folder / 'rapport.db'}",
        "RAPPORT_LOG_LEVEL": "WARNING",
    }
    ran = subprocess.run(
        [sys.executable, "cli.py", *args, "--json"],
        cwd=ROOT,
        env=world,
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    value: dict[str, Any] = json.loads(ran.stdout)
    return value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("archive", type=Path)
    archive = parser.parse_args().archive.resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cli(folder, "import", str(archive), "--name", "personalens")
        print("| processes | dialogues | judgements | wall, s | dialogues a minute |")
        print("|---|---|---|---|---|")
        for workers in (1, 2):
            file = folder / f"study-{workers}.yaml"
            file.write_text(yaml.safe_dump(study(f"run-{workers}")), encoding="utf-8")
            start = time.perf_counter()
            ended = cli(folder, "run", str(file), "--workers", str(workers))
            wall = time.perf_counter() - start
            rate = 60 * ended["done"] / wall
            print(
                f"| {workers} | {ended['done']:,} | {ended['judgements']:,} | {wall:.0f} "
                f"| {rate:,.0f} |"
            )
        _ranking(cli(folder, "results", "run-1"))


def _ranking(results: dict[str, Any]) -> None:
    rows = {r["arm"]: r for r in results["results"] if r["dimension"] == "personalization"}
    print("\n| arm | personalisation, judge's mean | 95 % interval |\n|---|---|---|")
    for arm, row in sorted(rows.items(), key=lambda item: -item[1]["estimate"]):
        print(f"| {arm} | {row['estimate']:.2f} | {row['lo']:.2f} to {row['hi']:.2f} |")
    mean = {arm: row["estimate"] for arm, row in rows.items()}
    assert mean["attentive all"] > mean["forgetful all"]
    assert mean["attentive all"] > mean["inventive all"]
    assert mean["attentive all"] >= mean["attentive none"]


if __name__ == "__main__":
    main()
