from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from core.stats.resample import bca_tails, counted, resampled

TAILS = (0.025, 0.975)


def ratio(tables):
    return tables[:, 0] / tables[:, 1]


def parts(n, seed=0):
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 6, n).astype(float)
    return np.column_stack([rng.binomial(size.astype(int), 0.8), size])


def test_the_tails_of_the_same_draws_are_scipys():
    data = parts(25)
    draws = ratio(np.tensordot(counted(25, 999, 3), data, axes=1))
    total = data.sum(axis=0)
    found = bca_tails(float(ratio(total[None])[0]), draws, ratio(total - data), TAILS)

    def statistic(top, below, axis=-1):
        return top.sum(axis=axis) / below.sum(axis=axis)

    oracle = stats.bootstrap(
        (data[:, 0], data[:, 1]),
        statistic,
        paired=True,
        n_resamples=0,
        method="BCa",
        bootstrap_result=SimpleNamespace(bootstrap_distribution=draws),
    ).confidence_interval
    assert np.quantile(draws, found) == pytest.approx((oracle.low, oracle.high), abs=1e-12)


def test_twenty_clusters_are_enough_for_bca_and_nineteen_are_not():
    assert resampled(parts(20), ratio, boot=200, seed=0).method == "cluster BCa"
    few = resampled(parts(19), ratio, boot=200, seed=0)
    assert few.method == "cluster percentile"
    assert few.warnings == ("only 19 personas",)


def test_draws_in_which_the_statistic_is_not_defined_are_left_out_and_counted():
    def sometimes(tables):
        return np.where(ratio(tables) < lowest, np.nan, ratio(tables))

    whole = parts(10).sum(axis=0)
    lowest = ratio(whole[None])[0] - 0.05
    found = resampled(parts(10), sometimes, boot=400, seed=1)
    assert found.lo >= lowest
    assert np.isfinite([found.lo, found.hi]).all()
    assert "not defined in" in found.warnings[-1]


def test_a_statistic_that_is_rarely_defined_has_no_interval():
    def hardly(tables):
        return np.where(tables[:, 1] != parts(10)[:, 1].sum(), np.nan, ratio(tables))

    found = resampled(parts(10), hardly, boot=200, seed=1)
    assert np.isnan([found.lo, found.hi, found.se]).all()
    assert np.isfinite(found.est)


def test_no_variation_falls_back_to_the_percentiles_and_says_so():
    even = np.column_stack([np.ones(30), np.full(30, 2.0)])
    found = resampled(even, ratio, boot=100, seed=0)
    assert (found.lo, found.est, found.hi) == (0.5, 0.5, 0.5)
    assert found.warnings == ("BCa is not defined here; percentile interval",)


def test_each_draw_counts_as_many_clusters_as_there_are():
    assert (counted(7, 50, 0).sum(axis=1) == 7).all()
