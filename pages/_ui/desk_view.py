"""The desk: one dialogue, what its assistant could know, and the form, on one screen.

Until a rating is stored nothing here knows a judge's value, an arm or a model: the page is
drawn from a `DeskItem`, which has no place for them.
"""

from __future__ import annotations

import streamlit as st

from core.errors import AppError, StudyError
from core.review_queue import Queue, Standing
from core.review_types import Assignment, Work
from pages._ui import (
    asked,
    desk_form,
    desk_query,
    desk_reveal,
    errors,
    knew,
    state,
    text,
    transcript,
)

HEIGHT = 620
KEYS = """
| key | what it does |
|---|---|
| 1 to 9 | that value; the next question follows |
| 0 | cannot judge, and why |
| Down, Up | next question, the one before |
| J, K | next turn, the one before |
| M | mark the turn as the one that shows it |
| Enter | save; after the reveal: go on |
| T | after the reveal: the judge's reason is better |
| K, H | after the reveal: keep mine; I had missed something |
| S | later |
| F | flag it for others to look at |
| U | take the last rating back |

Tab goes to everything, and nothing happens by a key while you type.
"""


def show(root_id: str) -> None:
    """Draw the desk of a design, or say that there is none."""
    design = desk_query.design(root_id)
    if design is None:
        st.warning("There is no review design at this address.", icon=":material/search_off:")
        _back()
        return
    person = asked.name("desk.author", "so that your labels carry it")
    if not person:
        return
    try:
        queue = desk_query.queue_of(design, person)
    except StudyError as error:
        errors.show(error)
        _back()
        return
    assignment = queue.current()
    how_far = queue.standing()
    _head(queue, how_far)
    if assignment is None:
        _done(how_far)
        return
    _body(queue, assignment)


def _back() -> None:
    st.button(
        "All designs",
        key="desk.back",
        type="tertiary",
        icon=":material/arrow_back:",
        on_click=lambda: state.put(design=None),
    )


def _head(queue: Queue, standing: Standing) -> None:
    back, where, acts = st.columns([2, 7, 3], vertical_alignment="center")
    with back:
        _back()
    name = text.escape_md(queue.design.name, one_line=True)
    saved = st.session_state.get("desk.saved")
    at = f" · :material/check: saved {saved}" if saved else ""
    where.markdown(f"**{name}** · {_place(standing)}{at}")
    with acts, st.container(horizontal=True, horizontal_alignment="right"):
        st.button(
            "Undo",
            key="desk.undo",
            type="tertiary",
            icon=":material/undo:",
            shortcut="u",
            disabled=not standing.mine,
            help="Takes your last rating back. As the judge has been shown, what you then say "
            "does not count as blind.",
            on_click=_undo,
            args=(queue,),
        )
        with st.popover("Keys", key="desk.keys", icon=":material/keyboard:", type="tertiary"):
            st.markdown(KEYS)


def _place(standing: Standing) -> str:
    if not standing.left:
        return f"{standing.done} of {standing.total}"
    minutes = max(1, round(standing.minutes_left))
    return f"{standing.done + 1} of {standing.total} · about {minutes} min left"


def _undo(queue: Queue) -> None:
    with errors.shown():
        try:
            last = queue.last()
            if last is not None:
                queue.undo(last)
                desk_form.forget(last.dialogue_id)
        except AppError as error:
            st.session_state["desk.note"] = str(error)


def _body(queue: Queue, assignment: Assignment) -> None:
    note = st.session_state.pop("desk.note", None)
    if note:
        st.warning(text.escape_md(note), icon=":material/warning:")
    item = queue.desk(assignment)
    left, right = st.columns([7, 5], gap="medium")
    with left, st.container(height=HEIGHT, key="desk.transcript"):
        transcript.show(item.messages)
    with right, st.container(height=HEIGHT, key="desk.side"):
        with st.expander(f"The assistant could know: {knew.marks(item.knew)}", key="desk.knew"):
            knew.inside(item.knew, item.scenario)
        if assignment.work is Work.REVEALED:
            desk_reveal.show(queue, assignment)
        else:
            desk_form.show(queue, assignment, item)


def _done(standing: Standing) -> None:
    if standing.done < standing.total:
        st.success(
            "Your part is done. What is left has been taken by others; you can take the last "
            "rating back with U.",
            icon=":material/task_alt:",
        )
    else:
        st.success("All of it is labelled.", icon=":material/task_alt:")
    st.page_link("pages/agreement.py", label="How far people agree", icon=":material/handshake:")
