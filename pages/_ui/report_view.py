"""The parts of the page Report: preview, files, and one finding shown to a room."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from core.clock import now
from core.ports import Study
from core.report import Report, make_report
from core.report_ledger import Claim
from core.settings import Settings
from pages._ui import charts, frame, report_files, state, text, transcript, wiring
from pages._ui import report_words as words
from pages._ui.comparison_query import At

_MIME = {"html": "text/html", "markdown": "text/markdown", "latex": "application/x-tex"}
_LABELS = {"html": "HTML, one file", "markdown": "Markdown", "latex": "LaTeX tables"}
_PLAIN = {"displayModeBar": False}
_LARGER = 1.5
_PIXELS = re.compile(r"font-size:(\d+)px")


def report_of(study: Study) -> Report:
    """The study's report from what is stored now."""
    return _report(At(wiring.settings(), wiring.store().revision()), study.id)


@st.cache_data(show_spinner="Reading the study …", max_entries=8)
def _report(at: At, study_id: str) -> Report:
    del at
    store = wiring.reviews()
    return make_report(store.get_study(study_id), store, now=now())


def pick_part(report: Report) -> words.Part:
    """The section of results that the address names; otherwise the first."""
    found = words.parts(report)
    keys = [f"{part.dimension}·{part.instrument_id}" for part in found]
    several = len(found) > len({part.dimension for part in found})
    titles = {key: words.title_of(p, several) for key, p in zip(keys, found, strict=True)}
    key = "report.part"
    st.session_state[key] = state.choice("part", keys, keys[0]) or keys[0]
    chosen = st.selectbox(
        "Results on",
        keys,
        key=key,
        format_func=lambda k: titles[k],
        on_change=lambda: state.put(part=st.session_state[key]),
    )
    return found[keys.index(chosen)]


def show_files(report: Report) -> None:
    """Buttons that make a file each when they are clicked."""
    settings = wiring.settings()
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", report.study.name).strip("-.") or "report"
    for column, form in zip(st.columns(len(report_files.FORMS)), report_files.FORMS, strict=True):
        column.download_button(
            _LABELS[form],
            partial(_file, report, form, settings),
            file_name=f"{name}.{report_files.SUFFIXES[form]}",
            mime=_MIME[form],
            key=f"report.{form}",
            icon=":material/download:",
            on_click="ignore",
            width="stretch",
        )
    st.caption(
        "The HTML file needs no network, prints on A4 and carries the rows behind its claims. "
        "Check one later with `python cli.py report --check FILE`."
    )


def _file(report: Report, form: str, settings: Settings) -> bytes:
    return report_files.document(report, form, settings).encode("utf-8", "backslashreplace")


def show_preview(report: Report, part: words.Part) -> None:
    """What the file will say about one dimension."""
    for line in words.corrected_lines(report, part):
        st.markdown(_md(line))
    st.markdown(_md(words.headline(part)))
    for name, figure in _figures(part).items():
        st.plotly_chart(figure, key=f"report.chart.{name}", theme=None, config=_PLAIN)
    _show_claims(report, part)
    claims = _findings(report, part)
    for claim in claims:
        with st.expander(_md(f"Three dialogues: {words.claim_words(claim)}")):
            _show_examples(report, claim)
    with st.expander("Limits"):
        st.markdown("\n".join(f"- {_md(line)}" for line in words.limits(report)))
    with st.expander("Agreement with people"):
        st.markdown("\n".join(f"- {_md(line)}" for line in words.agreement_lines(report)))


def present_link(study: Study, part: words.Part) -> None:
    """The way to one finding in large type."""
    st.page_link(
        frame.path("report"),
        label="Present this finding",
        icon=":material/present_to_all:",
        query_params={
            "study": study.name,
            "part": f"{part.dimension}·{part.instrument_id}",
            "present": "yes",
        },
    )


def present(report: Report) -> None:
    """One question, one chart, three dialogues, in large type and with nothing to click."""
    found = words.parts(report)
    wanted = state.get("part")
    part = next((p for p in found if f"{p.dimension}·{p.instrument_id}" == wanted), found[0])
    spec = report.study.spec
    asked = spec.question if spec and spec.question else text.dimension_question(part.dimension)
    st.title(_md(asked), anchor=False)
    st.header(_md(words.headline(part)), anchor=False)
    name = "differences" if part.comparison.differences else "arms"
    figure = enlarged(_figures(part)[name], _LARGER)
    st.plotly_chart(figure, key="report.presented", theme=None, config=_PLAIN)
    claim = next(iter(_findings(report, part)), None)
    if claim is not None:
        st.subheader(_md(words.claim_words(claim)), anchor=False)
        _show_examples(report, claim)


def enlarged(figure: go.Figure, by: float) -> go.Figure:
    """The figure with every letter, mark and distance larger by a factor."""
    plain: dict[str, Any] = figure.to_plotly_json()
    return go.Figure(_scaled(plain, by))


def _scaled(value: Any, by: float, key: str = "") -> Any:
    if isinstance(value, dict):
        return {k: _scaled(v, by, k) for k, v in value.items()}
    if isinstance(value, list | tuple) and key in ("annotations", "data", "ticktext", "shapes"):
        return [_scaled(v, by, "text" if isinstance(v, str) else key) for v in value]
    if isinstance(value, int | float) and key in _LENGTHS and not isinstance(value, bool):
        return round(value * by)
    if isinstance(value, str) and key == "text":
        return _PIXELS.sub(lambda m: f"font-size:{round(int(m[1]) * by)}px", value)
    return value


_LENGTHS = frozenset({"size", "height", "t", "b", "yshift", "thickness", "ticklabelstandoff"})


def _figures(part: words.Part) -> dict[str, go.Figure]:
    from pages._ui.comparison_parts import dark

    whole, ends = part.comparison, part.comparison.ends[part.dimension]
    look = dark()
    found = {"arms": charts.intervals_chart(whole.rows, arms=whole.arms, ends=ends, dark=look)}
    if whole.differences:
        found["differences"] = charts.differences_chart(
            whole.differences, arms=whole.arms, ends=ends, dark=look
        )
    return found


def _findings(report: Report, part: words.Part) -> list[Claim]:
    """The differences, the clearest first; the arms where there are none."""
    pairs = words.claims_of(report, "difference", part)
    pairs.sort(key=lambda claim: -abs(claim.numbers["estimate"] or 0))
    return pairs or words.claims_of(report, "arm", part)


def _show_claims(report: Report, part: words.Part) -> None:
    rows = [
        {
            "claim": words.claim_words(claim),
            "numbers": words.claim_numbers(claim),
            "rests on": words.claim_basis(claim),
            "data hash": claim.data_hash[:12],
        }
        for kind in ("corrected", "corrected_difference", "arm", "difference")
        for claim in words.claims_of(report, kind, part)
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True, key="report.claims")


def _show_examples(report: Report, claim: Claim) -> None:
    found = report.examples_of(claim.id)
    for column, example in zip(st.columns(len(found)), found, strict=True) if found else ():
        with column:
            other = "" if example.other is None else f", baseline {example.other:g}"
            st.markdown(f"**{_md(f'{example.role}: rated {example.value:g}{other}')}**")
            st.caption(_md(example.dialogue.intent))
            transcript.show(example.dialogue.messages)


def _md(words_: str) -> str:
    return text.escape_md(words_, one_line=True)
