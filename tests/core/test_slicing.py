"""Slices of one arm, and arms over turns: what is said, and what is too few to say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from core.comparison import Ends
from core.slicing import (
    by_length,
    by_turn,
    fields_to_slice,
    scenario_values,
    sliced_by_domain,
    sliced_by_persona,
)
from core.stats.intervals import mean_ci

SCALE = Ends(1, 4)
DOMAINS = ("Books", "Flights", "Hotels", "Music", "Restaurants")


def rating(**fields: Any) -> dict[str, Any]:
    return {
        "dialogue_id": "d", "persona_id": "p0", "task_id": "t", "domains": "Books",
        "arm": "attentive", "turns": 3, "turn": None, "value": 3.0, "instrument_id": "i1",
        "stop_reason": "user_done",
    } | fields  # fmt: skip


def table(personas: int = 40, odd: str = "Books", by: float = 1.5) -> pd.DataFrame:
    """Each persona once in each domain; in one domain values are higher."""
    noise = np.random.default_rng(3)
    rows = [
        rating(
            dialogue_id=f"d{p}{domain}",
            persona_id=f"p{p}",
            task_id=domain,
            domains=domain,
            turns=1 + p % 3,
            value=float(np.clip(2 + noise.normal(0, 0.6) + by * (domain == odd), 1, 4)),
        )
        for p in range(personas)
        for domain in DOMAINS
    ]
    return pd.DataFrame(rows)


def test_slice_that_differs_is_found_and_the_others_are_not() -> None:
    found = sliced_by_domain(scenario_values(table(), "i1"), arm="attentive", ends=SCALE)
    assert found.slices[0].name == "Books"
    assert found.slices[0].differs
    names = [s.name for s in found.slices]
    assert sorted(names) == sorted(DOMAINS)


def test_slices_of_noise_are_drawn_towards_each_other() -> None:
    found = sliced_by_domain(scenario_values(table(by=0.0), "i1"), arm="attentive", ends=SCALE)
    raw = [s.estimate for s in found.slices if s.estimate is not None]
    shrunk = [s.shrunk for s in found.slices if s.shrunk is not None]
    assert len(shrunk) == 5
    assert np.ptp(shrunk) < np.ptp(raw)
    assert not any(s.differs for s in found.slices)


def test_too_small_a_slice_is_listed_and_not_estimated() -> None:
    rows = table()
    rows = rows[(rows["domains"] != "Music") | rows["persona_id"].isin(["p1", "p2", "p3"])]
    found = sliced_by_domain(scenario_values(rows, "i1"), arm="attentive", ends=SCALE)
    small = found.slices[-1]
    assert (small.name, small.n, small.n_personas) == ("Music", 3, 3)
    assert small.too_few
    assert (small.estimate, small.shrunk, small.p) == (None, None, None)


def test_a_slice_is_what_the_method_book_says_of_its_rows() -> None:
    rows = table()
    found = sliced_by_domain(scenario_values(rows, "i1"), arm="attentive", ends=SCALE)
    hotels = rows[rows["domains"] == "Hotels"]
    by_hand = mean_ci(hotels["value"].to_numpy(float), cluster=hotels["persona_id"].to_numpy())
    mine = next(s for s in found.slices if s.name == "Hotels")
    assert mine.estimate == pytest.approx(by_hand.est)
    assert (mine.lo, mine.hi) == pytest.approx((by_hand.lo, by_hand.hi))


def test_personas_are_sliced_by_what_is_told_of_them() -> None:
    told = {f"p{p}": "young" if p % 2 else "old" for p in range(39)}
    scenarios = scenario_values(table(), "i1")
    found = sliced_by_persona(scenarios, told, arm="attentive", by="age", ends=SCALE)
    assert {s.name: s.n for s in found.slices} == {"old": 100, "young": 95, "not told": 5}
    assert next(s for s in found.slices if s.name == "not told").too_few
    people = [{"age": "old", "id": str(n), "of": "x"} for n in range(50)] + [{"age": "young"}]
    assert fields_to_slice(people) == ["age"]


def test_one_slice_alone_is_told_without_a_test() -> None:
    rows = table()
    rows = rows[rows["domains"] == "Books"]
    found = sliced_by_domain(scenario_values(rows, "i1"), arm="attentive", ends=SCALE)
    assert len(found.slices) == 1
    assert found.slices[0].p is None
    assert found.warnings


def test_repetitions_broken_off_and_other_instruments_change_nothing() -> None:
    rows = table(personas=12)
    more = [
        rating(dialogue_id="x", stop_reason="model_error", value=4.0),
        rating(dialogue_id="y", instrument_id="i2", value=4.0),
        rating(dialogue_id="z", value=None),
    ]
    wide = pd.concat([rows, pd.DataFrame(more)])
    assert scenario_values(wide, "i1")["value"].sum() == scenario_values(rows, "i1")["value"].sum()


def test_arms_by_the_number_of_turns() -> None:
    found = by_length(scenario_values(table(), "i1"), SCALE)
    assert [row.turn for row in found] == [1, 2, 3]
    assert sum(row.n for row in found) == 200
    assert all(row.lo is not None and row.lo < row.estimate for row in found)


def test_turns_rated_one_by_one_make_a_curve_and_whole_dialogues_none() -> None:
    assert by_turn(table(), "i1", SCALE) == ()
    rows = [
        rating(dialogue_id=f"d{p}", persona_id=f"p{p}", turn=turn, value=1.0 + turn)
        for p in range(25)
        for turn in (1, 2, 3)
        if turn < 3 or p < 4
    ]
    found = by_turn(pd.DataFrame(rows), "i1", SCALE)
    assert [(row.turn, row.estimate, row.n) for row in found] == [(1, 2, 25), (2, 3, 25), (3, 4, 4)]
    assert [row.too_few for row in found] == [False, False, True]
    assert found[2].lo is None
