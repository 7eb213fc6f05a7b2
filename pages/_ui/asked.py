"""Who is at work: asked once, before anything is written."""

from __future__ import annotations

import streamlit as st

from pages._ui import state, who, wiring


def name(key: str, why: str) -> str:
    """The person's name; until there is one, a field for it and an empty text."""
    if not state.author():
        st.text_input(
            f"Your name, asked once, {why}",
            key=key,
            max_chars=who.MOST,
            on_change=lambda: who.remember(wiring.settings(), str(st.session_state[key])),
        )
    return state.author()
