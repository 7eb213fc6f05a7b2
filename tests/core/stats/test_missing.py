import math

import numpy as np
import pytest

from core.stats.missing import missing_bounds, missing_difference_bounds
from core.stats.types import ShapeError, TooFewClusters

VERDICTS = [1.0] * 138 + [0.0] * 46 + [math.nan] * 16


def close(value: float):
    return pytest.approx(value, abs=5e-7)


def test_sixteen_missing_verdicts_of_two_hundred_bound_the_rate():
    found = missing_bounds(VERDICTS, low=0, high=1)
    assert (found.low, found.high) == (close(0.69), close(0.77))
    assert (found.lo, found.hi) == (close(0.636201), close(0.818953))
    assert found.complete_case == close(0.75)
    assert (found.n, found.n_missing, found.rankable) == (200, 16, False)


def test_without_missing_values_the_bounds_meet_in_the_normal_interval():
    found = missing_bounds([1, 0, 1, 1], low=0, high=1)
    assert found.low == found.high == 0.75
    half = 1.959964 * math.sqrt(0.75 * 0.25 / 4)
    assert (found.lo, found.hi) == (close(0.75 - half), close(0.75 + half))
    assert found.rankable


def test_values_of_one_persona_are_not_independent():
    values = np.array([1, 1, 1, 0, 0, 0, 1, 1, 1, math.nan, 0, 0])
    alone = missing_bounds(values, low=0, high=1)
    clustered = missing_bounds(values, low=0, high=1, cluster=np.repeat(range(4), 3))
    assert clustered.hi - clustered.lo > alone.hi - alone.lo
    assert clustered.n_clusters == 4


def test_a_missing_verdict_is_worst_for_one_side_and_best_for_the_other():
    found = missing_difference_bounds([1, math.nan, 0, 0], [1, 1, math.nan, 0], low=0, high=1)
    # Differences 0, 1 - ?, ? - 0, 0: least 0 + 0 + 0 + 0, most 0 + 1 + 1 + 0.
    assert (found.low, found.high) == (0.0, 0.5)
    assert (found.n_missing, found.complete_case) == (2, 0.0)


def test_nothing_is_known_when_everything_is_missing():
    found = missing_bounds([math.nan] * 3, low=1, high=5)
    assert (found.low, found.high, found.lo, found.hi) == (1, 5, 1, 5)
    assert math.isnan(found.complete_case)


def test_values_off_the_scale_and_lists_that_do_not_fit_are_refused():
    with pytest.raises(ShapeError):
        missing_bounds([0, 6], low=1, high=5)
    with pytest.raises(ShapeError):
        missing_bounds([], low=0, high=1)
    with pytest.raises(ShapeError):
        missing_difference_bounds([1], [1, 0], low=0, high=1)
    with pytest.raises(TooFewClusters):
        missing_bounds([0, 1], low=0, high=1, cluster=["a", "a"])
