"""A simulated study of known truth: 100 personas x 20 tasks, a good yes/no judge.

Rebuilt from the published description of simulation A of the method book: persona effects are
logistic (intraclass correlation about 0.1), the judge has a sensitivity of 93 % and a
specificity of 76 % with the middle persona, errs more for some personas than for others,
correlates 0.69 with people, and is about 5.2 points too generous. What the description leaves
open was chosen to give these.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

PERSONAS, TASKS = 100, 20
ROWS = PERSONAS * TASKS
CLUSTER = np.repeat(np.arange(PERSONAS), TASKS)

_SHARE, _PERSONA_SD, _JUDGE_SD = 0.607, 0.65, 0.5
_SENSITIVITY, _SPECIFICITY = 0.93, 0.76

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Study:
    """What people would say of every dialogue (`y`), and what the judge says (`f`)."""

    y: Floats
    f: Floats


def study(rng: np.random.Generator) -> Study:
    """One study: new personas, the same tasks."""
    person = rng.normal(0, _PERSONA_SD, PERSONAS)[CLUSTER]
    taste = rng.normal(0, _JUDGE_SD, PERSONAS)[CLUSTER]
    y = rng.random(ROWS) < _expit(_centre() + person)
    says_yes = np.where(y, _logit(_SENSITIVITY), _logit(1 - _SPECIFICITY)) + taste
    f = rng.random(ROWS) < _expit(says_yes)
    return Study(y.astype(np.float64), f.astype(np.float64))


def truth() -> float:
    """The rate over all personas that there could be, by Gauss-Hermite quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    rate = _expit(_centre() + _PERSONA_SD * nodes)
    return float(weights @ rate / weights.sum())


def reviewed(rng: np.random.Generator, y: Floats, n: int) -> Floats:
    """Labels of `n` dialogues drawn at random; NaN elsewhere."""
    labels = np.full(len(y), np.nan)
    drawn = rng.choice(len(y), n, replace=False)
    labels[drawn] = y[drawn]
    return labels


def _centre() -> float:
    return float(_logit(_SHARE)) * math.sqrt(1 + _PERSONA_SD**2 / 2.89)


def _logit(p: float) -> Floats:
    return np.asarray(np.log(p / (1 - p)))


def _expit(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-x)))
