import numpy as np
import pytest

from core import agreement_words as words
from core.agreement import agreement
from core.comparison import Ends
from core.stats.agreement import annotator_agreement, judge_agreement
from core.stats.alt_test import alt_test
from core.stats.bias import Effect, anchoring, position_bias, residual_bias, reveal_first
from core.stats.pairwise import pairwise_strengths
from core.stats.types import Estimate
from tests.support.annotations import JUDGE, PEOPLE, annotations

NBSP = "\u00a0"


def digits(text):
    return np.array([float(c) for c in text])


def estimate(est, lo, hi, clusters=20):
    return Estimate(
        est=est, se=0.1, lo=lo, hi=hi, conf=0.95, n=100, n_clusters=clusters, df=19, method="CR1 t"
    )


def unfolded(table, categories):
    counts, kinds = np.asarray(table), np.asarray(categories, dtype=float)
    human, judge = (place.ravel() for place in np.indices(counts.shape))
    return np.repeat(kinds[judge], counts.ravel()), np.repeat(kinds[human], counts.ravel())


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0.0, "never"),
        (1.0, "every time"),
        (0.9, "9 times in 10"),
        (0.92, "9 times in 10"),
        (0.95, "19 times in 20"),
        (0.96, "19 times in 20"),
        (0.6, "6 times in 10"),
        (0.75, "3 times in 4"),
        (0.25, "once in 4"),
        (0.55, "11 times in 20"),
        (0.1, "once in 10"),
        (0.05, "once in 20"),
        (0.02, "once in 50"),
        (0.99, "all but once in 100"),
    ],
)
def test_a_share_is_said_as_times_in_ten_or_twenty(share, said):
    assert words.how_often(share) == said


@pytest.mark.parametrize("share", np.linspace(0.026, 0.974, 80))
def test_a_share_in_words_is_never_more_than_a_fortieth_off(share):
    k, of = words.how_often(share, short=True).split(" in ")
    assert abs(int(k) / int(of) - share) <= 0.025 + 1e-9


# --- people ---------------------------------------------------------------------------------


def test_people_are_said_to_agree_so_often_and_so_nearly():
    # Twenty dialogues: 12 the same, 7 one apart, 1 two apart.
    table = np.array([digits("12345123451234512345"), digits("12345123451243421453")])
    apart = np.abs(table[0] - table[1])
    assert [(apart == k).sum() for k in (0, 1, 2)] == [12, 7, 1]
    found = annotator_agreement(table, level="ordinal", categories=range(1, 6), boot=200)
    said = words.people_words(found, "naturalness")
    assert said.startswith(
        "Two people give the same naturalness rating 6 times in 10, within one point 19 in 20. "
    )


def test_people_of_the_published_table_are_said_in_full():
    found = agreement(annotations(), dimension="naturalness", ends=Ends(1, 5)).people
    assert words.people_words(found, "naturalness") == (
        "Two people give the same naturalness rating 4 times in 10, within one point 9 in 10. "
        "Krippendorff's alpha is 0.68 (0.52 to 0.84), from 60 dialogues with two or more labels. "
        f"Of the spread of labels 70{NBSP}% comes from the dialogue, 3{NBSP}% from the annotator, "
        f"26{NBSP}% from chance."
    )


def test_verdicts_have_no_points_to_be_near():
    table = [digits("1110110010"), digits("1110110011")]
    found = annotator_agreement(table, level="nominal", categories=[0, 1], boot=100)
    said = words.people_words(found, "task completion")
    assert said.startswith("Two people give the same answer about task completion 9 times in 10. ")
    assert "within" not in said


def test_labels_that_never_differ_have_no_alpha_in_words_either():
    found = annotator_agreement(np.full((2, 9), 3.0), level="ordinal", categories=range(1, 6))
    assert words.people_words(found, "naturalness") == (
        "Two people give the same naturalness rating every time, within one point every time. "
        "There is no alpha, because all labels of 9 dialogues are the same."
    )


