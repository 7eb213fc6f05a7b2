"""Overriding in bulk and finding where judge and people differ, on both engines."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from core.bulk_override import (
    MOST,
    RESTORED,
    BulkPlan,
    Special,
    override_all,
    preview,
    take_back,
)
from core.errors import AppError, NotFound
from core.overrides import UNDONE, Why
from core.ports import DialogueFilter, Finished
from core.review_types import Act
from core.types import Judgement, OverrideReason
from core.value_in_force import in_force
from storage.store import SqlStore
from tests.builders import (
    WEIRD,
    later,
    make_annotation,
    make_arm,
    make_dialogue,
    make_instrument,
    make_judgement,
    make_override,
    make_study,
)

ANA = Why("Ana", OverrideReason.RUBRIC, WEIRD)
EVERY = DialogueFilter()
MINE = make_instrument("personalization@1").id


@pytest.fixture
def judged(store: SqlStore) -> SqlStore:
    """Six dialogues, valued 1 2 3 4 1 2 on personalisation, and 5 by turns on naturalness."""
    store.add_study(make_study())
    for i in range(6):
        dialogue = make_dialogue(id=f"d{i}", arm=make_arm("pushy" if i % 2 else "attentive"))
        own = make_judgement(dialogue, value=i % 4 + 1)
        other = make_judgement(dialogue, value=5, dimension="naturalness_user")
        store.add_finished([Finished(dialogue, (own, other))])
    return store


def plan(store: SqlStore, given: int | Special, where: DialogueFilter = EVERY) -> BulkPlan:
    return preview(store, where, "personalization", MINE, given)


def save(store: SqlStore, made: BulkPlan, why: Why = ANA) -> tuple[int, int]:
    numbers = count()
    found = override_all(
        made, why, store, now=later, new_id=lambda: f"{why.author}-{next(numbers)}"
    )
    return len(found.saved), len(found.late)


def values(store: SqlStore) -> list[int | None]:
    """What is in force on personalisation, by dialogue."""
    judgements = [j for j in store.iter_judgements("s1") if j.dimension == "personalization"]
    overrides = store.list_all_overrides("s1")
    return [in_force(j, overrides).value for j in judgements]


def own(store: SqlStore, dialogue_id: str) -> Judgement:
    found = store.list_judgements(dialogue_id)
    return next(j for j in found if j.dimension == "personalization")


def test_a_preview_says_what_would_change_and_changes_nothing(judged: SqlStore) -> None:
    made = plan(judged, 2)
    assert [row.judgement.dialogue_id for row in made.rows] == ["d0", "d2", "d3", "d4"]
    assert made.moves == [(1, 2, 2), (3, 2, 1), (4, 2, 1)]
    assert (made.alike, made.over_people) == (2, 0)
    assert judged.list_all_overrides() == []


def test_only_the_filtered_list_is_overridden(judged: SqlStore) -> None:
    low = DialogueFilter(
        arms=frozenset({"attentive"}),
        min_value=("personalization", 1),
        max_value=("personalization", 1),
    )
    assert save(judged, plan(judged, Special.NONE, low)) == (2, 0)
    assert values(judged) == [None, 2, 3, 4, None, 2]
    first = judged.list_all_overrides()[0]
    assert (first.author, first.reason, first.created_at) == ("Ana", WEIRD, later())


def test_of_several_turns_only_those_within_the_filtered_values_are_taken(
    store: SqlStore,
) -> None:
    store.add_study(make_study())
    dialogue, instrument = make_dialogue(id="d"), make_instrument("personalization_per_turn@1")
    turns = [
        make_judgement(
            dialogue, value=v, turn=t, dimension="personalization_per_turn", instrument=instrument
        )
        for t, v in enumerate((1, 3, 2), start=1)
    ]
    store.add_finished([Finished(dialogue, tuple(turns))])
    low = DialogueFilter(max_value=("personalization_per_turn", 2))
    made = preview(store, low, "personalization_per_turn", instrument.id, Special.NONE)
    assert [row.judgement.turn for row in made.rows] == [1, 3]


def test_what_somebody_overrode_after_the_preview_is_left_to_them(judged: SqlStore) -> None:
    made = plan(judged, 4)
    judged.add_override(make_override(own(judged, "d1"), value=3, author="Ben"))
    assert save(judged, made) == (4, 1)
    assert values(judged) == [4, 3, 4, 4, 4, 4]


def test_two_people_at_once_lose_nothing_and_overwrite_nothing(judged: SqlStore) -> None:
    made = plan(judged, 3)
    people = [Why(f"person{i}", OverrideReason.OTHER, "") for i in range(6)]
    with ThreadPoolExecutor(6) as pool:
        ended = list(pool.map(lambda why: save(judged, made, why), people))
    assert sorted(ended) == [(0, 5)] * 5 + [(5, 0)]
    assert len(judged.list_all_overrides()) == 5
    assert values(judged) == [3] * 6


def test_a_bulk_override_can_be_taken_back_to_what_held_before(judged: SqlStore) -> None:
    judged.add_override(make_override(own(judged, "d0"), value=3, author="Ben"))
    before = values(judged)
    made = plan(judged, 4)
    assert made.over_people == 1
    numbers = count()
    saved = override_all(made, ANA, judged, now=later, new_id=lambda: f"o{next(numbers)}")
    back = take_back(saved, "Ana", judged, now=later, new_id=lambda: f"o{next(numbers)}")
    assert len(back.saved) == len(saved.saved)
    assert values(judged) == before
    assert {o.reason for o in judged.list_all_overrides()[-5:]} == {UNDONE, RESTORED}


def test_the_judges_own_values_are_given_back_where_people_had_replaced_them(
    judged: SqlStore,
) -> None:
    judged.add_override(make_override(own(judged, "d0"), value=3))
    judged.add_override(make_override(own(judged, "d1"), value=2))  # agrees, and is a person's
    made = plan(judged, Special.JUDGE)
    assert [row.judgement.dialogue_id for row in made.rows] == ["d0", "d1"]
    assert save(judged, made) == (2, 0)
    assert values(judged) == [1, 2, 3, 4, 1, 2]
    assert plan(judged, Special.JUDGE).rows == ()


def test_a_value_outside_the_scale_is_refused(judged: SqlStore) -> None:
    with pytest.raises(AppError, match="from 1 to 4"):
        plan(judged, 5)


def test_an_override_without_a_name_is_refused(judged: SqlStore) -> None:
    with pytest.raises(AppError, match="name"):
        save(judged, plan(judged, 2), Why(" ", OverrideReason.OTHER))
    assert judged.list_all_overrides() == []


def test_more_than_anybody_reads_is_refused(store: SqlStore) -> None:
    store.add_study(make_study())
    dialogues = [make_dialogue(id=f"d{i}") for i in range(MOST + 1)]
    store.add_finished([Finished(d, (make_judgement(d),)) for d in dialogues])
    with pytest.raises(AppError, match="filter further"):
        plan(store, 1)
    fewer = plan(store, 1, DialogueFilter(text="d1999"))
    assert len(fewer.rows) == 1


def test_an_override_of_an_unknown_judgement_stores_none_of_the_others(judged: SqlStore) -> None:
    known, unknown = own(judged, "d0"), make_judgement(make_dialogue(id="nowhere"))
    with pytest.raises(NotFound):
        judged.add_overrides([make_override(known), make_override(unknown)])
    assert judged.list_all_overrides() == []


def test_raters_of_a_filtered_list_are_counted(judged: SqlStore) -> None:
    found = judged.list_raters(DialogueFilter(arms=frozenset({"pushy"})))
    assert [(r.dimension, r.instrument, r.judgements) for r in found] == [
        ("naturalness_user", "scripted/judge · naturalness_user@1", 3),
        ("personalization", "scripted/judge · personalization@1", 3),
    ]


# --- where judge and people differ --------------------------------------------------------------


def differing(store: SqlStore, dimension: str = "", points: int = 2) -> list[str]:
    found = store.list_dialogues(DialogueFilter(differ=(dimension, points)), order="oldest")
    return sorted(summary.id for summary in found)


def test_dialogues_where_an_override_is_far_from_the_judge_are_found(judged: SqlStore) -> None:
    judged.add_override(make_override(own(judged, "d0"), value=3))  # 1 -> 3
    judged.add_override(make_override(own(judged, "d1"), value=3))  # 2 -> 3
    judged.add_override(make_override(own(judged, "d3"), value=None))
    assert differing(judged) == ["d0"]
    assert differing(judged, "personalization") == ["d0"]
    assert differing(judged, "naturalness_user") == []
    assert differing(judged, points=1) == ["d0", "d1"]


def test_only_the_latest_override_counts(judged: SqlStore) -> None:
    far = make_override(own(judged, "d0"), value=4)
    judged.add_override(far)
    judged.add_override(make_override(own(judged, "d0"), value=1, supersedes=far.id))
    assert differing(judged) == []


def label(store: SqlStore, dialogue_id: str, *acts: tuple[Act, int | None]) -> None:
    """What an annotator says of personalisation, act by act, each answering the first."""
    for place, (act, value) in enumerate(acts):
        row = make_annotation(
            dialogue_id,
            value=value,
            id=f"{dialogue_id}-{place}",
            act=act,
            supersedes=f"{dialogue_id}-0" if place else None,
        )
        store.add_annotations([row])


def test_dialogues_where_an_annotator_is_far_from_the_judge_are_found(judged: SqlStore) -> None:
    label(judged, "d0", (Act.RATED, 3))  # the judge gave 1
    label(judged, "d1", (Act.RATED, 2))  # the judge gave 2
    label(judged, "d2", (Act.RATED, None))
    assert differing(judged) == ["d0"]
    assert differing(judged, "personalization") == ["d0"]
    assert differing(judged, "naturalness_user") == []


def test_what_an_annotator_says_after_the_reveal_or_takes_back_counts(judged: SqlStore) -> None:
    label(judged, "d0", (Act.RATED, 3), (Act.REVEALED, None), (Act.AFTER, 1))
    label(judged, "d1", (Act.RATED, 4), (Act.UNDONE, None))
    label(judged, "d4", (Act.RATED, 1), (Act.REVEALED, None), (Act.AFTER, 4))
    label(judged, "d5", (Act.RATED, 2), (Act.AFTER, 4), (Act.UNDONE, None))
    assert differing(judged) == ["d4"]


def test_a_bulk_override_of_what_differs_takes_those_judgements_alone(judged: SqlStore) -> None:
    judged.add_override(make_override(own(judged, "d0"), value=3))
    made = plan(judged, Special.JUDGE, DialogueFilter(differ=("personalization", 2)))
    assert [row.judgement.dialogue_id for row in made.rows] == ["d0"]
