"""Results of a study of conversations as tables and a chart, beside baselines and the published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go
import streamlit as st

from core.personaconv.published import load_published
from core.personaconv.results import ALL, READABLE, Difference, Findings, Row
from core.personaconv.types import Task
from pages._ui import colours, tables, text

MAIN = {Task.SENTIMENT: "mcc", Task.IMPACT: "mae", Task.REPLY: "rougeL"}


def metrics_of(findings: Findings, task: Task) -> list[str]:
    """Metrics of a task, the main one first."""
    found = dict.fromkeys(r.figure.metric for r in findings.rows if r.task is task)
    return sorted(found, key=lambda m: (m != MAIN[task], m == "coverage"))


def rows_of(findings: Findings, task: Task, metric: str, domain: str = ALL) -> list[Row]:
    return [
        r
        for r in findings.rows
        if r.task is task and r.figure.metric == metric and r.domain == domain and not r.variant
    ]


def value(row: Row) -> str:
    """A figure with its interval, as plain text."""
    figure = row.figure
    if figure.value is None:
        return "–"
    if figure.lo is None or figure.hi is None:
        return f"{figure.value:.3f}"
    return f"{figure.value:.3f} ({figure.lo:.3f} to {figure.hi:.3f})"


def show_table(findings: Findings, task: Task, metric: str) -> None:
    """Arms and baselines over all answers: figure, coverage, leaks."""
    shown = rows_of(findings, task, metric)
    covered = {r.arm: r for r in rows_of(findings, task, "coverage")}
    readable = {
        r.arm: r
        for r in findings.rows
        if r.task is task and r.figure.metric == metric and r.variant == READABLE
    }
    tables.show_texts(
        [
            {
                "Arm": r.arm,
                "Setting": r.setting or "–",
                metric: value(r),
                "Readable only": value(readable[r.arm]) if r.arm in readable else "as counted",
                "Coverage": text.percent(covered[r.arm].figure.value or 0.0),
                "n": text.count(r.n),
                "Members": text.count(r.n_members),
                "Prompts with leaks": _leaks(r),
            }
            for r in shown
        ]
    )
    st.caption(
        "95 % intervals draw whole members again. An answer that cannot be read counts as wrong; "
        "baselines know no language and no model."
    )


def _leaks(row: Row) -> str:
    if not row.model:
        return "–"
    return f"{text.count(row.leaks)} ({row.leak_kinds})" if row.leaks else "none"


def show_domains(findings: Findings, task: Task, metric: str) -> None:
    """One row per arm, one column per domain, the macro average last."""
    found = [
        r for r in findings.rows if r.task is task and r.figure.metric == metric and not r.variant
    ]
    names = sorted({r.domain for r in found} - {ALL, "macro"})
    by_arm: dict[str, dict[str, str]] = {}
    for row in found:
        figure = row.figure.value
        by_arm.setdefault(row.arm, {})[row.domain] = "–" if figure is None else f"{figure:.3f}"
    tables.show_texts(
        [
            {"Arm": arm, **{n: cells.get(n, "–") for n in (*names, "macro", ALL)}}
            for arm, cells in by_arm.items()
        ]
    )


def show_differences(found: Sequence[Difference], task: Task, metric: str) -> None:
    rows = [d for d in found if d.task is task and d.paired.metric == metric]
    if not rows:
        st.caption("There is one arm, and nothing to compare it with.")
        return
    tables.show_texts(
        [
            {
                "Arm": d.arm,
                "Minus": d.baseline,
                "Difference": f"{d.paired.difference:+.3f}",
                "95 % interval": _interval(d),
                "n": text.count(d.paired.n),
                "Better is": "higher" if d.paired.better == "high" else "lower",
            }
            for d in rows
        ]
    )
    st.caption("Over the same instances, drawing the same members for both.")


def _interval(difference: Difference) -> str:
    found = difference.paired
    if found.lo is None or found.hi is None:
        return "no interval"
    return f"{found.lo:+.3f} to {found.hi:+.3f}"


def arms_chart(rows: Sequence[Row], metric: str, *, dark: bool = False) -> go.Figure:
    """Dots with intervals, one row per arm; baselines hollow and grey."""
    look = colours.palette(dark)
    figure = go.Figure()
    for place, row in enumerate(rows):
        found = row.figure
        if found.value is None:
            continue
        own = bool(row.model)
        ends = None
        if found.lo is not None and found.hi is not None:
            ends = {
                "type": "data",
                "symmetric": False,
                "array": [found.hi - found.value],
                "arrayminus": [found.value - found.lo],
                "color": look.muted,
            }
        marker: Mapping[str, object] = {
            "size": 10,
            "color": colours.arm_colour(place) if own else look.background,
            "line": {"color": look.muted, "width": 1.5},
            "symbol": "circle" if own else "diamond",
        }
        name = text.escape_chart(row.arm)
        figure.add_trace(
            go.Scatter(
                x=[found.value],
                y=[f"{name}  n = {row.n:,}"],
                mode="markers",
                marker=dict(marker),
                error_x=ends,
                hovertext=[f"{name}: {value(row)}"],
                hoverinfo="text",
                showlegend=False,
            )
        )
    better = rows[0].figure.better if rows else "high"
    figure.update_xaxes(title=f"{metric} ({'higher' if better == 'high' else 'lower'} is better)")
    figure.update_yaxes(autorange="reversed")
    figure.update_layout(height=90 + 34 * max(len(rows), 1), margin={"l": 10, "r": 10, "t": 10})
    return figure


def show_published(task: Task) -> None:
    """The published table, called that, with what to know before comparing."""
    published = load_published()
    st.caption(f"Published, not measured here. {text.escape_md(published.source)}")
    rows: list[dict[str, str]] = []
    for row in published.rows:
        if row.task is task:
            both = zip(published.models, row.p_conv, row.p_nonconv, strict=True)
            rows.append({"Metric": row.metric} | {m: f"{c:g} | {n:g}" for m, c, n in both})
    tables.show_texts(rows)
    st.caption("With the conversation | without it (P-Conv | P-NonConv), all domains pooled.")
    for caveat in published.caveats:
        st.markdown(f"- {text.escape_md(caveat)}")
