"""The review designs that are there: how far each is, and the way to a new one."""

from __future__ import annotations

import streamlit as st

from core.errors import StudyError
from core.review_designs import latest
from core.review_queue import Standing
from core.review_types import Method, ReviewDesign
from pages._ui import asked, design_form, desk_query, state, text, transcript, wiring

METHODS = {
    Method.RANDOM: "simple random",
    Method.STRATIFIED: "random within strata",
    Method.ACTIVE: "more often where the judge errs",
    Method.PAIRS: "scenarios with all arms",
}


def show() -> None:
    """Draw the designs, or what to do first."""
    store = wiring.reviews()
    person = asked.name("desk.author", "so that your labels carry it")
    designs = latest(store.list_designs())
    names = {study.id: study.name for study in store.list_studies()}
    if not designs:
        st.info(
            "Nothing was drawn for review yet. A design draws dialogues at random, so that what "
            "people say of a few holds for all of them.",
            icon=":material/casino:",
        )
    for design in designs:
        _card(design, names.get(design.study_id, "a study"), person)
    design_form.show(person)


def _card(design: ReviewDesign, study: str, person: str) -> None:
    with st.container(border=True, gap="xsmall"):
        left, right = st.columns([5, 1], vertical_alignment="center")
        with left:
            st.markdown(f"**{text.escape_md(design.name, one_line=True)}**")
            st.caption(text.escape_md(_line(design, study), one_line=True))
        standing = _standing(design, person)
        if standing is None:
            left.caption("You are not among its annotators.")
            return
        left.progress(standing.done / max(standing.total, 1), _words(standing))
        right.button(
            "Go on" if standing.mine else "Start",
            key=f"desk.open.{design.root_id}",
            type="primary",
            icon=":material/rate_review:",
            disabled=not person,
            on_click=lambda: state.put(design=design.root_id),
        )
        with left.expander("Draw more", key=f"desk.more.{design.root_id}"):
            design_form.extension(design, person)


def _line(design: ReviewDesign, study: str) -> str:
    dimensions = ", ".join(text.dimension_name(name) for name in design.dimensions)
    drawn = text.when(design.created_at, transcript.local_zone())
    parts = [study, dimensions, METHODS[design.method], f"drawn {drawn} by {design.author}"]
    if design.annotators:
        parts.append(f"for {', '.join(design.annotators)}")
    return " · ".join(parts)


def _standing(design: ReviewDesign, person: str) -> Standing | None:
    try:
        return desk_query.queue_of(design, person).standing()
    except StudyError:
        return None


def _words(standing: Standing) -> str:
    done = f"{standing.done} of {text.plural(standing.total, 'review')} done"
    if not standing.left:
        return done
    minutes = max(1, round(standing.minutes_left))
    return f"{done} · {standing.left} left for you, about {text.plural(minutes, 'minute')}"
