"""Judgements, overrides and the ratings behind comparisons, on both engines."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import pytest

from core.errors import AlreadyDecided, NotFound, StoreError
from core.ports import Finished
from core.types import Dialogue, JudgementStatus, OverrideReason, Target
from storage.store import SqlStore
from tests.builders import (
    WEIRD,
    later,
    make_arm,
    make_dialogue,
    make_instrument,
    make_judgement,
    make_override,
    make_study,
    make_task,
)

D1 = make_dialogue(id="d1")


@pytest.fixture
def talked(store: SqlStore) -> SqlStore:
    store.add_study(make_study())
    store.add_finished([Finished(D1)])
    return store


def test_a_judgement_comes_back_whole(talked: SqlStore) -> None:
    judgement = make_judgement(
        D1,
        dimension=WEIRD,
        rationale=WEIRD,
        raw=WEIRD,
        evidence=(1, 3),
        target="user",
        instrument=make_instrument(WEIRD, judge=WEIRD, note=WEIRD, temperature=0.0),
    )
    talked.add_judgements([judgement])
    assert talked.get_judgement(judgement.id) == judgement
    assert list(talked.iter_judgements("s1")) == [judgement]


@pytest.mark.parametrize("status", [s for s in JudgementStatus if s is not JudgementStatus.OK])
def test_a_failed_judgement_keeps_its_status_and_has_no_value(
    talked: SqlStore, status: JudgementStatus
) -> None:
    judgement = make_judgement(D1, value=None, status=status)
    talked.add_judgements([judgement])
    assert talked.list_judgements("d1") == [judgement]


def test_an_unknown_judgement_is_not_found(talked: SqlStore) -> None:
    with pytest.raises(NotFound, match="j9"):
        talked.get_judgement("j9")
    assert talked.list_judgements("d9") == []


def test_one_instrument_rates_one_target_once(talked: SqlStore) -> None:
    first = make_judgement(D1, id="j1")
    talked.add_judgements([first])
    with pytest.raises(AlreadyDecided):
        talked.add_judgements(
            [
                make_judgement(D1, id="j2", dimension="grounding"),
                make_judgement(D1, id="j3", value=1),
            ]
        )
    assert talked.list_judgements("d1") == [first]


def test_other_turns_targets_dimensions_and_instruments_are_other_judgements(
    talked: SqlStore,
) -> None:
    judgements = [
        make_judgement(D1),
        make_judgement(D1, turn=1),
        make_judgement(D1, turn=2),
        make_judgement(D1, target=Target.USER),
        make_judgement(D1, dimension="grounding"),
        make_judgement(D1, instrument=make_instrument(judge="openai/x")),
    ]
    talked.add_judgements(judgements)
    assert talked.list_judgements("d1") == judgements
    with pytest.raises(AlreadyDecided):
        talked.add_judgements([make_judgement(D1, turn=2, id="again")])


def test_a_judgement_of_an_unknown_dialogue_is_refused(talked: SqlStore) -> None:
    with pytest.raises(StoreError, match="not stored"):
        talked.add_judgements([make_judgement(make_dialogue(id="d9"))])


def test_dialogues_without_names_judgeable_ones_that_the_instrument_has_not_rated(
    talked: SqlStore,
) -> None:
    talked.add_study(make_study("s2", name="other"))
    stops = ("turn_limit", "model_error", "refused", "budget", "cancelled")
    more = [make_dialogue(id=stop, stop=stop) for stop in stops]
    talked.add_finished([Finished(d) for d in (*more, make_dialogue(id="x", study_id="s2"))])
    instrument = make_instrument()
    owed = ["d1", "turn_limit"]
    assert talked.dialogues_without("s1", instrument.id, "personalization") == owed
    talked.add_judgements([make_judgement(D1, instrument=instrument)])
    assert talked.dialogues_without("s1", instrument.id, "personalization") == ["turn_limit"]
    assert talked.dialogues_without("s1", instrument.id, "grounding") == owed
    assert talked.dialogues_without("s1", "another", "personalization") == owed


def test_judgements_are_read_through_in_the_order_of_storing(
    talked: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.judgements._PIECE", 2)
    judgements = [make_judgement(D1, turn=turn) for turn in (5, 4, 3, 2, 1)]
    talked.add_judgements(judgements)
    assert list(talked.iter_judgements("s1")) == judgements


# --- ratings -----------------------------------------------------------------------------------


def test_ratings_have_one_row_per_judgement(talked: SqlStore) -> None:
    task = make_task(f"MD-task-1{WEIRD}", domains=(WEIRD, "Books"))
    second = make_dialogue(
        "user: a",
        "assistant: b",
        "user: c",
        id=f"d2{WEIRD}",
        task=task,
        arm=make_arm(WEIRD),
        persona_id=WEIRD,
        repetition=1,
        stop="turn_limit",
    )
    judge = make_instrument(judge="openai/x")
    judgements = (
        make_judgement(second, value=None, status="refused", dimension=WEIRD, turn=2),
        make_judgement(second, value=4, instrument=judge),
    )
    talked.add_finished([Finished(second, judgements)])
    talked.add_judgements([make_judgement(D1, value=2)])
    expected = pd.DataFrame(
        {
            "dialogue_id": [second.id, second.id, "d1"],
            "persona_id": [WEIRD, WEIRD, "user0"],
            "task_id": [task.id, task.id, "SD-Books-task-0"],
            "kind": ["multi", "multi", "single"],
            "domains": [f"{WEIRD}|Books", f"{WEIRD}|Books", "Books"],
            "arm": [WEIRD, WEIRD, "attentive"],
            "repetition": [1, 1, 0],
            "turns": [2, 2, 1],
            "dimension": [WEIRD, "personalization", "personalization"],
            "target": ["turn", "dialogue", "dialogue"],
            "turn": pd.array([2, None, None], dtype="Int64"),
            "status": ["refused", "ok", "ok"],
            "value": [float("nan"), 4.0, 2.0],
            "instrument": [j.instrument.label for j in (*judgements, make_judgement(D1))],
            "instrument_id": [j.instrument.id for j in (*judgements, make_judgement(D1))],
            "stop_reason": ["turn_limit", "turn_limit", "user_done"],
        }
    )
    pd.testing.assert_frame_equal(talked.ratings("s1"), expected)
    assert talked.rated_dimensions("s1") == sorted({WEIRD, "personalization"})
    assert talked.list_arms("s1") == sorted({WEIRD, "attentive"})
    one = expected[expected["dimension"] == "personalization"].reset_index(drop=True)
    pd.testing.assert_frame_equal(talked.ratings("s1", dimension="personalization"), one)


def test_a_study_without_judgements_rates_nothing(talked: SqlStore) -> None:
    assert talked.rated_dimensions("s1") == []
    assert talked.rated_dimensions("nowhere") == []
    assert talked.list_arms("nowhere") == []


def test_ratings_of_nothing_have_the_same_columns_and_types(talked: SqlStore) -> None:
    empty = talked.ratings("s1")
    talked.add_judgements([make_judgement(D1)])
    full = talked.ratings("s1")
    assert len(empty) == 0
    assert len(full) == 1
    assert empty.dtypes.to_dict() == full.dtypes.to_dict()


def test_ratings_of_only_unscored_judgements_have_no_value(talked: SqlStore) -> None:
    talked.add_judgements([make_judgement(D1, value=None)])
    ratings = talked.ratings("s1")
    assert ratings["value"].isna().all()
    assert ratings["value"].dtype == "float64"


# --- overrides ---------------------------------------------------------------------------------


@pytest.fixture
def judged(talked: SqlStore) -> SqlStore:
    talked.add_judgements([make_judgement(D1, id="j1"), make_judgement(D1, id="j2", turn=1)])
    return talked


J1 = make_judgement(D1, id="j1")
J2 = make_judgement(D1, id="j2", turn=1)


def test_overrides_form_a_chain_and_come_back_oldest_first(judged: SqlStore) -> None:
    first = make_override(J1, id="o1", reason=WEIRD, author=WEIRD, value=None)
    second = make_override(
        J1, id="o2", supersedes="o1", reason_kind=OverrideReason.OTHER, created_at=later()
    )
    other = make_override(J2, id="o3")
    for override in (first, second, other):
        judged.add_override(override)
    assert judged.list_overrides("d1") == [first, second, other]
    assert judged.list_all_overrides() == judged.list_all_overrides("s1") == [first, second, other]
    assert judged.list_all_overrides("s9") == []
    assert judged.list_overrides("d9") == []
    assert judged.get_judgement("j1") == J1


@pytest.mark.parametrize("supersedes", [None, "o1", "o3", "nothing"])
def test_an_override_must_supersede_the_latest(judged: SqlStore, supersedes: str | None) -> None:
    judged.add_override(make_override(J1, id="o1"))
    judged.add_override(make_override(J1, id="o2", supersedes="o1"))
    judged.add_override(make_override(J2, id="o3"))
    with pytest.raises(AlreadyDecided, match="in the meantime"):
        judged.add_override(make_override(J1, id="o4", supersedes=supersedes))
    assert [o.id for o in judged.list_overrides("d1")] == ["o1", "o2", "o3"]


def test_an_override_of_an_unknown_judgement_is_not_found(judged: SqlStore) -> None:
    with pytest.raises(NotFound, match="j9"):
        judged.add_override(make_override(make_judgement(D1, id="j9")))


def test_of_overrides_made_at_the_same_time_one_is_kept(judged: SqlStore) -> None:
    def override(name: str) -> bool:
        try:
            judged.add_override(make_override(J1, id=name, author=name))
        except AlreadyDecided:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        kept = list(pool.map(override, "abcdefgh"))
    assert sum(kept) == 1
    assert len(judged.list_overrides("d1")) == 1


def test_judgements_of_a_dialogue_know_its_study(talked: SqlStore) -> None:
    other = make_dialogue(id="x", study_id="s2")
    talked.add_study(make_study("s2", name="other"))
    judgement = make_judgement(other)
    talked.add_finished([Finished(other, (judgement,))])
    assert isinstance(other, Dialogue)
    assert list(talked.iter_judgements("s2")) == [judgement]
    assert list(talked.iter_judgements("s1")) == []
