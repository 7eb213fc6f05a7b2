"""Rating one dialogue blind: values by keys, turns that show it, a note, whose fault it was.

Every key is kept at once as a rating in the making, so that whoever leaves finds it again. It
becomes a label with Enter, when every question has its answer.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import streamlit as st

from core.assets import Rubric, load_rubric
from core.clock import now
from core.errors import AppError
from core.review_queue import QUICK_SECONDS, DeskItem, Given, Queue
from core.review_types import Assignment
from pages._ui import desk_fault, text, transcript
from pages._ui.turns import numbered

CANNOT = (
    "it breaks off",
    "the question does not fit it",
    "I do not know enough about the subject",
    "I do not understand the language",
)
_AWAY = 60.0  # seconds without a key after which somebody counts as away

MOVED = "desk.moved"  # something was stored, and the whole page shows what comes next

Draft = dict[str, Any]


def show(queue: Queue, assignment: Assignment, item: DeskItem) -> None:
    """Draw the form. It is drawn again by itself, and leaves the transcript as it is."""
    _load(assignment)
    _form(queue, assignment, item)


@st.fragment
def _form(queue: Queue, assignment: Assignment, item: DeskItem) -> None:
    if st.session_state.pop(MOVED, False):
        st.rerun(scope="app")
    draft = _draft(assignment)
    names = list(item.rubrics)
    focus = names[draft["focus"] % len(names)]
    for name in names:
        rubric = load_rubric(item.rubrics[name])
        _line(rubric, draft, name == focus)
        if name == focus:
            _question(queue, assignment, rubric, draft)
    if len(names) > 1:
        _moves(queue, assignment, draft, len(names))
    _turns(queue, assignment, item, focus, draft)
    if draft.pop("asked", False):
        st.caption(":material/info: Nothing is saved yet: this question has no answer.")
    st.text_area(
        "Note (optional)",
        key=_key(assignment, "note"),
        height=70,
        on_change=_note,
        args=(queue, assignment),
    )
    _save_row(queue, assignment)
    desk_fault.show(queue, assignment.dialogue_id)


# --- the rating in the making ---------------------------------------------------------------------


def _key(assignment: Assignment, name: str) -> str:
    return f"desk.{name}.{assignment.dialogue_id}"


def _load(assignment: Assignment) -> None:
    """Take up what was kept, once for each dialogue and session."""
    key = _key(assignment, "draft")
    if key in st.session_state:
        return
    kept: Mapping[str, Any] = assignment.draft
    st.session_state[key] = {
        "values": dict(kept.get("values") or {}),
        "cannot": dict(kept.get("cannot") or {}),
        "marks": {k: list(v) for k, v in dict(kept.get("marks") or {}).items()},
        "note": str(kept.get("note") or ""),
        "focus": int(kept.get("focus") or 0),
        "turn": int(kept.get("turn") or 1),
        "seconds": float(kept.get("seconds") or 0.0),
        "flagged": bool(kept.get("flagged")),
    }
    st.session_state[_key(assignment, "note")] = st.session_state[key]["note"]
    st.session_state[_key(assignment, "clock")] = time.monotonic()


def forget(dialogue_id: str) -> None:
    """Let go of what this session holds of a dialogue: it starts from what is stored."""
    for name in ("draft", "note", "clock", "why"):
        st.session_state.pop(f"desk.{name}.{dialogue_id}", None)


def _draft(assignment: Assignment) -> Draft:
    draft: Draft = st.session_state[_key(assignment, "draft")]
    return draft


def _keep(queue: Queue, assignment: Assignment) -> None:
    """Store the rating in the making, with the time that was spent on it."""
    draft = _draft(assignment)
    clock = _key(assignment, "clock")
    moment = time.monotonic()
    draft["seconds"] += min(moment - st.session_state.get(clock, moment), _AWAY)
    st.session_state[clock] = moment
    draft["note"] = str(st.session_state.get(_key(assignment, "note")) or "")
    try:
        queue.keep(assignment, draft)
    except AppError as error:
        st.session_state["desk.note"] = str(error)


# --- one question ---------------------------------------------------------------------------------


def _line(rubric: Rubric, draft: Draft, focused: bool) -> None:
    value = draft["values"].get(rubric.dimension)
    said = "—" if value is None else _word(rubric, value)
    if rubric.dimension in draft["cannot"]:
        said = "cannot judge"
    name = text.escape_md(text.dimension_name(rubric.dimension))
    st.markdown(f"**{name}: {said}**" if focused else f"{name}: {said}")


def _word(rubric: Rubric, value: int) -> str:
    return text.escape_md(f"{value} {rubric.scale.label(value)}".strip(), one_line=True)


def _question(queue: Queue, assignment: Assignment, rubric: Rubric, draft: Draft) -> None:
    st.caption(text.escape_md(" ".join(rubric.question.split())))
    chosen = draft["values"].get(rubric.dimension)
    with st.container(horizontal=True, gap="small"):
        for value in rubric.scale.values:
            verdict = rubric.scale.kind == "verdict"
            label = ("Yes" if value else "No") if verdict else rubric.scale.label(value)
            digit = (1 if value else 2) if verdict else value
            st.button(
                text.escape_md(label, one_line=True),
                key=_key(assignment, f"value.{rubric.dimension}.{value}"),
                type="primary" if chosen == value else "secondary",
                shortcut=str(digit),
                on_click=_choose,
                args=(queue, assignment, rubric.dimension, value),
            )
        st.button(
            "Cannot judge",
            key=_key(assignment, f"cannot.{rubric.dimension}"),
            type="primary" if rubric.dimension in draft["cannot"] else "secondary",
            shortcut="0",
            on_click=_cannot,
            args=(queue, assignment, rubric.dimension),
        )
    if rubric.dimension in draft["cannot"]:
        st.selectbox(
            "Why not",
            CANNOT,
            key=_key(assignment, f"why.{rubric.dimension}"),
            on_change=_why_not,
            args=(queue, assignment, rubric.dimension),
            accept_new_options=True,
        )
    with st.expander("What each value means", key=f"desk.anchors.{rubric.dimension}"):
        for anchor in rubric.scale.anchors:
            head = f"**{anchor.value} {text.escape_md(anchor.label, one_line=True)}**"
            st.caption(f"{head}: {text.escape_md(' '.join(anchor.text.split()))}")


def _choose(queue: Queue, assignment: Assignment, dimension: str, value: int) -> None:
    draft = _draft(assignment)
    draft["values"][dimension] = value
    draft["cannot"].pop(dimension, None)
    _advance(queue, draft)
    _keep(queue, assignment)


def _advance(queue: Queue, draft: Draft) -> None:
    """On to the next question that has no answer."""
    names = queue.design.dimensions
    for step in range(1, len(names)):
        place = (draft["focus"] + step) % len(names)
        if names[place] not in draft["values"] and names[place] not in draft["cannot"]:
            draft["focus"] = place
            return


def _cannot(queue: Queue, assignment: Assignment, dimension: str) -> None:
    draft = _draft(assignment)
    if draft["cannot"].pop(dimension, None) is None:
        draft["cannot"][dimension] = CANNOT[0]
        draft["values"].pop(dimension, None)
    _keep(queue, assignment)


def _why_not(queue: Queue, assignment: Assignment, dimension: str) -> None:
    words = str(st.session_state.get(_key(assignment, f"why.{dimension}")) or CANNOT[0])
    _draft(assignment)["cannot"][dimension] = words
    _keep(queue, assignment)


def _note(queue: Queue, assignment: Assignment) -> None:
    _keep(queue, assignment)


def _moves(queue: Queue, assignment: Assignment, draft: Draft, many: int) -> None:
    with st.container(horizontal=True, gap="small"):
        for label, key, step in (("Before", "Up", -1), ("Next question", "Down", 1)):
            st.button(
                label,
                key=_key(assignment, f"move.{key}"),
                type="tertiary",
                shortcut=key,
                on_click=_move,
                args=(queue, assignment, (draft["focus"] + step) % many),
            )


def _move(queue: Queue, assignment: Assignment, place: int) -> None:
    _draft(assignment)["focus"] = place
    _keep(queue, assignment)


# --- turns ----------------------------------------------------------------------------------------


def _turns(
    queue: Queue, assignment: Assignment, item: DeskItem, dimension: str, draft: Draft
) -> None:
    last = max((turn for turn, _ in numbered(item.messages)), default=1)
    at = min(max(draft["turn"], 1), last)
    marked = sorted(draft["marks"].get(dimension, []))
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.button(
            "Turn before", key=_key(assignment, "k"), shortcut="k", type="tertiary",
            icon=":material/keyboard_arrow_up:", disabled=at <= 1,
            on_click=_turn, args=(queue, assignment, at - 1),
        )  # fmt: skip
        st.button(
            f"Turn {at} of {last}", key=_key(assignment, "j"), shortcut="j", type="tertiary",
            icon=":material/keyboard_arrow_down:", disabled=at >= last,
            on_click=_turn, args=(queue, assignment, at + 1),
        )  # fmt: skip
        st.button(
            "Unmark" if at in marked else "Mark", key=_key(assignment, "m"), shortcut="m",
            type="tertiary", icon=":material/flag:",
            on_click=_mark, args=(queue, assignment, dimension, at),
        )  # fmt: skip
    if marked:
        st.caption(
            f"Shown by {'turn' if len(marked) == 1 else 'turns'} {', '.join(map(str, marked))}"
        )


def _turn(queue: Queue, assignment: Assignment, turn: int) -> None:
    _draft(assignment)["turn"] = turn
    _keep(queue, assignment)


def _mark(queue: Queue, assignment: Assignment, dimension: str, turn: int) -> None:
    marks = _draft(assignment)["marks"].setdefault(dimension, [])
    marks.remove(turn) if turn in marks else marks.append(turn)
    _keep(queue, assignment)


# --- saving ---------------------------------------------------------------------------------------


def _save_row(queue: Queue, assignment: Assignment) -> None:
    """Save takes keys at any time: one that was disabled would lose those of a quick hand."""
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.button(
            "Save",
            key=_key(assignment, "save"),
            type="primary",
            icon=":material/save:",
            shortcut="Enter",
            on_click=_save,
            args=(queue, assignment),
        )
        st.button(
            "Later",
            key=_key(assignment, "skip"),
            icon=":material/schedule:",
            shortcut="s",
            help="It comes again behind the others; it is still owed.",
            on_click=_skip,
            args=(queue, assignment),
        )
        st.button(
            "Flag",
            key=_key(assignment, "flag"),
            icon=":material/bookmark:",
            shortcut="f",
            help="Marks it for others to look at, with your note; it is rated all the same.",
            on_click=_flag,
            args=(queue, assignment),
        )
    if _flagged(assignment):
        st.caption(":material/bookmark: Flagged for others to look at.")


def _save(queue: Queue, assignment: Assignment) -> None:
    draft = _draft(assignment)
    names = queue.design.dimensions
    if missing := [n for n in names if n not in draft["values"] and n not in draft["cannot"]]:
        draft["focus"] = names.index(missing[0])
        draft["asked"] = True
        return
    _keep(queue, assignment)
    given = {
        name: Given(
            value=draft["values"].get(name),
            cannot=draft["cannot"].get(name, ""),
            note=draft["note"],
            marks=tuple(sorted(draft["marks"].get(name, []))),
        )
        for name in names
    }
    try:
        queue.rate(assignment, given, draft["seconds"])
    except AppError as error:
        st.session_state["desk.note"] = str(error)
        st.session_state[MOVED] = True
        return
    if draft["seconds"] < QUICK_SECONDS:
        st.session_state["desk.note"] = (
            f"That took {draft['seconds']:.0f} seconds. If it was a slip, take it back with U."
        )
    saved()
    forget(assignment.dialogue_id)


def saved() -> None:
    """Note that something was stored, for the head of the page, and go on."""
    st.session_state["desk.saved"] = f"{now().astimezone(transcript.local_zone()):%H:%M}"
    st.session_state[MOVED] = True


def _skip(queue: Queue, assignment: Assignment) -> None:
    _keep(queue, assignment)
    try:
        queue.skip(assignment, _draft(assignment)["note"])
    except AppError as error:
        st.session_state["desk.note"] = str(error)
    st.session_state[MOVED] = True


def _flagged(assignment: Assignment) -> bool:
    return bool(_draft(assignment).get("flagged"))


def _flag(queue: Queue, assignment: Assignment) -> None:
    _keep(queue, assignment)
    draft = _draft(assignment)
    if draft.get("flagged"):
        return
    try:
        queue.flag(assignment, draft["note"])
        draft["flagged"] = True
        _keep(queue, assignment)
    except AppError as error:
        st.session_state["desk.note"] = str(error)
