"""What can be done with a study: pause, resume, cancel, retry, export, copy."""

from __future__ import annotations

import io
import tempfile
import zipfile
from pathlib import Path

import streamlit as st

from core.export import FORMS, Form, export_study
from core.files import safe_name
from core.ports import Study
from core.study_file import StudySpec
from core.types import StudyProgress, StudyState
from pages._ui import errors, frame, running, study_drafts, study_launch, wiring

_CANCELLING = "studies.cancelling"


def show(study: Study, progress: StudyProgress) -> None:
    """Draw the buttons that fit the state; each takes effect through the database."""
    if study.spec is None:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.session_state.get(_CANCELLING) == study.id and progress.owed:
            _confirm(study)
            return
        at_work = running.at_work(progress)
        if at_work:
            _button("Pause", "pause", ":material/pause:", _wish, (study, StudyState.PAUSED))
        elif progress.owed:
            _button(
                "Resume",
                "resume",
                ":material/play_arrow:",
                study_launch.resume,
                (study,),
                disabled=study_launch.starting(study.name),
            )
        if progress.owed and progress.state is not StudyState.CANCELLED:
            _button("Cancel", "cancel", ":material/cancel:", _ask, (study,))
        if progress.failed:
            label = f"Retry {progress.failed:,} failed"
            _button(label, "retry", ":material/refresh:", _retry, (study, at_work))


def _button(
    label: str, name: str, icon: str, act: object, args: tuple[object, ...], disabled: bool = False
) -> None:
    st.button(
        label,
        key=f"studies.{name}",
        icon=icon,
        on_click=act,  # type: ignore[arg-type]
        args=args,
        disabled=disabled,
    )


def _wish(study: Study, state: StudyState) -> None:
    with errors.shown():
        st.session_state[_CANCELLING] = None
        wiring.store().set_study_state(study.id, state)


def _ask(study: Study) -> None:
    st.session_state[_CANCELLING] = study.id


def _confirm(study: Study) -> None:
    st.markdown("Cancel this study? What is finished stays.")
    act = (study, StudyState.CANCELLED)
    _button("Yes, cancel it", "cancel.yes", ":material/cancel:", _wish, act)
    _button("Keep it", "cancel.no", ":material/undo:", _keep, ())


def _keep() -> None:
    st.session_state[_CANCELLING] = None


def _retry(study: Study, at_work: bool) -> None:
    """Owe the failed units again; whoever is at work takes them up, else a new process does."""
    with errors.shown():
        if at_work:
            wiring.store().reopen_failed(study.id)
        else:
            study_launch.resume(study, failed=True)


# --- below ------------------------------------------------------------------------------------


def show_more(study: Study) -> None:
    """Draw what is needed now and then: how it is resumed, its file, an export, a copy."""
    if study.spec is None:
        return
    file, export, resumed = st.tabs(["Study file", "Export", "When resumed"], key="studies.more")
    with resumed:
        study_launch.places()
        st.number_input(
            "Another budget, US dollars",
            min_value=0.0,
            value=None,
            step=1.0,
            key="studies.budget",
            placeholder="the study's own",
            width=260,
        )
    with file:
        show_file(study.spec)
    with export:
        _export(study)


def show_file(spec: StudySpec) -> None:
    """Draw the study's file, and what begins another one from it."""
    with st.container(horizontal=True):
        st.button(
            "Copy as new study",
            key="studies.copy",
            icon=":material/content_copy:",
            on_click=study_drafts.begin_copy,
            args=(spec,),
        )
        st.download_button(
            "Download the YAML",
            spec.to_yaml(),
            file_name=f"{safe_name(spec.name)}.yaml",
            mime="application/yaml",
            key="studies.file",
            icon=":material/download:",
            on_click="ignore",
        )
    st.code(spec.to_yaml(), language="yaml", height=320, wrap_lines=True)


def _export(study: Study) -> None:
    left, right = st.columns([1, 3], vertical_alignment="bottom")
    form: Form = left.selectbox("Form", FORMS, key="studies.form")
    if right.button("Prepare the export", key="studies.export", icon=":material/archive:"):
        with frame.busy("Writing …"):
            st.session_state["studies.exported"] = (study.id, form, _archive(study, form))
    made = st.session_state.get("studies.exported")
    if made is not None and made[:2] == (study.id, form):
        st.download_button(
            "Download the export",
            made[2],
            file_name=f"{safe_name(study.name)}-{form}.zip",
            mime="application/zip",
            key="studies.exported.get",
            icon=":material/download:",
            on_click="ignore",
        )


def _archive(study: Study, form: Form) -> bytes:
    """The export as one file: a browser takes no folder."""
    with tempfile.TemporaryDirectory() as folder:
        to = Path(folder) / "export"
        export_study(wiring.store(), study, to=to, form=form)
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(p for p in to.rglob("*") if p.is_file()):
                archive.write(path, path.relative_to(to))
    return packed.getvalue()
