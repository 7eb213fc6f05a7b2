import math
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest

from core.agreement import agreement
from core.agreement_rows import COLUMNS, instruments
from core.comparison import Ends
from core.stats.types import MixedInstruments, NotProbabilitySample, ShapeError
from tests.support.annotations import JUDGE, PEOPLE, START, annotation, annotations

RATING, VERDICT = Ends(1, 5), Ends(0, 1, verdict=True)


def close(value: float):
    return pytest.approx(value, abs=5e-7)


def of(rows, ends=RATING, **choice):
    choice = {"dimension": "naturalness", "boot": 50} | choice
    return agreement(rows, ends=ends, **choice)


def table(*rows):
    return pd.DataFrame([annotation(**row) for row in rows])


def verdicts(judge, people, **fields):
    """One dialogue and persona for each value; people are lists of values by name."""
    return table(
        *(
            {
                "dialogue_id": f"d{i}", "persona_id": f"p{i}", "annotator": name,
                "value_before_reveal": float(value), "value_after_reveal": float(value),
                "judge_value": float(judge[i]),
            } | fields
            for name, values in people.items()
            for i, value in enumerate(values)
        )
    )  # fmt: skip


# --- the whole ------------------------------------------------------------------------------


def test_a_table_of_annotations_comes_to_the_golden_numbers_of_its_parts():
    found = of(annotations())
    assert (found.n_labels, found.n_items, found.n_double, found.n_personas) == (180, 60, 60, 12)
    assert (found.instrument, found.names) == (
        "some-model · naturalness@1", ("ana", "ben", "cleo"),
    )  # fmt: skip
    assert found.alt_independent.winning_rate == close(2 / 3)
    assert found.alt_independent.advantage == close(0.833333)
    assert (found.alt.winning_rate, found.alt.clustered) == (0.0, True)
    assert found.judge.bias.est == close(1 / 3)
    assert found.judge.n_clusters == found.people.n_clusters == 12
    assert found.left_out == {}
    assert found.warnings == ()
    assert found.reasons == {
        "in_sight": "there must be labels of both kinds, judge in sight and blind"
    }


def test_each_arm_has_its_own_bias():
    found = of(annotations())
    people = np.array([[float(c) for c in values] for values in PEOPLE.values()]).mean(axis=0)
    apart = np.array([float(c) for c in JUDGE]) - people
    assert found.bias_by_arm["attentive"].est == close(apart[::2].mean())
    assert found.bias_by_arm["forgetful"].est == close(apart[1::2].mean())


def test_no_annotation_is_no_error():
    found = of(annotations().iloc[:0])
    assert (found.n_labels, found.judge, found.people, found.alt) == (0, None, None, None)
    assert (found.annotators, found.far_from_judge, found.among_people) == ((), (), ())
    assert set(found.reasons) == {
        "people", "judge", "alt", "alt_independent", "anchoring", "in_sight",
    }  # fmt: skip


def test_one_person_is_compared_with_the_judge_only():
    rows = annotations()
    found = of(rows[rows["annotator"] == "ana"])
    assert found.people is None
    assert "two annotators" in found.reasons["people"]
    assert found.judge.n == 60
    assert found.annotators[0].rater is None


# --- what counts ----------------------------------------------------------------------------


@pytest.mark.parametrize("reason", ["self_selected", "flagged", "adjudication", "training"])
def test_a_label_that_was_not_drawn_at_random_is_left_out_and_counted(reason):
    rows = annotations()
    rows.loc[rows["annotator"] == "cleo", ["reason", "pi"]] = (reason, math.nan)
    found = of(rows)
    assert found.left_out == {reason: 60}
    assert found.names == ("ana", "ben")


def test_a_label_given_with_the_judge_in_sight_is_no_evidence_of_agreement():
    rows = annotations()
    in_sight = rows["dialogue_id"].isin([f"d{i:02}" for i in range(6)])
    rows.loc[in_sight, "judge_visible_before"] = True
    rows.loc[in_sight, "value_before_reveal"] = rows.loc[in_sight, "judge_value"]
    found = of(rows)
    assert found.left_out == {"judge in sight": 18}
    assert found.n_items == 54
    assert found.in_sight.shown.est == 1.0
    assert found.in_sight.blind.est == found.judge.exact.est
    assert found.anchoring.together.n == 162


