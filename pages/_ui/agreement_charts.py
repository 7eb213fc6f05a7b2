"""Charts of agreement: results in, a Plotly figure out. Nothing here knows Streamlit.

Colours mean what they mean everywhere: people are blue, the judge is grey, and a shape or a
hatch says the same. Marks carry the `customdata` that a click needs, named at each chart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from core.agreement_people import Annotator
from core.comparison import Ends
from core.stats.annotators import RaterPair
from core.stats.types import Estimate, IntArray
from pages._ui import text
from pages._ui.anchoring_charts import anchoring_chart, drift_chart, in_sight_chart
from pages._ui.chart_frame import NORMAL, arm_marker, frame, hover_text
from pages._ui.colours import DARK, Palette, palette, shade, text_on
from pages._ui.dot_rows import (
    Dot,
    around_zero,
    draw_dots,
    finish,
    human_marker,
    points_scale,
    resolved,
)

__all__ = [
    "anchoring_chart",
    "bias_chart",
    "confusion_chart",
    "drift_chart",
    "in_sight_chart",
    "pairs_chart",
    "severity_chart",
]

BLIND = "Blind labels of dialogues drawn at random"
CELL = 56  # pixels


# --- confusion ------------------------------------------------------------------------------


def confusion_chart(
    counts: IntArray,
    *,
    dimension: str,
    ends: Ends,
    sides: tuple[str, str] = ("people", "the judge"),
    title: str | None = None,
    dark: bool = False,
) -> go.Figure:
    """Draw a table of who said what: rows the first side, columns the second.

    Each cell holds its count; its shade is its share of the row. Cells where both say the same
    have a frame. `customdata` of a cell: value of the first side, value of the second.
    """
    look = palette(dark)
    table = np.asarray(counts)
    values = list(range(ends.low, ends.low + len(table)))
    names = [text.value_label(dimension, value) for value in values]
    figure = go.Figure(_cells(table, values, names, sides, look))
    equal = int(np.trace(table))
    asked = title or f"{text.dimension_name(dimension)}: what do {sides[0]} and {sides[1]} say?"
    basis = f"{equal:,} of {int(table.sum()):,} the same · shade: share of the row"
    frame(figure, (asked, f"{BLIND} · {basis}"), CELL * len(table), look)
    figure.update_layout(
        annotations=[_count(table, i, j, look) for i, j in np.ndindex(table.shape)],
        shapes=[_framed(i, look) for i in range(len(table))],
    )
    axis = {"tickmode": "array", "tickvals": list(range(len(names))), "ticktext": names}
    figure.update_xaxes(
        **axis, title_text=f"{sides[1]} said", showgrid=False, range=[-0.5, len(table) - 0.5]
    )
    figure.update_yaxes(
        **axis,
        title_text=f"{sides[0]} said",
        tickfont={"size": NORMAL, "color": look.text},
        title_font={"color": look.human},
        range=[len(table) - 0.5, -0.5],
        showgrid=False,
        zeroline=False,
        automargin=True,
        fixedrange=True,
    )
    return figure


def _cells(
    table: IntArray,
    values: Sequence[int],
    names: Sequence[str],
    sides: tuple[str, str],
    look: Palette,
) -> go.Heatmap:
    dark = look is DARK

    def hover(i: int, j: int) -> str:
        facts = [f"{sides[1]}: {names[j]}", text.plural(int(table[i, j]), "label")]
        return hover_text(f"{sides[0]}: {names[i]}", facts)

    k = range(len(table))
    return go.Heatmap(
        z=_shares(table).tolist(),
        zmin=0,
        zmax=1,
        colorscale=[[0, shade(0, dark=dark)], [1, shade(1, dark=dark)]],
        xgap=2,
        ygap=2,
        showscale=False,
        hovertext=[[hover(i, j) for j in k] for i in k],
        hoverinfo="text",
        customdata=[[[values[i], values[j]] for j in k] for i in k],
    )


def _shares(table: IntArray) -> Any:
    return table / np.maximum(table.sum(axis=1, keepdims=True), 1)


def _count(table: IntArray, i: int, j: int, look: Palette) -> dict[str, Any]:
    fill = shade(float(_shares(table)[i, j]), dark=look is DARK)
    return {
        "x": j,
        "y": i,
        "text": f"{int(table[i, j]):,}",
        "showarrow": False,
        "font": {"size": NORMAL, "color": text_on(fill)},
    }


def _framed(i: int, look: Palette) -> dict[str, Any]:
    return {
        "type": "rect",
        "x0": i - 0.48,
        "x1": i + 0.48,
        "y0": i - 0.47,
        "y1": i + 0.47,
        "line": {"color": look.text, "width": 2},
    }


# --- dots with intervals ----------------------------------------------------------------------


def pairs_chart(
    pairs: Sequence[RaterPair],
    *,
    names: Sequence[str],
    title: str | None = None,
    dark: bool = False,
) -> go.Figure:
    """Draw how often each two annotators say the same, those who agree most first.

    `customdata`: the two names. Pairs that share too little are left out.
    """
    look = palette(dark)
    shown = sorted((p for p in pairs if p.exact), key=lambda p: -p.exact.est if p.exact else 0)
    dots = [
        Dot(
            name=f"{names[pair.a]} and {names[pair.b]}",
            basis=text.plural(pair.n, "dialogue"),
            found=pair.exact,
            facts=_pair_facts(pair, names),
            click=(names[pair.a], names[pair.b]),
            marker=human_marker(look),
        )
        for pair in shown
    ]
    figure = draw_dots(dots, look, scale=100)
    asked = title or "How often do two people say the same?"
    finish(figure, (asked, BLIND), dots, look)
    figure.update_xaxes(title_text="same label", range=[-4, 104], dtick=20, ticksuffix=" %")
    return figure


def severity_chart(
    annotators: Sequence[Annotator],
    *,
    ends: Ends,
    title: str | None = None,
    dark: bool = False,
) -> go.Figure:
    """Draw how far each annotator lies from the others on the same dialogues.

    `customdata`: the name. Annotators who share too little are left out.
    """
    look = palette(dark)
    dots = [
        Dot(
            name=a.name,
            basis=f"{text.plural(a.rater.n_shared, 'dialogue')} with others",
            found=a.rater.severity,
            facts=(f"mean of {text.plural(a.n, 'label')}: {text.number(a.mean, 2)}",),
            click=(a.name,),
            marker=human_marker(look, hollow=not resolved(a.rater.severity)),
        )
        for a in annotators
        if a.rater is not None and a.rater.severity is not None
    ]
    figure = draw_dots(dots, look, scale=points_scale(ends), sign=True)
    asked = title or "Who is strict, who is lenient?"
    finish(figure, (asked, f"{BLIND} · against the others on the same dialogues"), dots, look)
    around_zero(figure, dots, ends, ("stricter", "more lenient"), look)
    return figure


def bias_chart(
    bias_by_arm: Mapping[str, Estimate | None],
    *,
    arms: Sequence[str],
    ends: Ends,
    title: str | None = None,
    dark: bool = False,
) -> go.Figure:
    """Draw judge minus people for each arm: only a difference between arms hurts a comparison.

    `customdata`: the arm.
    """
    look = palette(dark)
    dots = [
        Dot(
            name=arm,
            basis=text.plural(found.n, "label"),
            found=found,
            facts=(text.plural(found.n_clusters, "persona"),),
            click=(arm,),
            marker=arm_marker(arms.index(arm), look, hollow=not resolved(found)),
        )
        for arm in arms
        if (found := bias_by_arm.get(arm)) is not None
    ]
    figure = draw_dots(dots, look, scale=points_scale(ends), sign=True)
    asked = title or "Is the judge more generous to one arm?"
    finish(figure, (asked, f"{BLIND} · judge minus people"), dots, look)
    around_zero(figure, dots, ends, ("judge too strict", "judge too generous"), look)
    return figure


def _pair_facts(pair: RaterPair, names: Sequence[str]) -> tuple[str, ...]:
    facts = [text.plural(pair.n, "dialogue")]
    if pair.within_one is not None:
        facts.append(f"within one point: {text.percent(pair.within_one.est)}")
    if pair.difference is not None:
        gap = text.number(pair.difference.est, 2, sign=True)
        facts.append(f"{names[pair.a]} minus {names[pair.b]}: {gap}")
    if pair.kappa is not None:
        facts.append(f"kappa {text.number(pair.kappa.est, 2)}")
    return tuple(facts)
