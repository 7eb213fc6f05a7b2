import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.stats.design import (
    allocate,
    bounded_shares,
    detectable_difference,
    optimal_shares,
    plan_reviews,
    sample_size,
)
from core.stats.types import NotProbabilitySample, ShapeError, TooFewLabels

U = [0.1, 0.2, 0.4, 0.8, 1.5, 3]
PRN = [0.05, 0.3, 0.31, 0.5, 0.95, 0.2]
ROWS, SPREAD, MINUTES = [1200, 600, 200], [0.15, 0.35, 0.48], [2, 3, 5]


def close(value: float):
    return pytest.approx(value, abs=5e-7)


def strata() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """u, stratum and minutes of the 2,000 rows of the published example."""
    code = np.repeat([0, 1, 2], ROWS)
    return np.array(SPREAD)[code], code, np.array(MINUTES, dtype=float)[code]


def spaced(n: int) -> np.ndarray:
    return (np.arange(n) * 0.6180339887498949) % 1


def test_probabilities_follow_u_up_to_one():
    found = plan_reviews(U, PRN, budget=3, floor=0).pi
    assert found == close([0.066667, 0.133333, 0.266667, 0.533333, 1, 1])


def test_a_floor_leaves_every_row_a_chance():
    found = plan_reviews(U, PRN, budget=3).pi
    assert found == close([0.153333, 0.206667, 0.313333, 0.526667, 0.9, 0.9])


def test_a_row_is_drawn_when_its_number_lies_below_its_probability():
    found = plan_reviews(U, PRN, budget=3)
    assert found.selected.tolist() == [True, False, True, True, False, True]
    assert found.n_h == close([3.0])


def test_raising_the_budget_only_adds_rows():
    u, prn = np.linspace(0.1, 1, 200), spaced(200)
    first = plan_reviews(np.ones(200), prn, budget=20)
    second = plan_reviews(u, prn, budget=60, pi_prev=first.pi)
    assert (second.pi >= first.pi).all()
    assert second.selected[first.selected].all()
    assert second.selected.sum() > first.selected.sum()


def test_equal_strata_have_the_neyman_numbers_rounded_and_their_standard_error():
    u, code, _ = strata()
    found = plan_reviews(u, spaced(2000), budget=100, stratum=code)
    assert found.n_h == close([37, 43, 20])
    assert found.expected_se == pytest.approx(0.023534, abs=2e-6)
    assert found.stratum == ("0", "1", "2")


def test_optimal_shares_are_neymans_and_with_minutes_the_cheapest():
    assert 100 * optimal_shares(ROWS, SPREAD) == pytest.approx([37.037, 43.210, 19.753], abs=5e-4)
    shares = optimal_shares(ROWS, SPREAD, minutes=MINUTES)
    cheapest = 300 / (shares @ MINUTES) * shares
    assert cheapest == close([45.841516, 43.667682, 15.462784])


def se_of(n_h) -> float:
    n_h, rows, sd = (np.asarray(x, dtype=float) for x in (n_h, ROWS, SPREAD))
    return float(np.sqrt(((rows / 2000) ** 2 * sd**2 * (1 / n_h - 1 / rows)).sum()))


def test_the_expected_standard_error_is_the_stratified_one():
    # Proportional to size: every stratum of the same u per row and the same minutes.
    u, code, _ = strata()
    share = [60, 30, 10]
    pi = np.array([n / rows for n, rows in zip(share, ROWS, strict=True)])[code]
    found = plan_reviews(u, spaced(2000), budget=6, floor=1, stratum=code, pi_prev=pi)
    assert found.n_h == close(share)
    assert found.expected_se == close(0.026387)
    assert se_of(share) == close(0.026387)
    assert se_of([45.841516, 43.667682, 15.462784]) == close(0.023271)


def test_minutes_spent_as_neyman_says_for_equal_minutes_buy_less_than_the_cheapest_plan():
    neyman = optimal_shares(ROWS, SPREAD)
    assert se_of(100 * neyman) == close(0.023534)
    assert se_of(300 / (neyman @ MINUTES) * neyman) == close(0.023637)


def test_the_value_per_minute_is_higher_where_a_proportional_plan_is_thin():
    u, code, minutes = strata()
    n_h = 300 / 260 * np.array([60, 30, 10])
    found = plan_reviews(
        u,
        spaced(2000),
        budget=6,
        floor=1,
        stratum=code,
        minutes=minutes,
        pi_prev=(n_h / ROWS)[code],
    )
    assert found.value_per_minute == pytest.approx([0.845e-6, 3.067e-6, 3.461e-6], abs=5e-10)
    assert found.expected_se == close(0.024465)


def test_at_the_optimum_a_minute_is_worth_the_same_everywhere():
    u, code, minutes = strata()
    n_h = np.array([45.841516, 43.667682, 15.462784])
    found = plan_reviews(
        u,
        spaced(2000),
        budget=6,
        floor=1,
        stratum=code,
        minutes=minutes,
        pi_prev=(n_h / ROWS)[code],
    )
    assert found.value_per_minute == pytest.approx([1.927246e-06] * 3, abs=5e-13)


