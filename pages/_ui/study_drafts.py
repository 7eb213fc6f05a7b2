"""Drafts of studies: begun, carried between fields and YAML, kept in the data folder."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.clock import new_id
from core.sample import SAMPLE_STUDY
from core.shelf import Draft, drop_draft, mapping_of, read_draft, text_of, write_draft
from core.study_file import StudySpec
from pages._ui import errors, state, study_fields, wiring

_OPEN = "studies.draft"  # the draft that the fields hold
_KEPT = "studies.kept"  # its text as it was written last
AS_YAML, YAML = "studies.as_yaml", "studies.yaml"


def begin(text: str = "") -> None:
    """Open a new draft with this text; for a button's `on_click`."""
    draft = Draft(new_id()[:8], text or text_of(_blank()))
    with errors.shown():
        write_draft(draft, wiring.settings())
        state.put(draft=draft.id, study=None)


def begin_from_example() -> None:
    """Open a new draft that is the sample study under another name."""
    found = mapping_of(SAMPLE_STUDY.read_text(encoding="utf-8")) or {}
    begin(text_of(found | {"name": "my-study"}))


def begin_copy(spec: StudySpec) -> None:
    """Open a new draft that is a study under another name."""
    begin(text_of(spec.model_dump(mode="json") | {"name": f"{spec.name[:70]} copy"}))


def _blank() -> dict[str, Any]:
    settings = wiring.settings()
    return {
        "name": "",
        "arms": [{"name": "attentive", "model": "scripted/attentive", "context": "all"}],
        "user_agent": {"model": settings.user_model},
        "judges": [{"model": settings.judge_model, "rubrics": ["personalization"]}],
        "limits": {"concurrency": settings.concurrency},
    }


def open_(draft_id: str) -> bool:
    """Put a draft into the fields, unless they hold it; False when there is none of that id."""
    if st.session_state.get(_OPEN) == draft_id:
        return True
    draft = read_draft(draft_id, wiring.settings())
    if draft is None:
        return False
    found = mapping_of(draft.text)
    st.session_state[_OPEN], st.session_state[_KEPT] = draft_id, draft.text
    st.session_state[AS_YAML] = found is None
    st.session_state[YAML] = draft.text
    study_fields.fill(found or {})
    return True


def keep(text: str) -> None:
    """Write the draft where it has changed, so that a reload of the browser loses nothing."""
    if st.session_state.get(_KEPT) != text:
        with errors.shown():
            write_draft(Draft(st.session_state[_OPEN], text), wiring.settings())
            st.session_state[_KEPT] = text


def drop(draft_id: str) -> None:
    """Forget a draft and leave its form."""
    drop_draft(draft_id, wiring.settings())
    if st.session_state.get(_OPEN) == draft_id:
        st.session_state[_OPEN] = None
    state.put(draft=None)


def turn() -> None:
    """Carry what was typed over to the other way of editing; for the switch's `on_change`."""
    if st.session_state[AS_YAML]:
        st.session_state[YAML] = st.session_state.get(_KEPT, "")
        return
    found = mapping_of(st.session_state.get(YAML, ""))
    if found is None:
        st.session_state[AS_YAML] = True
        st.session_state["studies.turned"] = "Fields need a YAML mapping; mend the text first."
    else:
        study_fields.fill(found)
