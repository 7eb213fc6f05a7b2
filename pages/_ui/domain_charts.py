"""Each arm in each domain: dots with intervals for few arms, a table of values for many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from core.compare import MULTI_DOMAIN, DomainEstimate, Ends
from pages._ui import text
from pages._ui.chart_frame import (
    LINE,
    SMALL,
    UNCORRECTED,
    Rows,
    arm_label,
    arm_marker,
    frame,
    hover_text,
    in_order,
    legend,
    name_axis,
    one_line,
    scale_of,
    small,
    value_axis,
)
from pages._ui.colours import DARK, Palette, palette, shade, text_on

MAX_DOTTED_ARMS = 3
"""Up to this many arms domains are dots with intervals; more arms make a table of values."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a domain chart is drawn from, whichever form it takes."""

    rows: Sequence[DomainEstimate]
    domains: Sequence[str]
    present: Sequence[str]  # arms with something to draw
    arms: Sequence[str]  # all of the study, in order: they fix the colours
    ends: Ends
    look: Palette
    title: str

    @property
    def dimension(self) -> str:
        return self.rows[0].dimension if self.rows else ""


def domains_chart(
    rows: Sequence[DomainEstimate],
    *,
    arms: Sequence[str],
    ends: Ends,
    title: str | None = None,
    dark: bool = False,
) -> go.Figure:
    """Draw each arm in each domain: dots with intervals for few arms, else a table of values.

    What rests on too few personas or dialogues is drawn faint, or in brackets.
    """
    shown = in_order(rows, arms)
    dimension = shown[0].dimension if shown else ""
    plan = _Plan(
        rows=shown,
        domains=list(dict.fromkeys(row.domain for row in sorted(shown, key=_domain_order))),
        present=[arm for arm in arms if any(row.arm == arm for row in shown)],
        arms=arms,
        ends=ends,
        look=palette(dark),
        title=title or f"{text.dimension_name(dimension)} by domain",
    )
    return _dots(plan) if len(plan.present) <= MAX_DOTTED_ARMS else _table(plan)


def _domain_order(row: DomainEstimate) -> tuple[bool, str]:
    return row.domain == MULTI_DOMAIN, row.domain


# --- dots ---------------------------------------------------------------------------------------


def _dots(plan: _Plan) -> go.Figure:
    figure = go.Figure()
    places = Rows.of(plan.domains, basis=False, least=18 * len(plan.present) + 14)
    for nth, arm in enumerate(plan.present):
        shift = 14 * (nth - (len(plan.present) - 1) / 2)
        figure.add_traces(_dots_of(plan, arm, [centre + shift for centre in places.centres]))
    named = len(plan.present) if len(plan.present) > 1 else 0
    heads = (plan.title, _few_note(plan.rows, "faint"))
    frame(figure, heads, places.height, plan.look, top=named * (LINE + 4))
    figure.update_layout(showlegend=named > 0, legend=legend("v"))
    value_axis(figure, plan.dimension, plan.ends)
    labels = [_domain_label(domain, plan) for domain in plan.domains]
    name_axis(figure, labels, places, plan.look)
    return figure


def _dots_of(plan: _Plan, arm: str, centres: Sequence[float]) -> list[go.Scatter]:
    """The arm's dots: those that rest on enough, and fainter those that do not."""
    traces: list[go.Scatter] = []
    for few in (False, True):
        mine = [row for row in plan.rows if row.arm == arm and row.too_few == few]
        if mine:
            y = [centres[plan.domains.index(row.domain)] for row in mine]
            trace = _dots_trace(plan, arm, mine, y)
            traces.append(trace.update(opacity=0.35 if few else 1, showlegend=not traces))
    return traces


def _dots_trace(
    plan: _Plan, arm: str, rows: Sequence[DomainEstimate], y: Sequence[float]
) -> go.Scatter:
    times = scale_of(plan.ends)
    return go.Scatter(
        name=text.escape_chart(arm),
        legendgroup=arm,
        x=[row.estimate * times for row in rows],
        y=list(y),
        mode="markers",
        marker=arm_marker(plan.arms.index(arm), plan.look) | {"size": 10},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [0 if r.hi is None else (r.hi - r.estimate) * times for r in rows],
            "arrayminus": [0 if r.lo is None else (r.estimate - r.lo) * times for r in rows],
            "color": plan.look.muted,
            "thickness": 1.2,
            "width": 0,
        },
        hovertext=[hover_text(row.arm, _facts(row, plan.ends)) for row in rows],
        hoverinfo="text",
        customdata=[_click(row) for row in rows],
    )


