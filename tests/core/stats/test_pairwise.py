import math

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

from core.stats.davidson import fit, probabilities
from core.stats.pairwise import pairwise_strengths
from core.stats.types import Degenerate, MissingScoreError, ShapeError, TooFewClusters

# First wins, second wins, ties; published with their golden values.
COUNTS = {("A", "B"): (14, 22, 9), ("A", "C"): (20, 12, 8), ("B", "C"): (25, 9, 6)}


def close(value: float):
    return pytest.approx(value, abs=5e-7)


def choices(counts, personas=25):
    """Lists of left, right, outcome and persona from counts by pair."""
    rows = [
        (a, b, value)
        for (a, b), numbers in counts.items()
        for value, n in zip((1.0, 0.0, 0.5), numbers, strict=True)
        for _ in range(n)
    ]
    left, right, outcome = zip(*rows, strict=True)
    return list(left), list(right), list(outcome), np.arange(len(rows)) % personas


def strengths(counts=COUNTS, personas=25, **how):
    left, right, outcome, persona = choices(counts, personas)
    return pairwise_strengths(left, right, outcome, cluster=persona, **({"boot": 200} | how))


def t_of(found):
    return {side.side: side.t for side in found.sides}


# --- golden values --------------------------------------------------------------------------


def test_davidsons_strengths_have_their_golden_values():
    found = strengths()
    assert t_of(found) == {
        "A": close(0.020523), "B": close(0.497521), "C": close(-0.518044),
    }  # fmt: skip
    assert found.nu == close(0.479164)
    assert found.probabilities("A", "B") == (close(0.310612), close(0.500467), close(0.188921))
    assert found.probabilities("B", "A") == (close(0.500467), close(0.310612), close(0.188921))


def test_ties_as_half_wins_shrink_the_gaps():
    found = strengths(ties="half")
    assert t_of(found) == {
        "A": close(0.016452), "B": close(0.399925), "C": close(-0.416377),
    }  # fmt: skip
    assert found.nu is None
    assert found.probabilities("A", "B")[2] == 0.0


def test_davidsons_model_is_a_log_linear_one():
    pairs, rows, seen = list(COUNTS), [], []
    for k, (a, b) in enumerate(pairs):
        for kind in range(3):
            x = np.zeros(3 + 2 + 1)
            x[k] = 1
            for side, share in ((a, (1, 0, 0.5)[kind]), (b, (0, 1, 0.5)[kind])):
                if side != "C":
                    x[3 + "AB".index(side)] += share
            # C has strength 0 here; a tie's predictor is the mean of the two.
            x[5] = kind == 2
            rows.append(x)
            seen.append(COUNTS[pairs[k]][kind])
    model = sm.GLM(seen, np.array(rows), family=sm.families.Poisson()).fit()
    raw = np.append(model.params[3:5], 0.0)
    found = strengths()
    assert [t_of(found)[s] for s in "ABC"] == pytest.approx(list(raw - raw.mean()), abs=1e-6)
    assert found.nu == pytest.approx(math.exp(model.params[5]), abs=1e-6)


def test_half_wins_are_a_binomial_model():
    wins = [(w + t / 2, n + t / 2) for w, n, t in COUNTS.values()]
    x = np.array([[1, -1], [1, 0], [0, 1]], dtype=float)  # C has strength 0
    model = sm.GLM(np.array(wins), x, family=sm.families.Binomial()).fit()
    raw = np.append(model.params, 0.0)
    found = t_of(strengths(ties="half"))
    assert [found[s] for s in "ABC"] == pytest.approx(list(raw - raw.mean()), abs=1e-6)


# --- tables, ranks, bands -------------------------------------------------------------------


def test_the_matrix_splits_ties():
    found = strengths()
    assert found.share("B", "A") == close((22 + 4.5) / 45)
    assert found.share("A", "B") == close((14 + 4.5) / 45)
    pair = next(p for p in found.pairs if (p.a, p.b) == ("A", "B"))
    assert (pair.n, pair.wins, pair.losses, pair.ties) == (45, 14, 22, 9)
    assert pair.share.est == close((14 + 4.5) / 45)
    assert pair.net == close(-8 / 45)


def test_sides_come_from_the_strongest_with_rank_and_chance_of_being_best():
    found = strengths(boot=1000)
    assert [(s.side, s.rank) for s in found.sides] == [("B", 1), ("A", 2), ("C", 3)]
    assert sum(s.best for s in found.sides) == pytest.approx(1.0)
    assert found.sides[0].best > 0.9
    for side in found.sides:
        assert side.lo < side.t < side.hi
        assert side.rank_lo <= side.rank <= side.rank_hi


def test_sides_that_cannot_be_told_apart_share_a_band():
    even = {("A", "B"): (20, 19, 3), ("A", "C"): (30, 2, 3), ("B", "C"): (31, 2, 3)}
    found = strengths(even)
    assert [s.side for s in found.sides] == ["A", "B", "C"]
    assert found.bands == (0, 0, 1)
    resolved = {(p.a, p.b): p.resolved for p in found.pairs}
    assert resolved == {("A", "B"): False, ("A", "C"): True, ("B", "C"): True}


def test_majorities_that_go_round_are_said():
    assert not strengths().cyclic
    circle = {("A", "B"): (20, 10, 0), ("B", "C"): (20, 10, 0), ("A", "C"): (10, 20, 0)}
    assert strengths(circle).cyclic


