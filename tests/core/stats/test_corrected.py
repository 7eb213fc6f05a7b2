import math

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

from core.stats.corrected import corrected_difference, corrected_mean, own_stratum
from core.stats.types import (
    MissingScoreError,
    NotProbabilitySample,
    ShapeError,
    TooFewClusters,
    TooFewLabels,
)


def row(text: str) -> np.ndarray:
    return np.array([math.nan if c == "." else float(c) for c in text])


# 60 dialogues of 12 personas; 24 reviewed at random, and 20 with unequal probabilities.
F = row("111111010100011111101011101010100011111110111011001111111111")
Y = row(".01.1.0001....1.11.......0.000..00..0....0....1.0..0111.....")
Y2 = row("10..1.00.1000......00....0..0..1..1....1.......1.0.0.......1")
PI = np.full(60, 0.4)
PI2 = np.where(F == 0, 0.6, 0.25)
PERSONA = np.repeat(np.arange(12), 5)


def close(value: float):
    return pytest.approx(value, abs=5e-7)


def numbers(found) -> tuple[float, float, float, float]:
    return found.estimate.est, found.estimate.se, found.estimate.lo, found.estimate.hi


def test_the_default_has_its_golden_values():
    found = corrected_mean(F, Y, PI, cluster=PERSONA)
    assert numbers(found) == (
        close(0.483754),
        close(0.080496),
        close(0.306585),
        close(0.660924),
    )
    assert found.lam == found.lam_raw == close(0.731866)
    assert (found.estimate.n, found.n_rows, found.estimate.n_clusters) == (24, 60, 12)
    assert found.estimate.df == 11


def test_the_judge_alone_and_people_alone_stand_beside_it():
    found = corrected_mean(F, Y, PI, cluster=None)
    assert found.naive.est == close(0.716667)
    assert found.human_only.est == close(0.416667)
    assert (found.human_only.lo, found.human_only.hi) == (close(0.244676), close(0.611653))


def test_plain_ppi_is_that_of_ppi_py():
    assert corrected_mean(F, Y, PI, cluster=None, lam=60 / 36, smooth=0).estimate.est == close(
        0.569444
    )


def test_without_smoothing_it_has_its_golden_values():
    found = corrected_mean(F, Y, PI, cluster=None, smooth=0)
    assert numbers(found) == (
        close(0.483754),
        close(0.089046),
        close(0.299084),
        close(0.668425),
    )
    clustered = corrected_mean(F, Y, PI, cluster=PERSONA, smooth=0)
    assert numbers(clustered) == (
        close(0.483754),
        close(0.073434),
        close(0.322127),
        close(0.645382),
    )


def test_about_these_rows_only_it_has_its_golden_values():
    bare = corrected_mean(F, Y, PI, cluster=None, smooth=0, target="finite")
    assert numbers(bare) == (
        close(0.477778),
        close(0.061546),
        close(0.350140),
        close(0.605416),
    )
    assert bare.lam == close(0.666667)
    found = corrected_mean(F, Y, PI, cluster=PERSONA, target="finite")
    assert numbers(found) == (
        close(0.477778),
        close(0.069820),
        close(0.332980),
        close(0.622576),
    )
    assert found.estimate.target == "finite"


def test_about_these_rows_it_is_the_regression_estimator_of_statsmodels():
    seen = ~np.isnan(Y)
    fit = sm.OLS(Y[seen], sm.add_constant(F[seen])).fit()
    found = corrected_mean(F, Y, PI, cluster=None, smooth=0, target="finite")
    assert found.lam == pytest.approx(fit.params[1], rel=1e-12)
    assert found.estimate.est == pytest.approx(fit.predict([[1, F.mean()]])[0], rel=1e-12)
    assert found.estimate.se == pytest.approx(math.sqrt(0.6 / 24 * fit.mse_resid), rel=1e-12)


def test_unequal_probabilities_weight_the_reviews():
    alone = corrected_mean(F, Y2, PI2, cluster=None)
    assert alone.human_only.est == close(0.483696)
    found = corrected_mean(F, Y2, PI2, cluster=None, smooth=0)
    assert numbers(found)[:2] == (close(0.457902), close(0.123584))
    assert found.lam == close(0.391149)
    ppi = corrected_mean(F, Y2, PI2, cluster=None, lam=1, smooth=0)
    assert numbers(ppi)[:2] == (close(0.417754), close(0.126213))
    default = corrected_mean(F, Y2, PI2, cluster=PERSONA)
    assert numbers(default)[:2] == (close(0.457902), close(0.119559))


def test_strata_without_the_judge_are_post_stratified():
    found = corrected_mean(F, Y2, PI2, cluster=None, stratum=F, lam=0, smooth=0)
    assert found.estimate.est == close(0.453472)
    assert found.human_only.est == close(0.453472)


