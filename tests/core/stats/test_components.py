import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from hypothesis import given, settings
from hypothesis import strategies as st

from core.stats.components import variance_components
from core.stats.types import Degenerate, ShapeError

# Ten dialogues by three annotators; published with its golden values.
ITEMS = ["443", "232", "554", "333", "121", "454", "343", "222", "555", "342"]
THREE = np.array([[float(c) for c in item] for item in ITEMS]).T


def close(value: float):
    return pytest.approx(value, abs=5e-7)


def gapped(table, share, seed):
    given = np.random.default_rng(seed).random(table.shape) >= share
    return np.where(given, table, np.nan)


def spread(items, raters, sds, seed):
    """Ratings made of dialogue, annotator and the rest, with the given standard deviations."""
    rng = np.random.default_rng(seed)
    parts = (rng.normal(0, sd, size) for sd, size in zip(
        sds, ((1, items), (raters, 1), (raters, items)), strict=True))  # fmt: skip
    return 3 + sum(parts)


def residual(y, *designs):
    """Sum of squares that a least squares fit leaves."""
    x = np.column_stack([np.ones(len(y)), *designs])
    return float(((y - x @ np.linalg.lstsq(x, y, rcond=None)[0]) ** 2).sum())


def test_reliabilities_have_their_golden_values():
    found = variance_components(THREE)
    assert found.absolute() == close(0.818386)
    assert found.consistency() == close(0.899015)
    assert found.absolute(3) == close(0.931122)
    assert found.absolute(2) == close(0.900123)
    assert (found.balanced, found.method) == (True, "analysis of variance")


def test_more_dialogues_do_not_make_three_annotators_more_than_three():
    found = variance_components(THREE)
    assert found.mean_se(100, raters=3) == pytest.approx(0.2538, abs=5e-5)
    assert found.mean_se(100) == pytest.approx(0.1226, abs=5e-5)
    floor = (found.rater / 3) ** 0.5
    assert found.mean_se(1_000_000, raters=3) == pytest.approx(floor, rel=1e-3)


def test_balanced_components_are_those_of_restricted_likelihood():
    raters, items = np.indices(THREE.shape)
    frame = pd.DataFrame({"y": THREE.ravel(), "rater": raters.ravel(), "item": items.ravel()})
    frame["one"] = 1
    crossed = {"item": "0 + C(item)", "rater": "0 + C(rater)"}
    fit = smf.mixedlm("y ~ 1", frame, groups="one", vc_formula=crossed).fit()
    found = variance_components(THREE)
    assert (found.item, found.rater) == pytest.approx(tuple(fit.vcomp), rel=2e-3)
    assert found.noise == pytest.approx(fit.scale, rel=2e-3)


@given(st.integers(0, 10_000), st.floats(0.05, 0.5))
@settings(max_examples=40, deadline=None)
def test_sums_of_squares_are_those_of_least_squares_whatever_is_missing(seed, share):
    table = gapped(spread(12, 4, (1.0, 0.4, 0.6), seed), share, seed)
    try:
        found = variance_components(table)
    except Degenerate:
        return
    raters, items = np.nonzero(~np.isnan(table))
    y = table[raters, items]
    by_rater, by_item = np.eye(4)[raters], np.eye(12)[items]
    both = residual(y, by_rater, by_item)
    # With gaps the design may fall apart; then what is between its parts is nobody's.
    rank = np.linalg.matrix_rank(np.column_stack([by_rater, by_item]))
    assert found.ms_noise == pytest.approx(both / (len(y) - rank), abs=1e-8)
    assert found.ms_rater == pytest.approx(
        (residual(y, by_item) - both) / (rank - found.n_items), abs=1e-8
    )
    assert found.ms_item == pytest.approx(
        (residual(y, by_rater) - both) / (rank - found.n_raters), abs=1e-8
    )


def test_components_of_ratings_with_gaps_are_unbiased():
    truth = (1.0, 0.25, 0.49)
    runs = [
        variance_components(gapped(spread(30, 6, (1.0, 0.5, 0.7), seed), 0.5, seed))
        for seed in range(400)
    ]
    for name, value in zip(("item", "rater", "noise"), truth, strict=True):
        found = np.array([getattr(run, name) for run in runs])
        error = found.std(ddof=1) / len(found) ** 0.5
        assert abs(found.mean() - value) < 4 * error, name
    assert not runs[0].balanced
    assert "not all rated all" in runs[0].method


def test_a_variance_below_zero_is_zero_and_said():
    same_mean = np.array([[1.0, 4.0, 2.0, 3.0], [4.0, 1.0, 3.0, 2.0]])
    found = variance_components(same_mean)
    assert (found.item, found.rater) == (0.0, 0.0)
    assert len(found.warnings) == 2
    assert "dialogues came out below 0" in "".join(found.warnings)


def test_annotators_and_dialogues_without_a_label_are_not_there():
    wide = np.full((4, 12), np.nan)
    wide[:3, :10] = THREE
    assert variance_components(wide) == variance_components(THREE)


@pytest.mark.parametrize(
    "table",
    [np.full((2, 3), np.nan), [[1, np.nan], [np.nan, 2]], [[1, 2, 3]]],
    ids=["empty", "nothing-shared", "one-annotator"],
)
def test_what_cannot_be_told_apart_is_refused(table):
    with pytest.raises(Degenerate):
        variance_components(table)


def test_a_list_is_no_table():
    with pytest.raises(ShapeError):
        variance_components([1.0, 2.0])
