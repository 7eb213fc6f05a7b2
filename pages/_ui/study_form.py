"""Define a study: the form or its YAML at the left, what it comes to at the right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st
import yaml
from pydantic import ValidationError

from core.errors import AppError, StudyError
from core.estimate import Extent
from core.files import safe_name
from core.personas import with_personas
from core.shelf import text_of
from core.study import check_study
from core.study_file import ScenarioSelection, StudySpec, parse_study
from core.types import Dataset
from pages._ui import (
    state,
    study_drafts,
    study_estimate,
    study_fields,
    study_launch,
    text,
    wiring,
)

_SOURCE = "This study"
_TALL = 560


@dataclass(frozen=True, slots=True)
class Made:
    """What was typed: its text, the study that it is, if it is one, and what is wrong."""

    text: str
    given: dict[str, Any] | None
    spec: StudySpec | None
    complaint: str


def show(draft_id: str) -> None:
    """Draw the form of a draft, or say that it is gone."""
    if not study_drafts.open_(draft_id):
        st.info("This draft is not here any more.", icon=":material/draft:")
        back()
        return
    datasets = with_personas(wiring.store().list_datasets())
    st.title("Define a study", anchor=False)
    with st.container(horizontal=True, vertical_alignment="center"):
        back()
        st.toggle(
            "Edit as YAML",
            key=study_drafts.AS_YAML,
            on_change=study_drafts.turn,
            persist_state="session",
        )
    if refused := st.session_state.pop("studies.turned", ""):
        st.warning(refused, icon=":material/data_object:")
    left, right = st.columns([3, 2], gap="medium")
    with left:
        as_yaml = st.session_state.get(study_drafts.AS_YAML)
        made = _from_text() if as_yaml else _from_fields(datasets)
    study_drafts.keep(made.text)
    with right:
        _come_to(made, datasets, draft_id, preview=not as_yaml)


def back() -> None:
    """A way back to the list; what was typed is kept."""
    st.button(
        "All studies",
        key="studies.back",
        type="tertiary",
        icon=":material/arrow_back:",
        on_click=lambda: state.put(draft=None, study=None),
    )


# --- left -------------------------------------------------------------------------------------


def _from_text() -> Made:
    words = st.text_area(
        "The study's file", key=study_drafts.YAML, height=_TALL, persist_state="session"
    )
    words = words or ""
    try:
        given = yaml.safe_load(words)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark else ""
        return Made(words, None, None, f"{_SOURCE} is not valid YAML{where}.")
    spec, complaint = _parsed(given)
    return Made(words, given if isinstance(given, dict) else None, spec, complaint)


def _from_fields(datasets: Sequence[Dataset]) -> Made:
    names = [d.name for d in datasets]
    with st.container(border=True):
        study_fields.draw_head(names)
    with st.container(border=True):
        st.markdown("**Scenarios**")
        study_fields.draw_scenarios(_domains(st.session_state["studies.dataset"]))
    st.markdown("**Arms**: assistants, and what each is told")
    study_fields.draw_arms()
    with st.container(border=True):
        st.markdown("**The persona's side**")
        study_fields.draw_user()
    st.markdown("**Judges**")
    study_fields.draw_judges()
    with st.container(border=True):
        st.markdown("**Repetitions and limits**")
        study_fields.draw_limits()
    given = study_fields.collect()
    spec, complaint = _parsed(given)
    return Made(spec.to_yaml() if spec else text_of(given), given, spec, complaint)


def _domains(dataset: str) -> list[str]:
    return sorted({d for task in wiring.store().list_tasks(dataset) for d in task.domains})


def _parsed(given: Any) -> tuple[StudySpec | None, str]:
    try:
        return parse_study(given, source=_SOURCE), ""
    except StudyError as error:
        return None, str(error).replace("Value error, ", "")


# --- right ------------------------------------------------------------------------------------


def _come_to(made: Made, datasets: Sequence[Dataset], draft_id: str, *, preview: bool) -> None:
    extent, nobody = _counted(made.given, datasets)
    with st.container(border=True):
        if extent is not None and made.given is not None:
            arms, times = made.given.get("arms"), made.given.get("repetitions", 1)
            if isinstance(arms, list) and isinstance(times, int):
                study_estimate.show_count(extent, len(arms), times)
        complaint = made.complaint or nobody or _refusal(made.spec)
        if complaint:
            st.error(text.escape_md(complaint), icon=":material/edit_note:")
        found = None
        if made.spec is not None and extent is not None:
            found = study_estimate.of(made.spec, extent)
            study_estimate.show(found)
        study_launch.show(made.spec, found, draft_id, ready=not complaint)
    if preview:
        st.code(made.text, language="yaml", height=_TALL, wrap_lines=True)
    _download(made)


def _counted(
    given: dict[str, Any] | None, datasets: Sequence[Dataset]
) -> tuple[Extent | None, str]:
    """What the selection comes to, as soon as it can be read, and why it comes to nothing."""
    named = {d.name: d for d in datasets}
    dataset = named.get(str((given or {}).get("dataset")))
    if given is None or dataset is None:
        return None, ""
    try:
        selection = ScenarioSelection.model_validate(given.get("scenarios") or {})
        return study_estimate.extent_of(dataset, selection), ""
    except ValidationError:
        return None, ""  # the study's own complaint says it
    except AppError as error:
        return None, str(error)


def _refusal(spec: StudySpec | None) -> str:
    """Why a study that can be read cannot be run, or nothing."""
    if spec is None:
        return ""
    store = wiring.store()
    if store.find_study(spec.name) is not None:
        return f"There is a study called {spec.name} already; give this one another name."
    try:
        check_study(spec, store, wiring.model().check)
    except StudyError as error:
        return str(error)
    return ""


def _download(made: Made) -> None:
    name = str((made.given or {}).get("name") or "study")
    st.download_button(
        "Download the YAML",
        made.text,
        file_name=f"{safe_name(name)}.yaml",
        mime="application/yaml",
        key="studies.download",
        icon=":material/download:",
        type="tertiary",
        on_click="ignore",
    )
