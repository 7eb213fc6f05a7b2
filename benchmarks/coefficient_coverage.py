"""How often the intervals of alpha and kappa hold the truth when personas are few.

    python -m benchmarks.coefficient_coverage [--runs 2000] [--seed 1]

Three people (two for kappa) label five dialogues of each persona from 1 to 5. A label is the
persona's level, plus the dialogue's own, plus the person's slip, rounded. The truth is the
coefficient of 40,000 personas. Each interval is made of the same draws; nominal coverage 95 %.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from core.stats.coefficients import alpha, coincidences, credit, kappa
from core.stats.resample import Resampled, bootstrapped, jackknifed

SCALE = np.arange(1.0, 6.0)
SIZES = (8, 10, 12, 20, 30)
DIALOGUES = 5
MANY, BOOT = 40_000, 1000
Floats = NDArray[np.float64]
Interval = Callable[[Floats, Callable[[Floats], Floats]], Resampled | None]


def labels(rng: np.random.Generator, personas: int, people: int) -> NDArray[np.intp]:
    """Places of the labels on the scale: personas x dialogues x people."""
    level = rng.normal(3.2, 0.6, (personas, 1, 1)) + rng.normal(0, 0.9, (personas, DIALOGUES, 1))
    said = np.rint(level + rng.normal(0, 0.6, (personas, DIALOGUES, people)))
    return np.clip(said, 1, 5).astype(np.intp) - 1


def alpha_parts(rng: np.random.Generator, personas: int) -> Floats:
    """The coincidence table of each persona, of three people."""
    counts = np.eye(len(SCALE))[labels(rng, personas, 3)].sum(axis=2)
    found: Floats = coincidences(counts).sum(axis=1)
    return found


def kappa_parts(rng: np.random.Generator, personas: int) -> Floats:
    """The table of each persona, of two people."""
    one_hot = np.eye(len(SCALE))[labels(rng, personas, 2)]
    found: Floats = np.einsum("pdi,pdj->pij", one_hot[:, :, 0], one_hot[:, :, 1])
    return found


def of_alpha(tables: Floats) -> Floats:
    return alpha(tables, SCALE, "ordinal")


def of_kappa(tables: Floats) -> Floats:
    return kappa(tables, credit(SCALE, "quadratic"))


COEFFICIENTS = {
    "ordinal alpha": (alpha_parts, of_alpha),
    "quadratic kappa": (kappa_parts, of_kappa),
}


def _jackknife(parts: Floats, statistic: Callable[[Floats], Floats]) -> Resampled | None:
    return jackknifed(parts, statistic)


def _bootstrap(parts: Floats, statistic: Callable[[Floats], Floats]) -> Resampled:
    return bootstrapped(parts, statistic, boot=BOOT, seed=7)


METHODS: dict[str, Interval] = {"bootstrap": _bootstrap, "jackknife": _jackknife}


def coverage(name: str, personas: int, runs: int, seed: int) -> dict[str, tuple[float, float]]:
    """Coverage and mean width of each method over `runs` studies of `personas` personas.

    A study for which a method defines no interval counts as one that it does not hold.
    """
    make, statistic = COEFFICIENTS[name]
    truth = float(statistic(make(np.random.default_rng([seed, 0]), MANY).sum(axis=0)[None])[0])
    held = dict.fromkeys(METHODS, 0)
    width = dict.fromkeys(METHODS, 0.0)
    for run in range(runs):
        parts = make(np.random.default_rng([seed, personas, run + 1]), personas)
        for method, interval in METHODS.items():
            found = interval(parts, statistic)
            if found is not None:
                held[method] += found.lo <= truth <= found.hi
                width[method] += found.hi - found.lo
    return {method: (held[method] / runs, width[method] / runs) for method in METHODS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    print("| coefficient | personas | bootstrap holds | width | jackknife holds | width |")
    print("|---|---|---|---|---|---|")
    for name in COEFFICIENTS:
        for personas in SIZES:
            found = coverage(name, personas, args.runs, args.seed)
            cells = [f"{100 * c:.1f}% | {w:.3f}" for c, w in found.values()]
            print(f"| {name} | {personas} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
