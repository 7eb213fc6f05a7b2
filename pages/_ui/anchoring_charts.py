"""Charts of annotators over time: moved by the judge, or by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import plotly.graph_objects as go

from core.agreement_people import Annotator, Block
from core.comparison import Ends
from core.stats.bias import Anchoring, Moves, RevealFirst
from pages._ui import text
from pages._ui.chart_frame import (
    LEGEND,
    SMALL,
    Rows,
    arm_label,
    frame,
    hover_text,
    legend,
    name_axis,
)
from pages._ui.colours import HATCH, Palette, palette, text_on
from pages._ui.dot_rows import Dot, draw_dots, finish, human_marker, points_scale

BAR = 28  # pixels
STRIP = 92
_EVERYBODY = "Everybody"


def anchoring_chart(found: Anchoring, *, title: str | None = None, dark: bool = False) -> go.Figure:
    """Draw what each annotator did after the reveal, as shares of their labels.

    `customdata`: the name and the kind of move.
    """
    look = palette(dark)
    people = [*found.annotators]
    rows = [(_EVERYBODY, found.together), *people] if len(people) > 1 else people
    places = Rows.of([name for name, _ in rows])
    figure = go.Figure([_moves_bars(kind, rows, places, look) for kind in _KINDS])
    asked = title or "How far does the reveal move people?"
    basis = "Blind labels against the same person's labels after seeing the judge"
    frame(figure, (asked, basis), places.height, look, top=LEGEND)
    figure.update_layout(barmode="stack", showlegend=True, legend=legend())
    figure.update_xaxes(title_text="share of labels", range=[0, 100], ticksuffix=" %")
    figure.update_xaxes(showgrid=False)
    labels = [arm_label(name, _moves_basis(moves), look) for name, moves in rows]
    name_axis(figure, labels, places, look)
    return figure


def _kept(moves: Moves) -> int:
    return moves.n - moves.changed


def _towards(moves: Moves) -> int:
    return moves.towards


def _other(moves: Moves) -> int:
    return moves.changed - moves.towards


_KINDS = {"kept": _kept, "moved towards the judge": _towards, "moved elsewhere": _other}


def _moves_bars(
    kind: str, rows: Sequence[tuple[str, Moves]], places: Rows, look: Palette
) -> go.Bar:
    counts = [_KINDS[kind](moves) for _, moves in rows]
    shares = [100 * n / max(moves.n, 1) for n, (_, moves) in zip(counts, rows, strict=True)]
    fill = {"kept": look.human, "moved towards the judge": look.judge}.get(kind, look.background)
    bars = go.Bar(
        name=kind,
        x=shares,
        y=places.centres,
        width=BAR,
        orientation="h",
        marker={"color": fill, "line": {"color": look.background, "width": 1}},
        text=[f"{share:.0f} %" if share >= 7 else "" for share in shares],
        textposition="inside",
        insidetextanchor="middle",
        textangle=0,
        constraintext="none",
        textfont={"size": SMALL, "color": text_on(fill)},
        hovertext=[
            hover_text(name, [f"{kind}: {n:,} of {text.plural(moves.n, 'label')}"])
            for n, (name, moves) in zip(counts, rows, strict=True)
        ],
        hoverinfo="text",
        customdata=[[name, kind] for name, _ in rows],
    )
    if kind == "moved elsewhere":
        pattern = {"shape": HATCH, "fgcolor": look.muted, "bgcolor": look.background, "size": 6}
        line = {"color": look.muted, "width": 1}
        bars.update(marker={"pattern": pattern, "line": line}, textfont={"color": look.text})
    return bars


def _moves_basis(moves: Moves) -> str:
    words = f"{text.plural(moves.n, 'label')}, {moves.n_apart:,} apart"
    return f"{words} · follows" if moves.leans else words


def in_sight_chart(
    found: RevealFirst, *, title: str | None = None, dark: bool = False
) -> go.Figure:
    """Draw how often people agree with the judge when it is in sight, and blind."""
    look = palette(dark)
    grey = {"symbol": "square", "size": 13, "color": look.judge}
    dots = [
        Dot(
            name=name,
            basis=text.plural(rate.n, "label"),
            found=rate,
            facts=(text.plural(rate.n_clusters, "persona"),),
            click=(name,),
            marker=marker,
        )
        for name, rate, marker in (
            ("judge in sight", found.shown, grey),
            ("blind", found.blind, human_marker(look)),
        )
    ]
    figure = draw_dots(dots, look, scale=100)
    asked = title or "Does the sight of the judge move people?"
    finish(
        figure, (asked, "Which dialogues showed the judge first was drawn at random"), dots, look
    )
    figure.update_xaxes(
        title_text="agrees with the judge", range=[-4, 104], dtick=20, ticksuffix=" %"
    )
    return figure


def drift_chart(
    annotators: Sequence[Annotator],
    *,
    ends: Ends,
    title: str | None = None,
    dark: bool = False,
) -> go.Figure:
    """Draw each annotator's labels minus the judge's over time, one strip for each.

    The judge does not change, so that a trend is the annotator's. `customdata`: the name and
    the number of the stretch, from 0. Annotators with too few labels are left out.
    """
    look = palette(dark)
    shown = [a for a in annotators if a.blocks]
    places = Rows.of([a.name for a in shown], least=STRIP)
    reach = max([0.5, *(abs(v) for a in shown for b in a.blocks for v in _ends_of(b))])
    figure = go.Figure(
        [
            _strip(a, centre, 0.4 * STRIP / reach, ends, look)
            for a, centre in zip(shown, places.centres, strict=True)
        ]
    )
    asked = title or "Do people grow stricter or more lenient?"
    basis = "People minus the judge, in the order of their labels · line: no difference"
    frame(figure, (asked, basis), places.height, look)
    figure.update_layout(
        shapes=[_zero(y, look) for y in places.centres],
        annotations=[
            note
            for a, centre in zip(shown, places.centres, strict=True)
            for note in _end_notes(a, centre, 0.4 * STRIP / reach, ends, look)
        ],
    )
    most = max([1, *(sum(b.n for b in a.blocks) for a in shown)])
    figure.update_xaxes(title_text="labels given so far", range=[0, 1.06 * most])
    labels = [arm_label(a.name, text.plural(a.n, "label"), look) for a in shown]
    name_axis(figure, labels, places, look)
    return figure


def _strip(
    annotator: Annotator, centre: float, stretch: float, ends: Ends, look: Palette
) -> go.Scatter:
    """One annotator's line: higher is more lenient, in pixels from the middle of the strip."""
    blocks = annotator.blocks
    limits = [(b.lo, b.hi) if b.lo is not None and b.hi is not None else (b.mean, b.mean)
              for b in blocks]  # fmt: skip
    return go.Scatter(
        x=_middles(blocks),
        y=[centre - stretch * b.mean for b in blocks],
        mode="lines+markers",
        cliponaxis=False,
        line={"color": look.human, "width": 1.5},
        marker={"symbol": "circle", "size": 9, "color": look.human},
        error_y={
            "type": "data",
            "symmetric": False,
            # The axis runs down: what is above the mean is drawn by the lower end.
            "array": [stretch * (b.mean - lo) for b, (lo, _) in zip(blocks, limits, strict=True)],
            "arrayminus": [
                stretch * (hi - b.mean) for b, (_, hi) in zip(blocks, limits, strict=True)
            ],
            "color": look.muted,
            "thickness": 1.2,
            "width": 3,
        },
        hovertext=[hover_text(annotator.name, _block_facts(b, ends)) for b in blocks],
        hoverinfo="text",
        customdata=[[annotator.name, nth] for nth in range(len(blocks))],
    )


