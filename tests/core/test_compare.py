import json
import math

import numpy as np
import pandas as pd
import pytest

from core.compare import MULTI_DOMAIN, Comparison, Ends, compare, results_object
from core.stats.intervals import mean_ci, rate_ci
from core.stats.paired import holm, paired_diff
from core.stats.types import MixedInstruments

ENDS = {
    "task_completion": Ends(0, 1, verdict=True),
    "personalization": Ends(1, 4),
    "personalization_per_turn": Ends(1, 4),
}
A = "110110011111000111011111010011011110100111110101"
B = "111111011111010111111110110111111111100111110111"


def judgement(
    arm="a",
    persona="1",
    task="t1",
    value=3.0,
    *,
    repetition=0,
    turn=None,
    dimension="personalization",
    instrument="scripted/judge · personalization@1",
    instrument_id="i1",
    domains="Books",
    stop="user_done",
):
    dialogue = f"{arm}-{persona}-{task}-{repetition}"
    return {
        "dialogue_id": dialogue,
        "persona_id": persona,
        "task_id": task,
        "kind": "multi" if "|" in domains else "single",
        "domains": domains,
        "arm": arm,
        "repetition": repetition,
        "turns": 3,
        "dimension": dimension,
        "target": "dialogue" if turn is None else "turn",
        "turn": turn,
        "status": "unparsable" if value is None else "ok",
        "value": math.nan if value is None else float(value),
        "instrument": instrument,
        "instrument_id": instrument_id,
        "stop_reason": stop,
    }


def frame(rows):
    return pd.DataFrame(rows, columns=list(judgement()))


def grid(arm, values, **fields):
    """Four tasks of each persona, in order: the layout of the published test data."""
    return [
        judgement(arm, f"p{i // 4}", f"t{i % 4}", value, **fields) for i, value in enumerate(values)
    ]


def completion():
    fields = {"dimension": "task_completion", "instrument": "scripted/judge · task_completion@1"}
    return frame(
        grid("A", [int(c) for c in A], **fields) + grid("B", [int(c) for c in B], **fields)
    )


def test_a_verdict_is_a_clustered_rate_and_its_difference_is_paired():
    found = compare(completion(), arms=["A", "B"], ends=ENDS)
    first, second = found.rows
    assert (first.arm, first.n, first.n_personas, first.n_unscored) == ("A", 48, 12, 0)
    assert first.lo == pytest.approx(0.490560, abs=5e-7)
    assert first.hi == pytest.approx(0.805974, abs=5e-7)
    assert first.method == "uncorrected judge mean, cluster-Wilson interval by persona"
    assert second.estimate == pytest.approx(40 / 48)
    (difference,) = found.differences
    assert (difference.arm, difference.baseline) == ("B", "A")
    assert difference.lo == pytest.approx(0.043008, abs=5e-7)
    assert difference.hi == pytest.approx(0.290325, abs=5e-7)
    assert difference.p == pytest.approx(0.035156, abs=5e-7)
    assert (difference.wins, difference.losses, difference.ties) == (9, 1, 38)
    assert difference.resolved


def test_a_rating_has_the_cr1_interval_of_core_stats():
    rng = np.random.default_rng(2)
    values = rng.integers(1, 5, size=48)
    (row,) = compare(frame(grid("a", values)), arms=["a"], ends=ENDS).rows
    oracle = mean_ci(values, cluster=np.repeat(np.arange(12), 4))
    assert (row.estimate, row.lo, row.hi) == pytest.approx((oracle.est, oracle.lo, oracle.hi))
    assert row.method == "uncorrected judge mean, CR1 t interval by persona"


def test_the_order_of_judgements_does_not_matter():
    data = completion()
    shuffled = data.sample(frac=1, random_state=3)
    assert compare(data, arms=["A", "B"]) == compare(shuffled, arms=["A", "B"])


def test_repetitions_are_averaged_before_they_are_compared():
    rows = grid("a", [2] * 40) + grid("b", [2] * 40)
    # Ten more runs of one scenario are not ten more scenarios.
    rows += [judgement("b", "p0", "t0", 4, repetition=r) for r in range(1, 11)]
    found = compare(frame(rows), arms=["a", "b"], ends=ENDS)
    (difference,) = found.differences
    assert difference.n == 40
    assert difference.estimate == pytest.approx((42 / 11 - 2) / 40)
    assert found.rows[1].n == 50


def test_turns_are_averaged_within_their_dialogue_first():
    fields = {"dimension": "personalization_per_turn"}
    rows = []
    for i in range(10):
        rows += [judgement("a", f"p{i}", "t", 4, turn=t, **fields) for t in range(1, 9)]
        rows += [judgement("a", f"p{i}", "u", 1, turn=t, **fields) for t in range(1, 3)]
    (row,) = compare(frame(rows), arms=["a"], ends=ENDS).rows
    assert row.estimate == 2.5  # a random dialogue; a random turn would have 3.4
    assert row.n == 20


