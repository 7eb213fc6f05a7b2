"""After the blind rating is stored: what the judge said, and whether one still sees it so.

Agreeing and disagreeing cost one key each, and both are kept beside what was said blind.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.assets import Rubric, load_rubric
from core.errors import AppError
from core.labels import Label
from core.review_queue import After, Given, Queue
from core.review_types import Assignment
from core.types import Judgement
from pages._ui import desk_fault, desk_form, plain, text

Second = dict[str, tuple[int | None, After]]


def show(queue: Queue, assignment: Assignment) -> None:
    """Draw what was said and what the judge said, question by question."""
    _form(queue, assignment)


@st.fragment
def _form(queue: Queue, assignment: Assignment) -> None:
    if st.session_state.pop(desk_form.MOVED, False):
        st.rerun(scope="app")
    judged = queue.judged(assignment.dialogue_id)
    mine = {label.dimension: label for label in queue.of(assignment.dialogue_id)}
    second = _second(assignment)
    differing = [n for n, j in judged.items() if n in mine and mine[n].value != j.value]
    open_ = [name for name in differing if name not in second]
    for name, label in mine.items():
        _compare(label, judged.get(name), second.get(name))
        if open_ and name == open_[0]:
            _choices(assignment, label, judged[name])
    st.button(
        "Go on" if not open_ else "Keep mine and go on",
        key=f"desk.go.{assignment.dialogue_id}",
        type="primary",
        icon=":material/arrow_forward:",
        shortcut="Enter",
        on_click=_answer,
        args=(queue, assignment, mine, judged),
    )
    desk_fault.show(queue, assignment.dialogue_id)


def _second(assignment: Assignment) -> Second:
    found: Second = st.session_state.setdefault(f"desk.second.{assignment.dialogue_id}", {})
    return found


def _compare(label: Label, judgement: Judgement | None, second: Any) -> None:
    name = text.escape_md(text.dimension_name(label.dimension))
    rubric = load_rubric(label.rubric)
    yours = _word(rubric, label.value) if label.value is not None else "cannot judge"
    st.markdown(f"**{name}** · :blue[you: {yours}]")
    if judgement is None:
        st.caption("No judge has a value for this.")
        return
    said = _word(rubric, judgement.value) if judgement.value is not None else "no value"
    same = judgement.value == label.value
    st.markdown(f":gray[judge: {said}]" + (" · the same" if same else ""))
    plain.show(judgement.rationale or "The judge gave no reason.")
    if second is not None:
        value, why = second
        now = "cannot judge" if value is None else _word(rubric, value)
        st.caption(f":material/check: now {now}: {why}")


def _word(rubric: Rubric, value: int) -> str:
    return text.escape_md(f"{value} {rubric.scale.label(value)}".strip(), one_line=True)


def _choices(assignment: Assignment, label: Label, judgement: Judgement) -> None:
    with st.container(horizontal=True, gap="small"):
        for words, key, value, why in (
            ("Keep mine", "k", label.value, After.KEEP),
            ("The judge's reason is better", "t", judgement.value, After.JUDGE_RIGHT),
            ("I had missed something", "h", judgement.value, After.MISSED),
        ):
            st.button(
                words,
                key=f"desk.after.{key}.{label.dimension}.{assignment.dialogue_id}",
                shortcut=key,
                on_click=_say,
                args=(assignment, label.dimension, value, why),
            )
    rubric = load_rubric(label.rubric)
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.caption("Neither:", width="content")
        for value in rubric.scale.values:
            if value not in (label.value, judgement.value):
                st.button(
                    str(value),
                    key=f"desk.other.{value}.{label.dimension}.{assignment.dialogue_id}",
                    shortcut=str(value),
                    on_click=_say,
                    args=(assignment, label.dimension, value, After.MISSED),
                )


def _say(assignment: Assignment, dimension: str, value: int | None, why: After) -> None:
    _second(assignment)[dimension] = (value, why)


def _answer(
    queue: Queue,
    assignment: Assignment,
    mine: dict[str, Label],
    judged: dict[str, Judgement],
) -> None:
    second = _second(assignment)
    values = {}
    for name, label in mine.items():
        agrees = name in judged and judged[name].value == label.value
        value, why = second.get(name, (label.value, After.AGREE if agrees else After.KEEP))
        values[name] = Given(value, label.cannot if value is None else ""), why
    try:
        queue.answer(assignment, values)
    except AppError as error:
        st.session_state["desk.note"] = str(error)
        st.session_state[desk_form.MOVED] = True
        return
    st.session_state.pop(f"desk.second.{assignment.dialogue_id}", None)
    desk_form.saved()
