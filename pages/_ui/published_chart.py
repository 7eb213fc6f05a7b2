"""What others published, drawn as marks on the scale of a dimension and labelled as theirs."""

from __future__ import annotations

import plotly.graph_objects as go

from core.comparison import Ends
from core.published import Published, PublishedRow
from pages._ui import text
from pages._ui.chart_frame import LEGEND, Rows, frame, hover_text, legend, name_axis, value_axis
from pages._ui.colours import palette

_SYMBOLS = {"single": "diamond-open", "multi": "square-open"}
_KINDS = {"single": "one domain", "multi": "several domains"}


def published_chart(
    table: Published, dimension: str, *, ends: Ends, dark: bool = False
) -> go.Figure:
    """Hollow grey marks, one row for each assistant and setting; no arm has such marks."""
    look = palette(dark)
    names = list(dict.fromkeys(_name(row) for row in table.rows))
    places = dict(zip(names, (rows := Rows.of(names, basis=False)).centres, strict=True))
    scale = 100 if ends.verdict else 1
    figure = go.Figure()
    for kind, symbol in _SYMBOLS.items():
        shown = [row for row in table.rows if row.kind == kind]
        figure.add_scatter(
            x=[row.value(dimension) * scale for row in shown],
            y=[places[_name(row)] for row in shown],
            mode="markers",
            name=_KINDS[kind],
            marker={"symbol": symbol, "size": 10, "color": look.muted, "line": {"width": 2}},
            hovertext=[_facts(table, row, dimension, ends) for row in shown],
            hoverinfo="text",
        )
    heads = (f"{table.title}: {text.dimension_name(dimension)}", table.label)
    frame(figure, heads, rows.height, look, top=LEGEND)
    value_axis(figure, dimension, ends)
    name_axis(figure, [text.escape_chart(name) for name in names], rows, look)
    figure.update_layout(showlegend=True, legend=legend())
    return figure


def _name(row: PublishedRow) -> str:
    if row.condition == "base":
        return row.assistant
    told = "everything" if row.condition == "all" else row.condition
    return f"{row.assistant}, told {told}"


def _facts(table: Published, row: PublishedRow, dimension: str, ends: Ends) -> str:
    value = row.value(dimension)
    shown = f"{text.number(100 * value, 2)} %" if ends.verdict else text.number(value, 2)
    n = text.plural(table.dialogues[row.kind], "dialogue")
    facts = [f"{shown}, {_KINDS[row.kind]}", f"{n}, {text.plural(table.personas, 'persona')}"]
    return hover_text(_name(row), [*facts, table.label, "no interval was published"])