def test_cannot_judge_is_not_a_value():
    rows = annotations()
    rows.loc[rows.index[:7], "value_before_reveal"] = math.nan
    found = of(rows)
    assert found.left_out == {"cannot judge": 7}
    assert found.n_labels == 173


def test_the_first_of_two_labels_of_one_person_counts():
    rows = annotations()
    again = rows[rows["annotator"] == "ana"].assign(
        value_before_reveal=1.0, submitted_at=START + timedelta(days=1)
    )
    found = of(pd.concat([again, rows]))
    assert found.left_out == {"labelled again": 60}
    assert found.judge.bias.est == of(rows).judge.bias.est


def test_a_dialogue_drawn_rarely_weighs_more():
    rows = verdicts([1, 1, 0, 0], {"ana": [1, 0, 0, 0]})
    rows["pi"] = [0.1, 0.5, 0.5, 0.5]
    found = of(rows, VERDICT)
    assert not found.equal_draws
    assert found.judge.exact.est == close((10 + 2 + 2) / 16)


def test_a_dialogue_weighs_the_same_however_many_labelled_it():
    rows = verdicts([1, 1, 1, 1], {"ana": [1, 1, 0, 0], "ben": [1, 1, 0, 0]})
    rows = rows[~((rows["annotator"] == "ben") & (rows["dialogue_id"] == "d3"))]
    assert of(rows, VERDICT).judge.exact.est == close(0.5)


@pytest.mark.parametrize("pi", [math.nan, 0.0, 1.2, -0.1])
def test_a_drawn_label_without_a_probability_is_refused(pi):
    rows = annotations()
    rows.loc[rows.index[3], "pi"] = pi
    with pytest.raises(NotProbabilitySample):
        of(rows)


def test_one_dialogue_cannot_be_drawn_with_two_probabilities():
    rows = annotations()
    rows.loc[rows["annotator"] == "ben", "pi"] = 0.25
    with pytest.raises(NotProbabilitySample, match="two probabilities"):
        of(rows)


def test_a_value_outside_the_scale_is_refused():
    rows = annotations()
    rows.loc[rows.index[0], "value_before_reveal"] = 6.0
    with pytest.raises(ShapeError, match="the value 6"):
        of(rows)


@pytest.mark.parametrize("column", COLUMNS)
def test_every_column_of_the_contract_is_needed(column):
    with pytest.raises(ShapeError, match=column):
        of(annotations().drop(columns=column))


def test_turns_of_one_dialogue_are_items_of_their_own():
    rows = verdicts([1, 1, 0, 0], {"ana": [1, 0, 0, 1], "ben": [1, 1, 0, 0]})
    rows = rows.assign(dialogue_id="d0", turn=[1.0, 2.0, 3.0, 4.0] * 2)
    found = of(rows, VERDICT)
    assert (found.n_items, found.n_double) == (4, 4)
    assert [d.item.turn for d in found.among_people] == [2, 4]


# --- instruments ----------------------------------------------------------------------------


def two_instruments():
    one = annotations()
    other = one.assign(
        judge_value=3.0, instrument="other-model · naturalness@1", instrument_id="i2"
    )
    return pd.concat([one, other])


def test_two_instruments_are_never_put_into_one_number():
    rows = two_instruments()
    with pytest.raises(MixedInstruments, match="2 instruments"):
        of(rows)
    assert set(instruments(rows, "naturalness")) == {"i1", "i2"}


def test_each_instrument_can_be_looked_at():
    one, other = (of(two_instruments(), instrument_id=i) for i in ("i1", "i2"))
    assert one.judge.bias.est == of(annotations()).judge.bias.est
    assert other.judge.constant.exact >= other.judge.exact.est
    assert (one.n_labels, other.n_labels) == (180, 180)
    assert one.people.alpha == other.people.alpha


