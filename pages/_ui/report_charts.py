"""The charts of a report, as Plotly figures and as what a file without a network needs."""

from __future__ import annotations

import json

import plotly.graph_objects as go

from core.report import embedded_json
from pages._ui import charts
from pages._ui.report_words import Part

WIDTH = 660  # pixels: fits A4 between its margins
_CONFIG = {"displaylogo": False, "displayModeBar": False, "responsive": False}


def figures(part: Part) -> dict[str, go.Figure]:
    """The charts of one section of results, by a short name."""
    whole = part.comparison
    ends = whole.ends[part.dimension]
    found = {"arms": charts.intervals_chart(whole.rows, arms=whole.arms, ends=ends)}
    if whole.differences:
        found["differences"] = charts.differences_chart(
            whole.differences, arms=whole.arms, ends=ends
        )
    found["distribution"] = charts.distribution_chart(whole.distributions, arms=whole.arms)
    return found


def library() -> str:
    """Plotly's own script, to stand in the file once."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


def drawing(element: str, figure: go.Figure) -> str:
    """The script that draws a figure into an element of the file."""
    plain = json.loads(figure.update_layout(width=WIDTH).to_json())
    data, layout = embedded_json(plain["data"]), embedded_json(plain["layout"])
    return f"Plotly.newPlot({embedded_json(element)},{data},{layout},{embedded_json(_CONFIG)});"
