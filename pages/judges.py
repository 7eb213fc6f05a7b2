"""Judges: is one fit to use, has it drifted, and what a new wording of a rubric does."""

from __future__ import annotations

import streamlit as st

from pages._ui import frame, judge_check, judge_instruments, judge_rubrics

frame.enter()
st.title("Judges", anchor=False)
fit, rubrics, instruments = st.tabs(
    ["Fit to use?", "Rubrics", "Drift and panel"], key="judges.tab", on_change="rerun"
)
if fit.open:
    with fit:
        judge_check.show()
if rubrics.open:
    with rubrics:
        judge_rubrics.show()
if instruments.open:
    with instruments:
        judge_instruments.show()
