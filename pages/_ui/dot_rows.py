"""Rows of dots with intervals: the form that most charts of agreement have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from core.comparison import Ends
from core.stats.bias import Effect
from core.stats.intervals import FEW_CLUSTERS
from core.stats.types import Estimate
from pages._ui import text
from pages._ui.chart_frame import (
    Rows,
    arm_label,
    error_bar,
    frame,
    hover_text,
    name_axis,
    value_note,
)
from pages._ui.colours import Palette


@dataclass(frozen=True, slots=True)
class Dot:
    """One row of a chart of dots: its name, what it rests on, its value, its hover, its click."""

    name: str
    basis: str
    found: Estimate | Effect | None
    facts: tuple[str, ...]
    click: tuple[Any, ...]
    marker: Mapping[str, Any]


def draw_dots(dots: Sequence[Dot], look: Palette, *, scale: int, sign: bool = False) -> go.Figure:
    figure = go.Figure()
    places = Rows.of([dot.name for dot in dots])
    for y, dot in zip(places.centres, dots, strict=True):
        if dot.found is None:
            continue
        lo, hi = limits(dot.found)
        ends = (None, None) if lo is None or hi is None else (lo * scale, hi * scale)
        digits = text.decimals_for(*ends, otherwise=0 if scale == 100 else 2)
        said = text.number(dot.found.est * scale, digits, sign=sign)
        words = said if lo is not None else f"{said}, no interval"
        reach = text.interval(*ends) if lo is not None else "too few personas for an interval"
        figure.add_trace(
            go.Scatter(
                x=[dot.found.est * scale],
                y=[y],
                mode="markers",
                cliponaxis=False,
                marker=dict(dot.marker),
                error_x=error_bar(dot.found.est, lo, hi, scale, look),
                hovertext=[hover_text(dot.name, [f"{said} (95 % interval {reach})", *dot.facts])],
                hoverinfo="text",
                customdata=[list(dot.click)],
            )
        )
        figure.add_annotation(value_note(dot.found.est * scale, y, words, look))
    return figure


def finish(figure: go.Figure, heads: tuple[str, str], dots: Sequence[Dot], look: Palette) -> None:
    places = Rows.of([dot.name for dot in dots])
    frame(figure, heads, places.height, look)
    name_axis(figure, [arm_label(dot.name, dot.basis, look) for dot in dots], places, look)


def around_zero(
    figure: go.Figure,
    dots: Sequence[Dot],
    ends: Ends,
    words: tuple[str, str],
    look: Palette,
) -> None:
    scale = points_scale(ends)
    reach = max([0.2, *(abs(v) for d in dots if d.found for v in (d.found.lo, d.found.hi))])
    figure.add_vline(x=0, line={"color": look.text, "width": 1}, layer="below")
    unit = "percentage points" if ends.verdict else "rating points"
    figure.update_xaxes(
        title_text=f"← {words[0]} · {unit} · {words[1]} →",
        range=[-1.15 * reach * scale, 1.15 * reach * scale],
    )


def human_marker(look: Palette, *, hollow: bool = False) -> dict[str, Any]:
    symbol = "circle-open" if hollow else "circle"
    line = {"color": look.human, "width": 2.5 if hollow else 1}
    return {"symbol": symbol, "size": 13, "color": look.human, "line": line}


def limits(found: Estimate | Effect) -> tuple[float | None, float | None]:
    """The interval, unless it rests on too few personas to be shown."""
    few = isinstance(found, Estimate) and found.n_clusters < FEW_CLUSTERS
    return (None, None) if few else (found.lo, found.hi)


def resolved(found: Estimate | Effect | None) -> bool:
    if found is None:
        return False
    lo, hi = limits(found)
    return lo is not None and hi is not None and (lo > 0 or hi < 0)


def points_scale(ends: Ends) -> int:
    return 100 if ends.verdict else 1
