import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.meta_analysis import combine_effects

from core.stats.slices import slice_report
from core.stats.types import ShapeError

EST = np.array([0.71, 0.74, 0.69, 0.58, 0.40, 0.63])
SE = np.array([0.035, 0.032, 0.040, 0.055, 0.150, 0.090])
MANY = np.full(6, 100)


def close(value):
    return pytest.approx(value, abs=5e-7)


def report(est=EST, se=SE, n=MANY, personas=MANY, **more):
    return slice_report(est, se, n, personas, **more)


def test_slices_are_shrunk_to_their_golden_values():
    found = report()
    assert found.mu == close(0.666384)
    assert found.tau2 == pytest.approx(0.004775543, abs=5e-10)
    assert (found.q, found.q_p) == (close(10.925416), close(0.052879))
    assert found.shrunk == close([0.701096, 0.727002, 0.684073, 0.613499, 0.619744, 0.652889])
    assert found.sd == close([0.032115, 0.029756, 0.035829, 0.045338, 0.069720, 0.059500])
    assert found.raw is not found.shrunk
    assert found.raw == close(EST)


def test_the_gap_to_the_rest_has_its_golden_values():
    found = report()
    assert found.z == close([0.575322, 1.804244, -0.082152, -2.180243, -1.967804, -0.714314])
    assert found.p == close([0.565074, 0.071193, 0.934525, 0.029239, 0.049091, 0.475033])
    assert found.p_adjusted == close([0.678089, 0.142386, 0.934525, 0.142386, 0.142386, 0.678089])


def test_dersimonian_and_laird_has_its_golden_value():
    assert report(method="dl").tau2 == pytest.approx(0.002713669, abs=5e-10)


def test_both_variances_agree_with_statsmodels():
    for method, theirs in (("dl", "chi2"), ("pm", "iterated")):
        oracle = combine_effects(EST, SE**2, method_re=theirs, atol=1e-14)
        assert report(method=method).tau2 == pytest.approx(oracle.tau2, rel=1e-6)


def test_overlapping_and_protected_slices_are_adjusted_more():
    plain, overlapping, protected = (report(fdr=how) for how in ("bh", "by", "holm"))
    # 1 + 1/2 + ... + 1/6 = 2.45, and no p is above 1.
    assert overlapping.p_adjusted == close(np.minimum(plain.p_adjusted * 2.45, 1))
    assert protected.p_adjusted[3] == close(6 * plain.p[3])


def test_a_slice_with_few_personas_or_reviews_is_listed_and_left_out():
    n, personas = MANY.copy(), MANY.copy()
    n[4], personas[5] = 19, 9
    found = report(n=n, personas=personas)
    assert found.too_few.tolist() == [False] * 4 + [True, True]
    assert np.isnan(found.shrunk[4:]).all()
    assert np.isnan(found.p_adjusted[4:]).all()
    rest = slice_report(EST[:4], SE[:4], n[:4], personas[:4])
    assert found.shrunk[:4] == close(rest.shrunk)
    assert found.p_adjusted[:4] == close(rest.p_adjusted)
    assert found.warnings == ("only 4 slices: how far to shrink is uncertain",)


def test_a_slice_too_small_to_have_an_estimate_may_be_missing():
    n = MANY.copy()
    n[0] = 1
    found = report(est=np.append(math.nan, EST[1:]), n=n)
    assert found.left_out.tolist() == [True] + [False] * 5
    with pytest.raises(ShapeError):
        report(est=np.append(math.nan, EST[1:]))


def test_three_slices_are_not_shrunk():
    found = slice_report(EST[:3], SE[:3], MANY[:3], MANY[:3])
    assert found.shrunk == close(EST[:3])
    assert found.warnings == ("fewer than 4 slices with enough reviews: nothing is shrunk",)


def test_one_usable_slice_has_nothing_to_be_compared_with():
    n = MANY.copy()
    n[1:] = 3
    found = report(n=n)
    assert found.shrunk[0] == EST[0]
    assert np.isnan(found.z).all()
    assert np.isnan(found.p_adjusted).all()


def test_a_slice_without_variation_is_left_out_and_counted():
    se = SE.copy()
    se[1] = 0.0
    found = report(se=se)
    assert found.left_out.tolist() == [False, True, False, False, False, False]
    assert "1 slices without any variation are left out" in found.warnings


def test_slices_that_do_not_differ_are_all_drawn_to_one_value():
    found = slice_report([0.5] * 5, [0.1] * 5, [50] * 5, [20] * 5)
    assert found.tau2 == 0
    assert found.shrunk == close([0.5] * 5)


@pytest.mark.parametrize(
    "wrong",
    [
        ([0.5], [0.1], [50], [20]),
        ([0.5, 0.6], [0.1], [50, 50], [20, 20]),
        ([0.5, 0.6], [0.1, -0.1], [50, 50], [20, 20]),
        ([[0.5, 0.6]], [[0.1, 0.1]], [[50, 50]], [[20, 20]]),
    ],
)
def test_slices_that_do_not_fit_together_are_refused(wrong):
    with pytest.raises(ShapeError):
        slice_report(*wrong)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(0.01, 2)), min_size=4, max_size=20))
def test_a_shrunken_value_lies_between_its_own_and_the_common_one(pairs):
    est, se = np.array(pairs).T
    found = slice_report(est, se, np.full(len(est), 50), np.full(len(est), 20))
    low, high = np.minimum(est, found.mu), np.maximum(est, found.mu)
    assert (found.shrunk >= low - 1e-9).all()
    assert (found.shrunk <= high + 1e-9).all()
    assert (found.p_adjusted >= found.p - 1e-12).all()
