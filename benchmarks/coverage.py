"""How often 95 % intervals hold the truth, and how wide they are, for several methods.

    python -m benchmarks.coverage [--runs 2000] [--seed 1] [--no-peers]

Simulation A of the method book: 2,000 dialogues of 100 personas, of which 50, 100 or 200 are
reviewed at random. Each figure stands beside the book's (4,000 runs). truescore and ppi_py see
the same draws; each is installed, pinned, into an environment of its own in the system's folder
for temporary files, and removed at the end. Their point estimates must equal Rapport's for the
same weight of the judge. Exit code 1 when one does not, or when a coverage lies further from the
book's than chance explains.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
import venv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.simulated import CLUSTER, ROWS, Study, reviewed, study, truth
from core.stats.corrected import corrected_mean
from core.stats.intervals import mean_ci, rate_ci

SIZES = (50, 100, 200)
BOOK_RUNS = 4000
SAME_POINT = 1e-6
PEERS = {"truescore": "truescore==0.7.4", "ppi_py": "ppi-python==0.2.3"}
SCRIPT = Path(__file__).with_name("peer_intervals.py")

# Coverage and width by n; None where the book gives no figure.
BOOK: dict[str, dict[int, tuple[float, float | None]]] = {
    "judge alone": {50: (0.022, 0.04), 100: (0.018, None), 200: (0.023, None)},
    "judge alone, clustered": {50: (0.078, 0.06), 100: (0.081, None), 200: (0.079, None)},
    "people alone, Wilson": {50: (0.941, 0.257), 100: (0.938, 0.186), 200: (0.929, 0.133)},
    "people alone, clustered t": {50: (0.951, 0.282), 100: (0.945, 0.201), 200: (0.946, 0.147)},
    "corrected (default)": {50: (0.959, 0.220), 100: (0.949, 0.156), 200: (0.953, 0.118)},
    "corrected, these rows": {50: (0.963, 0.212), 100: (0.958, 0.141), 200: (0.953, 0.095)},
    "ppi_py": {50: (0.915, 0.193), 100: (0.918, 0.140), 200: (0.909, 0.102)},
}
METHODS = (*BOOK, "truescore")

Intervals = NDArray[np.float64]  # runs x (point, low, high)


@dataclass(frozen=True, slots=True)
class Draw:
    """One study and the reviews of some of its dialogues (NaN elsewhere)."""

    study: Study
    labels: NDArray[np.float64]


def draws(n: int, runs: int, seed: int) -> list[Draw]:
    """The same `runs` studies for everybody, and `n` reviews of each."""
    found = []
    for run in range(runs):
        rng = np.random.default_rng([seed, n, run])
        made = study(rng)
        found.append(Draw(made, reviewed(rng, made.y, n)))
    return found


def ours(draw: Draw, n: int) -> tuple[dict[str, tuple[float, float, float]], float]:
    """Point and interval of each method of Rapport's, and of those it warns of; and the weight
    of the judge, as the peers count it: they compare reviewed with unreviewed rows only.
    """
    f, labels, pi = draw.study.f, draw.labels, np.full(ROWS, n / ROWS)
    found = corrected_mean(f, labels, pi, cluster=CLUSTER)
    finite = corrected_mean(f, labels, pi, cluster=CLUSTER, target="finite")
    alone = corrected_mean(f, labels, pi, cluster=CLUSTER, lam=0, smooth=0)
    estimates = {
        "judge alone": rate_ci(f),
        "judge alone, clustered": mean_ci(f, cluster=CLUSTER),
        "people alone, Wilson": rate_ci(labels[~np.isnan(labels)]),
        "people alone, clustered t": alone.estimate,
        "corrected (default)": found.estimate,
        "corrected, these rows": finite.estimate,
    }
    shown = {name: (e.est, e.lo, e.hi) for name, e in estimates.items()}
    return shown, found.lam * (ROWS - n) / ROWS


# --- other packages -------------------------------------------------------------------------


def peer_python(name: str, folder: Path) -> Path:
    """The interpreter of a new environment of the peer's own in `folder`. Raises on failure."""
    home = folder / name
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    venv.create(home, with_pip=True)
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", PEERS[name]],
        check=True,
        timeout=600,
        capture_output=True,
    )
    return python


