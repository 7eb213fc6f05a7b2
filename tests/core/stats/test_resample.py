from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from core.stats.resample import bca_tails, bootstrapped, counted, jackknifed, resampled

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


def test_forty_clusters_are_enough_for_the_bootstrap_and_fewer_get_the_jackknife():
    assert resampled(parts(40), ratio, boot=200, seed=0).method == "cluster BCa"
    assert resampled(parts(39), ratio, boot=200, seed=0).method == "cluster jackknife"
    assert bootstrapped(parts(20), ratio, boot=200, seed=0).method == "cluster BCa"
    few = resampled(parts(19), ratio, boot=200, seed=0)
    assert few.method == "cluster jackknife"
    assert few.warnings == ("only 19 personas",)
    assert bootstrapped(parts(19), ratio, boot=200, seed=0).method == "cluster percentile"


def test_the_jackknife_of_a_mean_is_the_t_interval_of_the_mean():
    data = np.random.default_rng(2).normal(0.3, 0.1, 9)
    found = jackknifed(np.column_stack([data, np.ones(9)]), ratio)
    low, high = stats.t.interval(0.95, 8, loc=data.mean(), scale=stats.sem(data))
    assert found.se == pytest.approx(stats.sem(data))
    assert (found.lo, found.hi) == pytest.approx((low, high))


def test_a_jackknife_interval_stays_within_what_a_coefficient_can_be():
    found = jackknifed(np.column_stack([[9.0, 9, 9, 2], [10.0] * 4]), ratio)
    assert found.hi == 1.0
    assert found.est + stats.t.ppf(0.975, 3) * found.se > 1


def test_where_one_persona_carries_all_the_variation_the_bootstrap_stands_in():
    def needs_the_last(tables):
        return np.where(tables[:, 1] < last, np.nan, ratio(tables))

    data = parts(10)
    data[-1] = (40, 80)
    last = 80
    assert jackknifed(data, needs_the_last) is None
    assert resampled(data, needs_the_last, boot=400, seed=0).method == "cluster percentile"


def test_draws_in_which_the_statistic_is_not_defined_are_left_out_and_counted():
    def sometimes(tables):
        return np.where(ratio(tables) < lowest, np.nan, ratio(tables))

    whole = parts(10).sum(axis=0)
    lowest = ratio(whole[None])[0] - 0.05
    found = bootstrapped(parts(10), sometimes, boot=400, seed=1)
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
    even = np.column_stack([np.ones(50), np.full(50, 2.0)])
    found = resampled(even, ratio, boot=100, seed=0)
    assert (found.lo, found.est, found.hi) == (0.5, 0.5, 0.5)
    assert found.warnings == ("BCa is not defined here; percentile interval",)


def test_each_draw_counts_as_many_clusters_as_there_are():
    assert (counted(7, 50, 0).sum(axis=1) == 7).all()
