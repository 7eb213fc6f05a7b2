"""Instruments of a study beside each other: drift of a new one, and a panel of several."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.compare import compare, rubric_ends
from core.comparison import Ends
from core.findings import arms_of
from core.instruments import instrument_shift, margin_of, panel_ratings, shift_words
from core.ports import Study
from pages._ui import charts, comparison_query, errors, judge_people, text, wiring
from pages._ui.comparison_parts import dark


def show() -> None:
    """Draw the choice of study and dimension, the shift, and the panel."""
    studies = comparison_query.studies()
    if not studies:
        st.info("There is no judged dialogue yet.", icon=":material/hourglass_empty:")
        return
    left, right = st.columns(2)
    with left:
        study = comparison_query.pick_study(studies)
    dimensions = comparison_query.dimensions(study)
    if not dimensions:
        st.info("No dialogue of this study has been judged.", icon=":material/hourglass_empty:")
        return
    with right:
        dimension = comparison_query.pick_dimension(study, dimensions)
    ratings = wiring.store().ratings(study.id, dimension=dimension)
    pairs = ratings[["instrument_id", "instrument"]].drop_duplicates()
    known = {str(key): str(label) for key, label in pairs.itertuples(index=False)}
    if len(known) < 2:
        st.info(
            "One instrument rated this; judge the study with another to compare them: "
            "`python cli.py judge STUDY --rubric NAME --judge MODEL`.",
            icon=":material/straighten:",
        )
        for only in known:
            judge_people.show(study, dimension, known, (only, only, 0.0))
        return
    ends = rubric_ends().get(dimension, Ends(1, 5))
    pair = _shift(ratings, known, ends)
    judge_people.show(study, dimension, known, pair)
    _panel(study, ratings, known, ends)


def _shift(ratings: pd.DataFrame, known: dict[str, str], ends: Ends) -> tuple[str, str, float]:
    st.subheader("Has the new one drifted?", anchor=False)
    ids = list(known)
    a, b, c = st.columns(3)
    old = a.selectbox("Old", ids, key="judges.old", format_func=lambda i: known[i])
    others = [i for i in ids if i != old]
    new = b.selectbox("New", others, key="judges.new", format_func=lambda i: known[i])
    margin = c.number_input(
        "Margin (a shift that does not matter)", 0.01, 2.0, margin_of(ends), key="judges.margin"
    )
    with errors.shown():
        found = instrument_shift(ratings, old, new, margin=margin)
        st.markdown(f"**{found.verdict}**: {text.escape_md(shift_words(found), one_line=True)}")
        if found.one_only:
            st.caption(f"{found.one_only:,} ratings that only one of the two gave are left out.")
    return old, new, float(margin)


def _panel(study: Study, ratings: pd.DataFrame, known: dict[str, str], ends: Ends) -> None:
    st.subheader("A panel of several judges", anchor=False)
    chosen = st.multiselect(
        "Members", list(known), key="judges.panel", format_func=lambda i: known[i]
    )
    if len(chosen) < 2:
        st.caption("Choose two or more: their mean is an instrument of its own.")
        return
    with errors.shown():
        table = panel_ratings(ratings, chosen)
        arms = arms_of(study, wiring.store().list_arms(study.id))
        found = compare(table, arms=arms)
        figure = charts.intervals_chart(found.rows, arms=arms, ends=ends, dark=dark())
        st.plotly_chart(figure, key="judges.panel_chart", theme=None)
        for row in found.differences:
            st.caption(text.escape_md(text.what_is_estimated(row)))