def _domain_label(domain: str, plan: _Plan) -> str:
    here = [row for row in plan.rows if row.domain == domain]
    few = " · too few" if all(row.too_few for row in here) else ""
    basis = f"n = {text.count(sum(row.n for row in here))}{few}"
    return f"{one_line(domain)}  {small(basis, plan.look)}"


# --- table --------------------------------------------------------------------------------------


def _table(plan: _Plan) -> go.Figure:
    places = Rows.of(plan.present, basis=False)
    figure = go.Figure(_cells(plan, places))
    # All at once: one by one, each would copy those before it.
    figure.update_layout(annotations=[_cell_text(row, places, plan) for row in plan.rows])
    unit = "share of yes in %" if plan.ends.verdict else f"{plan.ends.low} to {plan.ends.high}"
    heads = (plan.title, f"{unit} · {_few_note(plan.rows, 'in brackets')}")
    names = [one_line(domain) for domain in plan.domains]
    top = 20 + 6 * max(len(name) for name in names)
    frame(figure, heads, places.height, plan.look, top=top)
    figure.update_xaxes(
        side="top",
        tickangle=-45,
        tickmode="array",
        tickvals=list(range(len(names))),
        ticktext=names,
        showgrid=False,
        showline=False,
        automargin=False,
    )
    labels = [arm_label(arm, "", plan.look) for arm in plan.present]
    name_axis(figure, labels, places, plan.look)
    figure.update_layout(margin_b=8, height=figure.layout.height - 48, margin_r=56)
    return figure


def _cells(plan: _Plan, places: Rows) -> go.Heatmap:
    times, dark = scale_of(plan.ends), plan.look is DARK
    at = {(row.arm, row.domain): row for row in plan.rows}

    def table(cell: Callable[[DomainEstimate], Any]) -> list[list[Any]]:
        found = [[at.get((arm, domain)) for domain in plan.domains] for arm in plan.present]
        return [[None if row is None else cell(row) for row in line] for line in found]

    return go.Heatmap(
        z=table(lambda row: None if row.too_few else row.estimate * times),
        x=[i - 0.5 for i in range(len(plan.domains) + 1)],
        y=list(places.edges),
        zmin=plan.ends.low * times,
        zmax=plan.ends.high * times,
        colorscale=[[0, shade(0, dark=dark)], [1, shade(1, dark=dark)]],
        xgap=2,
        ygap=2,
        showscale=False,
        hoverongaps=True,
        hovertext=table(lambda row: hover_text(row.arm, _facts(row, plan.ends))),
        hoverinfo="text",
        customdata=table(_click),
    )


def _cell_text(row: DomainEstimate, places: Rows, plan: _Plan) -> dict[str, Any]:
    ends = plan.ends
    share = (row.estimate - ends.low) / max(ends.high - ends.low, 1)
    fill = shade(share, dark=plan.look is DARK)
    digits = text.number(row.estimate * scale_of(ends), 0 if ends.verdict else 1)
    return {
        "x": plan.domains.index(row.domain),
        "y": places.centres[plan.present.index(row.arm)],
        "text": f"({digits})" if row.too_few else digits,
        "showarrow": False,
        "font": {"size": SMALL, "color": plan.look.muted if row.too_few else text_on(fill)},
    }


# --- words --------------------------------------------------------------------------------------


def _click(row: DomainEstimate) -> list[str]:
    return [row.arm, row.dimension, row.instrument_id, row.domain]


def _facts(row: DomainEstimate, ends: Ends) -> list[str]:
    shown = text.quantity(row.estimate, row.lo, row.hi, verdict=ends.verdict)
    reach = text.interval(row.lo, row.hi, verdict=ends.verdict)
    facts = [f"{row.domain}: {shown}" + (f" (95 % interval {reach})" if row.lo is not None else "")]
    facts.append(f"{text.plural(row.n, 'dialogue')}, {text.plural(row.n_personas, 'persona')}")
    return [*facts, "too few to say"] if row.too_few else facts


def _few_note(rows: Sequence[DomainEstimate], how: str) -> str:
    if any(row.too_few for row in rows):
        return f"{UNCORRECTED} · {how}: too few to say"
    return UNCORRECTED