def test_each_stratum_gets_five_reviews_where_the_budget_allows_and_else_two():
    assert allocate([1000, 1], [1000, 1000], 100).tolist() == [95, 5]
    assert allocate([1000, 1], [1000, 1000], 8).tolist() == [6, 2]
    assert allocate([1, 1], [1, 50], 20).tolist() == [1, 19]


def test_water_that_a_full_row_cannot_take_goes_to_the_others():
    found = bounded_shares(np.array([9.0, 1.0, 1.0]), 2.0, np.zeros(3), np.ones(3))
    assert found == close([1, 0.5, 0.5])


def test_rows_without_expected_error_are_drawn_alike_when_there_is_no_other():
    assert plan_reviews([0, 0, 0, 0], [0.1, 0.2, 0.3, 0.4], budget=2, floor=0).pi == close(
        [0.5] * 4
    )


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"budget": 7}, ShapeError),
        ({"budget": 0}, ShapeError),
        ({"u": [-0.1, 1, 1, 1, 1, 1]}, ShapeError),
        ({"u": [float("nan"), 1, 1, 1, 1, 1]}, ShapeError),
        ({"prn": [0.1]}, ShapeError),
        ({"prn": [1.0] * 6}, ShapeError),
        ({"minutes": [0] * 6}, ShapeError),
        ({"pi_prev": [1.1] * 6}, ShapeError),
        ({"floor": 1.1}, ShapeError),
        ({"stratum": ["a"]}, ShapeError),
        ({"stratum": list("aabbcc"), "budget": 5}, TooFewLabels),
        ({"floor": 0, "u": [0, 1, 1, 1, 1, 1]}, NotProbabilitySample),
    ],
)
def test_a_plan_that_cannot_be_is_refused(change, error):
    given_ = {"u": U, "prn": PRN, "budget": 3} | change
    with pytest.raises(error):
        plan_reviews(given_.pop("u"), given_.pop("prn"), **given_)


@settings(max_examples=60, deadline=None)
@given(
    u=st.lists(st.floats(0, 10), min_size=8, max_size=60),
    share=st.floats(0.2, 1),
    floor=st.floats(0.01, 1),
    groups=st.integers(1, 2),
)
def test_the_expected_number_of_reviews_is_the_budget(u, share, floor, groups):
    budget = max(4, int(share * len(u)))
    found = plan_reviews(
        u, spaced(len(u)), budget=budget, floor=floor, stratum=np.arange(len(u)) % groups
    )
    assert found.pi.sum() == pytest.approx(budget, rel=1e-9)
    assert (found.pi > 0).all()
    assert (found.pi <= 1).all()


# --- sample sizes ---------------------------------------------------------------------------

DISCORDANT = (0.30 - 0.08**2) ** 0.5


@pytest.mark.parametrize(
    ("rho", "n"), [(0, 300.785), (0.5, 234.402), (0.7, 165.604), (0.85, 93.643)]
)
def test_a_half_width_needs_fewer_reviews_the_better_the_judge(rho, n):
    found = sample_size(half_width=0.05, sd=0.48, rho=rho, N=2000)
    # The published figures use 1.96 for the normal quantile.
    assert found.exact == pytest.approx(n, rel=5e-5)
    assert found.n == int(n) + 1


@pytest.mark.parametrize(
    ("more", "n"), [({}, 450.08), ({"comparisons": 3}, 600.34), ({"rho": 0.6}, 288.05)]
)
def test_a_difference_of_verdicts_needs_its_pairs(more, n):
    found = sample_size(delta=0.08, sd=DISCORDANT, deff=1.25, **more)
    assert found.exact == pytest.approx(n, abs=0.005)


def test_a_difference_of_ratings_needs_its_pairs_and_fewer_personas():
    found = sample_size(delta=0.2, sd=0.9, deff=1.25)
    assert found.exact == pytest.approx(198.67, abs=0.005)
    assert (found.n, found.n_clusters) == (199, 159)
    assert found.minutes(2.5) == 497.5


def test_without_a_design_effect_the_formula_is_the_normal_one():
    assert sample_size(delta=0.08, sd=DISCORDANT).exact == pytest.approx(360.07, abs=0.005)


def test_two_hundred_pairs_find_a_difference_of_twelve_points():
    assert detectable_difference(200, sd=DISCORDANT, deff=1.25) == close(0.120011)


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"half_width": 0.1, "delta": 0.1},
        {"half_width": 0.0},
        {"delta": 0.0},
        {"delta": 0.1, "sd": 0},
        {"delta": 0.1, "deff": 0},
        {"delta": 0.1, "rho": 1},
        {"delta": 0.1, "power": 1},
        {"delta": 0.1, "comparisons": 0},
        {"half_width": 0.1, "N": 0},
    ],
)
def test_a_sample_size_without_one_clear_target_is_refused(wrong):
    with pytest.raises(ShapeError):
        sample_size(**({"sd": 0.5} | wrong))


def test_a_detectable_difference_needs_two_pairs():
    with pytest.raises(ShapeError):
        detectable_difference(1, sd=1)
