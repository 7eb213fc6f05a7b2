from __future__ import annotations

from collections.abc import Sequence

import pytest

from core.errors import SourceError
from core.sources.selection import SAMPLE_SIZES, parse_selection, sample_users, select_users

ALL = [f"user{n}" for n in range(1500)]


def numbers(spec: str, available: Sequence[str] = ALL) -> list[int]:
    return [int(user[4:]) for user in select_users(spec, available)]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("7", [7]),
        ("66,7", [7, 66]),
        ("0-3", [0, 1, 2, 3]),
        ("3-3", [3]),
        (" 2 , 0-1, 1 ", [0, 1, 2]),
        ("user7,user9-user11", [7, 9, 10, 11]),
        ("1498-2000", [1498, 1499]),
    ],
)
def test_numbers_and_ranges_select_users_in_order(spec: str, expected: list[int]) -> None:
    assert numbers(spec) == expected


def test_a_sample_mixes_with_numbers() -> None:
    assert numbers("sample-20,0-1") == [0, 1, *numbers("sample-20")]


def test_the_samples_have_their_sizes_and_each_holds_the_one_before() -> None:
    lists = [sample_users(size) for size in SAMPLE_SIZES]
    assert [len(users) for users in lists] == [20, 30, 50, 100]
    assert lists[0] < lists[1] < lists[2] < lists[3]
    assert all(0 <= n < 1500 for n in lists[3])


def test_the_sample_of_fifty_is_the_published_list() -> None:
    published = (
        "7 53 66 107 132 139 167 195 207 230 251 313 340 376 386 389 415 418 428 439 517 532 "
        "597 630 641 660 674 701 746 774 788 802 822 854 900 1111 1142 1145 1150 1197 1231 1322 "
        "1335 1362 1377 1439 1458 1492 1493 1495"
    )
    assert numbers("sample-50") == [int(n) for n in published.split()]


@pytest.mark.parametrize(
    "spec", ["", "seven", "-3", "3-", "1;2", "1.5", "sample", "sample-50x", "1,,2", "²", "0x1"]
)
def test_anything_else_is_refused_with_what_to_write(spec: str) -> None:
    with pytest.raises(SourceError, match=r"selects no users: give user numbers such as 0-49"):
        select_users(spec, ALL)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("9-3", "The range 9-3 runs backwards: write 3-9."),
        ("sample-40", "There is no sample-40"),
        ("1500,7", "names 1 users that are not here (1500)"),
        ("2000-3000", "No user between 2000 and 3000 is here."),
    ],
)
def test_a_selection_of_nobody_is_refused(spec: str, sentence: str) -> None:
    with pytest.raises(SourceError) as caught:
        select_users(spec, ALL)
    assert sentence in str(caught.value)


def test_a_sample_is_refused_where_some_of_its_users_are_absent() -> None:
    with pytest.raises(SourceError, match=r"sample-20 names 20 users that are not here \(66, 132"):
        select_users("sample-20", ALL[:50])


def test_ids_keep_their_own_spelling() -> None:
    assert select_users("7-8", ["user7", "user08", "person9"]) == ["user7", "user08"]


def test_a_selection_tells_whom_it_wants_before_all_are_known() -> None:
    selection = parse_selection("7,10-12")
    wanted = [u for u in (*ALL[:15], "nobody") if selection.wants(u)]
    assert wanted == ["user7", "user10", "user11", "user12"]


def test_sample_is_everybody_where_there_are_no_more_people_than_it_would_have() -> None:
    few = [f"user{n}" for n in range(14)]
    assert select_users("sample-20", few, few_are_all=True) == few
    assert select_users("sample-50", few, few_are_all=True) == few
    with pytest.raises(SourceError, match="users that are not here"):
        select_users("sample-20", few)