def _middles(blocks: Sequence[Block]) -> list[float]:
    starts = [sum(b.n for b in blocks[:nth]) for nth in range(len(blocks))]
    return [start + b.n / 2 for start, b in zip(starts, blocks, strict=True)]


def _block_facts(block: Block, ends: Ends) -> list[str]:
    scale = points_scale(ends)
    unit = "percentage points" if ends.verdict else "points"
    gap = text.number(block.mean * scale, 0 if ends.verdict else 2, sign=True)
    facts = [f"{gap} {unit} against the judge", text.plural(block.n, "label")]
    if isinstance(block.start, datetime) and isinstance(block.end, datetime):
        facts.append(f"{text.when(block.start)} to {text.when(block.end)}")
    return facts


def _end_notes(
    annotator: Annotator, centre: float, stretch: float, ends: Ends, look: Palette
) -> list[dict[str, Any]]:
    """The first and the last value, written beside their marks."""
    xs, scale = _middles(annotator.blocks), points_scale(ends)
    places = sorted({0, len(xs) - 1})
    return [
        {
            "x": xs[nth],
            "y": centre - stretch * annotator.blocks[nth].mean,
            "text": text.number(
                annotator.blocks[nth].mean * scale, 0 if ends.verdict else 2, sign=True
            ),
            "showarrow": False,
            "xshift": 24,
            "yshift": 8,
            "bgcolor": look.background,
            "font": {"size": SMALL, "color": look.text},
        }
        for nth in places
    ]


def _zero(y: float, look: Palette) -> dict[str, Any]:
    return {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": y,
        "y1": y,
        "layer": "below",
        "line": {"color": look.faint, "width": 1},
    }


def _ends_of(block: Block) -> list[float]:
    return [v for v in (block.mean, block.lo, block.hi) if v is not None]
