"""The list of studies: those in the database, those only saved, and drafts."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.errors import AppError
from core.ports import Study
from core.shelf import list_drafts, saved_studies
from core.types import StudyProgress
from pages._ui import errors, running, state, study_drafts, tables, text, transcript, wiring

_EVERY = 2.0
_MOST = 1_000_000


def show() -> None:
    """Draw the list, and what begins a new study."""
    st.title("Studies", anchor=False)
    _begin()
    studies = [s for s in wiring.store().list_studies() if s.spec is not None]
    if studies:
        st.fragment(_watch, run_every=_EVERY)()
    elif not _saved(set()):
        st.info(
            "There is no study yet. Begin with the example: it needs no key.",
            icon=":material/science:",
        )
    _show_saved({s.name for s in studies})
    _show_drafts()


def _begin() -> None:
    with st.container(horizontal=True):
        st.button(
            "New study",
            key="studies.new",
            type="primary",
            icon=":material/add:",
            on_click=study_drafts.begin,
        )
        st.button(
            "From the example",
            key="studies.example",
            icon=":material/lightbulb:",
            on_click=study_drafts.begin_from_example,
        )
        with st.popover("From a file", icon=":material/upload:", key="studies.from_file"):
            st.file_uploader(
                "A study file (YAML)",
                type=["yaml", "yml"],
                key="studies.upload",
                max_upload_size=1,
                on_change=_uploaded,
            )


def _uploaded() -> None:
    file = st.session_state.get("studies.upload")
    if file is None:
        return
    with errors.shown():
        try:
            words = file.getvalue().decode("utf-8-sig")
        except UnicodeDecodeError:
            raise AppError("This file is not UTF-8 text; a study file is.") from None
        study_drafts.begin(words[:_MOST])


def _watch() -> None:
    store = wiring.store()
    by_id = {p.study_id: p for p in store.list_progress()}
    studies = [s for s in store.list_studies() if s.spec is not None and s.id in by_id]
    _table(studies, [by_id[s.id] for s in studies])
    if state.get("study") is not None:
        st.rerun(scope="app")


def _table(studies: Sequence[Study], found: Sequence[StudyProgress]) -> None:
    rows = [_row(s, p) for s, p in zip(studies, found, strict=True)]
    bar = st.column_config.ProgressColumn("Ended", format="percent", min_value=0, max_value=1)
    tables.pick_row(
        rows,
        [s.name for s in studies],
        key="studies.table",
        param="study",
        column_config={"Ended": bar, "Question": st.column_config.Column(width="medium")},
    )


def _row(study: Study, p: StudyProgress) -> dict[str, object]:
    ended = p.done + p.failed
    return {
        "Study": study.name,
        "State": running.state_label(p),
        "Ended": ended / p.units if p.units else 0.0,
        "Dialogues": f"{text.count(ended)} of {text.count(p.units)}",
        "Failed": text.count(p.failed),
        "Spent": running.spent_label(p),
        "Defined": text.when(study.created_at, transcript.local_zone()),
        "Question": study.spec.question if study.spec else "",
    }


def _saved(stored: set[str]) -> list[str]:
    return [s.name for s in saved_studies(wiring.settings()) if s.name not in stored]


def _show_saved(stored: set[str]) -> None:
    names = _saved(stored)
    if names:
        st.subheader("Saved, not started", anchor=False)
    for name in names:
        st.button(
            text.escape_md(name, one_line=True),
            key=f"studies.saved.{name}",
            icon=":material/description:",
            type="tertiary",
            on_click=state.put,
            kwargs={"study": name},
        )


def _show_drafts() -> None:
    drafts = list_drafts(wiring.settings())
    if drafts:
        st.subheader("Drafts", anchor=False)
    for draft in drafts[:10]:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                text.escape_md(draft.name or "without a name", one_line=True),
                key=f"studies.open.{draft.id}",
                icon=":material/edit:",
                type="tertiary",
                on_click=state.put,
                kwargs={"draft": draft.id},
            )
            st.button(
                "Discard",
                key=f"studies.drop.{draft.id}",
                icon=":material/delete:",
                type="tertiary",
                on_click=study_drafts.drop,
                args=(draft.id,),
            )
