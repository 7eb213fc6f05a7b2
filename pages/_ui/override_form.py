"""Giving one judgement another value, with a reason; and taking that back.

What is saved is one more row. It names the row that the person had in view, so that two people
cannot overwrite each other without noticing.
"""

from __future__ import annotations

import streamlit as st

from core.assets import Rubric
from core.clock import new_id, now
from core.errors import AlreadyDecided
from core.overrides import Rated, Why, new_override, undoing
from core.types import Judgement, Override, OverrideReason
from pages._ui import errors, state, text, transcript, who, wiring

_NOTE = "dialogues.note"
_NO_VALUE = "none"
_REASONS = list(OverrideReason)


def show(rated: Rated, rubric: Rubric | None) -> None:
    """Draw what became of the last save, the form, and the way back."""
    refused = st.session_state.pop(_NOTE, None)
    if refused:
        st.warning(refused, icon=":material/warning:")
    if rated.history:
        _saved(rated)
    with st.expander("Override", icon=":material/edit:", expanded=bool(refused)):
        _form(rated, rubric)


def _saved(rated: Rated) -> None:
    last = rated.history[-1]
    made = text.when(last.created_at, transcript.local_zone())
    author = text.escape_md(last.author, one_line=True)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f":material/check: Saved {made} by {author}", width="content")
        if rated.corrected:
            st.button(
                "Undo",
                key="dialogues.undo",
                type="tertiary",
                icon=":material/undo:",
                help="Adds a row that gives the judge's value back",
                on_click=_undo,
                args=(rated.judgement, last.id),
            )


def _form(rated: Rated, rubric: Rubric | None) -> None:
    judgement = rated.judgement
    with st.form(f"dialogues.override.{judgement.id}", border=False):
        st.segmented_control(
            "Value",
            [*_values(rubric), _NO_VALUE],
            key=_key(judgement, "value"),
            format_func=lambda v: _label(judgement, v),
        )
        if rubric is not None and rubric.scale.kind == "rating":
            anchors = " · ".join(f"{a.value} {a.label}" for a in rubric.scale.anchors)
            st.caption(text.escape_md(anchors))
        st.selectbox(
            "Reason",
            _REASONS,
            index=None,
            key=_key(judgement, "reason"),
            placeholder="Choose one",
            format_func=lambda reason: reason[:1].upper() + reason[1:],
        )
        st.text_area("In your words (optional)", key=_key(judgement, "words"), height=80)
        if not state.author() and who.own_machine(wiring.settings()):
            st.text_input("Your name, asked once", key="dialogues.author", max_chars=who.MOST)
        st.form_submit_button(
            "Save override",
            key="dialogues.save",
            icon=":material/save:",
            on_click=_save,
            args=(judgement, rated.latest_id),
        )


def _key(judgement: Judgement, name: str) -> str:
    return f"dialogues.override.{name}.{judgement.id}"


def _values(rubric: Rubric | None) -> list[str]:
    values = range(10) if rubric is None else rubric.scale.values
    return [str(value) for value in values]


def _label(judgement: Judgement, value: str) -> str:
    if value == _NO_VALUE:
        return "No value"
    return text.value_label(judgement.dimension, int(value))


# --- saving -----------------------------------------------------------------------------------


def _save(judgement: Judgement, seen: str | None) -> None:
    """`seen` is the newest override that was on the screen when the button was pressed."""
    value = st.session_state.get(_key(judgement, "value"))
    reason = st.session_state.get(_key(judgement, "reason"))
    author = _author()
    missing = [
        name
        for name, given in (("a value", value), ("a reason", reason), ("your name", author))
        if not given
    ]
    if missing:
        _note(f"Nothing is saved yet: choose {' and '.join(missing)}.")
        return
    words = str(st.session_state.get(_key(judgement, "words")) or "")
    chosen = None if value == _NO_VALUE else int(str(value))
    why = Why(author, OverrideReason(str(reason)), words)
    row = new_override(judgement, chosen, why, seen=seen, now=now, new_id=new_id)
    if _add(judgement, row):
        for name in ("value", "reason", "words"):
            st.session_state.pop(_key(judgement, name), None)


def _undo(judgement: Judgement, seen: str) -> None:
    _add(judgement, undoing(judgement, state.author() or "", seen=seen, now=now, new_id=new_id))


def _author() -> str:
    given = str(st.session_state.get("dialogues.author") or "").strip()
    if given and not state.author():
        who.remember(wiring.settings(), given)
    return state.author()


def _add(judgement: Judgement, row: Override) -> bool:
    with errors.shown():
        try:
            wiring.store().add_override(row)
        except AlreadyDecided:
            _note(_first(judgement))
        else:
            return True
    return False


def _first(judgement: Judgement) -> str:
    """Who was first, and what is in force now."""
    rows = wiring.store().list_overrides(judgement.dialogue_id)
    last = [row for row in rows if row.judgement_id == judgement.id][-1]
    value = _label(judgement, _NO_VALUE if last.value is None else str(last.value)).lower()
    made = text.when(last.created_at, transcript.local_zone())
    author = text.escape_md(last.author, one_line=True)
    return (
        f"{author} was first ({made}): **{value}** is in force, and yours was not saved. Read "
        "it, and save again if you still see it otherwise."
    )


def _note(words: str) -> None:
    st.session_state[_NOTE] = words
