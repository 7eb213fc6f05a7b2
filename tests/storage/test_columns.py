"""Texts, JSON and times must come back as they went in."""

from __future__ import annotations

import json
from datetime import datetime

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from storage.columns import UtcTime, escape, number_in, restore, to_json
from tests.builders import WEIRD

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(ANY_TEXT)
def test_escaped_text_is_storable_and_restored_whole(text: str) -> None:
    stored = escape(text)
    stored.encode("utf-8")
    assert "\x00" not in stored
    assert restore(stored) == text


@given(ANY_TEXT, ANY_TEXT)
def test_a_part_of_a_text_is_found_in_its_escaped_form(text: str, rest: str) -> None:
    assert escape(text) in escape(rest + text + rest)


def test_ordinary_text_is_stored_as_it_is() -> None:
    assert escape("é 😀 $5 *x* <b>") == "é 😀 $5 *x* <b>"


@given(ANY_TEXT)
def test_json_is_storable_and_read_back_whole(text: str) -> None:
    stored = to_json({"t": [text]})
    stored.encode("utf-8")
    assert "\x00" not in stored
    assert json.loads(stored) == {"t": [text]}


def test_json_keeps_letters_readable() -> None:
    assert to_json({"b": "é 😀", "a": 1}) == '{"b":"é 😀","a":1}'


def test_weird_text_survives_json() -> None:
    assert json.loads(to_json(WEIRD)) == WEIRD


@pytest.mark.parametrize(
    ("name", "number"),
    [("user10", 10), ("SD-Books-task-7", 7), ("Maya", -1), ("u1-2", 2), ("9" * 40, 10**18 - 1)],
)
def test_an_id_is_ordered_by_its_last_number(name: str, number: int) -> None:
    assert number_in(name) == number


def test_a_time_without_a_zone_is_refused() -> None:
    naive = datetime(2026, 1, 1)  # noqa: DTZ001
    with pytest.raises(ValueError, match="time zone"):
        UtcTime().process_bind_param(naive, sa.create_engine("sqlite://").dialect)
