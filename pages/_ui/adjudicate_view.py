"""Conflicts by size, both ratings beside the transcript, and a decision with its reason.

Annotators stay unnamed, and neither judge nor arm is shown: what counts is the dialogue.
"""

from __future__ import annotations

import streamlit as st

from core.adjudication import Because, Conflict, conflicts, decide
from core.assets import load_rubric
from core.clock import new_id, now
from core.errors import AppError
from core.labels import Label, standing
from core.review_designs import latest
from core.review_types import ReviewDesign
from pages._ui import asked, knew, state, text, transcript, wiring

_HEIGHT = 520
_NOTE = "adjudicate.note"


def show() -> None:
    """Draw the list of one design, and the conflict that is chosen."""
    person = asked.name("adjudicate.author", "so that your decisions carry it")
    designs = latest(wiring.reviews().list_designs())
    if not designs:
        st.info(
            "Nothing was drawn for review yet, so that nobody can differ.",
            icon=":material/gavel:",
        )
        st.page_link("pages/desk.py", label="Draw dialogues", icon=":material/arrow_forward:")
        return
    left, right = st.columns([3, 5], vertical_alignment="center")
    with left:
        design = _pick(designs)
    found = _conflicts(design)
    open_ = sum(conflict.open for conflict in found)
    if not found:
        st.success(
            "Where two people have labelled the same dialogue, they agree.",
            icon=":material/handshake:",
        )
        return
    right.caption(f"{text.plural(open_, 'conflict')} open, {len(found) - open_} settled.")
    _body(design, found, person)


def _pick(designs: list[ReviewDesign]) -> ReviewDesign:
    by_id = {design.root_id: design for design in designs}
    key = "adjudicate.design"
    if st.session_state.get(key) not in by_id:
        st.session_state[key] = state.choice("design", list(by_id), next(iter(by_id)))
    chosen = st.selectbox(
        "Design",
        list(by_id),
        key=key,
        label_visibility="collapsed",
        format_func=lambda i: by_id[i].name,
        on_change=lambda: state.put(design=str(st.session_state[key])),
    )
    return by_id[chosen]


def _conflicts(design: ReviewDesign) -> list[Conflict]:
    store = wiring.reviews()
    labels = standing(store.list_annotations(root_id=design.root_id))
    return conflicts(labels, store.list_decisions(design.root_id))


def _body(design: ReviewDesign, found: list[Conflict], person: str) -> None:
    key = f"adjudicate.at.{design.root_id}"
    at = min(int(st.session_state.setdefault(key, 0)), len(found) - 1)
    conflict = found[at]
    bar = st.columns([2, 6, 2], vertical_alignment="center")
    _step(bar[0], "Before", "Left", key, at - 1, at <= 0)
    name = text.escape_md(text.dimension_name(conflict.dimension))
    bar[1].markdown(f"**{at + 1} of {len(found)}** · {name} · {_apart(conflict)}")
    _step(bar[2], "Next", "Right", key, at + 1, at >= len(found) - 1)
    note = st.session_state.pop(_NOTE, None)
    if note:
        st.warning(text.escape_md(note), icon=":material/warning:")
    dialogue = wiring.store().get_dialogue(conflict.dialogue_id)
    left, right = st.columns([7, 5], gap="medium")
    marks = {turn for label in conflict.labels for turn in label.marks}
    with left, st.container(height=_HEIGHT, key="adjudicate.transcript"):
        transcript.show(dialogue.messages, cited=marks)
    with right, st.container(height=_HEIGHT, key="adjudicate.side"):
        st.caption(f"The assistant could know: {knew.marks(dialogue.arm.context)}")
        for n, label in enumerate(conflict.labels):
            _said(n, label)
        _decision(conflict, person)


def _apart(conflict: Conflict) -> str:
    size = text.plural(conflict.size, "point")
    return f"{size} apart" if conflict.open else f"{size} apart, settled"


def _step(
    column: st.delta_generator.DeltaGenerator, label: str, key: str, at: str, to: int, off: bool
) -> None:
    column.button(
        label,
        key=f"adjudicate.{label.lower()}",
        shortcut=key,
        disabled=off,
        width="stretch",
        on_click=lambda: st.session_state.update({at: to}),
    )


def _said(n: int, label: Label) -> None:
    value = "cannot judge" if label.value is None else _word(label)
    with st.container(border=True, gap="xsmall"):
        st.markdown(f"**Reviewer {chr(ord('A') + n)}** · {text.escape_md(value, one_line=True)}")
        if label.cannot:
            st.text(label.cannot)
        if label.marks:
            st.caption(f"Marked turns {', '.join(map(str, label.marks))}")
        st.text(label.note or "No note.")


def _word(label: Label) -> str:
    rubric = load_rubric(label.rubric)
    return f"{label.value} {rubric.scale.label(label.value or 0)}"


def _decision(conflict: Conflict, person: str) -> None:
    decided = conflict.decision
    if decided is not None:
        value = "cannot be judged" if decided.value is None else str(decided.value)
        made = text.when(decided.created_at, transcript.local_zone())
        st.success(
            text.escape_md(f"Settled as {value} by {decided.author}, {made}.", one_line=True),
            icon=":material/gavel:",
        )
        st.text(f"{decided.reason_kind}: {decided.reason}")
    rubric = load_rubric(conflict.labels[0].rubric)
    options = [str(value) for value in rubric.scale.values] + ["cannot be judged"]
    tag = f"{conflict.dialogue_id}.{conflict.dimension}"
    with st.form(f"adjudicate.form.{tag}", border=False, clear_on_submit=True):
        st.segmented_control("What holds", options, key=f"adjudicate.value.{tag}")
        st.selectbox(
            "Because",
            list(Because),
            index=None,
            placeholder="Choose one",
            key=f"adjudicate.because.{tag}",
        )
        st.text_area("In a sentence", key=f"adjudicate.reason.{tag}", height=80)
        st.form_submit_button(
            "Settle",
            key=f"adjudicate.settle.{tag}",
            type="primary",
            icon=":material/gavel:",
            disabled=not person,
            on_click=_settle,
            args=(conflict, tag, person),
        )


def _settle(conflict: Conflict, tag: str, person: str) -> None:
    value = st.session_state.get(f"adjudicate.value.{tag}")
    because = st.session_state.get(f"adjudicate.because.{tag}")
    reason = str(st.session_state.get(f"adjudicate.reason.{tag}") or "")
    if not value or not because:
        st.session_state[_NOTE] = "Nothing is saved yet: choose what holds, and because of what."
        return
    number = None if value == "cannot be judged" else int(value)
    try:
        row = decide(conflict, number, Because(because), reason, person, now=now, new_id=new_id)
        wiring.reviews().add_decision(row)
    except AppError as error:
        st.session_state[_NOTE] = str(error)