def test_labels_that_an_instrument_has_not_judged_stay_for_the_agreement_of_people():
    rows = two_instruments()
    rows = rows[(rows["instrument_id"] == "i1") | (rows["dialogue_id"] < "d30")]
    found = of(rows, instrument_id="i2")
    assert (found.n_labels, found.n_unscored) == (180, 30)
    assert found.judge.n == 90
    assert found.people.n_items == 60


def test_labels_under_two_versions_of_a_rubric_are_not_mixed():
    rows = annotations()
    rows.loc[rows["annotator"] == "ben", "rubric"] = "naturalness@2"
    with pytest.raises(MixedInstruments, match="naturalness@2"):
        of(rows)


def test_other_dimensions_are_not_looked_at():
    rows = pd.concat([annotations(), annotations(dimension="coherence", pi=math.nan)])
    assert of(rows).n_labels == 180


# --- annotators and disagreements -----------------------------------------------------------


def test_an_annotator_who_grows_lenient_is_seen_against_the_judge():
    rows = annotations()
    late = (rows["annotator"] == "ana") & (rows["dialogue_id"] >= "d30")
    rows.loc[late, "value_before_reveal"] = 5.0
    ana, ben, _ = of(rows).annotators
    assert [b.n for b in ana.blocks] == [10] * 6
    assert ana.blocks[0].start == START
    assert ana.blocks[-1].mean > 1 > ana.blocks[0].mean
    assert ana.change.lo > 0
    assert ben.change.lo < 0 < ben.change.hi


def test_a_stretch_of_few_personas_has_no_interval():
    # Dialogues come persona by persona, so that ten labels are of two personas.
    ana = of(annotations()).annotators[0]
    assert [(b.lo, b.hi) for b in ana.blocks] == [(None, None)] * 6
    mixed = annotations()
    mixed["persona_id"] = "p" + (mixed.index % 12).astype(str)
    ana = of(mixed).annotators[0]
    assert all(b.lo < b.mean < b.hi for b in ana.blocks)


def test_few_labels_are_not_cut_into_stretches():
    rows = annotations()
    found = of(rows[rows["dialogue_id"] < "d09"])
    assert [a.blocks for a in found.annotators] == [()] * 3
    assert [a.change for a in found.annotators] == [None] * 3
    assert found.warnings == ("only 27 labels, and 30 are the least to conclude",)


def test_an_annotator_of_one_arm_only_is_said():
    rows = annotations()
    rows = rows[(rows["annotator"] != "ben") | (rows["arm"] == "forgetful")]
    assert of(rows).warnings == ("ben labelled one arm only, so severity may look like quality",)


def test_the_worst_disagreements_come_first():
    found = of(annotations())
    gaps = [d.gap for d in found.far_from_judge]
    assert gaps == sorted(gaps, reverse=True)
    assert min(gaps) > 0
    worst = found.far_from_judge[0]
    i = int(worst.item.dialogue_id[1:])
    assert worst.judge == float(JUDGE[i])
    assert dict(worst.labels) == {name: float(v[i]) for name, v in PEOPLE.items()}
    spread = [max(v) - min(v) for v in zip(*(map(int, v) for v in PEOPLE.values()), strict=True)]
    assert [d.gap for d in found.among_people] == sorted(
        (s for s in spread if s), reverse=True
    )[:50]  # fmt: skip


def test_the_reveal_is_measured_on_labels_that_were_not_drawn_too():
    rows = annotations()
    ben = rows["annotator"] == "ben"
    rows.loc[ben, "value_after_reveal"] = rows.loc[ben, "judge_value"]
    rows.loc[ben, "reason"] = "self_selected"
    found = dict(of(rows).anchoring.annotators)
    assert found["ben"].leans
    assert found["ben"].towards_share == 1.0
    assert found["ana"].changed == 0


def test_without_a_judge_people_are_still_compared():
    found = of(annotations().assign(judge_value=math.nan, instrument_id=None, instrument=None))
    assert found.instrument == ""
    assert found.people.n_items == 60
    assert found.judge is None
    assert found.n_unscored == 60
    assert found.far_from_judge == ()
