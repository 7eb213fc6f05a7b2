"""Two instruments on the same dialogues, and several as one panel."""

from __future__ import annotations

import pandas as pd
import pytest

from core.compare import compare
from core.comparison import Ends
from core.errors import StudyError
from core.instruments import (
    drift_from_people,
    instrument_shift,
    margin_of,
    panel_ratings,
    shift_words,
)
from tests.support.annotations import annotations


def ratings(**values: list[float]) -> pd.DataFrame:
    """One row per dialogue and judge; personas of two dialogues, arms in turn."""
    rows = [
        {
            "dialogue_id": f"d{i}",
            "persona_id": f"p{i // 2}",
            "task_id": "t",
            "kind": "single",
            "domains": "Books",
            "arm": ("a", "b")[i % 2],
            "repetition": 0,
            "turns": 2,
            "dimension": "naturalness",
            "target": "dialogue",
            "turn": pd.NA,
            "status": "ok",
            "value": value,
            "instrument": f"{judge} · naturalness@1",
            "instrument_id": judge,
            "stop_reason": "user_done",
        }
        for judge, given in values.items()
        for i, value in enumerate(given)
    ]
    return pd.DataFrame(rows)


OLD = [3.0, 2, 4, 3, 5, 2, 3, 4, 1, 2, 3, 3, 4, 5, 2, 3, 3, 2, 4, 4]


def test_shift_of_a_stricter_judge_is_drift() -> None:
    new = [v - 1 if i % 3 else v for i, v in enumerate(OLD)]
    found = instrument_shift(ratings(old=OLD, new=new), "old", "new", margin=0.2)
    assert found.verdict == "drift"
    assert found.diff.estimate.est == pytest.approx(-0.65)
    assert "0.65 points lower" in shift_words(found)


def test_same_values_are_equivalent_and_little_data_is_unresolved() -> None:
    assert instrument_shift(ratings(old=OLD, new=OLD), "old", "new", margin=0.2).verdict == (
        "equivalent"
    )
    few = instrument_shift(ratings(old=[3, 3, 2, 4], new=[3, 4, 2, 3]), "old", "new", margin=0.2)
    assert few.verdict == "unresolved"
    assert "neither a drift nor its absence" in shift_words(few)


def test_dialogues_of_one_instrument_only_are_counted_and_left_out() -> None:
    found = instrument_shift(ratings(old=OLD, new=OLD[:14]), "old", "new", margin=0.2)
    assert (found.n, found.one_only, found.n_personas) == (14, 6, 7)


def test_nothing_in_common_is_told() -> None:
    with pytest.raises(StudyError, match="judge them with both first"):
        instrument_shift(ratings(old=OLD), "old", "new", margin=0.2)


def test_margin_is_a_tenth_of_a_rate_or_a_twentieth_of_a_scale() -> None:
    assert margin_of(Ends(0, 1, verdict=True)) == 0.1
    assert margin_of(Ends(1, 5)) == pytest.approx(0.2)


def test_panel_is_the_mean_of_its_members_and_an_instrument_of_its_own() -> None:
    table = ratings(x=[3.0, 4], y=[4.0, float("nan")], z=[2.0, 1])
    found = panel_ratings(table, ["z", "x", "y"])
    assert list(found["value"].fillna(-1)) == [3.0, -1]
    assert list(found["status"]) == ["ok", "unparsable"]
    assert found["instrument_id"].nunique() == 1
    assert not set(found["instrument_id"]) & {"x", "y", "z"}
    assert found["instrument"].iloc[0].startswith("panel of 3: x")


def test_panel_is_compared_like_any_instrument() -> None:
    table = ratings(x=OLD, y=[v + 1 for v in OLD])
    found = compare(panel_ratings(table, ["x", "y"]), arms=["a", "b"], ends={})
    assert [row.n for row in found.rows] == [10, 10]
    assert found.rows[0].estimate == pytest.approx(sum(OLD[::2]) / 10 + 0.5)


def test_panel_needs_two_members_that_rated() -> None:
    table = ratings(x=OLD)
    with pytest.raises(StudyError, match="at least two"):
        panel_ratings(table, ["x", "x"])
    with pytest.raises(StudyError, match="Nothing was rated by y"):
        panel_ratings(table, ["x", "y"])


def labelled(shift: float) -> pd.DataFrame:
    """Sixty labelled dialogues, rated by an old judge and by one that is so much higher."""
    old = annotations(instrument_id="old", instrument="old · naturalness@1")
    new = old.assign(
        instrument_id="new", instrument="new · naturalness@1", judge_value=old.judge_value + shift
    )
    return pd.concat([old, new], ignore_index=True)


def test_drift_is_held_against_peoples_labels() -> None:
    found = drift_from_people(labelled(1.0), "naturalness", "old", "new", margin=0.2)
    assert found.verdict == "drift"
    assert found.shift.estimate.n == 60
    assert found.bias_new.est - found.bias_old.est == pytest.approx(1.0)
    same = drift_from_people(labelled(0.0), "naturalness", "old", "new", margin=0.2)
    assert same.verdict == "equivalent"


def test_labels_that_are_no_evidence_do_not_enter_the_drift() -> None:
    table = labelled(1.0).assign(reason="self_selected")
    with pytest.raises(StudyError, match="Too few blind labels"):
        drift_from_people(table, "naturalness", "old", "new", margin=0.2)
