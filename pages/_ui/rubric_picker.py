"""Choosing rubrics, each in its newest version."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.assets import Rubric, list_rubrics


def pick_rubrics(key: str, default: Sequence[str]) -> tuple[Rubric, ...]:
    """Draw the choice; `default` names the rubrics that are chosen at first."""
    newest = {rubric.name: rubric for rubric in list_rubrics()}
    st.session_state.setdefault(key, list(default))
    chosen = st.multiselect(
        "Rubrics",
        list(newest),
        key=key,
        format_func=lambda name: newest[name].title,
        persist_state="session",
    )
    return tuple(newest[name] for name in chosen)