def test_few_personas_have_no_range():
    table = [digits("12345123"), digits("12345133")]
    found = annotator_agreement(
        table, level="ordinal", categories=range(1, 6), cluster=list("aabbccdd")
    )
    assert words.TOO_FEW in words.people_words(found, "naturalness")


def test_severity_is_said_with_its_range_or_as_not_clear():
    ana, ben, cleo = agreement(
        annotations(), dimension="naturalness", ends=Ends(1, 5), boot=50
    ).annotators
    assert words.severity_words("ben", ben.rater) == (
        "ben gives 0.35 points more than the others on the same dialogues (0.11 to 0.59)."
    )
    assert words.severity_words("cleo", cleo.rater).startswith("cleo gives 0.35 points less")
    assert words.severity_words("ana", ana.rater) == (
        "ana is not clearly stricter or more lenient than the others "
        "(between 0.21 points below and 0.21 above)."
    )
    assert words.severity_words("ana", None) == ""


def test_a_change_over_time_is_said_only_when_it_is_resolved():
    assert words.change_words("ana", Effect("later half", 0.4, 0.1, 0.2, 0.6, 0.01)) == (
        "ana became 0.40 points more lenient in the later half of their labels (0.20 to 0.60)."
    )
    assert "strict" in words.change_words("ana", Effect("later half", -0.4, 0.1, -0.6, -0.2, 0.01))
    assert words.change_words("ana", Effect("later half", 0.4, 0.3, -0.2, 1.0, 0.2)) == ""
    assert words.change_words("ana", None) == ""


# --- the judge ------------------------------------------------------------------------------


def test_a_verdict_is_said_by_what_it_is_worth():
    judge, people = unfolded([[14, 3], [6, 27]], [0, 1])
    said = words.judge_words(
        judge_agreement(judge, people, categories=[0, 1]), values=["failed", "completed"]
    )
    assert said.startswith(
        "When the judge says completed, people agree 9 times in 10. When it says failed, 7 in 10. "
    )
    assert "A judge that always says completed would agree with people 13 times in 20." in said


def test_ratings_are_said_with_bias_kappa_and_the_floor():
    found = judge_agreement(
        digits(JUDGE), digits(PEOPLE["ana"]), categories=range(1, 6), cluster=np.arange(60) // 5
    )
    said = words.judge_words(found)
    assert said.startswith("Judge and people give the same rating ")
    assert "than people on average (" in said
    assert "Quadratic kappa is 0.67 (0.56 to 0.79). " in said
    assert said.endswith("A judge that always says 3 would agree with people 3 times in 10.")


def test_the_paradox_of_kappa_and_a_perfect_run_are_said():
    judge, people = unfolded([[0, 5], [5, 90]], [0, 1])
    said = words.judge_words(judge_agreement(judge, people, categories=[0, 1], boot=50))
    assert said.endswith("Kappa and AC2 lie far apart, because one value is much more common.")
    perfect = judge_agreement([1] * 9 + [0] * 9, [1] * 9 + [0] * 9, categories=[0, 1], boot=50)
    assert "still allows about 17 % of it." in words.judge_words(perfect)


def test_a_missing_kappa_gives_its_reason():
    judge, people = unfolded([[4, 0], [0, 40]], [0, 1])
    said = words.judge_words(judge_agreement(judge, people, categories=[0, 1], boot=50))
    assert "There is no kappa: fewer than 5 labels of one verdict." in said


@pytest.mark.parametrize(
    ("bias", "verdict", "said"),
    [
        (estimate(0.33, 0.10, 0.56), False,
         "It scores 0.33 points higher than people on average (0.10 to 0.56)."),
        (estimate(-0.33, -0.56, -0.10), False,
         "It scores 0.33 points lower than people on average (0.10 to 0.56)."),
        (estimate(0.05, 0.01, 0.09), True,
         "It says yes more often than people do, by 5 percentage points (1 to 9)."),
        (estimate(0.1, -0.09, 0.34), False,
         "Its bias is not resolved: between 0.09 points below and 0.34 above."),
        (estimate(0.33, 0.10, 0.56, clusters=4), False,
         f"It scores 0.33 points higher than people on average; {words.TOO_FEW}."),
    ],
)  # fmt: skip
def test_a_bias_is_said_in_points_or_as_not_resolved(bias, verdict, said):
    assert words.bias_words(bias, verdict=verdict) == said


