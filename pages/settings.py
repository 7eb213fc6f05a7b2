"""Settings: who is at work, what works here, and the prompts and rubrics as they are."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from core.settings import Settings
from pages._ui import (
    asset_browser,
    errors,
    frame,
    installation,
    people_panel,
    state,
    text,
    who,
    wiring,
)

_TABS = ("This installation", "All settings", "Prompts", "Rubrics", "People and audit")


def show_author(settings: Settings) -> None:
    who.recall(settings)
    if not who.own_machine(settings):
        st.caption(f"Signed in as {text.escape_md(state.author(), one_line=True) or 'nobody'}")
        return
    st.session_state["settings.author"] = state.author()
    st.text_input(
        "Your name",
        key="settings.author",
        max_chars=who.MOST,
        placeholder="Stands beside everything you write",
        on_change=lambda: who.remember(settings, st.session_state["settings.author"] or ""),
        width=420,
    )


frame.enter()
st.title("Settings", anchor=False)
settings = wiring.settings()
show_author(settings)
tabs = st.tabs(_TABS, key="settings.tab", bind="query-params")
drawn: tuple[Callable[[], None], ...] = (
    lambda: installation.show(settings),
    lambda: installation.show_all(settings),
    asset_browser.show_prompts,
    asset_browser.show_rubrics,
    people_panel.show,
)
for tab, draw in zip(tabs, drawn, strict=True):
    if tab.open:
        with tab, errors.shown():
            draw()
