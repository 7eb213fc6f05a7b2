import numpy as np
import pytest

from core.stats.drift import equivalent, judge_drift
from core.stats.types import (
    MissingScoreError,
    MixedInstruments,
    ShapeError,
    TooFewClusters,
)


def digits(text: str) -> np.ndarray:
    return np.array([int(c) for c in text], dtype=float)


# Ten personas of four tasks each: people, the old version of a judge, the new one.
H = digits("3425134543234523144352342354123453424354")
V1 = digits("3435234543334523244352343354223453434354")
V2 = digits("4435244544334534244453344355323554444454")
PERSONA = np.repeat(np.arange(10), 4)


def close(value: float):
    return pytest.approx(value, abs=5e-7)


def test_the_shift_between_two_versions_has_its_golden_values():
    found = judge_drift(V1, V2, H, cluster=PERSONA, margin=0.2)
    shift = found.shift.estimate
    assert (shift.est, shift.se) == (close(0.35), close(0.040825))
    assert (shift.lo, shift.hi) == (close(0.257648), close(0.442352))
    assert found.shift.p_t == pytest.approx(0.0000127, abs=5e-8)
    assert found.shift.p_signflip == close(0.001953)
    assert found.verdict == "drift"


def test_the_bias_of_each_version_has_its_golden_values():
    found = judge_drift(V1, V2, H, cluster=PERSONA, margin=0.2)
    old, new = found.bias_old, found.bias_new
    assert (old.est, old.lo, old.hi) == (close(0.175), close(0.088612), close(0.261388))
    assert (new.est, new.lo, new.hi) == (close(0.525), close(0.393041), close(0.656959))
    # Neither version is ever below people here, so the distance grows by the whole shift.
    assert found.abs_error.estimate.est == close(np.abs(V2 - H).mean() - np.abs(V1 - H).mean())


def test_a_bias_of_almost_the_margin_is_not_shown_to_be_inside_it():
    found = equivalent(V1 - H, cluster=PERSONA, margin=0.2)
    assert found.p == close(0.264532)
    assert (found.lo, found.hi) == (close(0.104997), close(0.245003))
    assert not found.shown


def test_the_direction_of_a_shift_does_not_matter_for_equivalence():
    assert equivalent(H - V1, cluster=PERSONA, margin=0.2).p == close(0.264532)


def test_a_tiny_shift_is_equivalent_even_when_it_is_certain():
    found = judge_drift(V1, V1 + 0.01, H, cluster=PERSONA, margin=0.2)
    assert found.shift.p_signflip < 0.05
    assert found.verdict == "equivalent"


def test_the_same_scores_are_equivalent_and_a_shift_of_the_margin_is_not():
    assert judge_drift(V1, V1, H, cluster=PERSONA, margin=0.2).verdict == "equivalent"
    assert equivalent(np.full(40, 0.2), cluster=PERSONA, margin=0.2).p == 1


def test_few_and_noisy_rows_resolve_nothing():
    old, new = np.array([1, 5, 3, 2.0]), np.array([5, 1, 3, 3.0])
    found = judge_drift(old, new, old, cluster=[0, 1, 2, 3], margin=0.2)
    assert found.verdict == "unresolved"


def test_mixed_instruments_and_rubrics_are_refused():
    mixed = ["judge v1"] * 39 + ["judge v2"]
    for name in ("instrument_old", "instrument_new", "rubric"):
        with pytest.raises(MixedInstruments):
            judge_drift(V1, V2, H, cluster=PERSONA, margin=0.2, **{name: mixed})
    named = judge_drift(V1, V2, H, cluster=PERSONA, margin=0.2, rubric=["v1"] * 40)
    assert named.verdict == "drift"


def test_lists_that_do_not_fit_are_refused():
    with pytest.raises(ShapeError):
        judge_drift(V1, V2[:-1], H, cluster=PERSONA, margin=0.2)
    with pytest.raises(ShapeError):
        judge_drift(V1, V2, H, cluster=PERSONA, margin=0)
    with pytest.raises(MissingScoreError):
        judge_drift(np.where(V1 == 3, np.nan, V1), V2, H, cluster=PERSONA, margin=0.2)
    with pytest.raises(TooFewClusters):
        judge_drift(V1, V2, H, cluster=np.zeros(40), margin=0.2)
