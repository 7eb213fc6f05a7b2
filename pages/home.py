"""Home: what is running, what was found last, and three steps for a newcomer."""

from __future__ import annotations

import streamlit as st

from core.sample import SAMPLE_NAME
from pages._ui import first_steps, frame, latest, running, sample_run, wiring


def show_work() -> None:
    if sample_run.starting() or any(map(running.at_work, progress)):
        st.subheader("Running", anchor=False)
        running.watch()
    else:
        st.subheader("Studies", anchor=False)
        running.show(progress)
    st.subheader("Latest findings", anchor=False)
    latest.show_findings(progress)
    st.subheader("Latest dialogues", anchor=False)
    latest.show_dialogues()


frame.enter()
st.title("Home", anchor=False)
store = wiring.store()
progress = store.list_progress()
sample_run.settle(progress)
has_run = any(p.study == sample_run.name() for p in progress)
newcomer = not progress and not sample_run.starting()
if not newcomer:
    show_work()
first_steps.show(store.find_dataset(SAMPLE_NAME), sample_has_run=has_run)
