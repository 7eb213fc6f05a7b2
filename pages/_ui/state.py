"""What the address says: ids and names in query parameters, read strictly, written in one place.

Everything worth sharing is in the address; everything worth keeping is in the database.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import streamlit as st

_ID = re.compile(r"[\w][\w ./+·:-]{0,119}")


def get(name: str) -> str | None:
    """A query parameter, or None when it is absent or not an id or name."""
    value = st.query_params.get(name)
    return value if value is not None and _ID.fullmatch(value) else None


def fits(value: str) -> bool:
    """Whether a value can stand in the address as an id or name."""
    return _ID.fullmatch(value) is not None


def choice(name: str, options: Sequence[str], default: str | None = None) -> str | None:
    """A query parameter that must be one of `options`; otherwise `default`."""
    value = get(name)
    return value if value in options else default


def put(**values: str | None) -> None:
    """Write parameters into the address; None takes one out."""
    for name, value in values.items():
        if value is None:
            st.query_params.pop(name, None)
        elif st.query_params.get(name) != value:
            st.query_params[name] = value


def keep_only(names: Iterable[str]) -> None:
    """Take every other parameter out of the address."""
    for name in set(st.query_params) - set(names):
        del st.query_params[name]


def author() -> str:
    """Who is at work; asked for where something is written for the first time."""
    return str(st.session_state.get("author", "")).strip()
