"""The parts of the page Agreement: what the labels rest on, people, the judge, the reveal."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go
import streamlit as st

from core import agreement_words as words
from core.agreement import Agreement
from core.agreement_people import Disagreement
from core.ports import Study
from pages._ui import agreement_charts, agreement_query, anchoring_charts, comparison_parts, text

_SHOWN = 10
_CONFIG = {"displaylogo": False}


def nothing_yet() -> None:
    """The empty state: how labels come about."""
    st.info(
        "Nobody has labelled anything yet. Draw dialogues on the page Desk, and label them blind; "
        "then this page says how far people agree, and whether the judge may be believed.",
        icon=":material/handshake:",
    )
    st.page_link("pages/desk.py", label="Draw dialogues", icon=":material/arrow_forward:")


def show(study: Study, found: Agreement) -> None:
    """Draw everything that is known; what is not says why."""
    st.caption(text.escape_md(words.basis_words(found)))
    for warning in found.warnings:
        st.caption(f":material/info: {text.escape_md(warning)}")
    judge, people, reveal, worst = st.tabs(
        ["Judge and people", "People with each other", "The reveal", "Where they differ most"],
        key="agreement.tab",
        on_change="rerun",
    )
    if judge.open:
        with judge:
            _judge(study, found)
    if people.open:
        with people:
            _people(found)
    if reveal.open:
        with reveal:
            _reveal(found)
    if worst.open:
        with worst:
            _worst(found)


def _why_not(found: Agreement, name: str, what: str) -> None:
    reason = found.reasons.get(name, "there are too few labels yet")
    st.info(text.escape_md(f"{what}: {reason}."), icon=":material/hourglass_empty:")


def _draw(figure: go.Figure, key: str, alt: str) -> None:
    st.plotly_chart(figure, key=key, theme=None, config=_CONFIG, alt=alt)


# --- the judge ------------------------------------------------------------------------------------


def _judge(study: Study, found: Agreement) -> None:
    if found.judge is None:
        _why_not(found, "judge", "Nothing can be said of the judge yet")
        return
    ends, dark = agreement_query.ends(found.dimension), comparison_parts.dark()
    st.markdown(text.escape_md(words.judge_words(found.judge)))
    if found.alt is not None:
        values = ("no", "yes") if ends.verdict else ()
        said = words.alt_words(
            found.alt, setting=found.setting, bias=found.judge.bias, values=values
        )
        st.markdown(text.escape_md(said))
    else:
        _why_not(found, "alt", "Whether the judge may stand in for a person cannot be told")
    figure = agreement_charts.confusion_chart(
        found.judge.confusion, dimension=found.dimension, ends=ends, dark=dark
    )
    _draw(figure, "agreement.confusion", "Who said what: people and the judge")
    arms = [entry.name for entry in study.spec.arms] if study.spec is not None else []
    arms += sorted(set(found.bias_by_arm) - set(arms))
    if any(found.bias_by_arm.values()):
        figure = agreement_charts.bias_chart(found.bias_by_arm, arms=arms, ends=ends, dark=dark)
        _draw(figure, "agreement.bias", "Judge minus people for each arm")


# --- people ---------------------------------------------------------------------------------------


def _people(found: Agreement) -> None:
    if found.people is None:
        _why_not(found, "people", "How far people agree cannot be told yet")
    else:
        name = text.dimension_name(found.dimension).lower()
        st.markdown(text.escape_md(words.people_words(found.people, name)))
        if any(pair.exact for pair in found.people.pairs):
            figure = agreement_charts.pairs_chart(
                found.people.pairs, names=found.names, dark=comparison_parts.dark()
            )
            _draw(figure, "agreement.pairs", "How often each two people say the same")
    ends, dark = agreement_query.ends(found.dimension), comparison_parts.dark()
    for person in found.annotators:
        said = words.severity_words(person.name, person.rater)
        moved = words.change_words(person.name, person.change)
        if said or moved:
            st.markdown(text.escape_md(f"{said} {moved}".strip()))
    if any(p.rater is not None and p.rater.severity is not None for p in found.annotators):
        figure = agreement_charts.severity_chart(found.annotators, ends=ends, dark=dark)
        _draw(figure, "agreement.severity", "How far each annotator lies from the others")
    if any(len(person.blocks) > 1 for person in found.annotators):
        figure = anchoring_charts.drift_chart(found.annotators, ends=ends, dark=dark)
        _draw(figure, "agreement.drift", "Each annotator minus the judge over time")


# --- the reveal -----------------------------------------------------------------------------------


def _reveal(found: Agreement) -> None:
    if found.anchoring is None:
        _why_not(found, "anchoring", "What the reveal does to people cannot be told yet")
        return
    st.markdown(text.escape_md(words.moves_words("people", found.anchoring.together)))
    for name, moves in found.anchoring.annotators:
        st.markdown(text.escape_md(words.moves_words(name, moves)))
    figure = anchoring_charts.anchoring_chart(found.anchoring, dark=comparison_parts.dark())
    _draw(figure, "agreement.anchoring", "How far the reveal moves each annotator")
    if found.in_sight is not None:
        st.markdown(text.escape_md(words.in_sight_words(found.in_sight)))
        figure = anchoring_charts.in_sight_chart(found.in_sight, dark=comparison_parts.dark())
        _draw(figure, "agreement.in_sight", "Agreement with the judge in sight, and blind")


# --- where they differ ----------------------------------------------------------------------------


def _worst(found: Agreement) -> None:
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**Judge far from people**")
        _list(found.far_from_judge)
    with right:
        st.markdown("**People far from each other**")
        _list(found.among_people)
        st.page_link("pages/adjudicate.py", label="Settle them", icon=":material/gavel:")


def _list(rows: Sequence[Disagreement]) -> None:
    shown = [row for row in rows if row.gap > 0][:_SHOWN]
    if not shown:
        st.caption("Nowhere.")
    for row in shown:
        said = ", ".join(f"{name} {value:g}" for name, value in row.labels)
        judged = "" if row.judge is None else f"judge {row.judge:g}; "
        turn = "" if row.item.turn is None else f", turn {row.item.turn}"
        st.page_link(
            "pages/dialogues.py",
            label=text.escape_md(f"{row.item.persona_id}{turn}: {judged}{said}", one_line=True),
            icon=":material/forum:",
            query_params={"dialogue": row.item.dialogue_id},
            help=f"Difference {row.gap:.1f}",
        )
