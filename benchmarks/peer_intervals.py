"""Intervals of another package on draws that `benchmarks/coverage.py` wrote.

    PEER_PYTHON peer_intervals.py truescore|ppi_py DRAWS.npz OUT.npz

Runs in the package's own environment: it imports numpy, the package, and nothing of Rapport.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np

Row = tuple[float, float, float, float]
"""Point, low, high; and the point for the judge's weight that Rapport used."""


def truescore(f: Any, y: Any, seen: Any, lam: float, package: Any) -> Row:
    """Its clusters must be reviewed whole or not at all, so these are rows on their own."""
    index = np.flatnonzero(seen)
    found = package.ppi_estimate(f, y[index], index, alpha=0.05)
    same = package.ppi_estimate(f, y[index], index, alpha=0.05, lambda_=lam)
    return found.point, found.low, found.high, same.point


def ppi_py(f: Any, y: Any, seen: Any, lam: float, package: Any) -> Row:
    # The default of alpha is 0.1; one-dimensional scores come back as arrays of one.
    parts = (y[seen], f[seen], f[~seen])
    lo, hi = package.ppi_mean_ci(*parts, alpha=0.05)
    point, same = (
        package.ppi_mean_pointestimate(*parts),
        package.ppi_mean_pointestimate(*parts, lam=lam),
    )
    return first(point), first(lo), first(hi), first(same)


def first(value: Any) -> float:
    return float(np.ravel(value)[0])


def main(name: str, draws: str, out: str) -> None:
    method = {"truescore": truescore, "ppi_py": ppi_py}[name]
    package = importlib.import_module(name)
    data = np.load(draws)
    rows = [
        method(f.astype(float), y.astype(float), seen, float(lam), package)
        for f, y, seen, lam in zip(data["f"], data["y"], data["seen"], data["lam"], strict=True)
    ]
    np.savez(out, intervals=np.array(rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