def test_a_test_that_is_passed_still_names_the_bias():
    people = np.column_stack([digits(v) for v in PEOPLE.values()])
    found = alt_test(digits(JUDGE), people, scoring="neg_rmse", eps=0.15)
    assert words.alt_words(found, setting="trained", bias=estimate(1 / 3, 0.13, 0.54)) == (
        "Fits the group as well as 2 of 3 annotators do (setting: trained annotators). "
        "Still 0.33 points too generous, so averages are corrected."
    )
    assert "strict" in words.alt_words(found, setting="trained", bias=estimate(-0.3, -0.5, -0.1))
    unclear = words.alt_words(found, setting="trained", bias=estimate(0.1, -0.1, 0.3))
    assert unclear.endswith("(setting: trained annotators).")


def test_a_test_that_is_failed_says_so():
    people = np.column_stack([digits(v) for v in PEOPLE.values()])
    found = alt_test(digits(JUDGE), people, scoring="exact", eps=0.1)
    assert words.alt_words(found, setting="crowd", bias=estimate(1 / 3, 0.13, 0.54)) == (
        "Is not shown to fit the group as well as any of 3 annotators does "
        "(setting: annotators from a crowd)."
    )


def test_a_test_that_a_constant_judge_passes_gives_no_verdict():
    people = np.ones((60, 3))
    people[:2] = 0
    found = alt_test(people[:, 0], people, scoring="exact", eps=0.15)
    said = words.alt_words(found, setting="trained", values=["no", "yes"])
    assert said.endswith("a judge that always says yes would pass too.")


# --- the reveal -----------------------------------------------------------------------------


def test_a_follower_is_named_as_one():
    before, judge = digits("12341234"), digits("44444444")
    moves = anchoring(before, judge, judge, annotator=["ana"] * 8).together
    assert words.moves_words("ana", moves) == (
        "After the reveal ana changed 6 of 8 labels, all towards the judge. "
        "Where they had differed, they took over the judge's value every time. "
        "That is more often than not, so only their blind labels say what they think."
    )


def test_somebody_whom_the_reveal_does_not_move_is_said_so():
    before, judge = digits("12341234"), digits("44444444")
    moves = anchoring(before, before, judge, annotator=["ana"] * 8).together
    assert words.moves_words("ana", moves) == "After the reveal ana changed none of 8 labels."


def test_the_pull_of_the_judge_in_sight_is_said_with_its_range():
    agrees = [1] * 72 + [0] * 8 + [1] * 60 + [0] * 20
    found = reveal_first(agrees, [True] * 80 + [False] * 80)
    assert words.in_sight_words(found) == (
        "With the judge in sight people agree with it 9 times in 10, blind 3 times in 4 "
        "(difference 15 points, 3 to 27). "
        "What would have been a disagreement is taken from the screen 6 times in 10."
    )
    few = reveal_first([1, 0, 1, 0], [True, True, False, False])
    assert words.in_sight_words(few).endswith("; the difference is not resolved.")


# --- biases of the judge --------------------------------------------------------------------


def test_an_effect_is_said_as_what_it_buys():
    effect = Effect("length", 0.463584, 0.079939, 0.2746, 0.6526, 0.000664)
    assert words.effect_words(effect, "Doubling the length") == (
        "Doubling the length buys 0.46 points that people do not give."
    )
    costly = Effect("length", -0.46, 0.08, -0.65, -0.27, 0.0007)
    assert "costs 0.46 points" in words.effect_words(costly, "Doubling the length")


def test_an_effect_that_is_not_resolved_is_not_called_none():
    rng = np.random.default_rng(1)
    found = residual_bias(
        rng.normal(size=40), rng.normal(size=40), names=["length"], cluster=np.arange(40) // 4
    )
    said = words.effect_words(found.effects[0], "Doubling the length")
    assert "not resolved, between" in said


