import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.proportion import proportion_confint

from core.stats.agreement import judge_agreement
from core.stats.types import MissingScoreError, ShapeError, TooFewClusters

# People 1 to 5 in rows, the judge in columns; published with its golden values.
ORDINAL = [[2, 1, 0, 0, 0], [1, 3, 2, 0, 0], [0, 1, 6, 3, 1], [0, 0, 2, 8, 3], [0, 0, 0, 2, 5]]
RARE_FAILURE = [[0, 5], [5, 90]]  # people fail, pass; the judge finds no failure at all
EVEN = [[45, 5], [5, 45]]
VERDICTS = [0, 1]


def close(value: float):
    return pytest.approx(value, abs=5e-7)


def unfolded(table, categories):
    """Judge and people as two lists, from a table with people in rows."""
    counts = np.asarray(table)
    human, judge = (place.ravel() for place in np.indices(counts.shape))
    kinds = np.asarray(categories, dtype=float)
    return np.repeat(kinds[judge], counts.ravel()), np.repeat(kinds[human], counts.ravel())


def of_table(table, categories, **how):
    return judge_agreement(*unfolded(table, categories), categories=categories, **how)


# --- golden values --------------------------------------------------------------------------


def test_ratings_have_their_golden_values():
    found = of_table(ORDINAL, range(1, 6))
    assert found.confusion.tolist() == ORDINAL
    assert (found.exact.est, found.within_one.est) == (close(0.6), close(0.975))
    assert (found.bias.est, found.mean_distance) == (close(0.125), close(0.425))
    assert found.kappa.est == close(0.827273)
    assert found.kappa_linear == close(0.671815)
    assert (found.ac2.est, found.ac2_linear) == (close(0.896422), close(0.752502))
    assert found.alpha.est == close(0.805787)
    assert (found.spearman, found.kendall_b) == (close(0.809395), close(0.736842))


def test_the_bootstrapped_error_of_kappa_is_near_its_asymptotic_one():
    found = of_table(ORDINAL, range(1, 6), boot=5000)
    oracle = cohens_kappa(np.array(ORDINAL), wt="fc")
    assert found.kappa.est == pytest.approx(oracle.kappa, abs=1e-12)
    assert oracle.std_kappa == close(0.052031)
    assert found.kappa.se == pytest.approx(0.052031, rel=0.1)


def test_ninety_per_cent_agreement_may_be_no_agreement_at_all():
    found = of_table(RARE_FAILURE, VERDICTS)
    assert found.exact.est == close(0.9)
    assert found.kappa.est == close(-0.052632)
    assert found.ac2.est == close(0.889503)
    assert (found.sensitivity.est, found.specificity.est) == (close(0.947368), 0.0)
    assert found.balanced == close(0.473684)
    assert (found.constant.value, found.constant.exact) == (1.0, close(0.95))
    assert any("far apart" in note for note in found.warnings)


def test_ninety_per_cent_agreement_of_even_verdicts_is_agreement():
    found = of_table(EVEN, VERDICTS)
    assert (found.kappa.est, found.ac2.est) == (close(0.8), close(0.8))
    assert (found.sensitivity.est, found.specificity.est) == (close(0.9), close(0.9))
    assert found.balanced == close(0.9)
    assert found.constant.exact == close(0.5)
    assert found.warnings == ()


def test_what_a_verdict_is_worth_has_its_golden_intervals():
    found = of_table([[14, 3], [6, 27]], VERDICTS)
    ppv, npv = found.ppv, found.npv
    assert (ppv.est, ppv.lo, ppv.hi) == (close(0.9), close(0.743789), close(0.965400))
    assert (npv.est, npv.lo, npv.hi) == (close(0.7), close(0.481027), close(0.854523))
    assert (ppv.lo, ppv.hi) == pytest.approx(proportion_confint(27, 30, method="wilson"))


def test_unequal_draws_are_weighted_by_their_inverse_probability():
    judge, human = unfolded([[14, 3], [6, 27]], VERDICTS)
    weights = np.where(judge == 1, 4.0, 1.5)
    plain = judge_agreement(judge, human, categories=VERDICTS)
    weighted = judge_agreement(judge, human, categories=VERDICTS, weights=weights)
    assert (plain.exact.est, plain.kappa.est) == (close(0.82), close(0.615385))
    assert (weighted.exact.est, weighted.kappa.est) == (close(0.86), close(0.578313))
    # What the judge's own verdict is worth does not depend on how often it was drawn.
    assert (weighted.ppv.est, weighted.npv.est) == (close(0.9), close(0.7))


