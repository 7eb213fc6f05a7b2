"""What all charts share: the frame, the axes, the marks of arms, and escaped labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from textwrap import wrap
from typing import Any

import plotly.graph_objects as go

from core.compare import Ends
from pages._ui import text
from pages._ui.colours import Palette, arm_colour, arm_symbol

FONT = "'Source Sans', 'Source Sans Pro', 'Helvetica Neue', Arial, sans-serif"
SMALL, NORMAL, TITLE = 12, 13, 16
UNCORRECTED = "Values of the judge, not yet corrected by people"
LABEL = 30  # letters of an arm's name on one line
LABEL_LINES = 3  # the longest name that a study allows fits whole
LINE = 17  # pixels
BELOW = 56  # pixels for the axis and its title
LEGEND = 28  # pixels for a legend above the plot


def in_order(rows: Sequence[Any], arms: Sequence[str]) -> list[Any]:
    return sorted((row for row in rows if row.arm in arms), key=lambda row: arms.index(row.arm))


def scale_of(ends: Ends) -> int:
    return 100 if ends.verdict else 1


def arm_marker(index: int, look: Palette, *, hollow: bool = False) -> dict[str, Any]:
    colour = arm_colour(index)
    symbol = arm_symbol(index) + ("-open" if hollow else "")
    # The outline gives a pale arm colour its contrast with the page.
    line = {"color": colour if hollow else look.text, "width": 2.5 if hollow else 1}
    return {"symbol": symbol, "size": 13, "color": colour, "line": line}


def error_bar(
    est: float, lo: float | None, hi: float | None, scale: int, look: Palette
) -> dict[str, Any]:
    if lo is None or hi is None:
        return {"visible": False}
    return {
        "type": "data",
        "symmetric": False,
        "array": [max(0.0, (hi - est) * scale)],
        "arrayminus": [max(0.0, (est - lo) * scale)],
        "color": look.text,
        "thickness": 1.6,
        "width": 5,
    }


def hover_text(head: str, facts: Sequence[str]) -> str:
    lines = [line for fact in facts for line in lines_of(fact, 60)]
    return "<br>".join([f"<b>{'<br>'.join(lines_of(head, 50))}</b>", *lines])


def arm_label(arm: str, basis: str, look: Palette) -> str:
    lines = lines_of(arm, LABEL, most=LABEL_LINES)
    return "<br>".join([*lines, small(basis, look)] if basis else lines)


def small(words: str, look: Palette) -> str:
    return f"<span style='font-size:{SMALL}px;color:{look.muted}'>{words}</span>"


def one_line(words: str) -> str:
    return lines_of(words, LABEL, most=1)[0]


def lines_of(words: str, width: int, *, most: int = 8) -> list[str]:
    """Escaped lines of at most `width` letters; what does not fit ends in an ellipsis."""
    plain = " ".join(words.split()) or " "
    lines = wrap(plain, width, break_long_words=True, max_lines=most, placeholder="…")
    return [text.escape_chart(line) for line in lines or ["…"]]


@dataclass(frozen=True, slots=True)
class Rows:
    """Where the rows of a chart are, in pixels from the top of the plot.

    Names take up to three lines, and a row is only as high as its own name needs.
    """

    edges: tuple[float, ...]

    @classmethod
    def of(cls, names: Sequence[str], *, basis: bool = True, least: int = 0) -> Rows:
        """Rows for `names`, with a line for what each rests on if `basis`."""
        needs = [len(lines_of(name, LABEL, most=LABEL_LINES)) + basis for name in names]
        heights = [max(least, 22 + LINE * need) for need in needs]
        return cls(tuple(accumulate(heights, initial=0.0)))

    @property
    def centres(self) -> list[float]:
        return [(top + bottom) / 2 for top, bottom in pairwise(self.edges)]

    @property
    def height(self) -> float:
        return max(self.edges[-1], 60.0)


def frame(
    figure: go.Figure, heads: tuple[str, str], height: float, look: Palette, *, top: int = 0
) -> None:
    """Set what all charts share: size, fonts, title and subtitle, transparent ground.

    `height` is that of the plot; `top` is extra room above it, for what is drawn there.
    """
    title = wrap(heads[0], 80)
    above = 44 + 22 * len(title) + top
    figure.update_layout(
        title=_title(title, heads[1], look),
        font={"family": FONT, "size": NORMAL, "color": look.text},
        height=round(above + height + BELOW),
        margin={"l": 8, "r": 24, "t": above, "b": BELOW},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        showlegend=False,
        hovermode="closest",
        hoverlabel={
            "bgcolor": look.panel,
            "bordercolor": look.grid,
            "font": {"size": NORMAL, "color": look.text, "family": FONT},
            "align": "left",
        },
        dragmode=False,
    )
    figure.update_xaxes(
        gridcolor=look.grid,
        zeroline=False,
        linecolor=look.grid,
        tickfont={"size": SMALL, "color": look.muted},
        title_font={"size": NORMAL, "color": look.muted},
        automargin=True,
        fixedrange=True,
    )


def _title(lines: Sequence[str], subtitle: str, look: Palette) -> dict[str, Any]:
    return {
        "text": "<br>".join(text.escape_chart(line) for line in lines),
        "subtitle": {
            "text": text.escape_chart(subtitle),
            "font": {"size": NORMAL, "color": look.muted},
        },
        "font": {"size": TITLE, "color": look.text},
        "x": 0,
        "xref": "container",
        "xanchor": "left",
        "y": 1,
        "yref": "container",
        "yanchor": "top",
        # Plotly places the last line of a title, not the first.
        "pad": {"t": 8 + 12 * (len(lines) - 1), "l": 4},
    }


def value_axis(figure: go.Figure, dimension: str, ends: Ends) -> None:
    """The dimension's own scale from end to end, whatever the values are."""
    scale = scale_of(ends)
    low, high = ends.low * scale, ends.high * scale
    margin = 0.04 * (high - low)
    name = text.dimension_name(dimension)
    unit = "share of yes" if ends.verdict else f"mean rating, {ends.low} to {ends.high}"
    figure.update_xaxes(
        title_text=text.escape_chart(f"{name}: {unit}"),
        range=[low - margin, high + margin],
        dtick=20 if ends.verdict else 1,
        tick0=low,
        ticksuffix=" %" if ends.verdict else "",
    )


def name_axis(figure: go.Figure, labels: Sequence[str], rows: Rows, look: Palette) -> None:
    """One label for each row; they are never cut, the plot gives way."""
    figure.update_yaxes(
        tickmode="array",
        tickvals=rows.centres,
        ticktext=list(labels),
        tickfont={"size": NORMAL, "color": look.text},
        range=[rows.height, 0],
        showgrid=False,
        zeroline=False,
        automargin=True,
        fixedrange=True,
        ticklabelstandoff=8,
    )


def value_note(x: float, y: float, words: str, look: Palette) -> dict[str, Any]:
    """A value written above its mark, on a ground that keeps lines from crossing it."""
    return {
        "x": x,
        "y": y,
        "text": words,
        "showarrow": False,
        "yshift": 18,
        "borderpad": 0,
        "bgcolor": look.background,
        "font": {"size": NORMAL, "color": look.text},
    }


def legend(orientation: str = "h") -> Mapping[str, Any]:
    """A legend above the plot that cannot hide anything by a click."""
    return {
        "orientation": orientation,
        "yanchor": "bottom",
        "y": 1,
        "xanchor": "left",
        "x": 0,
        "traceorder": "normal",
        "font": {"size": SMALL},
        "itemclick": False,
        "itemdoubleclick": False,
    }
