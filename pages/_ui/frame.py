"""The frame around every page: navigation, and the guard at each page's head."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import streamlit as st

from core.errors import AppError, SettingsError
from pages._ui import errors, who, wiring

# In the order of the work. File names are addresses: `pages/personas.py` is `/personas`.
SECTIONS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "Explore": (
        ("home", "Home", ":material/home:"),
        ("personas", "Personas", ":material/group:"),
        ("conversations", "Conversations", ":material/account_tree:"),
        ("instances", "Instances", ":material/help_center:"),
    ),
    "Run": (
        ("launch", "Launch", ":material/play_circle:"),
        ("studies", "Studies", ":material/science:"),
        ("dialogues", "Dialogues", ":material/forum:"),
    ),
    "Review": (
        ("desk", "Desk", ":material/rate_review:"),
        ("agreement", "Agreement", ":material/handshake:"),
        ("adjudicate", "Adjudicate", ":material/gavel:"),
    ),
    "Findings": (
        ("compare", "Compare", ":material/bar_chart:"),
        ("judges", "Judges", ":material/gavel:"),
        ("report", "Report", ":material/description:"),
        ("forecasts", "Forecasts", ":material/online_prediction:"),
    ),
    "Set up": (
        ("data", "Data", ":material/database:"),
        ("settings", "Settings", ":material/settings:"),
    ),
}
DEFAULT = "home"
_FRAMED = "frame.framed"


def path(name: str) -> str:
    """The file of a page, as Streamlit's links take it."""
    return f"pages/{name}.py"


def navigate() -> None:
    """Draw the navigation and run the page that was asked for. Called by `app.py` alone."""
    pages = {
        section: [
            st.Page(path(name), title=title, icon=icon, default=name == DEFAULT)
            for name, title, icon in entries
        ]
        for section, entries in SECTIONS.items()
    }
    presenting = "present" in st.query_params
    chosen = st.navigation(pages, position="hidden" if presenting else "sidebar")
    st.logo("assets/logo.svg", size="large")
    st.session_state[_FRAMED] = True
    try:
        with suppress(SettingsError):  # the page that is run words it
            who.recall(wiring.settings())
        with errors.shown():
            chosen.run()
    finally:
        st.session_state[_FRAMED] = False


def enter() -> None:
    """The guard at the head of every page.

    In a fresh process a first deep link makes Streamlit run a file of `pages/` by itself,
    without `app.py` and all that stands there. The guard then starts over with `app.py`.
    """
    if st.session_state.get(_FRAMED):
        return
    # Declaring the pages ends Streamlit's own way with the folder `pages/`, for the process.
    st.navigation([st.Page(path(n)) for es in SECTIONS.values() for n, _, _ in es])
    st.rerun()


@contextmanager
def busy(text: str) -> Iterator[None]:
    """Say that something takes a moment, and word what goes wrong in it."""
    with st.spinner(text), errors.shown():
        yield


__all__ = ["AppError", "busy", "enter", "navigate", "path"]
