import math
from itertools import pairwise

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from core.stats.intervals import (
    design_effect,
    intraclass_correlation,
    mean_ci,
    rate_ci,
    two_way_se,
)
from core.stats.types import MissingScoreError, ShapeError, TooFewClusters

# Twelve personas of four tasks each, ordered by persona; published with their golden values.
COMPLETION = [int(c) for c in "110110011111000111011111010011011110100111110101"]
NATURALNESS = [int(c) for c in "433432345445221344345544232243344453322354452323"]
PERSONA = np.repeat(np.arange(12), 4)


def close(value: float):
    return pytest.approx(value, abs=5e-7)


def test_a_rate_without_clusters_has_wilsons_interval():
    found = rate_ci(COMPLETION)
    assert (found.lo, found.hi) == (close(0.525401), close(0.783232))
    assert (found.n, found.n_clusters, found.method) == (48, 48, "Wilson")
    assert found.se == close(0.068761)


def test_wilson_agrees_with_statsmodels():
    for successes, n in [(32, 48), (0, 30), (30, 30), (1, 7)]:
        found = rate_ci([1] * successes + [0] * (n - successes))
        lo, hi = proportion_confint(successes, n, method="wilson")
        assert found.lo == pytest.approx(lo, abs=1e-12)
        assert found.hi == pytest.approx(hi, abs=1e-12)


def test_no_failure_in_thirty_still_leaves_room_for_eleven_per_cent():
    assert rate_ci([0] * 30).hi == close(0.113513)


def test_a_clustered_rate_has_the_effective_sample_size_of_its_personas():
    found = rate_ci(COMPLETION, cluster=PERSONA)
    assert found.n_effective == close(30.954854)
    assert (found.lo, found.hi) == (close(0.490560), close(0.805974))
    assert found.method == "cluster-Wilson"


def test_a_clustered_rate_is_never_worth_more_than_its_rows():
    # Each persona succeeds exactly twice in four: no variation between personas at all.
    values = np.tile([1, 1, 0, 0], 12)
    found = rate_ci(values, cluster=PERSONA)
    assert found.n_effective == 48
    assert (found.lo, found.hi) == (rate_ci(values).lo, rate_ci(values).hi)


def test_a_perfect_rate_counts_personas_and_says_so():
    found = rate_ci([1] * 48, cluster=PERSONA)
    assert found.lo == pytest.approx(rate_ci([1] * 12).lo, abs=1e-12)
    assert found.hi == 1.0
    assert any("no variation" in note for note in found.warnings)


def test_the_confidence_of_a_rate_is_the_one_asked_for():
    wide, narrow = (
        rate_ci(COMPLETION, cluster=PERSONA, conf=0.99),
        rate_ci(COMPLETION, cluster=PERSONA, conf=0.8),
    )
    assert wide.lo < narrow.lo < narrow.hi < wide.hi


def test_a_clustered_mean_has_the_cr1_error_and_t_interval():
    found = mean_ci(COMPLETION, cluster=PERSONA)
    assert found.se == close(0.077443)
    assert (found.lo, found.hi) == (close(0.496215), close(0.837118))
    assert found.df == 11


def test_ordinal_ratings_cluster_more_than_verdicts():
    found = mean_ci(NATURALNESS, cluster=PERSONA)
    assert found.est == 3.375
    assert mean_ci(NATURALNESS).se == close(0.150722)
    assert found.se == close(0.263822)


def test_cr1_agrees_with_statsmodels():
    for y in (COMPLETION, NATURALNESS):
        oracle = sm.OLS(np.array(y, float), np.ones(48)).fit(
            cov_type="cluster", cov_kwds={"groups": PERSONA}, use_t=True
        )
        found = mean_ci(y, cluster=PERSONA)
        lo, hi = oracle.conf_int()[0]
        assert found.se == pytest.approx(oracle.bse[0], rel=1e-9)
        assert (found.lo, found.hi) == (pytest.approx(lo, rel=1e-9), pytest.approx(hi, rel=1e-9))


