"""The sample study: started from the web app in a process of its own."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.launcher import is_running, last_words, start_run
from core.roles import Role
from core.sample import SAMPLE_STUDY
from core.study_file import load_study
from core.types import StudyProgress
from pages._ui import errors, text, wiring

_PID, _FAULT = "home.pid", "home.fault"


@st.cache_data(show_spinner=False)
def name() -> str:
    """The name under which the sample study is stored."""
    return load_study(SAMPLE_STUDY).name


def starting() -> bool:
    """Tell whether it was started here and has not shown up in the database yet."""
    return st.session_state.get(_PID) is not None


def settle(progress: Sequence[StudyProgress]) -> None:
    """Note that a start has shown up in the database, or that it ended before it could."""
    pid = st.session_state.get(_PID)
    if pid is None:
        return
    if any(p.study == name() for p in progress):
        st.session_state[_PID] = None
    elif not is_running(pid):
        st.session_state[_PID] = None
        st.session_state[_FAULT] = last_words(SAMPLE_STUDY, wiring.settings())


def show_start() -> None:
    """Draw the button that starts it, and why the last start came to nothing."""
    if st.button(
        "Run the sample study",
        key="home.run_sample",
        type="primary",
        icon=":material/play_arrow:",
        disabled=starting(),
    ):
        with errors.shown():
            wiring.demand(Role.ADMIN)
            st.session_state[_FAULT] = None
            st.session_state[_PID] = start_run(SAMPLE_STUDY, wiring.settings())
            st.rerun()
    if fault := st.session_state.get(_FAULT):
        st.error(text.escape_md(f"The study did not start: {fault}"), icon=":material/error:")
