"""Agreement: people with each other, and the judge with people, in plain words and charts."""

from __future__ import annotations

import streamlit as st

from pages._ui import agreement_parts, agreement_query, frame

frame.enter()
st.title("Agreement", anchor=False)
studies = agreement_query.studies()
if not studies:
    agreement_parts.nothing_yet()
    st.stop()
left, middle, right = st.columns((4, 3, 4), vertical_alignment="bottom")
with left:
    study = agreement_query.pick_study(studies)
dimensions = agreement_query.dimensions(study)
with middle:
    dimension = agreement_query.pick_dimension(dimensions)
rows = agreement_query.rows(study, dimension)
with right:
    instrument = agreement_query.pick_instrument(rows, dimension)
found = agreement_query.found(study, dimension, instrument)
agreement_parts.show(study, found)
