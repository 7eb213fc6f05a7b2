"""Three steps for somebody who opens Rapport for the first time."""

from __future__ import annotations

import streamlit as st

from core.sample import SAMPLE_NAME
from core.types import Dataset
from pages._ui import frame, sample_run, text

_GUEST = "user7"


def show(sample: Dataset | None, *, sample_has_run: bool) -> None:
    """Draw the steps; without the sample there is nothing to step on."""
    if sample is None:
        st.info("The sample data is not there; import a dataset first.", icon=":material/info:")
        st.page_link(frame.path("data"), label="Import a dataset", icon=":material/upload:")
        return
    st.subheader("New here? Three steps", anchor=False)
    boxes = [column.container(border=True, height="stretch") for column in st.columns(3)]
    with boxes[0]:
        _meet(sample)
    with boxes[1]:
        _launch()
    with boxes[2]:
        _compare(sample_has_run)


def _meet(sample: Dataset) -> None:
    st.markdown("**1 · Meet a persona**")
    people = text.plural(sample.personas, "invented person", "invented people")
    st.markdown(f"{people}: who they are, what they like, and what they want done.")
    st.page_link(
        frame.path("personas"),
        label="Open one",
        icon=":material/group:",
        query_params={"dataset": SAMPLE_NAME, "persona": _GUEST},
    )


def _launch() -> None:
    st.markdown("**2 · Launch a dialogue**")
    st.markdown("Let an assistant serve that person. The built-in parties need no key.")
    st.page_link(
        frame.path("launch"),
        label="Launch",
        icon=":material/play_circle:",
        query_params={"dataset": SAMPLE_NAME, "persona": _GUEST},
    )


def _compare(has_run: bool) -> None:
    st.markdown("**3 · Compare two arms**")
    if has_run:
        st.markdown("Assistants of known quality, and what a judge makes of them.")
        st.page_link(
            frame.path("compare"),
            label="Compare",
            icon=":material/bar_chart:",
            query_params={"study": sample_run.name()},
        )
        return
    st.markdown("Assistants of known quality, judged. It runs by itself and costs nothing.")
    sample_run.show_start()
