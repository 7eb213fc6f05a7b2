import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import false_discovery_control, permutation_test
from statsmodels.stats.multitest import multipletests

from core.stats.paired import (
    benjamini_hochberg,
    benjamini_yekutieli,
    compare_many,
    holm,
    paired_diff,
    signflip_p,
)
from core.stats.types import MissingScoreError, ShapeError, TooFewClusters


def digits(text: str) -> np.ndarray:
    return np.array([int(c) for c in text.replace(" ", "")], dtype=float)


A = digits("1101 1001 1111 0001 1101 1111 0100 1101 1110 1001 1111 0101")
B = digits("1111 1101 1111 0101 1111 1110 1101 1111 1111 1001 1111 0111")
C = A.copy()
C[[0, 9, 17, 26, 36]] = 1 - C[[0, 9, 17, 26, 36]]
NATURAL_A = digits("4334 3234 5445 2213 4434 5544 2322 4334 4453 3223 5445 2323")
NATURAL_B = digits("4435 4334 5545 3323 4544 5543 3323 4444 5454 3233 5545 3334")
PERSONA = np.repeat(np.arange(12), 4)
P = [0.003, 0.012, 0.021, 0.04, 0.26, 0.6]


def close(value: float):
    return pytest.approx(value, abs=5e-7)


def test_paired_completion_has_its_golden_values():
    found = paired_diff(A, B, cluster=PERSONA)
    assert found.estimate.est == close(0.166667)
    assert found.estimate.se == close(0.056183)
    assert (found.estimate.lo, found.estimate.hi) == (close(0.043008), close(0.290325))
    assert found.t == close(2.966479)
    assert found.p_t == close(0.012826)
    assert found.p_signflip == close(0.035156)
    assert (found.wins, found.losses, found.ties) == (9, 1, 38)


def test_paired_naturalness_has_its_golden_values():
    found = paired_diff(NATURAL_A, NATURAL_B, cluster=PERSONA)
    assert found.estimate.est == close(0.416667)
    assert found.estimate.se == close(0.077443)
    assert (found.estimate.lo, found.estimate.hi) == (close(0.246215), close(0.587118))
    assert found.p_t == close(0.000223)
    assert found.p_signflip == 5 / 2**11
    assert found.superiority.est == close(0.708333)
    assert (found.superiority.lo, found.superiority.hi) == (close(0.623107), close(0.793559))


def test_the_paired_difference_agrees_with_statsmodels():
    oracle = sm.OLS(NATURAL_B - NATURAL_A, np.ones(48)).fit(
        cov_type="cluster", cov_kwds={"groups": PERSONA}, use_t=True
    )
    found = paired_diff(NATURAL_A, NATURAL_B, cluster=PERSONA)
    assert found.t == pytest.approx(oracle.tvalues[0], rel=1e-9)
    assert found.p_t == pytest.approx(oracle.pvalues[0], rel=1e-7)


def test_the_sign_flip_test_agrees_with_scipy():
    sums = np.bincount(PERSONA, weights=B - A)
    oracle = permutation_test((sums,), np.sum, permutation_type="samples", n_resamples=np.inf)
    assert signflip_p(sums[:, None])[0] == pytest.approx(oracle.pvalue, abs=1e-12)


def test_a_sampled_sign_flip_test_is_near_the_exact_one_and_the_same_for_a_seed():
    # One persona more than can be gone through whole, with no difference of its own.
    y_a, y_b = np.append(A, [0] * 6), np.append(B, [0] * 6)
    persona = np.append(PERSONA, np.arange(12, 18))
    found = paired_diff(y_a, y_b, cluster=persona, seed=1)
    assert found.p_signflip == pytest.approx(0.035156, abs=0.003)
    assert found == paired_diff(y_a, y_b, cluster=persona, seed=1)
    assert found.p_signflip != paired_diff(y_a, y_b, cluster=persona, seed=2).p_signflip


def test_max_t_over_all_pairs_has_its_golden_values():
    found = compare_many(np.column_stack([A, B, C]), cluster=PERSONA, method="maxt")
    assert [(r.a, r.b) for r in found] == [(0, 1), (0, 2), (1, 2)]
    assert [abs(r.diff.t) for r in found] == [close(2.966479), close(1.393261), close(4.004516)]
    assert [r.diff.p_signflip for r in found] == [close(0.035156), 0.375, close(0.009766)]
    assert [r.p_adjusted for r in found] == [close(0.036133), close(0.482422), close(0.010742)]


def test_holm_over_all_pairs_has_its_golden_values():
    found = compare_many(np.column_stack([A, B, C]), cluster=PERSONA, method="holm")
    assert [r.p_adjusted for r in found] == [9 / 2**7, 0.375, 15 / 2**9]


def test_comparing_with_the_baseline_takes_the_first_column_only():
    found = compare_many(np.column_stack([A, B, C]), cluster=PERSONA, pairs="baseline", method="bh")
    assert [(r.a, r.b) for r in found] == [(0, 1), (0, 2)]
    assert [r.p_adjusted for r in found] == [9 / 2**7, 0.375]


