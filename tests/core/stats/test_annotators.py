import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from core.stats.agreement import annotator_agreement
from core.stats.types import ShapeError, TooFewClusters, TooFewLabels


def close(value: float):
    return pytest.approx(value, abs=5e-7)


def ratings(text):
    """Annotators x dialogues from text that goes dialogue by dialogue; a dot is no label."""
    return np.array([[np.nan if v == "." else float(v) for v in item] for item in text.split()]).T


# Four annotators, twelve dialogues, some labels missing; published with its golden values.
FOUR = ratings("11.1 2232 3333 3333 2222 1234 4444 1121 2222 .555 ..11 ..3.")
THREE = ratings("443 232 554 333 121 454 343 222 555 342")
YES_NO = ratings("111 110 000 111 100 111 001 111")
SCALE = range(1, 6)


def alpha_by_pairs(table, squared):
    """Krippendorff's alpha from its definition: mean distance within over mean distance of all."""
    units = [u[~np.isnan(u)] for u in table.T]
    units = [u for u in units if len(u) > 1]
    within = sum(
        sum(squared(a, b) for i, a in enumerate(u) for j, b in enumerate(u) if i != j)
        / (len(u) - 1)
        for u in units
    )
    everything = np.concatenate(units)
    n = len(everything)
    among = sum(squared(a, b) for a in everything for b in everything) / (n - 1)
    return 1 - within / among


# --- golden values --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("level", "value"),
    [
        ("nominal", 0.743421),
        ("ordinal", 0.815388),
        ("interval", 0.849107),
        ("ratio", 0.797403),
    ],
)
def test_alpha_of_labels_with_gaps_has_its_golden_value(level, value):
    assert annotator_agreement(FOUR, level=level, categories=SCALE).alpha.est == close(value)


def test_verdicts_of_three_people_have_their_golden_values():
    found = annotator_agreement(YES_NO, level="nominal", categories=[0, 1])
    assert found.fleiss == close(0.437500)
    assert found.alpha.est == close(0.4609375)
    assert found.fleiss == pytest.approx(fleiss_kappa(aggregate_raters(YES_NO.T)[0]))


def test_ten_dialogues_are_too_few_to_conclude():
    found = annotator_agreement(THREE, level="ordinal", categories=SCALE)
    assert found.alpha.est == close(0.799433)
    parts = [np.delete(THREE, i, axis=1) for i in range(10)]
    rest = np.array(
        [annotator_agreement(p, level="ordinal", categories=SCALE).alpha.est for p in parts]
    )
    half = t.ppf(0.975, 9) * np.sqrt(9 * rest.var())
    assert (found.alpha.lo, found.alpha.hi) == pytest.approx((0.799433 - half, 1.0), abs=1e-5)
    assert found.alpha.warnings == ("only 10 dialogues",)


def test_the_spread_has_its_golden_components():
    parts = annotator_agreement(THREE, level="ordinal", categories=SCALE).components
    squares = (parts.ms_item, parts.ms_rater, parts.ms_noise)
    assert squares == (close(4.207407), close(1.633333), close(0.151852))
    assert (parts.item, parts.rater, parts.noise) == (
        close(1.351852), close(0.148148), close(0.151852),
    )  # fmt: skip


def test_the_severity_of_annotators_is_their_mean_beside_the_others():
    found = annotator_agreement(THREE, level="ordinal", categories=SCALE)
    assert [r.mean for r in found.raters] == [close(3.2), close(3.7), close(2.9)]
    # With three labels each, a mean differs from the two others' by 1.5 times what it differs
    # from the mean of all.
    everyone = THREE.mean()
    assert [r.severity.est for r in found.raters] == [
        close(1.5 * (m - everyone)) for m in (3.2, 3.7, 2.9)
    ]
    assert [(r.n, r.n_shared) for r in found.raters] == [(10, 10)] * 3


# --- pairs and percent agreement ------------------------------------------------------------


