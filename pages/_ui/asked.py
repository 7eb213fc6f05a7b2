"""Who is at work: asked once, before anything is written."""

from __future__ import annotations

import streamlit as st

from pages._ui import state, who, wiring


def name(key: str, why: str) -> str:
    """The person's name; until there is one, a field for it and an empty text."""
    if not who.own_machine(wiring.settings()):
        _sign_in(why)
    elif not state.author():
        st.text_input(
            f"Your name, asked once, {why}",
            key=key,
            max_chars=who.MOST,
            on_change=lambda: who.remember(wiring.settings(), str(st.session_state[key])),
        )
    return state.author()


def _sign_in(why: str) -> None:
    """Where several people share the app, a name is what a login vouches for."""
    if state.author():
        return
    if who.login_configured():
        st.button(
            f"Sign in, {why}", key="asked.sign_in", icon=":material/login:", on_click=st.login
        )
        return
    st.info(
        "This Rapport is shared and has no login, so that it can be read and not written. Its "
        "administrator can configure one (docs/deploy.md).",
        icon=":material/lock:",
    )
