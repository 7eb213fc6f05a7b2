"""Slices of one arm, and arms by number of turns. Rows in, a figure out."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from core.comparison import Ends
from core.slicing import AtTurn, Slice, Sliced
from pages._ui import text
from pages._ui.chart_frame import (
    LEGEND,
    LINE,
    UNCORRECTED,
    Rows,
    arm_marker,
    error_bar,
    frame,
    hover_text,
    legend,
    name_axis,
    one_line,
    scale_of,
    small,
    value_axis,
)
from pages._ui.colours import Palette, palette


def slices_chart(
    found: Sliced, *, dimension: str, ends: Ends, arms: Sequence[str], dark: bool = False
) -> go.Figure:
    """Draw each slice raw with its interval, and the shrunken value by which it is ranked.

    `customdata`: the arm and the slice.
    """
    look = palette(dark)
    figure, places = go.Figure(), Rows.of([s.name for s in found.slices], basis=False)
    index = list(arms).index(found.arm)
    for name, hollow in (("as measured", True), ("shrunken, for ranking", False)):
        figure.add_trace(
            go.Scatter(
                x=[None], y=[None], mode="markers", name=name, hoverinfo="skip", showlegend=True,
                marker=arm_marker(index, look, hollow=hollow),
            )
        )  # fmt: skip
    for y, row in zip(places.centres, found.slices, strict=True):
        if row.estimate is not None:
            _slice(figure, row, y, (found, index), ends, look)
    asked = f"{text.dimension_name(dimension)} of {found.arm} by {found.by}"
    frame(figure, (asked, UNCORRECTED), places.height, look, top=LEGEND)
    figure.update_layout(showlegend=True, legend=legend())
    if found.mean is not None:
        figure.add_vline(x=found.mean * scale_of(ends), line={"color": look.muted, "width": 1})
    value_axis(figure, dimension, ends)
    labels = [f"{one_line(s.name)}  {small(_basis(s), look)}" for s in found.slices]
    name_axis(figure, labels, places, look)
    return figure


def _basis(row: Slice) -> str:
    said = f"n = {text.count(row.n)}, {text.plural(row.n_personas, 'persona')}"
    return f"{said} · too few to say" if row.too_few else said


def _slice(
    figure: go.Figure,
    row: Slice,
    y: float,
    of: tuple[Sliced, int],
    ends: Ends,
    look: Palette,
) -> None:
    assert row.estimate is not None
    found, index = of
    scale = scale_of(ends)
    said = text.quantity(row.estimate, row.lo, row.hi, verdict=ends.verdict)
    reach = text.interval(row.lo, row.hi, verdict=ends.verdict)
    facts = [f"{said} (95 % interval {reach})", _basis(row)]
    if row.p is not None:
        facts.append(f"against the rest {text.p_value(row.p)}, adjusted for all slices")
    marks = [(row.estimate, True)]
    marks += [] if row.shrunk is None else [(row.shrunk, False)]
    for value, hollow in marks:
        figure.add_trace(
            go.Scatter(
                x=[value * scale],
                y=[y],
                mode="markers",
                marker=arm_marker(index, look, hollow=hollow),
                error_x=error_bar(row.estimate, row.lo, row.hi, scale, look) if hollow else None,
                hovertext=[hover_text(row.name, facts)],
                hoverinfo="text",
                customdata=[[found.arm, row.name]],
                showlegend=False,
            )
        )


def turns_chart(
    rows: Sequence[AtTurn],
    *,
    dimension: str,
    ends: Ends,
    arms: Sequence[str],
    at: str,
    dark: bool = False,
) -> go.Figure:
    """Draw each arm over turns; hollow marks are too few to say. `customdata`: arm and turn.

    `at` names the axis: the turn, or the number of turns.
    """
    look, scale = palette(dark), scale_of(ends)
    figure = go.Figure()
    present = [arm for arm in arms if any(row.arm == arm for row in rows)]
    for arm in present:
        mine = [row for row in rows if row.arm == arm]
        marker = arm_marker(list(arms).index(arm), look)
        symbol = marker["symbol"]
        figure.add_trace(
            go.Scatter(
                name=text.escape_chart(arm),
                x=[row.turn for row in mine],
                y=[row.estimate * scale for row in mine],
                mode="lines+markers",
                line={"color": marker["color"], "width": 2},
                marker=marker
                | {"symbol": [f"{symbol}-open" if row.too_few else symbol for row in mine]},
                error_y={
                    "type": "data",
                    "symmetric": False,
                    "array": [((row.hi or row.estimate) - row.estimate) * scale for row in mine],
                    "arrayminus": [
                        (row.estimate - (row.estimate if row.lo is None else row.lo)) * scale
                        for row in mine
                    ],
                    "color": look.muted,
                    "thickness": 1.2,
                },
                hovertext=[hover_text(arm, _turn_facts(row, at, ends)) for row in mine],
                hoverinfo="text",
                customdata=[[arm, row.turn] for row in mine],
            )
        )
    few = " · hollow: too few to say" if any(row.too_few for row in rows) else ""
    heads = (f"{text.dimension_name(dimension)} by {at}", f"{UNCORRECTED}{few}")
    frame(figure, heads, 320, look, top=len(present) * (LINE + 4))
    figure.update_layout(showlegend=True, legend=legend("v"))
    figure.update_xaxes(title_text=at, dtick=1)
    value_axis(figure, dimension, ends)  # its words; the values stand upright here
    upright = figure.layout.xaxis
    figure.update_yaxes(
        title_text=upright.title.text, range=upright.range, gridcolor=look.grid, zeroline=False,
        ticksuffix=upright.ticksuffix, fixedrange=True, automargin=True,
    )  # fmt: skip
    figure.update_xaxes(title_text=at, range=None, dtick=1, tick0=1, ticksuffix="")
    return figure


def _turn_facts(row: AtTurn, at: str, ends: Ends) -> list[str]:
    said = text.quantity(row.estimate, row.lo, row.hi, verdict=ends.verdict)
    reach = f" (95 % interval {text.interval(row.lo, row.hi, verdict=ends.verdict)})"
    basis = f"n = {text.count(row.n)}, {text.plural(row.n_personas, 'persona')}"
    return [f"{at} {row.turn}: {said}{'' if row.lo is None else reach}", basis]


# --- words ----------------------------------------------------------------------------------------


def slices_words(found: Sliced, *, dimension: str, ends: Ends) -> str:
    """What the slices say, and what they cannot; plain text."""
    name = text.dimension_name(dimension)
    different = [s for s in found.slices if s.differs]
    few = sum(s.too_few for s in found.slices)
    if different:
        parts = "; ".join(_differs(s, ends) for s in different)
        words = f"{name} of {found.arm} differs from the rest in {parts}."
    elif any(s.p is not None for s in found.slices):
        words = f"No {found.by} is shown to differ from the rest for {found.arm}."
    else:
        words = f"There is not enough in these slices to hold one against the rest for {found.arm}."
    if few:
        verb = "is" if few == 1 else "are"
        words += f" {few} of {text.plural(len(found.slices), 'slice')} {verb} too few to say."
    notes = "; ".join(found.warnings)
    return f"{words} Note: {notes}." if notes else words


def _differs(row: Slice, ends: Ends) -> str:
    assert row.estimate is not None
    said = text.quantity(row.estimate, row.lo, row.hi, verdict=ends.verdict)
    return f"{row.name} ({said}, {text.p_value(row.p)} adjusted for all slices)"