def test_pairs_count_only_the_dialogues_that_both_labelled():
    found = annotator_agreement(FOUR, level="ordinal", categories=SCALE)
    assert {(p.a, p.b): p.n for p in found.pairs} == {
        (0, 1): 9, (0, 2): 8, (0, 3): 9, (1, 2): 9, (1, 3): 10, (2, 3): 10,
    }  # fmt: skip
    pair = found.pairs[1]
    assert (pair.exact.est, pair.within_one.est) == (close(5 / 8), close(7 / 8))
    assert pair.difference.est == close(-4 / 8)
    by_hand = np.zeros((5, 5), dtype=int)
    for a, b in zip(*FOUR[[0, 2]], strict=True):
        if not np.isnan([a, b]).any():
            by_hand[int(a) - 1, int(b) - 1] += 1
    assert pair.confusion.tolist() == by_hand.tolist()


def test_the_table_of_all_pairs_counts_each_pair_both_ways():
    table = annotator_agreement(YES_NO, level="nominal", categories=[0, 1]).confusion
    # Four dialogues where all three pass and one where all fail make three equal pairs each;
    # 110, 100 and 001 make one equal pair and two unequal ones.
    assert table.tolist() == [[2 * 3 + 4, 6], [6, 24 + 2]]


def test_exact_and_near_agreement_of_two_people_are_averaged_over_dialogues():
    found = annotator_agreement(THREE, level="ordinal", categories=SCALE)
    # 443 has one equal pair of three, 333 all, 121 one, ...
    equal = [1, 1, 1, 3, 1, 1, 1, 3, 3, 0]
    assert found.exact.est == close(sum(equal) / 30)
    near = [3, 3, 3, 3, 3, 3, 3, 3, 3, 2]  # only 3 and 2 beside 4 are two apart
    assert found.within_one.est == close(sum(near) / 30)


def test_a_nominal_level_has_no_near_agreement():
    found = annotator_agreement(YES_NO, level="nominal", categories=[0, 1])
    assert found.within_one is None
    assert [p.within_one for p in found.pairs] == [None] * 3


def test_the_annotator_who_stands_apart_is_the_one_without_whom_people_agree():
    apart = np.vstack([THREE[0], THREE[0], 6 - THREE[0]])
    found = annotator_agreement(apart, level="ordinal", categories=SCALE)
    assert [r.alpha_without == close(1.0) for r in found.raters] == [False, False, True]


def test_dialogues_drawn_rarely_weigh_more():
    table = ratings("11 11 12 12")
    even = annotator_agreement(table, level="ordinal", categories=SCALE, boot=50)
    uneven = annotator_agreement(
        table, level="ordinal", categories=SCALE, weights=[3, 3, 1, 1], boot=50
    )
    assert (even.exact.est, uneven.exact.est) == (close(0.5), close(0.75))
    assert uneven.pairs[0].exact.est == close(0.75)


def test_gwets_coefficient_of_many_equals_that_of_two():
    # The table of 100 verdicts where kappa is below 0 and AC1 is 0.889503.
    table = ratings(" ".join(["11"] * 90 + ["01"] * 5 + ["10"] * 5))
    found = annotator_agreement(table, level="nominal", categories=[0, 1], boot=50)
    assert found.ac2 == close(0.889503)


# --- what is not there, and why -------------------------------------------------------------


def test_labels_that_never_vary_have_no_alpha_rather_than_a_perfect_one():
    found = annotator_agreement(np.full((3, 8), 4.0), level="ordinal", categories=SCALE)
    assert found.alpha is None
    assert found.reasons["alpha"] == "no variation"
    assert found.fleiss is None
    assert found.exact.est == 1.0
    assert all(p.kappa is None for p in found.pairs)


def test_fleiss_wants_the_same_number_of_labels_everywhere():
    found = annotator_agreement(FOUR, level="nominal", categories=SCALE)
    assert found.fleiss is None
    assert found.reasons["fleiss"] == "dialogues have different numbers of labels"


def test_annotators_who_share_nothing_with_one_another_are_no_pair():
    table = ratings("11. 22. 34. .33 .44 .12")
    found = annotator_agreement(table, level="ordinal", categories=SCALE)
    pair = next(p for p in found.pairs if (p.a, p.b) == (0, 2))
    assert (pair.n, pair.exact, pair.kappa) == (0, None, None)