def test_a_mixed_rate_of_draws_weighs_rates_and_bias_too():
    found = judge_agreement(
        [1, 1, 0, 0], [1, 0, 0, 1], categories=VERDICTS, weights=[3, 1, 3, 1], boot=50
    )
    assert found.exact.est == close(0.75)
    assert found.bias.est == close(0.0)
    assert found.mean_distance == close(0.25)


# --- what is not there, and why -------------------------------------------------------------


def test_no_variation_leaves_the_coefficients_out_and_says_so():
    found = judge_agreement([3] * 12, [3] * 12, categories=range(1, 6))
    assert found.kappa is None
    assert found.alpha is None
    assert found.kappa_linear is None
    assert found.spearman is None
    assert found.kendall_b is None
    assert found.reasons["kappa"] == found.reasons["alpha"] == "no variation"
    assert found.exact.est == 1.0


def test_a_constant_judge_has_no_agreement_beyond_chance():
    found = judge_agreement([1] * 40, [1] * 30 + [0] * 10, categories=VERDICTS)
    assert found.kappa.est == 0.0
    assert found.npv is None
    assert found.reasons["right_when.0"] == "no such value"
    assert found.constant.exact == found.exact.est


def test_too_few_of_one_verdict_give_neither_kappa_nor_its_rate():
    found = of_table([[4, 0], [0, 40]], VERDICTS)
    assert found.kappa is None
    assert found.specificity is None
    assert found.balanced is None
    assert "fewer than 5" in found.reasons["kappa"]
    assert "fewer than 5" in found.reasons["found_when.0"]
    assert found.sensitivity.est == 1.0


def test_five_of_each_verdict_are_enough():
    assert of_table([[5, 0], [0, 5]], VERDICTS).kappa.est == 1.0


def test_a_perfect_run_is_not_a_perfect_judge():
    found = of_table([[20, 0], [0, 40]], VERDICTS)
    assert found.kappa.est == 1.0
    assert found.exact.lo < 0.96
    assert found.warnings == ("no disagreement in 60 labels still allows about 5 % of it",)


def test_ratings_have_no_rates_of_a_verdict():
    found = of_table(ORDINAL, range(1, 6))
    assert not found.verdict
    rates = (found.sensitivity, found.specificity, found.ppv, found.npv, found.balanced)
    assert rates == (None,) * 5
    assert found.right_when[2].est == close(6 / 10)
    assert found.found_when[2].est == close(6 / 11)


def test_a_rate_seen_in_one_persona_only_is_left_out_with_its_reason():
    judge, human = [1, 1, 0, 0, 1, 1], [1, 1, 0, 0, 1, 0]
    found = judge_agreement(judge, human, categories=VERDICTS, cluster=list("aabbcc"))
    assert found.npv is None
    assert found.reasons["right_when.0"] == "fewer than 2 personas with it"


@pytest.mark.parametrize(
    ("judge", "human", "error"),
    [
        ([1, 2], [1], ShapeError),
        ([1, 6], [1, 2], ShapeError),
        ([1, 2], [1, 2.5], ShapeError),
        ([1, np.nan], [1, 2], MissingScoreError),
        ([], [], ShapeError),
        ([1], [1], TooFewClusters),
    ],
    ids=["length", "outside", "between", "missing", "empty", "single"],
)
def test_wrong_input_is_refused(judge, human, error):
    with pytest.raises(error):
        judge_agreement(judge, human, categories=range(1, 6))


@pytest.mark.parametrize("weights", [[1, 0], [1, -1], [1], [1, np.inf]])
def test_weights_must_be_above_zero_and_one_for_each_row(weights):
    with pytest.raises(ShapeError):
        judge_agreement([1, 2], [1, 2], categories=[1, 2], weights=weights)


# --- clusters -------------------------------------------------------------------------------