def test_a_turn_without_a_value_is_left_out_and_told():
    fields = {"dimension": "personalization_per_turn"}
    rows = [
        judgement("a", f"p{i}", "t", value, turn=turn, **fields)
        for i in range(10)
        for turn, value in ((1, 4), (2, None))
    ]
    (row,) = compare(frame(rows), arms=["a"], ends=ENDS).rows
    assert (row.estimate, row.n, row.n_unscored) == (4.0, 10, 0)
    assert row.warnings == ("10 turns without a value are left out",)


@pytest.mark.parametrize(
    ("stop", "used"),
    [
        ("user_done", True),
        ("turn_limit", True),
        ("model_error", False),
        ("refused", False),
        ("budget", False),
        ("cancelled", False),
    ],
)
def test_only_dialogues_that_ended_with_something_to_judge_are_used(stop, used):
    rows = grid("a", [2] * 40) + [judgement("a", "p0", "other", 4, stop=stop)]
    (row,) = compare(frame(rows), arms=["a"], ends=ENDS).rows
    assert row.n == (41 if used else 40)


def test_below_eight_personas_the_dots_are_shown_and_no_interval():
    rows = grid("a", [1, 2, 3, 4] * 7) + grid("b", [2, 3, 4, 4] * 7)
    found = compare(frame(rows), arms=["a", "b"], ends=ENDS)
    row, difference = found.rows[0], found.differences[0]
    assert (row.estimate, row.lo, row.hi) == (2.5, None, None)
    assert row.dots == (2.5,) * 7
    assert row.method == "uncorrected judge mean, no interval"
    assert any("fewer than 8 personas" in note for note in row.warnings)
    assert difference.estimate == 0.75
    assert (difference.lo, difference.hi, difference.p) == (None, None, None)
    assert not difference.resolved


def test_with_eight_personas_there_is_an_interval():
    (row,) = compare(frame(grid("a", [1, 2, 3, 4] * 8)), arms=["a"], ends=ENDS).rows
    assert row.lo is not None
    assert row.dots == ()


def test_one_persona_gives_a_mean_and_nothing_else():
    (row,) = compare(frame(grid("a", [1, 2])), arms=["a"], ends=ENDS).rows
    assert (row.estimate, row.lo, row.n_personas) == (1.5, None, 1)


def test_unscored_dialogues_are_counted_and_never_averaged():
    rows = grid("a", [4] * 38 + [None] * 2)
    (row,) = compare(frame(rows), arms=["a"], ends=ENDS).rows
    assert (row.estimate, row.n, row.n_unscored) == (4.0, 38, 2)
    assert not any("no ranking" in note for note in row.warnings)


def test_more_than_five_per_cent_unscored_forbids_a_ranking():
    rows = grid("a", [4] * 37 + [None] * 3) + grid("b", [1] * 40)
    found = compare(frame(rows), arms=["a", "b"], ends=ENDS)
    assert any("no ranking" in note for note in found.rows[0].warnings)
    assert not found.differences[0].ranked
    assert found.differences[0].n == 37


def test_an_arm_without_any_value_has_a_row_that_says_so():
    found = compare(frame(grid("a", [3] * 40)), arms=["a", "late"], ends=ENDS)
    late = found.rows[1]
    assert (late.arm, late.estimate, late.n) == ("late", None, 0)
    assert late.warnings == ("no dialogue has a value yet",)
    assert found.differences[0].estimate is None
    assert found.differences[0].n == 0


def test_an_arm_with_only_unscored_dialogues_counts_them():
    found = compare(frame(grid("a", [None] * 8)), arms=["a"], ends=ENDS)
    assert (found.rows[0].estimate, found.rows[0].n_unscored) == (None, 8)


def test_no_judgements_make_an_empty_comparison():
    found = compare(frame([]), arms=["a", "b"])
    assert found == Comparison(arms=("a", "b"), baseline="a")


def test_arms_keep_the_order_of_the_study_and_others_are_left_out():
    rows = grid("z", [3] * 40) + grid("a", [2] * 40) + grid("stray", [1] * 40)
    found = compare(frame(rows), arms=["z", "a"], ends=ENDS)
    assert [row.arm for row in found.rows] == ["z", "a"]
    assert found.baseline == "z"


def test_another_arm_can_be_the_baseline():
    found = compare(completion(), arms=["A", "B"], baseline="B", ends=ENDS)
    (difference,) = found.differences
    assert (difference.arm, difference.baseline) == ("A", "B")
    assert difference.estimate == pytest.approx(-0.166667, abs=5e-7)


