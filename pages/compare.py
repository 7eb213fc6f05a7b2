"""Compare: a study's arms side by side, with intervals, and what the numbers mean."""

from __future__ import annotations

import streamlit as st

from pages._ui import (
    comparison_parts,
    comparison_query,
    corrected_parts,
    fault_parts,
    frame,
    slice_parts,
    text,
)

frame.enter()
st.title("Compare", anchor=False)
studies = comparison_query.studies()
if not studies:
    comparison_parts.nothing_yet()
    st.stop()

bar = st.columns((4, 3, 3), vertical_alignment="bottom")
with bar[0]:
    study = comparison_query.pick_study(studies)
dimensions = comparison_query.dimensions(study)
if not dimensions:
    st.info(
        "No dialogue of this study has been judged yet. Judge them with "
        f"`python cli.py judge {text.escape_md(study.name, one_line=True)}`, or on the page "
        "Dialogues one by one.",
        icon=":material/hourglass_empty:",
    )
    st.stop()
with bar[1]:
    dimension = comparison_query.pick_dimension(study, dimensions)
one = comparison_query.comparison(study, dimension=dimension)
with bar[2]:
    baseline = comparison_query.pick_baseline(one.arms, one.baseline)
if baseline != one.baseline:
    one = comparison_query.comparison(study, baseline, dimension)
part = comparison_query.pick_instrument(one, dimension)

comparison_parts.say(study, part)
NAMES = "Arms,Corrected by people,Distribution,By domain,Slices,By turns,Without faults,Numbers"
arms, corrected, spread, domains, slices, turns, faults, numbers = st.tabs(
    NAMES.split(","), key="compare.tab", on_change="rerun"
)
if arms.open:
    with arms:
        comparison_parts.show_arms(study, part)
        comparison_parts.show_published(part)
if corrected.open:
    with corrected:
        corrected_parts.show(study, part)
if spread.open:
    with spread:
        comparison_parts.show_distribution(study, part)
if domains.open:
    with domains:
        comparison_parts.show_domains(study, part)
if slices.open:
    with slices:
        slice_parts.show_slices(study, part)
if turns.open:
    with turns:
        slice_parts.show_turns(study, part)
if faults.open:
    with faults:
        fault_parts.show(study, part)
if numbers.open:
    with numbers:
        comparison_parts.show_numbers(comparison_query.comparison(study, baseline))
