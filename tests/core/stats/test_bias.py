import math

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import (
    confint_proportions_2indep,
    proportion_confint,
)
from statsmodels.stats.proportion import (
    test_proportions_2indep as score_test,
)

from core.stats.bias import (
    anchoring,
    doublings,
    position_bias,
    residual_bias,
    reveal_first,
    settled,
)
from core.stats.types import (
    Degenerate,
    MissingScoreError,
    ShapeError,
    TooFewClusters,
    TooFewLabels,
)


def close(value: float):
    return pytest.approx(value, abs=5e-7)


# --- position -------------------------------------------------------------------------------


def orders(consistent=40, first=14, second=4, half=2):
    one = [1, 0] * (consistent // 2) + [1] * first + [0] * second + [1] * half
    other = [1, 0] * (consistent // 2) + [0] * first + [1] * second + [0.5] * half
    return one, other


def test_a_preference_for_the_first_place_has_its_golden_values():
    found = position_bias(*orders())
    assert found.consistent.est == close(0.666667)
    assert (found.first_both, found.second_both, found.half_ties) == (14, 4, 2)
    share = found.first_share
    assert (share.est, share.lo, share.hi) == (
        close(0.777778), close(0.547854), close(0.909991),
    )  # fmt: skip
    assert found.p == close(0.030884)
    assert (share.lo, share.hi) == pytest.approx(proportion_confint(14, 18, method="wilson"))


def test_exchanging_the_orders_exchanges_first_and_second():
    one, other = orders()
    found = position_bias(other, one)
    assert (found.first_both, found.second_both) == (4, 14)
    assert found.p == close(0.030884)


def test_without_flips_there_is_no_preference_and_no_test():
    found = position_bias([1, 0, 0.5], [1, 0, 0.5])
    assert found.consistent.est == 1.0
    assert (found.first_share, found.p) == (None, None)


def test_a_pair_judged_differently_in_the_two_orders_is_a_tie():
    assert settled([1, 0, 0.5, 1, 0, 1], [1, 0, 0.5, 0, 1, 0.5]).tolist() == [
        1, 0, 0.5, 0.5, 0.5, 0.5,
    ]  # fmt: skip


def test_consistency_knows_its_personas():
    one, other = orders()
    found = position_bias(one, other, cluster=np.arange(60) // 10)
    assert found.consistent.n_clusters == 6
    assert found.consistent.lo < position_bias(one, other).consistent.lo


@pytest.mark.parametrize(
    ("one", "other", "error"),
    [
        ([1, 0], [1], ShapeError),
        ([1, 2], [1, 0], ShapeError),
        ([1, math.nan], [1, 0], MissingScoreError),
    ],
)
def test_an_outcome_is_won_tied_or_lost_in_both_orders(one, other, error):
    with pytest.raises(error):
        position_bias(one, other)


# --- residuals ------------------------------------------------------------------------------

LENGTH = [120, 340, 200, 510, 90, 260, 410, 180, 300, 150, 620, 240, 130, 380, 220, 470, 160, 290,
          350, 110, 540, 210, 190, 430, 100, 250, 330, 580, 140, 270, 390, 230]  # fmt: skip
OWN = [0, 1, 1, 0] * 8
RESIDUAL = [0, 1, 1, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 1,
            0, 1, 1, 0, 1, 0, 1, 0, -1, 1, 1, 1, 0, 0, 1, 0]  # fmt: skip
PERSONA = np.repeat(np.arange(8), 4)


def factors():
    return np.column_stack([np.log2(np.array(LENGTH) / 250), OWN])


def test_the_price_of_length_and_of_kinship_has_its_golden_values():
    found = residual_bias(RESIDUAL, factors(), names=["length", "own"], cluster=PERSONA)
    every = (found.intercept, *found.effects)
    assert [e.est for e in every] == [close(v) for v in (0.268806, 0.463584, 0.329159)]
    assert [e.se for e in every] == [close(v) for v in (0.083864, 0.079939, 0.122500)]
    assert [e.p for e in every] == [close(v) for v in (0.014956, 0.000664, 0.031221)]
    assert [e.name for e in every] == ["intercept", "length", "own"]
    assert (found.n, found.n_clusters, found.df) == (32, 8, 7)


def test_residual_effects_and_their_intervals_are_those_of_statsmodels():
    fit = sm.OLS(np.array(RESIDUAL, float), sm.add_constant(factors())).fit(
        cov_type="cluster", cov_kwds={"groups": PERSONA}, use_t=True
    )
    found = residual_bias(RESIDUAL, factors(), names=["length", "own"], cluster=PERSONA)
    for effect, ends in zip((found.intercept, *found.effects), fit.conf_int(), strict=True):
        assert (effect.lo, effect.hi) == pytest.approx(tuple(ends), abs=1e-10)


def test_weighted_effects_are_those_of_weighted_least_squares():
    weights = np.tile([1.0, 4.0], 16)
    fit = sm.WLS(np.array(RESIDUAL, float), sm.add_constant(factors()), weights=weights).fit(
        cov_type="cluster", cov_kwds={"groups": PERSONA}, use_t=True
    )
    found = residual_bias(
        RESIDUAL, factors(), names=["length", "own"], cluster=PERSONA, weights=weights
    )
    every = (found.intercept, *found.effects)
    assert [e.est for e in every] == pytest.approx(list(fit.params))
    assert [e.se for e in every] == pytest.approx(list(fit.bse))


def test_a_length_is_counted_in_doublings_of_the_median():
    assert doublings([100, 200, 400]).tolist() == [-1.0, 0.0, 1.0]
    with pytest.raises(ShapeError):
        doublings([0, 1])


@pytest.mark.parametrize(
    ("columns", "names", "error"),
    [
        (np.ones(32), ["own"], Degenerate),
        (np.column_stack([OWN, OWN]), ["own", "again"], Degenerate),
        (np.array(OWN)[:30], ["own"], ShapeError),
        (np.array(OWN), ["own", "length"], ShapeError),
        (np.where(np.arange(32) == 3, np.nan, OWN), ["own"], ShapeError),
        (np.random.default_rng(0).normal(size=(32, 31)), [str(i) for i in range(31)], TooFewLabels),
    ],
    ids=["constant", "twice", "length", "names", "missing", "too-many"],
)
def test_effects_that_cannot_be_told_apart_are_refused(columns, names, error):
    with pytest.raises(error):
        residual_bias(RESIDUAL, columns, names=names, cluster=PERSONA)


@given(st.floats(-3, 3), st.floats(-2, 2))
@settings(max_examples=30, deadline=None)
def test_an_effect_that_is_put_in_is_found(slope, bias):
    x = factors()
    found = residual_bias(bias + slope * x[:, 0], x, names=["length", "own"], cluster=PERSONA)
    assert found.effects[0].est == pytest.approx(slope, abs=1e-9)
    assert found.effects[1].est == pytest.approx(0, abs=1e-9)
    assert found.intercept.est == pytest.approx(bias, abs=1e-9)


# --- anchoring ------------------------------------------------------------------------------


def test_each_kind_of_move_is_counted_where_it_belongs():
    #         stays  onto  closer  away  across  off  agrees
    before = [2, 2, 1, 3, 3, 4, 4]
    after_ = [2, 4, 3, 2, 5, 3, 4]
    judges = [3, 4, 4, 4, 4, 4, 4]
    found = anchoring(before, after_, judges, annotator=["a"] * 7).together
    assert (found.n, found.n_apart, found.changed) == (7, 5, 5)
    assert (found.towards, found.away, found.across, found.off, found.onto) == (2, 1, 1, 1, 1)
    assert found.moved.est == close(5 / 7)
    assert found.adopted.est == close(1 / 5)
    assert found.shift == close((2 + 2 - 1 + 2 - 1) / 7)
    assert found.towards_share == close(2 / 5)


def test_an_annotator_who_always_follows_the_judge_stands_out():
    rng = np.random.default_rng(0)
    before, judge = rng.integers(1, 6, (2, 40))
    follows = np.arange(40) % 2 == 0
    after = np.where(follows, judge, before)
    names = np.where(follows, "follower", "steady")
    found = dict(anchoring(before, after, judge, annotator=names).annotators)
    assert found["follower"].towards_share == 1.0
    assert found["follower"].adopted.est == 1.0
    assert found["follower"].leans
    assert found["steady"].changed == 0
    assert found["steady"].towards_share is None
    assert not found["steady"].leans


def test_four_disagreements_are_too_few_to_say_that_somebody_leans():
    found = anchoring([1, 1, 1, 1, 5], [5] * 5, [5] * 5, annotator=["a"] * 5).together
    assert found.adopted.est == 1.0
    assert not found.leans


def test_without_disagreement_nothing_could_be_adopted():
    found = anchoring([3, 4, 3], [3, 4, 3], [3, 4, 3], annotator=["a"] * 3).together
    assert (found.n_apart, found.adopted) == (0, None)


def test_a_single_label_has_counts_but_no_share():
    found = dict(anchoring([1, 2, 3], [2, 2, 3], [2, 2, 2], annotator=list("abb")).annotators)
    assert (found["a"].onto, found["a"].moved) == (1, None)


def test_labels_before_and_after_belong_together():
    with pytest.raises(ShapeError):
        anchoring([1, 2], [1], [1, 2], annotator=["a", "b"])
    with pytest.raises(MissingScoreError):
        anchoring([1, 2], [1, math.nan], [1, 2], annotator=["a", "b"])


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_annotators_add_up_to_everybody(seed):
    rng = np.random.default_rng(seed)
    before, after, judge = rng.integers(1, 5, (3, 30))
    found = anchoring(before, after, judge, annotator=rng.integers(0, 3, 30))
    for name in ("n", "n_apart", "towards", "away", "across", "off", "onto", "changed"):
        assert sum(getattr(m, name) for _, m in found.annotators) == getattr(found.together, name)
    assert found.together.changed == (before != after).sum()


# --- reveal first ---------------------------------------------------------------------------


def seen_first(shown=(72, 80), blind=(60, 80)):
    agrees = [1] * shown[0] + [0] * (shown[1] - shown[0])
    agrees += [1] * blind[0] + [0] * (blind[1] - blind[0])
    return agrees, [True] * shown[1] + [False] * blind[1]


def test_the_pull_of_a_judge_in_sight_has_its_golden_values():
    found = reveal_first(*seen_first())
    assert found.difference == close(0.15)
    assert (found.lo, found.hi) == (close(0.031860), close(0.265501))
    assert found.p == pytest.approx(0.0128, abs=5e-5)
    assert found.adopted == close(0.6)


@given(st.integers(1, 40), st.integers(1, 30))
@settings(max_examples=40, deadline=None)
def test_limits_of_the_pull_are_newcombes_and_p_is_the_score_tests(k, m):
    found = reveal_first(*seen_first((k, 40), (m, 30)))
    oracle = confint_proportions_2indep(k, 40, m, 30, method="newcomb")
    assert (found.lo, found.hi) == pytest.approx(oracle, abs=1e-9)
    if k + m < 70:
        assert found.p == pytest.approx(score_test(k, 40, m, 30, method="score").pvalue, abs=1e-6)
    else:
        assert found.p == 1.0


def test_personas_widen_the_limits_of_the_pull():
    agrees, shown = seen_first()
    persona = np.concatenate([np.arange(80) // 10, np.arange(80) // 10])
    clustered = reveal_first(agrees, shown, cluster=persona)
    plain = reveal_first(agrees, shown)
    assert clustered.difference == plain.difference
    assert clustered.hi - clustered.lo > plain.hi - plain.lo


def test_where_all_blind_labels_agree_nothing_is_left_to_adopt():
    assert reveal_first(*seen_first((10, 10), (10, 10))).adopted is None


@pytest.mark.parametrize(
    ("agrees", "shown", "error"),
    [
        ([1, 0, 1], [True] * 3, TooFewLabels),
        ([1, 0, 1], [False] * 3, TooFewLabels),
        ([1, 0.5, 1, 0], [True, False, True, False], ShapeError),
        ([1, 0], [True, False, True], ShapeError),
        ([1, 0], [True, False], TooFewClusters),
    ],
)
def test_a_pull_needs_labels_of_both_kinds(agrees, shown, error):
    with pytest.raises(error):
        reveal_first(agrees, shown)


def test_the_preference_for_a_place_is_tested_by_the_binomial():
    found = position_bias(*orders(first=9, second=6))
    assert found.p == pytest.approx(stats.binomtest(9, 15).pvalue)