def test_few_personas_are_said_and_get_the_interval_of_the_jackknife():
    judge, human = unfolded(ORDINAL, range(1, 6))
    persona = np.arange(40) % 8
    found = judge_agreement(judge, human, categories=range(1, 6), cluster=persona)
    assert found.n_clusters == 8
    assert found.kappa.warnings == ("only 8 personas",)
    assert found.kappa.method == "quadratic kappa, cluster jackknife"
    assert of_table(ORDINAL, range(1, 6)).kappa.method == "quadratic kappa, cluster BCa"


def test_every_row_twice_in_the_same_personas_changes_no_interval():
    judge, human = unfolded(ORDINAL, range(1, 6))
    persona = np.arange(40) % 20
    once = judge_agreement(judge, human, categories=range(1, 6), cluster=persona)
    twice = judge_agreement(
        np.tile(judge, 2), np.tile(human, 2), categories=range(1, 6), cluster=np.tile(persona, 2)
    )
    assert (twice.kappa.lo, twice.kappa.hi) == pytest.approx((once.kappa.lo, once.kappa.hi))
    assert twice.bias.se == pytest.approx(once.bias.se)


def test_the_seed_fixes_the_interval():
    one, same, other = (of_table(ORDINAL, range(1, 6), seed=s).kappa for s in (1, 1, 2))
    assert one == same
    assert one.est == other.est
    assert one.lo != other.lo


# --- properties -----------------------------------------------------------------------------

pairs_of_ratings = st.lists(
    st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=2, max_size=40
).map(lambda rows: tuple(np.array(column, dtype=float) for column in zip(*rows, strict=True)))


def values(found):
    estimates = (found.kappa, found.ac2, found.alpha, found.exact, found.within_one)
    plain = (found.kappa_linear, found.ac2_linear, found.spearman, found.kendall_b)
    return [e and pytest.approx(e.est, abs=1e-9) for e in estimates] + [
        v if v is None else pytest.approx(v, abs=1e-9) for v in plain
    ]


@given(pairs_of_ratings)
@settings(max_examples=60, deadline=None)
def test_coefficients_agree_with_scipy_and_statsmodels(rows):
    judge, human = rows
    found = judge_agreement(judge, human, categories=range(1, 6), boot=20)
    table = np.zeros((5, 5))
    np.add.at(table, (human.astype(int) - 1, judge.astype(int) - 1), 1)
    if found.kappa is not None:
        oracle = cohens_kappa(table, wt="fc", return_results=False)
        assert found.kappa.est == pytest.approx(oracle, abs=1e-9)
    if np.ptp(judge) and np.ptp(human):
        assert found.spearman == pytest.approx(stats.spearmanr(judge, human)[0], abs=1e-9)
        assert found.kendall_b == pytest.approx(stats.kendalltau(judge, human)[0], abs=1e-9)


@given(pairs_of_ratings, st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_the_order_of_rows_does_not_matter(rows, rng):
    judge, human = rows
    order = list(range(len(judge)))
    rng.shuffle(order)
    one = judge_agreement(judge, human, categories=range(1, 6), boot=20)
    other = judge_agreement(judge[order], human[order], categories=range(1, 6), boot=20)
    assert values(one) == values(other)


@given(pairs_of_ratings)
@settings(max_examples=40, deadline=None)
def test_turning_the_scale_round_turns_the_bias_and_nothing_else(rows):
    judge, human = rows
    one = judge_agreement(judge, human, categories=range(1, 6), boot=20)
    other = judge_agreement(6 - judge, 6 - human, categories=range(1, 6), boot=20)
    assert values(one) == values(other)
    assert other.bias.est == pytest.approx(-one.bias.est, abs=1e-9)


@given(pairs_of_ratings, st.integers(2, 4))
@settings(max_examples=40, deadline=None)
def test_a_weight_of_k_is_the_row_k_times(rows, k):
    judge, human = rows
    heavy = np.where(np.arange(len(judge)) % 2 == 0, k, 1)
    weighted = judge_agreement(judge, human, categories=range(1, 6), weights=heavy, boot=20)
    repeated = judge_agreement(
        np.repeat(judge, heavy), np.repeat(human, heavy), categories=range(1, 6), boot=20
    )
    # Alpha also knows how many labels there are, which weights do not change.
    kept = [i for i in range(9) if i != 2]
    assert [values(weighted)[i] for i in kept] == [values(repeated)[i] for i in kept]
