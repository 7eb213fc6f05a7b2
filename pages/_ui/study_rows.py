"""Lists of arms and judges in a form: numbers that stay with their row while others come and go."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import streamlit as st
import yaml


def rows(what: str) -> list[int]:
    """The numbers of the rows, in their order."""
    found: list[int] = st.session_state.setdefault(f"studies.{what}s", [])
    return list(found)


def add(what: str, *, after: int | None = None) -> int:
    """Make room for one more row, at the end or after another; returns its number."""
    number = int(st.session_state.get(f"studies.{what}s.next", 0))
    st.session_state[f"studies.{what}s.next"] = number + 1
    there = rows(what)
    place = there.index(after) + 1 if after in there else len(there)
    st.session_state[f"studies.{what}s"] = [*there[:place], number, *there[place:]]
    return number


def remove(what: str, number: int) -> None:
    st.session_state[f"studies.{what}s"] = [n for n in rows(what) if n != number]


def clear(what: str) -> None:
    """Take all rows out; their numbers are not given again."""
    st.session_state[f"studies.{what}s"] = []


def unlike(name: str, taken: Container[str]) -> str:
    """`name` with the smallest number behind it that makes it a new one."""
    number = 2
    while (new := f"{name[:76]} {number}") in taken:
        number += 1
    return new


def params_text(params: Any) -> str:
    """Parameters as a person edits them."""
    if isinstance(params, str):
        return params
    return yaml.safe_dump(params, sort_keys=False, allow_unicode=True) if params else ""
