"""Small tables and fact lists of untrusted text, and lists whose open row is in the address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from pages._ui import state, text

_ROW = 33  # pixels, with the base size of the type in .streamlit/config.toml


def facts(pairs: Sequence[tuple[str, str]], *, columns: int = 4) -> None:
    """Draw title and value side by side, each title small above its value."""
    for start in range(0, len(pairs), columns):
        drawn = zip(st.columns(columns), pairs[start : start + columns], strict=False)
        for column, (title, value) in drawn:
            shown = text.escape_md(value, one_line=True) or "–"
            column.markdown(f":small[{text.escape_md(_capital(title))}]  \n{shown}")


def show_texts(rows: Sequence[Mapping[str, str]]) -> None:
    """Draw rows of plain texts as a table whose cells wrap."""
    show_marked([{k: text.escape_md(v) for k, v in row.items()} for row in rows])


def show_marked(rows: Sequence[Mapping[str, str]]) -> None:
    """Draw rows whose cells are markdown of ours, untrusted parts of it escaped before."""
    st.table(pd.DataFrame(rows), border="horizontal", hide_index=True)


def pick_row(
    rows: Sequence[Mapping[str, Any]],
    ids: Sequence[str],
    *,
    key: str,
    param: str,
    height: int | None = None,
    column_config: Mapping[str, Any] | None = None,
) -> None:
    """Draw a table; the row that a person picks is put into the address as `param`.

    The address alone decides which row is marked: rows move when a filter changes, ids do not.
    """
    chosen = state.get(param)
    marked = [ids.index(chosen)] if chosen in ids else []
    st.session_state[f"{key}.ids"] = list(ids)
    st.session_state[key] = {"selection": {"rows": marked, "columns": [], "cells": []}}
    st.dataframe(
        pd.DataFrame(rows),
        key=key,
        on_select=lambda: _picked(key, param),
        selection_mode="single-row",
        hide_index=True,
        lazy=False,
        placeholder="–",
        height=height or height_of(len(rows)),
        column_config=column_config,
    )


def height_of(rows: int, *, most: int = 10) -> int:
    """Pixels of a table of so many rows; beyond `most` it scrolls."""
    return (min(rows, most) + 1) * _ROW + 2


def _picked(key: str, param: str) -> None:
    ids = st.session_state.get(f"{key}.ids", [])
    picked = [ids[row] for row in st.session_state[key]["selection"]["rows"] if row < len(ids)]
    state.put(**{param: picked[0] if picked else None})


def _capital(title: str) -> str:
    return title[:1].upper() + title[1:]
