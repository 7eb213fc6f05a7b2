"""Charts of a comparison: rows in, a Plotly figure out. Nothing here knows Streamlit.

Every chart takes the study's arms in their order, so that an arm keeps its colour and shape on
every page; `dark` follows the page. Backgrounds are transparent. Each mark carries the
`customdata` that a click needs: arm, dimension, instrument id, and the value, domain or baseline.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from core.compare import ArmEstimate, Difference, Distribution, Ends
from pages._ui import text
from pages._ui.chart_frame import (
    LEGEND,
    SMALL,
    UNCORRECTED,
    Rows,
    arm_label,
    arm_marker,
    error_bar,
    frame,
    hover_text,
    in_order,
    legend,
    name_axis,
    scale_of,
    value_axis,
    value_note,
)
from pages._ui.colours import HATCH, Palette, ordinal, palette, text_on
from pages._ui.domain_charts import domains_chart

BAR = 30  # pixels

__all__ = ["differences_chart", "distribution_chart", "domains_chart", "intervals_chart"]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where and how one estimate is drawn: its row, its arm's number, scale and look."""

    y: float
    arm: int
    ends: Ends
    look: Palette


def intervals_chart(
    rows: Sequence[ArmEstimate],
    *,
    arms: Sequence[str],
    ends: Ends,
    title: str | None = None,
    dark: bool = False,
) -> go.Figure:
    """Draw the estimate of each arm with its interval, on the whole scale of the dimension."""
    look = palette(dark)
    shown = in_order(rows, arms)
    figure = go.Figure()
    places = Rows.of([row.arm for row in shown])
    for y, row in zip(places.centres, shown, strict=True):
        at = _Place(y, arms.index(row.arm), ends, look)
        words = text.quantity(row.estimate or 0, row.lo, row.hi, verdict=ends.verdict)
        _dots(figure, row, at)
        _mark(figure, row, at, words, _arm_facts(row, ends))
    dimension = shown[0].dimension if shown else ""
    asked = title or text.dimension_question(dimension)
    frame(figure, (asked, UNCORRECTED), places.height, look)
    value_axis(figure, dimension, ends)
    name_axis(figure, [arm_label(r.arm, _arm_basis(r), look) for r in shown], places, look)
    return figure


def differences_chart(
    rows: Sequence[Difference],
    *,
    arms: Sequence[str],
    ends: Ends,
    title: str | None = None,
    dark: bool = False,
) -> go.Figure:
    """Draw the difference of each arm to the baseline, against a line at no difference.

    A difference that is not resolved is drawn hollow, and says so.
    """
    look = palette(dark)
    shown = in_order(rows, arms)
    figure = go.Figure()
    places = Rows.of([row.arm for row in shown])
    for y, row in zip(places.centres, shown, strict=True):
        at = _Place(y, arms.index(row.arm), ends, look)
        _mark(figure, row, at, _difference_words(row, ends), _difference_facts(row, ends))
    first = shown[0] if shown else None
    dimension, baseline = (first.dimension, first.baseline) if first else ("", "the baseline")
    worse, better = text.directions(dimension)
    name = text.dimension_name(dimension)
    asked = title or f"{name}: how much {better} or {worse} than with {baseline}?"
    frame(figure, (asked, f"{UNCORRECTED} · same scenarios in both"), places.height, look)
    figure.add_vline(x=0, line={"color": look.text, "width": 1}, layer="below")
    unit = "percentage points" if ends.verdict else "rating points"
    figure.update_xaxes(
        title_text=f"← {worse} · difference in {unit} · {better} →",
        range=_reach(shown, ends),
    )
    labels = [arm_label(r.arm, _pair_basis(r), look) for r in shown]
    name_axis(figure, labels, places, look)
    return figure


def distribution_chart(
    rows: Sequence[Distribution],
    *,
    arms: Sequence[str],
    title: str | None = None,
    dark: bool = False,
) -> go.Figure:
    """Draw how often each value was given, as shares of all judgements; unscored hatched."""
    look = palette(dark)
    shown = in_order(rows, arms)
    figure = go.Figure()
    places = Rows.of([row.arm for row in shown])
    values = sorted({value for row in shown for value, _ in row.counts})
    fills = ordinal(len(values), dark=dark)
    for value, fill in zip(values, fills, strict=True):
        figure.add_trace(_value_bars(shown, places, value, fill, look))
    if any(row.n_unscored for row in shown):
        figure.add_trace(_unscored_bars(shown, places, look))
    dimension = shown[0].dimension if shown else ""
    asked = title or f"{text.dimension_name(dimension)}: how often was each value given?"
    frame(figure, (asked, UNCORRECTED), places.height, look, top=LEGEND)
    figure.update_layout(barmode="stack", showlegend=True, legend=legend())
    figure.update_xaxes(title_text="share of judgements", range=[0, 100], ticksuffix=" %")
    figure.update_xaxes(showgrid=False)
    labels = [arm_label(r.arm, text.plural(_total(r), "judgement"), look) for r in shown]
    name_axis(figure, labels, places, look)
    return figure


# --- marks ------------------------------------------------------------------------------------


