"""How often the corrected difference of two arms holds the truth, on real scripted dialogues.

    python -m benchmarks.corrected_difference ARCHIVE [--reviews 400]

Two scripted assistants, one attentive and one that invents preferences, hold 600 pairs of
dialogues with 50 personas of PersonaLens; `scripted/judge` rates them. A scripted person then
reads: it overlooks some inventions, minds long replies as much as its patience with a persona
allows, and slips. So what it would say of every dialogue is known. 400 such people each review
60 or 120 pairs, drawn blind by `plan_reviews`, and the interval of each method is held against
that person's own mean difference over all 600. Exit code 1 when the corrected difference for
these dialogues holds it in less than 93 % of the reviews.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from core.stats.corrected import corrected_difference
from core.stats.design import plan_reviews
from core.stats.paired import paired_diff
from core.stats.types import Estimate

ROOT = Path(__file__).resolve().parent.parent
ARMS = ("attentive", "inventive")
BUDGETS = (60, 120)
LOW, HIGH = 1, 4
LEAST = 0.93

Floats = NDArray[np.float64]

STUDY: dict[str, Any] = {
    "name": "difference",
    "question": "Is an attentive assistant better than one that invents?",
    "dataset": "personalens",
    "scenarios": {"users": "sample-50", "limit_single": 600, "limit_multi": 0, "seed": 7},
    "user_agent": {"model": "scripted/user"},
    "arms": [{"name": arm, "model": f"scripted/{arm}", "context": "all"} for arm in ARMS],
    "judges": [{"model": "scripted/judge", "rubrics": ["personalization"]}],
    "primary": "personalization",
}


@dataclass(frozen=True, slots=True)
class Pairs:
    """One row for each (persona, task), one column for each arm."""

    persona: NDArray[np.intp]
    judge: Floats
    words: Floats  # in a reply of the assistant, on average
    invented: NDArray[np.bool_]  # the judge found a claim that nothing supports


def run_study(archive: Path, folder: Path) -> Path:
    """Import the archive, run the study and export it; the folder of its files."""
    world = os.environ | {
        "RAPPORT_DATA_DIR": str(folder),
        "RAPPORT_DATABASE_URL": f"sqlite:///{folder / 'rapport.db'}",
        "RAPPORT_LOG_LEVEL": "WARNING",
    }
    file, out = folder / "study.yaml", folder / "export"
    file.write_text(yaml.safe_dump(STUDY), encoding="utf-8")
    for args in (
        ("import", str(archive), "--name", "personalens"),
        ("run", str(file)),
        ("export", "difference", "--to", str(out)),
    ):
        command = [sys.executable, "cli.py", *args, "--json"]
        subprocess.run(command, cwd=ROOT, env=world, check=True, capture_output=True)
    return out


def read_pairs(folder: Path) -> Pairs:
    """The dialogues of both arms, aligned; in an order that does not depend on the database."""
    judged = {row["dialogue_id"]: row for row in _lines(folder / "judgements.jsonl")}
    found: dict[tuple[str, str], dict[str, tuple[float, float, bool]]] = {}
    for row in _lines(folder / "dialogues.jsonl"):
        replies = [m["content"] for m in row["messages"] if m["role"] == "assistant"]
        words = sum(len(text.split()) for text in replies) / max(len(replies), 1)
        verdict = judged[row["id"]]
        value = (float(verdict["value"]), words, "unsupported" in verdict["rationale"])
        found.setdefault((row["persona_id"], row["task_id"]), {})[row["arm"]["name"]] = value
    keys = sorted(key for key, arms in found.items() if len(arms) == len(ARMS))
    cells = [[found[key][arm] for arm in ARMS] for key in keys]
    persona = np.unique([key[0] for key in keys], return_inverse=True)[1]
    columns: list[Floats] = [np.array([[c[k] for c in row] for row in cells]) for k in range(3)]
    return Pairs(persona, columns[0], columns[1], columns[2].astype(bool))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def scripted_person(pairs: Pairs, rng: np.random.Generator) -> Floats:
    """What one person would say of every dialogue."""
    shape = pairs.judge.shape
    overlooked = pairs.invented & (rng.random(shape) < 0.5)
    patience = rng.normal(np.median(pairs.words), 15, pairs.persona.max() + 1)[pairs.persona]
    bored = pairs.words > patience[:, None]
    slip = rng.choice([-1, 0, 1], size=shape, p=[0.1, 0.8, 0.1])
    said: Floats = np.clip(pairs.judge + overlooked - bored + slip, LOW, HIGH)
    return said


def review(pairs: Pairs, human: Floats, budget: int, rng: np.random.Generator) -> list[Estimate]:
    """The estimates after one person has reviewed some pairs, in the order of METHODS."""
    n = len(human)
    plan = plan_reviews(np.ones(n), rng.random(n), budget=budget)
    labels = np.where(plan.selected[:, None], human, np.nan)
    found = [
        corrected_difference(pairs.judge, labels, plan.pi, cluster=pairs.persona, target=target)
        for target in ("superpop", "finite")
    ]
    naive = paired_diff(pairs.judge[:, 0], pairs.judge[:, 1], cluster=pairs.persona)
    return [naive.estimate, found[1].human_only, found[1].estimate, found[0].estimate]


METHODS = (
    "judge alone, paired",
    "people alone",
    "corrected, these dialogues",
    "corrected, personas like these",
)


def table(pairs: Pairs, reviews: int, budget: int) -> float:
    """Print a line for each method; the coverage of the corrected one for these dialogues."""
    truths, estimates = [], []
    for number in range(reviews):
        rng = np.random.default_rng([11, budget, number])
        human = scripted_person(pairs, rng)
        truths.append(float((human[:, 1] - human[:, 0]).mean()))
        estimates.append(review(pairs, human, budget, rng))
    held = {}
    for k, name in enumerate(METHODS):
        mine = [row[k] for row in estimates]
        inside = [e.lo <= truth <= e.hi for e, truth in zip(mine, truths, strict=True)]
        bias = float(np.mean([e.est - truth for e, truth in zip(mine, truths, strict=True)]))
        width = float(np.mean([e.hi - e.lo for e in mine]))
        held[name] = float(np.mean(inside))
        print(f"| {name} | {budget} | {held[name]:.1%} | {bias:+.3f} | {width:.3f} |")
    return held["corrected, these dialogues"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--reviews", type=int, default=400)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        pairs = read_pairs(run_study(args.archive.resolve(), Path(folder)))
    gap = pairs.judge[:, 1] - pairs.judge[:, 0]
    print(
        f"{len(gap)} pairs of {pairs.persona.max() + 1} personas, {args.reviews} reviews each; "
        f"the judge sees a difference of {gap.mean():+.3f}\n"
    )
    print("| method | pairs reviewed | holds the truth | bias | width |\n|---|---|---|---|---|")
    held = [table(pairs, args.reviews, budget) for budget in BUDGETS]
    return 0 if min(held) >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