def test_the_standard_error_is_the_infinitesimal_jackknife_over_personas():
    # Give each persona a weight 1 + e and see how the estimate moves with lam held.
    def weighted(weight: np.ndarray) -> float:
        seen = ~np.isnan(Y)
        w = np.where(seen, 1 / PI, 0.0) * weight
        y = np.where(seen, Y, 0.0)
        hajek = (w * y).sum() / w.sum()
        return hajek + 0.7318659 * ((weight * F).sum() / weight.sum() - (w * F).sum() / w.sum())

    e = 1e-5
    slopes = [
        (weighted(1 + e * (g == PERSONA)) - weighted(1 - e * (g == PERSONA))) / (2 * e)
        for g in range(12)
    ]
    expected = math.sqrt(12 / 11 * np.square(slopes).sum())
    found = corrected_mean(F, Y, PI, cluster=PERSONA, lam=0.7318659, smooth=0)
    assert found.estimate.se == pytest.approx(expected, rel=1e-6)


def test_effective_labels_compare_with_people_alone_by_the_same_function():
    found = corrected_mean(F, Y, PI, cluster=PERSONA)
    alone = corrected_mean(F, Y, PI, cluster=PERSONA, lam=0)
    assert found.effective_labels == close(24 * (alone.estimate.se / found.estimate.se) ** 2)
    assert alone.effective_labels == 24


def test_below_thirty_reviews_the_headline_is_people_alone_and_above_fifty_nothing_is_said():
    few = corrected_mean(F, Y, PI, cluster=PERSONA)
    assert few.headline is few.human_only
    assert few.estimate.warnings == ("only 24 reviews: the human-only estimate is the one to show",)
    many = corrected_mean(np.tile(F, 3), np.tile(Y, 3), np.tile(PI, 3), cluster=np.arange(180))
    assert many.headline is many.estimate
    assert many.estimate.warnings == ()
    some = corrected_mean(np.tile(F, 2), np.tile(Y, 2), np.tile(PI, 2), cluster=np.arange(120) % 7)
    assert some.estimate.warnings == ("only 48 reviews", "only 7 personas")


def test_a_judge_that_ranks_against_people_gets_no_weight_and_a_warning():
    found = corrected_mean(1 - F, Y, PI, cluster=PERSONA)
    assert found.lam == 0
    assert found.lam_raw == close(-0.731866)
    assert found.estimate.est == close(0.416667)
    assert "the judge ranks dialogues against people" in found.estimate.warnings


def test_a_row_that_was_sure_to_be_drawn_and_has_no_label_is_told():
    pi = PI.copy()
    pi[0] = 1.0
    found = corrected_mean(F, Y, pi, cluster=PERSONA)
    assert "1 rows that were sure to be drawn have no label" in found.estimate.warnings


# --- differences ----------------------------------------------------------------------------


def test_a_difference_goes_through_the_same_correction():
    f_a, y_a = 1 - F[::-1], np.where(np.isnan(Y), math.nan, 1 - F)
    found = corrected_difference(
        np.column_stack([f_a, F]), np.column_stack([y_a, Y]), PI, cluster=PERSONA
    )
    same = corrected_mean(F - f_a, Y - y_a, PI, cluster=PERSONA)
    assert found.estimate == same.estimate
    # Never Wilson: a difference is no rate, whatever its values happen to be.
    assert found.human_only.method == "people alone, CR1 t"


def test_a_pair_reviewed_on_one_side_is_left_out_and_counted():
    y_a = np.where(np.isnan(Y), math.nan, 0.0)
    y_a[0] = 1.0
    found = corrected_difference(
        np.column_stack([0 * F, F]), np.column_stack([y_a, Y]), PI, cluster=PERSONA
    )
    assert found.estimate.n == 24
    assert "1 pairs were reviewed on one side only and are left out" in found.estimate.warnings


# --- missing judge scores -------------------------------------------------------------------


def test_rows_without_a_judges_score_rest_on_their_own_reviews():
    f = F.copy()
    f[:10] = math.nan
    filled, stratum = own_stratum(f)
    found = corrected_mean(filled, Y, PI, cluster=PERSONA, stratum=stratum)
    again = np.where(np.isnan(f), 4.0, f)
    assert found.estimate.est == close(
        corrected_mean(again, Y, PI, cluster=PERSONA, stratum=stratum).estimate.est
    )
    alone = np.nanmean(Y[:10])
    rest = corrected_mean(F[10:], Y[10:], PI[10:], cluster=None, lam=found.lam).estimate.est
    assert found.estimate.est == close((10 * alone + 50 * rest) / 60)
    assert found.naive.est == close(F[10:].mean())


def test_rows_without_a_score_keep_the_strata_of_the_others():
    _, stratum = own_stratum([1.0, math.nan, 0.0], ["books", "books", "alarm"])
    assert stratum.tolist() == ["books", "no judge score", "alarm"]
    with pytest.raises(ShapeError):
        own_stratum([1.0, math.nan], ["books"])
    with pytest.raises(MissingScoreError):
        own_stratum([math.nan, math.nan])


