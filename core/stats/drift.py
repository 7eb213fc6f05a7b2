"""Drift: does a new instrument score the same dialogues as the old one did?

Both instruments score one anchor set, which people labelled blind. "No drift" is claimed only
by equivalence (two one-sided tests): the 90 % interval lies inside a margin. A large p claims
nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from core.stats.intervals import clusters, cr1, mean_ci, scores, t_quantile
from core.stats.paired import paired_diff
from core.stats.types import (
    Estimate,
    FloatArray,
    MixedInstruments,
    PairedDiff,
    ShapeError,
)

Verdict = Literal["drift", "equivalent", "unresolved"]
_ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Two one-sided tests that a mean lies inside +-`margin`; `lo`, `hi`: its 90 % interval."""

    est: float
    se: float
    margin: float
    p: float
    lo: float
    hi: float

    @property
    def shown(self) -> bool:
        """Whether the mean is shown to lie inside the margin."""
        return self.p < _ALPHA


@dataclass(frozen=True, slots=True)
class Drift:
    """A new instrument against an old one on the same dialogues.

    `shift` is new minus old. `bias_old` and `bias_new` are judge minus people; `abs_error` is
    the change of the distance from people (above 0: the new one is further off).
    `equivalence` tests the shift. `verdict` is `equivalent` when the shift is shown to lie
    inside the margin, else `drift` when it is shown not to be 0, else `unresolved`.
    """

    shift: PairedDiff
    bias_old: Estimate
    bias_new: Estimate
    abs_error: PairedDiff
    equivalence: Equivalence
    verdict: Verdict


def judge_drift(  # noqa: PLR0913 - the published signature, and the instruments to check
    f_old: ArrayLike,
    f_new: ArrayLike,
    y: ArrayLike,
    *,
    cluster: ArrayLike,
    margin: float,
    instrument_old: ArrayLike | None = None,
    instrument_new: ArrayLike | None = None,
    rubric: ArrayLike | None = None,
) -> Drift:
    """Compare the scores of two instruments with each other and with blind labels `y`.

    `margin` is the largest shift that does not matter (0.1 on a rate, 0.2 on 1 to 5). The three
    optional lists name each row's instrument and the rubric of its label; each must hold one
    name. Raises `MixedInstruments`, `ShapeError`, `MissingScoreError`, `TooFewClusters`.
    """
    for name, labels in (
        ("old scores", instrument_old),
        ("new scores", instrument_new),
        ("labels", rubric),
    ):
        one_instrument(name, labels)
    old, new, human = scores(f_old), scores(f_new), scores(y)
    if not len(old) == len(new) == len(human):
        raise ShapeError("both instruments and people must have scored the same dialogues")
    shift = paired_diff(old, new, cluster=cluster)
    equivalence = equivalent(new - old, cluster=cluster, margin=margin)
    return Drift(
        shift=shift,
        bias_old=mean_ci(old - human, cluster=cluster),
        bias_new=mean_ci(new - human, cluster=cluster),
        abs_error=paired_diff(np.abs(old - human), np.abs(new - human), cluster=cluster),
        equivalence=equivalence,
        verdict=_verdict(equivalence, shift),
    )


def equivalent(d: ArrayLike, *, cluster: ArrayLike | None, margin: float) -> Equivalence:
    """Test that the mean of `d` lies inside +-`margin`, clustered, on G - 1 degrees of freedom."""
    if not (math.isfinite(margin) and margin > 0):
        raise ShapeError("the margin must be above 0")
    values: FloatArray = scores(d)
    code, count = clusters(cluster, len(values))
    est, se = cr1(values, code, count)
    half = t_quantile(count - 1, 1 - 2 * _ALPHA) * se
    return Equivalence(
        est=est,
        se=se,
        margin=margin,
        p=_tost_p(est, se, margin, count - 1),
        lo=est - half,
        hi=est + half,
    )


def one_instrument(name: str, labels: ArrayLike | None) -> None:
    """Raise `MixedInstruments` when `labels` hold more than one instrument or rubric version."""
    if labels is not None and len(np.unique(np.asarray(labels))) > 1:
        raise MixedInstruments(f"the {name} must come from one instrument and rubric version")


def _tost_p(est: float, se: float, margin: float, df: int) -> float:
    from scipy.special import stdtr

    room = margin - abs(est)
    if se == 0:
        return 0.0 if room > 0 else 1.0
    return float(stdtr(df, -room / se))


def _verdict(equivalence: Equivalence, shift: PairedDiff) -> Verdict:
    if equivalence.shown:
        return "equivalent"
    return "drift" if shift.p_signflip < _ALPHA else "unresolved"