def test_a_weighted_clustered_mean_agrees_with_statsmodels():
    weights = 1.0 + np.arange(48) % 3
    oracle = sm.WLS(np.array(NATURALNESS, float), np.ones(48), weights=weights).fit(
        cov_type="cluster", cov_kwds={"groups": PERSONA, "use_correction": False}, use_t=True
    )
    found = mean_ci(NATURALNESS, cluster=PERSONA, weights=weights)
    assert found.est == pytest.approx(oracle.params[0], rel=1e-9)
    assert found.se == pytest.approx(oracle.bse[0] * math.sqrt(12 / 11), rel=1e-9)


def test_the_bootstrap_over_personas_gives_the_published_interval():
    found = mean_ci(COMPLETION, cluster=PERSONA, method="bca")
    assert found.se == pytest.approx(0.0738, abs=5e-4)
    assert (found.lo, found.hi) == (pytest.approx(0.521, abs=5e-3), pytest.approx(0.813, abs=5e-3))
    assert found.method == "cluster BCa"


def test_the_bootstrap_is_the_same_for_the_same_seed():
    first, again = (mean_ci(NATURALNESS, cluster=PERSONA, method="bca", seed=3) for _ in range(2))
    assert first == again


def test_the_bootstrap_falls_back_with_a_warning_when_nothing_varies():
    found = mean_ci([4] * 48, cluster=PERSONA, method="bca")
    assert (found.lo, found.hi, found.method) == (4.0, 4.0, "cluster percentile")
    assert any("BCa is not defined" in note for note in found.warnings)


def test_a_median_of_few_personas_has_a_percentile_interval_and_a_warning():
    found = mean_ci(NATURALNESS, cluster=PERSONA, method="bca", stat="median")
    assert found.est == 3.0
    assert found.lo <= 3.0 <= found.hi
    assert found.method == "cluster percentile"
    assert found.warnings == ("only 12 personas",)


def test_few_personas_are_named():
    found = mean_ci(NATURALNESS[:20], cluster=PERSONA[:20])
    assert found.warnings == ("only 5 personas",)


@pytest.mark.parametrize(
    ("y", "options", "fault"),
    [
        ([], {}, ShapeError),
        ([[1, 0]], {}, ShapeError),
        ([1, float("nan")], {}, MissingScoreError),
        ([1, 0, 1], {"cluster": [1, 2]}, ShapeError),
        ([1, 0, 1], {"cluster": [7, 7, 7]}, TooFewClusters),
        ([1, 0], {"weights": [1, -1]}, ShapeError),
        ([1, 0], {"weights": [1]}, ShapeError),
    ],
)
def test_what_cannot_be_estimated_is_refused(y, options, fault):
    for statistic in (rate_ci, mean_ci):
        with pytest.raises(fault):
            statistic(y, **options)


def test_a_rate_outside_0_to_1_is_refused():
    with pytest.raises(ShapeError, match="from 0 to 1"):
        rate_ci([0, 2])


def test_a_median_needs_the_bootstrap_and_the_bootstrap_takes_no_weights():
    with pytest.raises(ShapeError, match="bca"):
        mean_ci([1, 2], stat="median")
    with pytest.raises(ShapeError, match="weights"):
        mean_ci([1, 2], method="bca", weights=[1, 1])


# --- properties -----------------------------------------------------------------------------

ratings = st.lists(st.tuples(st.integers(1, 5), st.integers(0, 5)), min_size=2, max_size=60).filter(
    lambda rows: len({g for _, g in rows}) > 1
)


def table(rows):
    return np.array([y for y, _ in rows], float), np.array([g for _, g in rows])


@given(ratings, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=40)
def test_the_order_of_rows_does_not_matter(rows, random):
    y, g = table(rows)
    random.shuffle(rows)
    y2, g2 = table(rows)
    for statistic, scale in ((mean_ci, 1), (rate_ci, 5)):
        one, other = statistic(y / scale, cluster=g), statistic(y2 / scale, cluster=g2)
        assert one.est == pytest.approx(other.est)
        assert one.se == pytest.approx(other.se, abs=1e-7)
        assert (one.lo, one.hi) == (
            pytest.approx(other.lo, abs=1e-6),
            pytest.approx(other.hi, abs=1e-6),
        )


@given(ratings)
@settings(deadline=None, max_examples=40)
def test_doubling_every_row_leaves_the_clustered_error_as_it_is(rows):
    y, g = table(rows)
    once, twice = mean_ci(y, cluster=g), mean_ci(np.tile(y, 2), cluster=np.tile(g, 2))
    assert twice.se == pytest.approx(once.se, abs=1e-9)
    assert (twice.est, twice.df) == (pytest.approx(once.est), once.df)