# --- refusals -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"f": F[:-1]}, ShapeError),
        ({"f": np.array([]), "y": np.array([]), "pi": np.array([])}, ShapeError),
        ({"f": np.where(F == 0, math.nan, F)}, MissingScoreError),
        ({"pi": np.where(F == 0, 0.0, 0.4)}, NotProbabilitySample),
        ({"pi": np.where(F == 0, math.nan, 0.4)}, NotProbabilitySample),
        ({"pi": np.full(60, 1.1)}, NotProbabilitySample),
        ({"y": np.full(60, math.nan)}, TooFewLabels),
        ({"y": np.where(np.arange(60) < 2, 1.0, math.nan)}, TooFewLabels),
        ({"stratum": np.arange(60)}, TooFewLabels),
        ({"stratum": [1]}, ShapeError),
        ({"cluster": np.zeros(60)}, TooFewClusters),
        ({"cluster": [1]}, ShapeError),
    ],
)
def test_what_cannot_be_corrected_is_refused(change, error):
    given_ = {"f": F, "y": Y, "pi": PI, "cluster": PERSONA} | change
    with pytest.raises(error):
        corrected_mean(given_.pop("f"), given_.pop("y"), given_.pop("pi"), **given_)


def test_a_difference_needs_two_columns():
    with pytest.raises(ShapeError):
        corrected_difference(F, np.column_stack([Y, Y]), PI, cluster=PERSONA)


# --- properties -----------------------------------------------------------------------------


@st.composite
def studies(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    personas, tasks = draw(st.integers(8, 16)), draw(st.integers(3, 6))
    n = personas * tasks
    y_all = rng.integers(1, 6, n).astype(float)
    f = np.clip(y_all + rng.integers(-1, 3, n), 1, 5)
    stratum = rng.integers(0, 2, n) if draw(st.booleans()) else np.zeros(n, dtype=int)
    pi = rng.uniform(0.3, 1, n) if draw(st.booleans()) else np.full(n, 0.5)
    reviewed = rng.random(n) < pi
    for h in np.unique(stratum):  # at least three in each stratum
        reviewed[np.flatnonzero(stratum == h)[:3]] = True
    return {
        "f": f,
        "y": np.where(reviewed, y_all, math.nan),
        "pi": pi,
        "cluster": np.repeat(np.arange(personas), tasks),
        "stratum": stratum,
        "target": draw(st.sampled_from(["superpop", "finite"])),
        "all": y_all,
    }


def run(study, **change):
    given_ = {k: v for k, v in study.items() if k != "all"} | change
    return corrected_mean(given_.pop("f"), given_.pop("y"), given_.pop("pi"), **given_)


def near(value: float):
    return pytest.approx(value, rel=1e-7, abs=1e-8)


many = settings(max_examples=60, deadline=None)


@many
@given(studies(), st.floats(-50, 50))
def test_adding_a_constant_to_every_label_adds_it_to_the_estimate(study, c):
    before, after = run(study), run(study, y=study["y"] + c)
    assert after.estimate.est == near(before.estimate.est + c)
    assert after.estimate.se == near(before.estimate.se)


@many
@given(studies(), st.floats(0.1, 20), st.floats(-50, 50))
def test_the_units_of_the_judge_do_not_matter(study, slope, shift):
    before, after = run(study), run(study, f=slope * study["f"] + shift)
    assert after.estimate.est == near(before.estimate.est)
    assert after.estimate.se == near(before.estimate.se)


@many
@given(studies())
def test_a_judge_that_is_always_right_is_believed(study):
    study |= {"target": "finite", "f": study["all"]}
    found = run(study)
    if found.lam > 0:  # labels with some variation
        assert found.lam == near(1)
        assert found.estimate.est == near(study["all"].mean())


@many
@given(studies(), st.floats(-50, 50))
def test_a_constant_judge_leaves_people_alone(study, value):
    found = run(study, f=np.full(len(study["f"]), value))
    assert found.lam == 0
    assert found.estimate.est == near(run(study, lam=0).estimate.est)


@many
@given(studies())
def test_when_everything_is_reviewed_the_answer_is_the_mean(study):
    found = run(study, y=study["all"], pi=np.ones(len(study["f"])))
    assert found.estimate.est == near(study["all"].mean())
    if study["target"] == "finite":
        assert found.estimate.se == 0


@many
@given(studies(), st.integers(0, 100))
def test_the_order_of_rows_does_not_matter(study, seed):
    order = np.random.default_rng(seed).permutation(len(study["f"]))
    mixed = {k: v if k == "target" else v[order] for k, v in study.items()}
    before, after = run(study), run(mixed)
    assert after.estimate.est == near(before.estimate.est)
    assert after.estimate.se == near(before.estimate.se)


@many
@given(studies())
def test_splitting_a_persona_changes_only_the_uncertainty(study):
    split = study["cluster"].copy()
    split[0] = 1_000
    before, after = run(study), run(study, cluster=split)
    assert after.estimate.est == near(before.estimate.est)
    assert after.lam == near(before.lam)


@many
@given(studies())
def test_doubling_every_row_of_a_persona_adds_no_information(study):
    study |= {"target": "superpop"}
    twice = {k: v if k == "target" else np.repeat(v, 2) for k, v in study.items()}
    before, after = run(study, smooth=0), run(twice, smooth=0)
    assert after.estimate.est == near(before.estimate.est)
    assert after.estimate.se == near(before.estimate.se)