def test_too_few_shared_dialogues_leave_the_components_out():
    found = annotator_agreement(ratings("12 2. 3. .4 34"), level="ordinal", categories=SCALE)
    assert found.components is not None
    with_one = annotator_agreement(
        ratings("123 4.. .5. ..1 111"), level="ordinal", categories=SCALE, cluster=list("aabbc")
    )
    assert with_one.components is not None
    lonely = annotator_agreement(ratings("12. .34 5.. 1.."), level="ordinal", categories=SCALE)
    assert lonely.components is None
    assert "too few" in lonely.reasons["components"]


@pytest.mark.parametrize(
    ("table", "how", "error"),
    [
        ([[1, 2]], {}, TooFewLabels),
        ([[1, math.nan], [math.nan, 2]], {}, TooFewLabels),
        ([[1, 2], [1, 9]], {}, ShapeError),
        ([[1, 2], [1, 2]], {"cluster": ["a", "a"]}, TooFewClusters),
        ([[], []], {}, TooFewLabels),
        ([[1, 2], [1, 2]], {"weights": [1, 0]}, ShapeError),
    ],
    ids=["one-annotator", "nothing-shared", "outside", "one-persona", "empty", "weightless"],
)
def test_wrong_input_is_refused(table, how, error):
    with pytest.raises(error):
        annotator_agreement(table, level="ordinal", categories=SCALE, **how)


# --- properties -----------------------------------------------------------------------------

tables = st.integers(2, 4).flatmap(
    lambda raters: st.lists(
        st.lists(st.sampled_from([1.0, 2.0, 3.0, 4.0, math.nan]), min_size=raters, max_size=raters),
        min_size=3,
        max_size=12,
    ).map(lambda rows: np.array(rows).T)
)


def comparable(table):
    shared = (~np.isnan(table)).sum(axis=0) >= 2
    return shared.sum() >= 2


DISTANCES = {
    "nominal": lambda a, b: float(a != b),
    "interval": lambda a, b: (a - b) ** 2,
    "ratio": lambda a, b: ((a - b) / (a + b)) ** 2,
}


@given(tables.filter(comparable), st.sampled_from(list(DISTANCES)))
@settings(max_examples=60, deadline=None)
def test_alpha_follows_its_definition_over_pairs(table, level):
    found = annotator_agreement(table, level=level, categories=range(1, 5), boot=20)
    if found.alpha is not None:
        assert found.alpha.est == pytest.approx(alpha_by_pairs(table, DISTANCES[level]), abs=1e-9)


@given(tables.filter(comparable), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_neither_the_order_of_people_nor_of_dialogues_matters(table, rng):
    people, items = list(range(table.shape[0])), list(range(table.shape[1]))
    rng.shuffle(people)
    rng.shuffle(items)
    one = annotator_agreement(table, level="ordinal", categories=range(1, 5), boot=20)
    other = annotator_agreement(
        table[np.ix_(people, items)], level="ordinal", categories=range(1, 5), boot=20
    )
    assert (one.alpha is None) == (other.alpha is None)
    if one.alpha is not None:
        assert other.alpha.est == pytest.approx(one.alpha.est, abs=1e-9)
    assert other.exact.est == pytest.approx(one.exact.est, abs=1e-9)
    assert sorted(r.n for r in other.raters) == sorted(r.n for r in one.raters)


@given(tables.filter(comparable))
@settings(max_examples=40, deadline=None)
def test_ordinal_alpha_only_knows_the_order_of_the_categories(table):
    stretched = table**3
    one = annotator_agreement(table, level="ordinal", categories=[1, 2, 3, 4], boot=20)
    other = annotator_agreement(stretched, level="ordinal", categories=[1, 8, 27, 64], boot=20)
    assert (one.alpha is None) == (other.alpha is None)
    if one.alpha is not None:
        assert other.alpha.est == pytest.approx(one.alpha.est, abs=1e-9)