@given(ratings)
@settings(deadline=None, max_examples=40)
def test_splitting_a_persona_changes_only_the_error_and_the_degrees_of_freedom(rows):
    y, g = table(rows)
    first = np.flatnonzero(g == g[0])
    if len(first) < 2:
        return
    split = g.copy()
    split[first[0]] = 99
    whole, parts = mean_ci(y, cluster=g), mean_ci(y, cluster=split)
    assert (parts.est, parts.n) == (whole.est, whole.n)
    assert parts.df == whole.df + 1


@given(ratings, st.floats(-50, 50))
@settings(deadline=None, max_examples=40)
def test_adding_a_constant_shifts_the_interval_by_it(rows, shift):
    y, g = table(rows)
    here, there = mean_ci(y, cluster=g), mean_ci(y + shift, cluster=g)
    for name in ("est", "lo", "hi"):
        assert getattr(there, name) == pytest.approx(getattr(here, name) + shift, abs=1e-6)
    assert there.se == pytest.approx(here.se, abs=1e-7)


@given(ratings)
@settings(deadline=None, max_examples=40)
def test_an_interval_contains_its_estimate(rows):
    y, g = table(rows)
    for found in (mean_ci(y, cluster=g), rate_ci((y - 1) / 4, cluster=g), rate_ci(y > 3)):
        assert found.lo <= found.est <= found.hi
        assert not math.isnan(found.se)


@given(st.integers(1, 40), st.integers(0, 40))
@settings(deadline=None, max_examples=40)
def test_a_rate_interval_stays_between_0_and_1_and_shrinks_with_n(n, k):
    k = min(k, n)
    sizes = [rate_ci(([1] * k + [0] * (n - k)) * times) for times in (2, 4, 8)]
    assert all(0 <= found.lo <= found.hi <= 1 for found in sizes)
    for small, large in pairwise(sizes):
        assert large.hi - large.lo < small.hi - small.lo


def test_the_clustered_interval_covers_where_the_plain_one_does_not():
    """Rate .7, intraclass correlation .3, 15 personas of 4: 96 % against 82 % when simulated."""
    rng = np.random.default_rng(5)
    persona = np.repeat(np.arange(15), 4)
    hits = {"clustered": 0, "plain": 0}
    for _ in range(400):
        own = rng.beta(0.7 * 7 / 3, 0.3 * 7 / 3, size=15)  # ICC = 1 / (1 + a + b)
        y = rng.random(60) < own[persona]
        for name, found in (("clustered", rate_ci(y, cluster=persona)), ("plain", rate_ci(y))):
            hits[name] += found.lo <= 0.7 <= found.hi
    assert hits["clustered"] / 400 >= 0.93
    assert hits["plain"] / 400 <= 0.88


def test_clustering_by_persona_and_task_has_its_golden_standard_error():
    task = np.tile(np.arange(4), 12)
    assert two_way_se(COMPLETION, PERSONA, task) == close(0.118325)


def test_two_ways_that_cancel_fall_back_to_the_larger_one():
    # Within each persona and within each task the values balance out.
    values, persona, task = [1, 0, 0, 1], [0, 0, 1, 1], [0, 1, 0, 1]
    assert two_way_se(values, persona, task) == 0
    assert two_way_se([1, 0, 0, 1, 1], [0, 0, 1, 1, 2], [0, 1, 0, 1, 2]) > 0


def test_design_effect_and_likeness_of_personas_have_their_golden_values():
    assert design_effect(COMPLETION, PERSONA) == close(1.268466)
    assert intraclass_correlation(COMPLETION, PERSONA) == close(0.087137)
    # The published 3.06 is rounded: (0.263822 / 0.150722) squared.
    assert design_effect(NATURALNESS, PERSONA) == pytest.approx(3.06, abs=0.005)


def test_likeness_is_not_defined_without_repetition_or_variation():
    assert math.isnan(intraclass_correlation([1, 0, 1], [0, 1, 2]))
    assert math.isnan(intraclass_correlation([1, 1, 1, 1], [0, 0, 1, 1]))
    assert math.isnan(design_effect([1, 1, 1, 1], [0, 0, 1, 1]))
