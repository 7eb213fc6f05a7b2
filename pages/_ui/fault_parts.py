"""The tab Without faults of Compare: each arm over all dialogues and without confirmed faults."""

from __future__ import annotations

from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from core.comparison import ArmEstimate, Comparison, Difference, Ends
from core.faults import not_about_the_assistant, proposed, tally
from core.ports import Study
from core.without_faults import BothWays, both_ways
from pages._ui import comparison_parts, text, wiring
from pages._ui.chart_frame import (
    LEGEND,
    UNCORRECTED,
    Rows,
    arm_label,
    arm_marker,
    error_bar,
    frame,
    hover_text,
    legend,
    name_axis,
    scale_of,
    value_axis,
)
from pages._ui.colours import palette
from pages._ui.slice_parts import CONFIG, Asked, asked, download

_APART = 14  # pixels


def show(study: Study, part: Comparison) -> None:
    """Both numbers of each arm, or that nobody confirmed a fault."""
    faults = wiring.reviews().list_faults(study.id)
    left = len(proposed(faults))
    if left:
        st.caption(f"{text.plural(left, 'proposed fault')} nobody has confirmed: left in.")
    counts = tally(faults)
    if not not_about_the_assistant(faults):
        st.info(
            "No dialogue has a confirmed fault of the simulated user, the task or the "
            "infrastructure. Name faults at the Desk while you label.",
            icon=":material/person_alert:",
        )
        return
    said = ", ".join(f"{n:,} {party}" for party, n in counts.items())
    st.caption(f"Confirmed by people, dialogues at fault: {said}.")
    of = asked(study, part)
    rows = _both(of, part.arms, part.baseline)
    for row in rows:
        st.markdown(text.escape_md(both_words(row, of.ends)))
    figure = both_chart(rows, arms=part.arms, ends=of.ends, dark=comparison_parts.dark())
    st.plotly_chart(
        figure, key="compare.faults", theme=None, config=CONFIG,
        alt="Each arm over all dialogues and without confirmed faults",
    )  # fmt: skip
    table = [
        {
            "arm": row.arm, "estimate": row.all.estimate, "n": row.all.n,
            "without faults": row.without.estimate, "n without": row.without.n,
            "left out": row.left_out, "difference": row.gap.estimate if row.gap else None,
            "difference without": row.gap_without.estimate if row.gap_without else None,
        }
        for row in rows
    ]  # fmt: skip
    st.dataframe(pd.DataFrame(table), hide_index=True, key="compare.fault_table")
    download("Both numbers as CSV", table, "without-faults")
    st.caption(
        text.escape_md(
            f"Judged by {part.rows[0].instrument}, uncorrected. What is left out was chosen after "
            "looking: quote both numbers, or neither.",
            one_line=True,
        )
    )


@st.cache_data(show_spinner="Comparing …", max_entries=20)
def _both(of: Asked, arms: tuple[str, ...], baseline: str) -> tuple[BothWays, ...]:
    ratings = wiring.store().ratings(of.study_id, dimension=of.dimension)
    faulty = not_about_the_assistant(wiring.reviews().list_faults(of.study_id))
    return both_ways(ratings, faulty, arms=arms, baseline=baseline, instrument_id=of.instrument_id)


def both_words(row: BothWays, ends: Ends) -> str:
    """Both numbers of an arm, and of its difference; plain text."""
    name = f"{text.dimension_name(row.all.dimension)} with {row.arm}"
    words = (
        f"{name}: {_said(row.all, ends)} over all, {_said(row.without, ends)} without "
        f"{text.plural(row.left_out, 'dialogue')} with a confirmed fault."
    )
    if row.gap is None or row.gap_without is None:
        return words
    return (
        f"{words} Against {row.gap.baseline}: {_gap(row.gap, ends)} over all, "
        f"{_gap(row.gap_without, ends)} without."
    )


def _said(row: ArmEstimate, ends: Ends) -> str:
    if row.estimate is None:
        return "nothing"
    said = text.quantity(row.estimate, row.lo, row.hi, verdict=ends.verdict)
    return f"{said} ({text.plural(row.n, 'dialogue')}, {text.plural(row.n_personas, 'persona')})"


def _gap(row: Difference, ends: Ends) -> str:
    if row.estimate is None:
        return "nothing"
    sign = "+" if row.estimate > 0 else "\u2212" if row.estimate < 0 else ""
    said = text.quantity(abs(row.estimate), row.lo, row.hi, verdict=ends.verdict)
    if row.lo is None:
        return f"{sign}{said}"
    return f"{sign}{said} (95 % interval {text.interval(row.lo, row.hi, verdict=ends.verdict)})"


def both_chart(
    rows: tuple[BothWays, ...], *, arms: tuple[str, ...], ends: Ends, dark: bool = False
) -> go.Figure:
    """Draw each arm twice: filled over all dialogues, hollow without faults. `customdata`: arm."""
    look, scale = palette(dark), scale_of(ends)
    figure, places = go.Figure(), Rows.of([row.arm for row in rows], least=56)
    for name, hollow in (("all dialogues", False), ("without confirmed faults", True)):
        figure.add_trace(
            go.Scatter(
                x=[None], y=[None], mode="markers", name=name, hoverinfo="skip",
                marker=arm_marker(0, look, hollow=hollow), showlegend=True,
            )
        )  # fmt: skip
    for centre, row in zip(places.centres, rows, strict=True):
        for found, hollow, shift in ((row.all, False, -_APART), (row.without, True, _APART)):
            if found.estimate is not None:
                mark: dict[str, Any] = arm_marker(arms.index(row.arm), look, hollow=hollow)
                figure.add_trace(
                    go.Scatter(
                        x=[found.estimate * scale],
                        y=[centre + shift],
                        mode="markers",
                        marker=mark,
                        error_x=error_bar(found.estimate, found.lo, found.hi, scale, look),
                        hovertext=[hover_text(row.arm, [_said(found, ends)])],
                        hoverinfo="text",
                        customdata=[[row.arm]],
                        showlegend=False,
                    )
                )
    dimension = rows[0].all.dimension if rows else ""
    heads = (f"{text.dimension_name(dimension)} with and without simulator faults", UNCORRECTED)
    frame(figure, heads, places.height, look, top=LEGEND)
    figure.update_layout(showlegend=True, legend=legend())
    value_axis(figure, dimension, ends)
    labels = [arm_label(r.arm, f"{text.count(r.left_out)} left out", look) for r in rows]
    name_axis(figure, labels, places, look)
    return figure
