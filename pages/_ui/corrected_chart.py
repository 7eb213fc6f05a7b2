"""Each arm three times: corrected, by people alone, by the judge alone. Rows in, a figure out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from core.comparison import Ends
from core.correcting import CorrectedArm, CorrectedGap
from core.stats.corrected import HUMAN_ONLY_BELOW, CorrectedMean
from core.stats.types import Estimate
from pages._ui import text
from pages._ui.chart_frame import (
    LEGEND,
    Rows,
    arm_label,
    error_bar,
    frame,
    hover_text,
    legend,
    name_axis,
    scale_of,
    value_axis,
    value_note,
)
from pages._ui.colours import Palette, palette
from pages._ui.dot_rows import limits

_ROW = 84  # pixels: three marks below each other
_APART = 20
_KINDS = ("corrected", "people alone", "judge alone, uncorrected")


def corrected_chart(
    rows: Sequence[CorrectedArm],
    *,
    dimension: str,
    ends: Ends,
    title: str | None = None,
    dark: bool = False,
) -> go.Figure:
    """Draw what correction did to each arm, on the whole scale of the dimension.

    `customdata`: the arm.
    """
    look = palette(dark)
    figure, places = go.Figure(), Rows.of([row.arm for row in rows], least=_ROW)
    for kind in _KINDS:
        _legend_entry(figure, kind, look)
    for centre, row in zip(places.centres, rows, strict=True):
        for kind, found in _marks(row.found):
            y = centre + _APART * (_KINDS.index(kind) - 1)
            _mark(figure, row, (kind, found), y, ends, look)
    asked = title or text.dimension_question(dimension)
    said = "As people would rate all dialogues, from the judge and blind labels"
    frame(figure, (asked, said), places.height, look, top=LEGEND)
    figure.update_layout(showlegend=True, legend=legend())
    value_axis(figure, dimension, ends)
    name_axis(figure, [arm_label(r.arm, _basis(r), look) for r in rows], places, look)
    return figure


def gaps_chart(
    rows: Sequence[CorrectedGap],
    *,
    dimension: str,
    ends: Ends,
    dark: bool = False,
) -> go.Figure:
    """Draw the corrected difference of each arm to the baseline. `customdata`: the arm."""
    look = palette(dark)
    shown = [row for row in rows if row.found is not None]
    figure, places = go.Figure(), Rows.of([row.arm for row in shown], least=_ROW)
    for centre, row in zip(places.centres, shown, strict=True):
        arm = CorrectedArm(row.arm, row.found, 0, row.n_pairs, 0, 0)
        for kind, found in _marks(row.found):
            y = centre + _APART * (_KINDS.index(kind) - 1)
            _mark(figure, arm, (kind, found), y, ends, look)
    for kind in _KINDS:
        _legend_entry(figure, kind, look)
    worse, better = text.directions(dimension)
    baseline = shown[0].baseline if shown else "the baseline"
    asked = f"{text.dimension_name(dimension)}: how much {better} or {worse} than with {baseline}?"
    frame(
        figure, (asked, "Corrected, over scenarios with both arms"), places.height, look, top=LEGEND
    )
    figure.update_layout(showlegend=True, legend=legend())
    figure.add_vline(x=0, line={"color": look.text, "width": 1}, layer="below")
    unit = "percentage points" if ends.verdict else "rating points"
    figure.update_xaxes(title_text=f"← {worse} · difference in {unit} · {better} →")
    labels = [arm_label(r.arm, text.plural(r.n_pairs, "pair"), look) for r in shown]
    name_axis(figure, labels, places, look)
    return figure


def _marks(found: CorrectedMean | None) -> list[tuple[str, Estimate]]:
    if found is None:
        return []
    return list(zip(_KINDS, (found.estimate, found.human_only, found.naive), strict=True))


def _style(kind: str, look: Palette) -> dict[str, Any]:
    symbols = dict(zip(_KINDS, ("diamond", "circle", "square"), strict=True))
    colours = dict(zip(_KINDS, (look.corrected, look.human, look.judge), strict=True))
    return {"symbol": symbols[kind], "size": 12, "color": colours[kind]}


def _legend_entry(figure: go.Figure, kind: str, look: Palette) -> None:
    figure.add_trace(
        go.Scatter(
            x=[None], y=[None], mode="markers", name=kind, marker=_style(kind, look),
            showlegend=True, hoverinfo="skip",
        )
    )  # fmt: skip


def _mark(
    figure: go.Figure,
    row: CorrectedArm,
    said_by: tuple[str, Estimate],
    y: float,
    ends: Ends,
    look: Palette,
) -> None:
    kind, found = said_by
    scale = scale_of(ends)
    lo, hi = limits(found)
    said = text.quantity(found.est, lo, hi, verdict=ends.verdict)
    reach = text.interval(lo, hi, verdict=ends.verdict)
    facts = [f"{said} (95 % interval {reach})", f"{text.plural(found.n, 'dialogue')} behind it"]
    figure.add_trace(
        go.Scatter(
            x=[found.est * scale],
            y=[y],
            mode="markers",
            cliponaxis=False,
            marker=_style(kind, look),
            error_x=error_bar(found.est, lo, hi, scale, look),
            hovertext=[hover_text(f"{row.arm}, {kind}", facts)],
            hoverinfo="text",
            customdata=[[row.arm]],
            showlegend=False,
        )
    )
    if row.found is not None and _is_headline(row.found, kind):
        note = value_note(max(found.est, hi or found.est) * scale, y, f"<b>{said}</b>", look)
        figure.add_annotation(note | {"xanchor": "left", "xshift": 8, "yshift": 0})


def _is_headline(found: CorrectedMean, kind: str) -> bool:
    alone = found.estimate.n < HUMAN_ONLY_BELOW
    return kind == ("people alone" if alone else "corrected")


def _basis(row: CorrectedArm) -> str:
    labels = f"{text.count(row.n_labels)} of {text.plural(row.n_rows, 'dialogue')} labelled"
    return labels if row.found is not None else f"{labels}: too few to say"
