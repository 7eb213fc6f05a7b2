"""Report: a study written down for others, as a file or for a room."""

from __future__ import annotations

import streamlit as st

from pages._ui import comparison_parts, comparison_query, frame, report_view, state, text

frame.enter()
presenting = state.get("present") is not None
if not presenting:
    st.title("Report", anchor=False)
studies = comparison_query.studies()
if not studies:
    comparison_parts.nothing_yet()
    st.stop()
if presenting:
    named = state.get("study")
    study = next((s for s in studies if named in (s.name, s.id)), studies[0])
else:
    left, right = st.columns(2)
    with left:
        study = comparison_query.pick_study(studies)
if not comparison_query.dimensions(study):
    st.info(
        f"No dialogue of {text.escape_md(study.name, one_line=True)} has been judged yet, so there "
        "is nothing to report. The page Compare says how to judge them.",
        icon=":material/hourglass_empty:",
    )
    st.stop()
report = report_view.report_of(study)
if presenting:
    report_view.present(report)
    st.stop()
with right:
    part = report_view.pick_part(report)
if study.spec is not None and study.spec.question:
    st.caption(text.escape_md(study.spec.question))
report_view.show_files(report)
report_view.present_link(study, part)
report_view.show_preview(report, part)
