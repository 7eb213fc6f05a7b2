"""Nobody gets what is another's, nothing is lost, and what was said blind stays told apart."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from typing import Any

import pytest

from core.clock import new_id
from core.errors import AlreadyDecided, StudyError
from core.labels import annotation_rows, evidence, standing
from core.review_designs import extend, store_draw
from core.review_queue import After, DeskItem, Given, Queue
from core.review_types import Act, Reason, ReviewDesign, Work
from tests.builders import NOW, make_judgement, make_override
from tests.support.reviewing import DIMENSION, counter, fill_study, queue, wish


def drawn(store: Any, budget: int = 10, **more: Any) -> ReviewDesign:
    return store_draw(wish(budget, **more), store, now=lambda: NOW, new_id=new_id)


def work_off(desk: Queue, value: int = 2, most: int = 1000) -> list[str]:
    """Rate what comes; returns the dialogues in the order in which they came."""
    done: list[str] = []
    while len(done) < most and (at := desk.current()) is not None:
        done.append(at.dialogue_id)
        if desk.rate(at, {DIMENSION: Given(value)}, 7.0):
            desk.answer(at, {DIMENSION: (Given(value), After.KEEP)})
    return done


def test_two_people_share_a_design_and_only_doubled_dialogues_are_labelled_twice(
    store: Any,
) -> None:
    fill_study(store)
    design = drawn(store, 16, overlap=0.5)
    items = {i.dialogue_id: i for i in store.list_items(design.id, selected=True)}
    desks = [queue(store, design, name) for name in ("Ana", "Ben")]

    with ThreadPoolExecutor(8) as pool:  # each at four windows, all at once
        list(pool.map(lambda i: desks[i % 2].current(), range(8)))
    for _ in range(40):
        for desk in desks:
            work_off(desk, most=1)
    labels = [label for desk in desks for label in desk.labels()]
    counts = Counter(label.dialogue_id for label in labels)
    assert counts == {name: 1 + item.doubled for name, item in items.items()}
    assert all(len(set(g)) == len(g) for g in ([x.dialogue_id for x in d.labels()] for d in desks))
    reasons = Counter(label.reason for label in labels)
    assert reasons[Reason.OVERLAP] == sum(item.doubled for item in items.values()) > 0


def test_many_people_at_once_never_take_one_slot_twice(store: Any) -> None:
    fill_study(store)
    design = drawn(store, 24)
    desks = [queue(store, design, f"person{i}") for i in range(12)]
    with ThreadPoolExecutor(12) as pool:
        taken = list(pool.map(lambda desk: desk.current(), desks))
    assert len({a.dialogue_id for a in taken if a is not None}) == 12


def test_who_comes_back_finds_the_dialogue_and_the_rating_in_the_making(store: Any) -> None:
    fill_study(store)
    design = drawn(store)
    desk = queue(store, design)
    at = desk.current()
    assert at is not None
    desk.keep(at, {"value": 3, "note": "it asked tw"})
    again = queue(store, design, new_id=counter("later")).current()
    assert again is not None
    assert (again.dialogue_id, again.draft) == (at.dialogue_id, {"value": 3, "note": "it asked tw"})
    desk.rate(at, {DIMENSION: Given(3)}, 4.0)
    desk.keep(at, {"value": 1})  # a window that was left open writes no more over what was said
    assert [label.value for label in desk.labels()] == [3]


def test_named_annotators_get_their_share_and_others_nothing(sqlite_store: Any) -> None:
    fill_study(sqlite_store)
    design = drawn(sqlite_store, 10, annotators=("Ana", "Ben"))
    assert len(work_off(queue(sqlite_store, design, "Ana"))) == 5
    assert len(work_off(queue(sqlite_store, design, "Ben"))) == 5
    with pytest.raises(StudyError, match="Cleo is not among the annotators"):
        queue(sqlite_store, design, "Cleo")


@pytest.mark.parametrize("people", [("Ana", "Ben"), ("Ana", "Ben", "Cleo")])
def test_named_annotators_finish_a_design_whoever_comes_first(
    sqlite_store: Any, people: tuple[str, ...]
) -> None:
    """Nothing is left that needs two when only one has not had it yet."""
    fill_study(sqlite_store)
    design = drawn(sqlite_store, 24, overlap=0.4, annotators=people)
    items = sqlite_store.list_items(design.id, selected=True)
    slots = sum(1 + item.doubled for item in items)
    done: Counter[str] = Counter()
    for name in people * 2:  # who was first may have to come back once
        done[name] += len(work_off(queue(sqlite_store, design, name)))
    assert done.total() == slots
    assert max(done.values()) - min(done.values()) <= 1
    assert queue(sqlite_store, design, "Ana").standing().left == 0


def test_orders_differ_between_people_and_not_between_days(sqlite_store: Any) -> None:
    fill_study(sqlite_store)
    first, second = drawn(sqlite_store, 20), drawn(sqlite_store, 20, name="same again")
    del second
    orders = {}
    for name in ("Ana", "Ben"):
        desk = queue(sqlite_store, first, name)
        items = sqlite_store.list_items(first.id, selected=True)
        orders[name] = [
            i.dialogue_id for i in sorted(items, key=lambda i: desk._place(i.dialogue_id))
        ]
    assert orders["Ana"] != orders["Ben"]
    assert work_off(queue(sqlite_store, first, "Ana")) == orders["Ana"]


def test_the_desk_is_given_nothing_of_judges_arms_and_models() -> None:
    names = {field.name for field in fields(DeskItem)}
    assert names == {
        *("root_id", "dialogue_id", "messages", "scenario", "knew", "rubrics", "draft"),
        "opened_at",
    }


def test_the_judge_is_shown_after_the_blind_value_is_stored_and_each_act_is_a_row(
    store: Any,
) -> None:
    fill_study(store)
    desk = queue(store, drawn(store))
    at = desk.current()
    assert at is not None
    assert desk.rate(at, {DIMENSION: Given(2, note="asked twice", marks=(1,))}, 12.5)
    open_ = desk.current()
    assert open_ is not None
    assert (open_.dialogue_id, open_.work) == (at.dialogue_id, Work.REVEALED)
    desk.answer(open_, {DIMENSION: (Given(3), After.JUDGE_RIGHT)})
    rows = store.list_annotations(root_id=desk.root_id)
    assert [(r.act, r.value, r.judge_visible_before) for r in rows] == [
        (Act.RATED, 2, False),
        (Act.REVEALED, None, True),
        (Act.AFTER, 3, True),
    ]
    assert rows[1].judgement_id == store.list_judgements(at.dialogue_id)[0].id
    (label,) = desk.labels()
    assert (label.value, label.after, label.now, label.evidence) == (2, 3, 3, True)
    assert (label.note, label.marks, label.active_seconds) == ("asked twice", (1,), 12.5)


def test_what_is_rated_again_after_a_reveal_is_no_evidence(store: Any) -> None:
    fill_study(store)
    desk = queue(store, drawn(store))
    at = desk.current()
    assert at is not None
    desk.rate(at, {DIMENSION: Given(1)}, 3.0)
    desk.undo(at)
    assert desk.labels() == []
    again = desk.current()
    assert again is not None
    assert (again.dialogue_id, again.work) == (at.dialogue_id, Work.OPEN)
    desk.rate(again, {DIMENSION: Given(4)}, 3.0)
    (label,) = desk.labels()
    assert (label.value, label.seen, label.evidence) == (4, True, False)
    # all three are there for whoever looks
    assert [r.act for r in store.list_annotations(dialogue_id=at.dialogue_id)] == [
        *(Act.RATED, Act.REVEALED, Act.UNDONE, Act.RATED, Act.REVEALED)
    ]


def test_whoever_overrode_the_judge_has_seen_it(sqlite_store: Any) -> None:
    fill_study(sqlite_store)
    desk = queue(sqlite_store, drawn(sqlite_store))
    at = desk.current()
    assert at is not None
    (judgement,) = sqlite_store.list_judgements(at.dialogue_id)
    sqlite_store.add_override(make_override(judgement, author="Ana"))
    desk.rate(at, {DIMENSION: Given(1)}, 3.0)
    assert [label.seen for label in desk.labels()] == [True]


def test_two_windows_cannot_both_rate_or_both_take_back(store: Any) -> None:
    fill_study(store)
    design = drawn(store)
    one, two = queue(store, design), queue(store, design, new_id=counter("two"))
    at = one.current()
    assert at is not None
    one.rate(at, {DIMENSION: Given(1)}, 3.0)
    with pytest.raises(AlreadyDecided, match="another window"):
        two.rate(at, {DIMENSION: Given(4)}, 3.0)
    one.undo(at)
    with pytest.raises(StudyError, match="nothing to take back"):
        two.undo(at)
    assert one.labels() == []


def test_what_is_skipped_comes_last_and_is_still_owed(sqlite_store: Any) -> None:
    fill_study(sqlite_store)
    desk = queue(sqlite_store, drawn(sqlite_store, 4))
    skipped = desk.current()
    assert skipped is not None
    desk.skip(skipped, "come back to it")
    order = work_off(desk)
    assert order[-1] == skipped.dialogue_id
    assert len(order) == 4
    assert desk.standing().left == 0


def test_cannot_judge_needs_its_reason_and_is_no_number(sqlite_store: Any) -> None:
    fill_study(sqlite_store)
    desk = queue(sqlite_store, drawn(sqlite_store))
    at = desk.current()
    assert at is not None
    for wrong in (Given(None), Given(None, cannot="  "), Given(2, cannot="why")):
        with pytest.raises(StudyError):
            desk.rate(at, {DIMENSION: wrong}, 3.0)
    with pytest.raises(StudyError, match="has no value"):
        desk.rate(at, {}, 3.0)
    desk.rate(at, {DIMENSION: Given(None, cannot="it ends in the middle")}, 3.0)
    (label,) = desk.labels()
    assert (label.value, label.cannot) == (None, "it ends in the middle")


def test_progress_says_what_is_left_and_how_long_it_takes(sqlite_store: Any) -> None:
    fill_study(sqlite_store)
    desk = queue(sqlite_store, drawn(sqlite_store, 10))
    assert (desk.standing().left, desk.standing().minutes_left) == (10, 15.0)
    work_off(desk, most=4)  # seven seconds each
    standing_ = desk.standing()
    assert (standing_.done, standing_.total, standing_.mine, standing_.left) == (4, 10, 4, 6)
    assert standing_.minutes_left == pytest.approx(0.7)


# --- evidence -----------------------------------------------------------------------------------


def test_rows_for_agreement_carry_their_probability_and_what_each_judge_said(store: Any) -> None:
    dialogues = fill_study(store)
    design = drawn(store, 10)
    work_off(queue(store, design), value=2)
    bigger = extend(design, 20, "Ana", store, now=lambda: NOW, new_id=counter("e"))
    rows = annotation_rows("s1", DIMENSION, store)
    assert len(rows) == 10
    assert set(rows["pi"]) == {20 / 40}  # as the design was last extended
    judged = {d.id: 1 + int(d.persona_id[4:]) % 4 for d in dialogues}
    assert [judged[d] for d in rows["dialogue_id"]] == rows["judge_value"].tolist()
    assert set(rows["value_before_reveal"]) == set(rows["value_after_reveal"]) == {2.0}
    assert bigger.budget == 20


def test_labels_that_were_not_drawn_blind_enter_no_estimate_by_any_route(store: Any) -> None:
    fill_study(store)
    design = drawn(store, 10)
    other = drawn(store, 10, name="another", seed=99)
    work_off(queue(store, design), most=6)
    work_off(queue(store, other, "Ben"), value=4)
    at = queue(store, design).current()
    assert at is not None
    first = store.list_annotations(root_id=design.root_id)[0]
    from dataclasses import replace

    free = [i.dialogue_id for i in store.list_items(design.id) if not i.selected]
    forged = [
        replace(first, id="f1", dialogue_id=free[0], value=4),  # never drawn
        replace(first, id="f2", dialogue_id=at.dialogue_id, value=4, reason=Reason.SELF_SELECTED),
        replace(first, id="f3", dialogue_id=at.dialogue_id, value=4, judge_visible_before=True),
        replace(first, id="f4", dialogue_id=at.dialogue_id, value=4, rubric="personalization@99"),
        replace(first, id="f5", dialogue_id=at.dialogue_id, value=None, cannot="unclear"),
        replace(first, id="f6", root_id="", dialogue_id=at.dialogue_id, value=4),
    ]
    store.add_annotations(forged)
    instrument = make_judgement(store.get_dialogue(first.dialogue_id)).instrument.id
    found = evidence(design, DIMENSION, instrument, store)
    assert found.labelled == 6
    assert found.drawn == 10
    assert set(found.human[~(found.human != found.human)]) == {2.0}
    assert found.left_out == {
        "not drawn": 3,
        "judge in sight": 1,
        "another rubric version": 1,
        "cannot judge": 1,
        "of another design": 10,
    }
    assert len(found.pi) == len(found.judge) == len(found.human) == 40
    assert len(standing(store.study_annotations("s1"))) == 22