def test_a_preference_for_the_first_place_is_said_with_its_test():
    one = [1, 0] * 20 + [1] * 14 + [0] * 4 + [1] * 2
    other = [1, 0] * 20 + [0] * 14 + [1] * 4 + [0.5] * 2
    assert words.position_words(position_bias(one, other)) == (
        "The judge chooses the same in both orders 13 times in 20. Of 18 choices that turned "
        "with the order, 14 went to the side that stood first (p = 0.031)."
    )
    assert words.position_words(position_bias([1, 0], [1, 0])) == (
        "The judge chooses the same in both orders every time."
    )


def tournament(counts, personas=25):
    rows = [
        (a, b, value)
        for (a, b), numbers in counts.items()
        for value, n in zip((1.0, 0.0, 0.5), numbers, strict=True)
        for _ in range(n)
    ]
    left, right, outcome = zip(*rows, strict=True)
    persona = np.arange(len(rows)) % personas
    return pairwise_strengths(left, right, outcome, cluster=persona, boot=200)


def test_a_pair_is_said_from_the_side_that_is_ahead():
    found = tournament({("A", "B"): (14, 22, 9), ("A", "C"): (20, 12, 8), ("B", "C"): (25, 9, 6)})
    assert words.choice_words(found.pairs[0]) == (
        "B preferred to A in 59 of 100 (ties split), from 45 choices."
    )
    assert words.choice_words(found.pairs[1]).startswith("A preferred to C in 60 of 100")
    apart = tournament({("A", "B"): (9, 9, 0), ("B", "C"): (9, 9, 0)})
    assert words.choice_words(apart.pairs[1]) == "A and C have not met."


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({("A", "B"): (28, 5, 9), ("A", "C"): (30, 2, 8), ("B", "C"): (25, 9, 6)},
         "A stands first (first in 100 of 100 draws)."),
        ({("A", "B"): (20, 19, 3), ("A", "C"): (30, 2, 3), ("B", "C"): (31, 2, 3)},
         "A and B stand first; which of them is not resolved."),
        ({("A", "B"): (20, 19, 3), ("A", "C"): (16, 15, 3), ("B", "C"): (14, 14, 3)},
         "No side is resolved from the one on top."),
        ({("A", "B"): (20, 10, 0), ("B", "C"): (20, 10, 0), ("A", "C"): (10, 20, 0)},
         "Majorities go round in a circle, so read the table of pairs and not the ladder."),
    ],
)  # fmt: skip
def test_a_ladder_names_the_top_only_as_far_as_it_is_resolved(counts, said):
    assert words.ladder_words(tournament(counts)) == said


# --- the basis ------------------------------------------------------------------------------


def test_what_the_numbers_rest_on_names_what_was_left_out():
    rows = annotations()
    rows.loc[rows.index[:3], "reason"] = "self_selected"
    rows.loc[rows.index[3:5], "judge_visible_before"] = True
    found = agreement(rows, dimension="naturalness", ends=Ends(1, 5), boot=20)
    assert words.basis_words(found) == (
        "From 175 blind labels of 60 dialogues drawn at random: 12 personas, 3 annotators. "
        "Judged by some-model · naturalness@1. Left out: 2 judge in sight, 3 self selected."
    )


def test_without_labels_the_basis_says_what_is_missing():
    found = agreement(annotations().iloc[:0], dimension="naturalness", ends=Ends(1, 5))
    assert words.basis_words(found) == "There is no blind label of a randomly drawn dialogue yet."


def test_unequal_draws_and_the_unscored_are_said():
    rows = annotations()
    rows.loc[rows["dialogue_id"] < "d10", "pi"] = 0.1
    rows.loc[rows["dialogue_id"] == "d20", "judge_value"] = np.nan
    found = agreement(rows, dimension="naturalness", ends=Ends(1, 5), boot=20)
    said = words.basis_words(found)
    assert "drawn at random, weighted by how rarely each was drawn:" in said
    assert ", 1 unscored." in said