def test_only_scenarios_that_both_arms_have_are_paired():
    rows = grid("a", [2] * 40) + grid("b", [3] * 20)
    (difference,) = compare(frame(rows), arms=["a", "b"], ends=ENDS).differences
    assert (difference.n, difference.n_personas) == (20, 5)
    assert "20 scenarios with only one of the two arms are left out" in difference.warnings


def test_two_instruments_are_never_mixed():
    rows = grid("a", [1] * 40) + grid(
        "a", [4] * 40, instrument="other/judge · personalization@1", instrument_id="i2"
    )
    found = compare(frame(rows), arms=["a"], ends=ENDS)
    assert {(r.instrument_id, r.estimate, r.n) for r in found.rows} == {
        ("i1", 1, 40),
        ("i2", 4, 40),
    }
    with pytest.raises(MixedInstruments, match="2 instruments"):
        found.select("personalization")
    assert [r.estimate for r in found.select("personalization", "i2").rows] == [4.0]


def test_instruments_with_the_same_label_are_told_apart():
    rows = grid("a", [1] * 40) + grid("a", [4] * 40, instrument_id="i2")
    labels = {row.instrument for row in compare(frame(rows), arms=["a"], ends=ENDS).rows}
    assert labels == {
        "scripted/judge · personalization@1 · i1",
        "scripted/judge · personalization@1 · i2",
    }


def test_instruments_can_be_chosen():
    rows = grid("a", [1] * 40) + grid("a", [4] * 40, instrument_id="i2", instrument="other")
    found = compare(frame(rows), arms=["a"], instrument_ids=["i2"], ends=ENDS)
    assert [row.instrument for row in found.rows] == ["other"]


def test_a_selection_keeps_one_dimension_of_every_part():
    rows = grid("a", [1] * 40) + grid("b", [2] * 40)
    rows += grid("a", [0] * 40, dimension="task_completion", instrument_id="i2")
    found = compare(frame(rows), arms=["a", "b"], ends=ENDS)
    assert found.dimensions == ("personalization", "task_completion")
    part = found.select("personalization")
    for rows_of in (part.rows, part.differences, part.distributions, part.domains):
        assert {row.dimension for row in rows_of} == {"personalization"}


def test_distributions_count_every_value_of_the_scale_and_the_unscored():
    rows = grid("a", [1, 1, 3, None] * 10)
    (found,) = compare(frame(rows), arms=["a"], ends=ENDS).distributions
    assert found.counts == ((1, 20), (2, 0), (3, 10), (4, 0))
    assert found.n_unscored == 10


def test_a_value_outside_the_rubrics_scale_widens_it():
    found = compare(frame(grid("a", [0, 5] * 20)), arms=["a"], ends=ENDS)
    assert found.ends["personalization"] == Ends(0, 5)
    assert dict(found.distributions[0].counts)[5] == 20


def test_a_dimension_without_a_rubric_takes_the_scale_of_what_was_seen():
    found = compare(frame(grid("a", [2, 7] * 20, dimension="own")), arms=["a"], ends=ENDS)
    assert found.ends["own"] == Ends(2, 7)


def test_scales_come_from_the_rubrics_by_default():
    found = compare(completion(), arms=["A", "B"])
    assert found.ends == {"task_completion": Ends(0, 1, verdict=True)}


def test_a_dialogue_over_several_domains_counts_under_multi_domain_only():
    rows = grid("a", [2] * 80, domains="Books")
    rows += grid("a", [4] * 80, domains="Books|Music", dimension="personalization")
    rows = [r | {"task_id": f"{r['domains']}-{r['task_id']}"} for r in rows]
    rows = [r | {"dialogue_id": f"{r['persona_id']}-{r['task_id']}"} for r in rows]
    found = compare(frame(rows), arms=["a"], ends=ENDS)
    assert {(d.domain, d.estimate, d.n) for d in found.domains} == {
        ("Books", 2.0, 80),
        (MULTI_DOMAIN, 4.0, 80),
    }


@pytest.mark.parametrize(
    ("personas", "each", "too_few"), [(10, 2, False), (9, 4, True), (10, 1, True)]
)
def test_a_domain_of_few_personas_or_dialogues_is_marked(personas, each, too_few):
    rows = [judgement("a", f"p{p}", f"t{t}") for p in range(personas) for t in range(each)]
    (found,) = compare(frame(rows), arms=["a"], ends=ENDS).domains
    assert found.too_few is too_few