def test_equal_columns_have_t_zero_and_p_one():
    found = compare_many(np.column_stack([A, A, B]), cluster=PERSONA)
    same = found[0]
    assert (same.diff.t, same.diff.p_signflip, same.p_adjusted) == (0.0, 1.0, 1.0)
    assert (same.diff.estimate.lo, same.diff.estimate.hi) == (0.0, 0.0)


def test_a_constant_gain_is_certain_within_what_the_personas_allow():
    found = paired_diff(A, A + 1, cluster=PERSONA)
    assert found.t == np.inf
    assert found.p_t == 0
    assert found.p_signflip == 2 / 2**12


def test_adjusted_p_values_have_their_golden_values_and_agree_with_the_libraries():
    assert holm(P) == pytest.approx([0.018, 0.06, 0.084, 0.12, 0.52, 0.6])
    assert benjamini_hochberg(P) == pytest.approx([0.018, 0.036, 0.042, 0.06, 0.312, 0.6])
    shuffled = [P[i] for i in (3, 0, 5, 1, 4, 2)]
    assert holm(shuffled) == pytest.approx(multipletests(shuffled, method="holm")[1])
    assert benjamini_hochberg(shuffled) == pytest.approx(false_discovery_control(shuffled))


@pytest.mark.parametrize(
    ("y_a", "y_b", "cluster", "fault"),
    [
        ([1, 2], [1], [0, 1], ShapeError),
        ([], [], [], ShapeError),
        ([1, np.nan], [1, 2], [0, 1], MissingScoreError),
        ([1, 2], [np.nan, 2], [0, 1], MissingScoreError),
        ([1, 2], [2, 2], [0, 0], TooFewClusters),
        ([1, 2], [2, 2], [0], ShapeError),
    ],
)
def test_what_cannot_be_paired_is_refused(y_a, y_b, cluster, fault):
    with pytest.raises(fault):
        paired_diff(y_a, y_b, cluster=cluster)


def test_a_family_needs_two_columns_and_whole_rows():
    with pytest.raises(ShapeError):
        compare_many(A[:, None], cluster=PERSONA)
    with pytest.raises(MissingScoreError):
        compare_many(np.column_stack([A, np.where(B == 1, np.nan, B)]), cluster=PERSONA)


@pytest.mark.parametrize("wrong", [[-0.1, 0.5], [0.5, 1.1]])
def test_a_p_outside_0_to_1_is_refused(wrong):
    for adjust in (holm, benjamini_hochberg):
        with pytest.raises(ShapeError):
            adjust(wrong)


pairs = st.lists(
    st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(0, 5)), min_size=2, max_size=40
).filter(lambda rows: len({g for *_, g in rows}) > 1)


@given(pairs)
@settings(deadline=None, max_examples=40)
def test_swapping_the_arms_turns_every_sign(rows):
    a, b, g = (np.array(column) for column in zip(*rows, strict=True))
    one, other = paired_diff(a, b, cluster=g), paired_diff(b, a, cluster=g)
    assert one.estimate.est == pytest.approx(-other.estimate.est)
    assert one.estimate.lo == pytest.approx(-other.estimate.hi)
    assert one.p_signflip == other.p_signflip
    assert (one.wins, one.losses, one.ties) == (other.losses, other.wins, other.ties)
    assert one.superiority.est == pytest.approx(1 - other.superiority.est)


@given(pairs, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=40)
def test_the_order_of_pairs_does_not_matter(rows, random):
    a, b, g = (np.array(column) for column in zip(*rows, strict=True))
    random.shuffle(rows)
    a2, b2, g2 = (np.array(column) for column in zip(*rows, strict=True))
    one, other = paired_diff(a, b, cluster=g), paired_diff(a2, b2, cluster=g2)
    assert one.estimate.est == pytest.approx(other.estimate.est)
    assert one.estimate.se == pytest.approx(other.estimate.se, abs=1e-7)
    assert one.p_signflip == other.p_signflip


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
@settings(deadline=None, max_examples=40)
def test_adjusting_never_makes_a_p_smaller(p):
    for adjust in (holm, benjamini_hochberg):
        adjusted = adjust(p)
        assert all(new >= old - 1e-12 for new, old in zip(adjusted, p, strict=True))
        assert adjusted.max() <= 1


def test_the_net_win_rate_is_wins_minus_losses():
    found = paired_diff(A, B, cluster=PERSONA)
    net = found.net_win_rate
    # For verdicts the difference of an item is its win, tie or loss.
    assert net.est == close(8 / 48)
    assert (net.se, net.lo, net.hi) == (close(0.056183), close(0.043008), close(0.290325))


def test_benjamini_and_yekutieli_agrees_with_scipy():
    assert benjamini_yekutieli(P) == close(false_discovery_control(P, method="by"))