def _mark(
    figure: go.Figure, row: ArmEstimate | Difference, at: _Place, words: str, facts: Sequence[str]
) -> None:
    """Add one estimate to a chart: its mark, its interval if it has one, its value in words."""
    if row.estimate is None:
        return
    times = scale_of(at.ends)
    hollow = isinstance(row, Difference) and not row.resolved
    last = row.baseline if isinstance(row, Difference) else None
    figure.add_trace(
        go.Scatter(
            x=[row.estimate * times],
            y=[at.y],
            mode="markers",
            cliponaxis=False,
            marker=arm_marker(at.arm, at.look, hollow=hollow),
            error_x=error_bar(row.estimate, row.lo, row.hi, times, at.look),
            hovertext=[hover_text(row.arm, facts)],
            hoverinfo="text",
            customdata=[[row.arm, row.dimension, row.instrument_id, last]],
        )
    )
    figure.add_annotation(value_note(row.estimate * times, at.y, words, at.look))


def _dots(figure: go.Figure, row: ArmEstimate, at: _Place) -> None:
    """Add the persona means, where they are too few for an interval."""
    if not row.dots:
        return
    figure.add_trace(
        go.Scatter(
            x=[dot * scale_of(at.ends) for dot in row.dots],
            y=[at.y] * len(row.dots),
            mode="markers",
            marker={"symbol": "line-ns-open", "size": 14, "color": at.look.muted},
            hovertext=[hover_text(row.arm, ["mean of one persona"])] * len(row.dots),
            hoverinfo="text",
        )
    )


def _bars(rows: Sequence[Distribution], places: Rows, counts: Sequence[int], name: str) -> go.Bar:
    """Bars of one value over all arms; their colours come with the caller."""
    return go.Bar(
        name=name,
        x=[100 * n / max(_total(row), 1) for n, row in zip(counts, rows, strict=True)],
        y=places.centres,
        width=BAR,
        orientation="h",
        hovertext=[
            hover_text(row.arm, [f"{name}: {n:,} of {text.plural(_total(row), 'judgement')}"])
            for row, n in zip(rows, counts, strict=True)
        ],
        hoverinfo="text",
    )


def _value_bars(
    rows: Sequence[Distribution], places: Rows, value: int, fill: str, look: Palette
) -> go.Bar:
    counts = [dict(row.counts).get(value, 0) for row in rows]
    bars = _bars(rows, places, counts, text.value_label(rows[0].dimension, value))
    return bars.update(
        marker={"color": fill, "line": {"color": look.background, "width": 1}},
        text=[f"{share:.0f} %" if share >= 7 else "" for share in bars.x],
        textposition="inside",
        insidetextanchor="middle",
        textangle=0,
        constraintext="none",
        textfont={"size": SMALL, "color": text_on(fill)},
        customdata=[[row.arm, row.dimension, row.instrument_id, value] for row in rows],
    )


def _unscored_bars(rows: Sequence[Distribution], places: Rows, look: Palette) -> go.Bar:
    bars = _bars(rows, places, [row.n_unscored for row in rows], "unscored")
    pattern = {"shape": HATCH, "fgcolor": look.unscored, "bgcolor": look.background, "size": 6}
    line = {"color": look.unscored, "width": 1}
    return bars.update(
        marker={"color": look.background, "line": line, "pattern": pattern},
        customdata=[[row.arm, row.dimension, row.instrument_id, None] for row in rows],
    )


# --- words ------------------------------------------------------------------------------------


def _arm_basis(row: ArmEstimate) -> str:
    words = f"{text.plural(row.n, 'dialogue')}, {text.plural(row.n_personas, 'persona')}"
    return f"{words}, {text.count(row.n_unscored)} unscored" if row.n_unscored else words


def _pair_basis(row: Difference) -> str:
    return f"{text.plural(row.n, 'scenario')}, {text.plural(row.n_personas, 'persona')}"


def _arm_facts(row: ArmEstimate, ends: Ends) -> list[str]:
    shown = text.quantity(row.estimate or 0, row.lo, row.hi, verdict=ends.verdict)
    reach = text.interval(row.lo, row.hi, verdict=ends.verdict)
    facts = [f"{shown} (95 % interval {reach})" if row.lo is not None else f"{shown}, no interval"]
    return [*facts, _arm_basis(row), row.instrument, row.method, *row.warnings]


def _difference_facts(row: Difference, ends: Ends) -> list[str]:
    reach = text.interval(row.lo, row.hi, verdict=ends.verdict)
    facts = [f"Difference to {row.baseline}: {_difference_words(row, ends)}"]
    facts.append(f"95 % interval {reach}" if row.lo is not None else "no interval")
    if row.p is not None:
        facts.append(f"{text.p_value(row.p)} by sign flips of personas")
    facts.append(f"better in {row.wins:,}, worse in {row.losses:,}, same in {row.ties:,} scenarios")
    return [*facts, _pair_basis(row), row.instrument, *row.warnings]


def _difference_words(row: Difference, ends: Ends) -> str:
    scale = scale_of(ends)
    limits = (None, None) if row.lo is None or row.hi is None else (row.lo * scale, row.hi * scale)
    decimals = text.decimals_for(*limits, otherwise=0 if ends.verdict else 1)
    shown = text.number((row.estimate or 0) * scale, decimals, sign=True)
    if row.lo is None:
        return f"{shown}, no interval"
    return shown if row.resolved else f"{shown}, not resolved"


def _total(row: Distribution) -> int:
    return sum(n for _, n in row.counts) + row.n_unscored


def _reach(rows: Sequence[Difference], ends: Ends) -> list[float]:
    """The range of the axis of differences: all that is drawn, and both sides of 0."""
    found = [v for row in rows for v in (row.estimate, row.lo, row.hi) if v is not None]
    width = max([0.05 if ends.verdict else 0.2, *(abs(v) for v in found)])
    low, high = min([0.0, *found]) - 0.2 * width, max([0.0, *found]) + 0.2 * width
    return [low * scale_of(ends), high * scale_of(ends)]