def test_personas_are_drawn_and_not_single_choices():
    left, right, outcome, _ = choices({("A", "B"): (30, 30, 0), ("A", "C"): (30, 30, 0)})
    spread = np.arange(120) % 30
    # Now each persona always chooses the same.
    lumped = np.array(
        [f"{a}{b}{o}{i % 5}" for i, (a, b, o) in enumerate(zip(left, right, outcome, strict=True))]
    )
    widths = [
        max(p.hi - p.lo for p in
            pairwise_strengths(left, right, outcome, cluster=c, boot=300).pairs)
        for c in (spread, lumped)
    ]  # fmt: skip
    assert widths[1] > 1.5 * widths[0]


def test_turning_a_choice_round_changes_nothing():
    left, right, outcome, persona = choices(COUNTS)
    turned = np.arange(len(left)) % 2 == 0
    found = pairwise_strengths(
        np.where(turned, right, left), np.where(turned, left, right),
        np.where(turned, 1 - np.array(outcome), outcome), cluster=persona, boot=200,
    )  # fmt: skip
    assert found == strengths()


# --- what has no finite answer --------------------------------------------------------------


@pytest.mark.parametrize("ties", ["davidson", "half"])
def test_a_side_that_is_never_beaten_gets_a_finite_strength_and_a_note(ties):
    found = strengths({("A", "B"): (20, 0, 0), ("B", "C"): (10, 10, 0)}, ties=ties)
    assert found.sides[0].side == "A"
    assert all(math.isfinite(v) for s in found.sides for v in (s.t, s.lo, s.hi))
    assert "never beaten" in found.warnings[0]


def test_a_side_that_only_wins_and_ties_has_no_finite_davidson_strength_either():
    found = strengths({("A", "B"): (20, 0, 8)})
    assert math.isfinite(found.sides[0].t)
    assert "never beaten" in found.warnings[0]
    half = strengths({("A", "B"): (20, 0, 8)}, ties="half")
    assert t_of(half)["A"] - t_of(half)["B"] == close(math.log(24 / 4))
    assert "never beaten" not in half.warnings[0]


def test_draws_that_leave_a_side_unbeaten_are_mended_and_counted():
    found = strengths({("A", "B"): (20, 1, 0), ("B", "C"): (10, 10, 0), ("A", "C"): (15, 1, 0)})
    assert found.draws == 200
    assert found.warnings[0].startswith("half a choice was added to each pair in")


def test_sides_that_never_meet_are_refused():
    with pytest.raises(Degenerate, match="do not connect"):
        strengths({("A", "B"): (5, 5, 0), ("C", "D"): (5, 5, 0)})


def test_nothing_but_ties_is_refused_by_davidsons_model():
    with pytest.raises(Degenerate):
        strengths({("A", "B"): (0, 0, 20)})
    half = strengths({("A", "B"): (0, 0, 20)}, ties="half")
    assert t_of(half) == {"A": 0.0, "B": 0.0}


def test_without_ties_davidsons_model_is_that_of_bradley_and_terry():
    counts = {("A", "B"): (14, 22, 0), ("A", "C"): (20, 12, 0), ("B", "C"): (25, 9, 0)}
    one, other = strengths(counts), strengths(counts, ties="half")
    assert t_of(one) == pytest.approx(t_of(other), abs=1e-9)
    assert one.nu == 0.0


def test_two_sides_and_few_personas_are_said():
    found = strengths({("A", "B"): (12, 9, 3)}, personas=4)
    assert found.warnings == (
        "only 4 personas",
        "with two sides read the share of choices, not the strengths",
    )


@pytest.mark.parametrize(
    ("left", "right", "outcome", "persona", "error"),
    [
        (["A"], ["B", "A"], [1, 0], [1, 2], ShapeError),
        (["A", "A"], ["B", "A"], [1, 0], [1, 2], ShapeError),
        (["A", "A"], ["B", "B"], [1, 2], [1, 2], ShapeError),
        (["A", "A"], ["B", "B"], [1, math.nan], [1, 2], MissingScoreError),
        (["A", "A"], ["B", "B"], [1, 0], [1, 1], TooFewClusters),
        ([], [], [], [], ShapeError),
    ],
    ids=["length", "itself", "outcome", "missing", "one-persona", "empty"],
)
def test_wrong_input_is_refused(left, right, outcome, persona, error):
    with pytest.raises(error):
        pairwise_strengths(left, right, outcome, cluster=persona)


# --- properties -----------------------------------------------------------------------------


@given(
    st.lists(st.floats(-1.5, 1.5), min_size=2, max_size=5),
    st.floats(0.05, 2.0),
    st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_strengths_that_made_the_counts_are_found_again(raw, nu, half):
    t = np.array(raw) - np.mean(raw)
    n_sides = len(t)
    pairs = np.array([(a, b) for a in range(n_sides) for b in range(a + 1, n_sides)])
    chances = [probabilities(t[a], t[b], 0.0 if half else nu) for a, b in pairs]
    counts = 100 * np.array(chances)[None]
    found = fit(counts, pairs, n_sides, half=half)
    assert found.t[0] == pytest.approx(t, abs=1e-6)
    if not half:
        assert found.nu[0] == pytest.approx(nu, abs=1e-6)


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_a_fit_is_the_same_alone_and_among_others(seed):
    rng = np.random.default_rng(seed)
    pairs = np.array([(0, 1), (0, 2), (1, 2)])
    counts = rng.integers(1, 30, (5, 3, 3)).astype(float)
    together = fit(counts, pairs, 3, half=False)
    alone = fit(counts[2:3], pairs, 3, half=False)
    assert together.t[2] == pytest.approx(alone.t[0], abs=1e-8)
    assert together.nu[2] == pytest.approx(alone.nu[0], abs=1e-8)
