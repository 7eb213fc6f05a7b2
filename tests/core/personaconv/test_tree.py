"""A thread as rows: folded, locked and marked."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from core.personaconv.published import load_published
from core.personaconv.tree import fold_all, folded_at_first, moments, people_of, tree_rows
from core.personaconv.types import Comment, Thread
from tests.support.conversations import fixture_threads

THREAD = fixture_threads()[0]


def long_thread(size: int = 5000) -> Thread:
    """Every comment answers one of the three before it, so that it is wide and deep."""
    comments = tuple(
        Comment(
            n,
            max(0, n - 1 - n % 3) if n % 7 else 0,
            f"m{n % 40}",
            f"text {n}",
            1.0,
            datetime.fromtimestamp(n, UTC),
        )
        for n in range(1, size + 1)
    )
    ordered, kept = {0: 0}, []
    children: dict[int, list[Comment]] = {}
    for c in comments:
        children.setdefault(c.parent, []).append(c)
    open_ = list(reversed(children[0]))
    while open_:
        c = open_.pop()
        ordered[c.number] = len(ordered)
        kept.append(c._replace(number=ordered[c.number], parent=ordered[c.parent]))
        open_.extend(reversed(children.get(c.number, [])))
    at = datetime.fromtimestamp(0, UTC)
    return Thread("u1p1", "m1", "books", "Long", "", 1.0, at, tuple(kept))


def test_rows_stand_depth_first_with_path_and_target_marked() -> None:
    rows = tree_rows(THREAD, target=5)
    assert [r.number for r in rows] == list(range(10))
    assert {r.number: r.mark for r in rows if r.mark} == {
        0: "path",
        1: "path",
        4: "path",
        5: "target",
    }
    assert [r.depth for r in rows] == [0, 1, 2, 3, 2, 3, 4, 1, 2, 2]


def test_what_is_below_a_folded_message_is_counted_and_not_drawn() -> None:
    rows = tree_rows(THREAD, folded=[1])
    assert [r.number for r in rows] == [0, 1, 7, 8, 9]
    assert rows[1].folded == 5


def test_what_was_written_later_is_locked() -> None:
    rows = tree_rows(THREAD, target=5, until=THREAD.at_of(5))
    locked = [r.number for r in rows if r.text is None]
    assert locked == [6, 9]


def test_people_are_numbered_from_the_author_on() -> None:
    people = people_of(THREAD)
    assert people[THREAD.author] == "U1"
    assert sorted(people.values()) == [f"U{n}" for n in range(1, 8)]


def test_a_long_thread_opens_along_the_path_alone() -> None:
    assert folded_at_first(THREAD, 5) == frozenset()
    thread = long_thread(400)
    target = max(range(1, 401), key=lambda n: len(thread.path(n)))
    folded = folded_at_first(thread, target)
    shown = {r.number for r in tree_rows(thread, target=target, folded=folded)}
    assert set(thread.path(target)) | {target} <= shown
    assert len(shown) < 200


def test_five_thousand_comments_become_rows_in_less_than_a_second() -> None:
    thread = long_thread()
    begun = time.perf_counter()
    rows = tree_rows(thread, target=4000, until=thread.at_of(4000))
    assert len(rows) == 5001
    assert len(moments(thread)) == 5001
    assert len(fold_all(thread)) > 1000
    assert time.perf_counter() - begun < 1


def test_the_published_table_is_whole_and_named() -> None:
    table = load_published()
    assert len(table.models) == 5
    assert len(table.rows) == 10
    assert any("198 %" in caveat for caveat in table.caveats)
    mcc = next(r for r in table.rows if r.metric == "mcc")
    assert (mcc.p_conv[0], mcc.p_nonconv[0]) == (0.677, 0.2266)