def test_domains_have_the_interval_of_their_own_rows():
    rng = np.random.default_rng(4)
    values = rng.integers(0, 2, size=80)
    rows = grid("a", values[:40], dimension="task_completion", domains="Books")
    music = grid("a", values[40:], dimension="task_completion", domains="Music")
    rows += [
        r | {"task_id": "m" + r["task_id"], "dialogue_id": "m" + r["dialogue_id"]} for r in music
    ]
    found = compare(frame(rows), arms=["a"], ends=ENDS)
    oracle = rate_ci(values[40:], cluster=np.repeat(np.arange(10), 4))
    (row,) = [d for d in found.domains if d.domain == "Music"]
    assert (row.estimate, row.lo, row.hi) == pytest.approx((oracle.est, oracle.lo, oracle.hi))


def test_many_pairs_share_their_flips_and_agree_with_single_comparisons():
    rng = np.random.default_rng(6)
    values = {arm: rng.integers(1, 5, size=160) for arm in "abc"}
    rows = [row for arm, column in values.items() for row in grid(arm, column)]
    found = compare(frame(rows), arms=["a", "b", "c"], ends=ENDS)
    persona = np.repeat(np.arange(40), 4)
    for difference in found.differences:
        single = paired_diff(values["a"], values[difference.arm], cluster=persona)
        assert difference.estimate == pytest.approx(single.estimate.est)
        assert difference.p == pytest.approx(single.p_signflip, abs=0.015)
        assert difference.superiority == pytest.approx(single.superiority.est)
    assert [d.p_adjusted for d in found.differences] == pytest.approx(
        list(holm([d.p for d in found.differences]))
    )


def test_what_is_said_of_one_dimension_does_not_depend_on_the_others():
    rng = np.random.default_rng(8)
    rows = [
        row
        for dimension, size in (("personalization", 160), ("grounding", 120))
        for arm in "abc"
        for row in grid(arm, rng.integers(1, 5, size=size), dimension=dimension)
    ]
    whole = compare(frame(rows), arms=["a", "b", "c"], ends=ENDS).select("personalization")
    mine = [row for row in rows if row["dimension"] == "personalization"]
    alone = compare(frame(mine), arms=["a", "b", "c"], ends=ENDS).select("personalization")
    assert whole.differences == alone.differences
    assert whole.rows == alone.rows


def test_a_pair_of_few_personas_is_tested_exactly_beside_one_of_many():
    rng = np.random.default_rng(7)
    values = {
        arm: rng.integers(1, 5, size=size) for arm, size in (("a", 160), ("b", 160), ("c", 40))
    }
    rows = [row for arm, column in values.items() for row in grid(arm, column)]
    found = compare(frame(rows), arms=["a", "b", "c"], ends=ENDS)
    persona = np.repeat(np.arange(10), 4)
    exact = paired_diff(values["a"][:40], values["c"], cluster=persona).p_signflip
    assert found.differences[1].p == pytest.approx(exact, abs=1e-12)


def test_a_test_that_contradicts_the_interval_is_told():
    gains = [0, 3, 0, 2, 0, 1, 1, 1]  # t gives p = 0.033; of 256 sign flips 16 reach as far
    rows = [judgement("a", f"p{i}", value=1) for i in range(8)]
    rows += [judgement("b", f"p{i}", value=1 + gain) for i, gain in enumerate(gains)]
    (difference,) = compare(frame(rows), arms=["a", "b"], ends=ENDS).differences
    assert difference.p == 0.0625
    assert difference.resolved
    assert any("against the interval" in note for note in difference.warnings)


def test_missing_personas_and_odd_names_are_names_like_any_other():
    rows = grid("a", [2] * 40) + [judgement("a", "$x$ <b>", "=1+1", 2, domains="Büro & Co")]
    (row,) = compare(frame(rows), arms=["a"], ends=ENDS).rows
    assert row.n_personas == 11


def test_results_have_exactly_the_keys_of_the_contract():
    found = results_object("s", compare(completion(), arms=["A", "B"], ends=ENDS))
    assert list(found) == ["study", "results", "differences"]
    assert set(found["results"][0]) == {
        "arm", "dimension", "estimate", "lo", "hi", "n", "n_personas", "n_unscored", "method",
        "instrument",
    }  # fmt: skip
    assert set(found["differences"][0]) == {
        "arm", "baseline", "dimension", "estimate", "lo", "hi", "p", "n", "instrument",
    }  # fmt: skip
    assert "uncorrected judge mean" in found["results"][0]["method"]


def test_results_are_plain_json_without_nan():
    rows = grid("a", [1, 2, None, 4] * 3) + grid("late", [None] * 12)
    found = results_object("s", compare(frame(rows), arms=["a", "late", "none"], ends=ENDS))
    assert json.loads(json.dumps(found, allow_nan=False)) == found
