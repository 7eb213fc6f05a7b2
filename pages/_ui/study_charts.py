"""Charts of a study at work: rows in, a Plotly figure out."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from core.types import StopReason
from pages._ui import text
from pages._ui.chart_frame import NORMAL, Rows, frame, name_axis
from pages._ui.colours import HATCH, palette


def reasons_chart(reasons: Mapping[str, int], *, dark: bool = False) -> go.Figure:
    """Draw why dialogues ended. What was not judged is hatched, and says so."""
    look = palette(dark)
    shown = [reason for reason in StopReason if reasons.get(reason)]
    names = [text.stop_reason_label(reason) for reason in shown]
    rows = Rows.of(names, basis=False)
    counts = [reasons[reason] for reason in shown]
    total = sum(counts)
    words = [f"{text.count(n)} ({text.percent(n / total)})" for n in counts]
    figure = go.Figure(
        go.Bar(
            x=counts,
            y=rows.centres,
            orientation="h",
            width=[20.0] * len(shown),
            text=words,
            textposition="outside",
            cliponaxis=False,
            textfont={"size": NORMAL, "color": look.text},
            marker={
                "color": [look.judge if r.judged else look.unscored for r in shown],
                "pattern": {"shape": ["" if r.judged else HATCH for r in shown]},
            },
            hovertext=[f"{n}: {w}" for n, w in zip(names, words, strict=True)],
            hoverinfo="text",
        )
    )
    heads = ("Why dialogues ended", "Hatched: ended early, and not judged")
    frame(figure, heads, rows.height, look)
    figure.update_xaxes(title_text="dialogues", range=[0, 1.25 * max(counts, default=1)])
    name_axis(figure, names, rows, look)
    return figure