def peer_intervals(name: str, python: Path, made: list[Draw], lam: list[float]) -> Intervals:
    """What a peer says of each draw, computed in its own environment (see that script)."""
    labels = np.array([draw.labels for draw in made])
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder, "draws.npz"), Path(folder, "out.npz")
        np.savez(
            path,
            f=np.array([draw.study.f for draw in made]).astype(np.int8),
            y=np.nan_to_num(labels).astype(np.int8),
            seen=~np.isnan(labels),
            lam=np.array(lam),
        )
        subprocess.run([python, SCRIPT, name, path, out], check=True, timeout=1800)
        return np.asarray(np.load(out)["intervals"], dtype=np.float64)


def peers(folder: Path, *, wanted: bool) -> dict[str, Path | str]:
    """Each peer's interpreter below `folder`, or why there is none."""
    found: dict[str, Path | str] = {}
    for name in PEERS:
        if not wanted:
            found[name] = "not asked for"
            continue
        try:
            found[name] = peer_python(name, folder)
        except (subprocess.SubprocessError, OSError) as error:
            found[name] = f"could not be installed ({type(error).__name__})"
    return found


# --- the table ------------------------------------------------------------------------------


def figures(intervals: Intervals, right: NDArray[np.float64]) -> tuple[float, float]:
    """Coverage and mean width."""
    lo, hi = intervals[:, 1], intervals[:, 2]
    return float(((lo <= right) & (right <= hi)).mean()), float((hi - lo).mean())


def room(coverage: float, runs: int) -> float:
    """Three standard errors of a difference between two simulated coverages."""
    p = min(max(coverage, 0.01), 0.99)
    return 3 * math.sqrt(p * (1 - p) * (1 / runs + 1 / BOOK_RUNS))


def line(name: str, n: int, got: tuple[float, float], runs: int) -> tuple[str, bool]:
    """A row of the table, and whether its coverage agrees with the book's."""
    coverage, width = got
    book = BOOK.get(name, {}).get(n)
    if book is None:
        return f"| {name} | {n} | {coverage:.3f} | - | {width:.3f} | - | not in the book |", True
    agrees = abs(coverage - book[0]) <= room(book[0], runs)
    theirs = "-" if book[1] is None else f"{book[1]:.3f}"
    word = "yes" if agrees else "NO"
    return (
        f"| {name} | {n} | {coverage:.3f} | {book[0]:.3f} | {width:.3f} | {theirs} "
        f"| {word} (within {room(book[0], runs):.3f}) |"
    ), agrees


def table(n: int, runs: int, seed: int, others: dict[str, Path | str]) -> bool:
    """Print the rows for `n` reviews; whether all coverages agree with the book's."""
    made = draws(n, runs, seed)
    each = [ours(draw, n) for draw in made]
    found = {name: np.array([row[name] for row, _ in each]) for name in each[0][0]}
    for name, python in others.items():
        if isinstance(python, Path):
            found[name] = peer_intervals(name, python, made, [lam for _, lam in each])
    population = np.full(runs, truth())
    here = np.array([draw.study.y.mean() for draw in made])
    agree = True
    for name in METHODS:
        if name not in found:
            print(f"| {name} | {n} | - | - | - | - | {others[name]} |")
            continue
        right = here if name == "corrected, these rows" else population
        text, fits = line(name, n, figures(found[name], right), runs)
        print(text, flush=True)
        agree = agree and fits
    gaps = {
        name: float(np.abs(found[name][:, 3] - found["corrected (default)"][:, 0]).max())
        for name in others
        if name in found
    }
    for name, gap in gaps.items():
        print(f"| largest difference of the point from {name}'s | {n} | {gap:.1e} | | | | |")
    return agree and all(gap < SAME_POINT for gap in gaps.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-peers", action="store_true", help="install and run no other package")
    args = parser.parse_args()
    # A fresh folder each time: code that somebody else left under a known name is never run.
    with tempfile.TemporaryDirectory(prefix="rapport-coverage-") as folder:
        others = peers(Path(folder), wanted=not args.no_peers)
        print(f"{args.runs} runs, seed {args.seed}; true rate {truth():.4f}; nominal 0.95\n")
        print("| method | n | coverage | book | width | book | agrees |")
        print("|---|---|---|---|---|---|---|")
        fits = [table(n, args.runs, args.seed, others) for n in SIZES]
    return 0 if all(fits) else 1


if __name__ == "__main__":
    sys.exit(main())
