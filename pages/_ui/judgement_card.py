"""One judgement: why, from which turns, by which instrument, and what people did to it."""

from __future__ import annotations

import json

import streamlit as st

from core.assets import Rubric, load_rubric
from core.errors import AssetError
from core.overrides import Rated, RatedDimension
from core.types import Override
from pages._ui import override_form, plain, state, text, transcript


def show(group: RatedDimension, rated: Rated) -> None:
    """Draw the card of one judgement of `group`."""
    judgement = rated.judgement
    rubric = _rubric(judgement.instrument.rubric)
    with st.container(border=True, key="dialogues.card", gap="small"):
        st.markdown(f"**{text.escape_md(text.dimension_label(judgement.dimension))}**")
        if rubric is not None:
            st.caption(text.escape_md(" ".join(rubric.question.split())))
        if group.per_turn:
            _pick_turn(group, rated)
        _value(rated, rubric)
        _why(rated)
        _instrument(rated)
        override_form.show(rated, rubric)
        _history(rated)


def _rubric(ref: str) -> Rubric | None:
    """The rubric as it was used; None when its file is not here any more."""
    try:
        return load_rubric(ref)
    except AssetError:
        return None


def _pick_turn(group: RatedDimension, rated: Rated) -> None:
    by_turn = {r.judgement.turn or 0: r.judgement for r in group.rated}
    key = "dialogues.turn"
    st.session_state[key] = rated.judgement.turn or 0
    st.pills(
        "Turn",
        list(by_turn),
        key=key,
        required=True,
        on_change=lambda: state.put(judgement=by_turn[st.session_state[key]].id),
    )


def _value(rated: Rated, rubric: Rubric | None) -> None:
    judgement, force = rated.judgement, rated.force
    said = _words(rated, judgement.value, rubric)
    if judgement.value is None:
        said = f"no value. {text.status_label(judgement.status)}"
    st.markdown(f"Judge: {said}")
    if rated.corrected and force.override is not None:
        author = text.escape_md(force.override.author, one_line=True)
        held = "no value" if force.value is None else _words(rated, force.value, rubric)
        st.markdown(f":orange[:material/edit:] In force: **{held}**, set by {author}")


def _words(rated: Rated, value: int | None, rubric: Rubric | None) -> str:
    shown = text.value_label(rated.judgement.dimension, value)
    known = rubric is not None and value is not None and value in rubric.scale.values
    label = rubric.scale.label(value) if rubric is not None and value is not None and known else ""
    return shown if label in ("", shown) else f"{shown}, {text.escape_md(label)}"


def _why(rated: Rated) -> None:
    judgement = rated.judgement
    plain.show(judgement.rationale or "The judge gave no reason.")
    turns = ", ".join(map(str, judgement.evidence))
    if turns:
        one = len(judgement.evidence) == 1
        st.caption(f"Evidence: {'turn' if one else 'turns'} {turns}, marked in the transcript")
    if judgement.value is None and judgement.raw:
        with st.expander("What the judge answered"):
            plain.block(judgement.raw)


def _instrument(rated: Rated) -> None:
    instrument = rated.judgement.instrument
    with st.expander(f"Instrument: {text.escape_md(instrument.label, one_line=True)}"):
        rows = (
            ("Judge", instrument.judge),
            ("Rubric", instrument.rubric),
            ("Prompt", instrument.prompt_hash),
            ("Parameters", json.dumps(instrument.params, sort_keys=True, ensure_ascii=False)),
            ("Judged", text.when(rated.judgement.created_at, transcript.local_zone())),
        )
        plain.show("\n".join(f"{name}: {value}" for name, value in rows))


def _history(rated: Rated) -> None:
    if not rated.history:
        return
    with st.expander(f"History ({len(rated.history)})", key="dialogues.history"):
        for override in reversed(rated.history):
            st.markdown(_line(rated, override))
            if override.reason:
                plain.show(override.reason)
        first = rated.judgement
        made = text.when(first.created_at, transcript.local_zone())
        judge = text.escape_md(first.instrument.judge, one_line=True)
        st.markdown(f"{made}: {judge} said **{_plain(rated, first.value)}**")


def _line(rated: Rated, override: Override) -> str:
    made = text.when(override.created_at, transcript.local_zone())
    author = text.escape_md(override.author, one_line=True)
    return f"{made}: {author} set **{_plain(rated, override.value)}** ({override.reason_kind})"


def _plain(rated: Rated, value: int | None) -> str:
    return "no value" if value is None else text.value_label(rated.judgement.dimension, value)
