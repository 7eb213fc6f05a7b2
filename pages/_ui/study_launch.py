"""Saving a study and starting it, here or on a cluster, in a process of its own."""

from __future__ import annotations

import time
from dataclasses import dataclass

import streamlit as st

from core.estimate import Estimate
from core.launcher import is_running, last_words, run_options, start_resume, start_run, study_path
from core.ports import Study
from core.roles import Role
from core.shelf import save_study
from core.study_file import StudySpec
from pages._ui import errors, state, study_drafts, wiring

_STARTED = "studies.started"


@dataclass(frozen=True, slots=True)
class Started:
    """A process that was started from this session for a study."""

    study: str
    pid: int
    at: float


def show(spec: StudySpec | None, found: Estimate | None, draft_id: str, *, ready: bool) -> None:
    """Draw the choices of running, and the buttons that save and launch."""
    places()
    consent = True
    if ready and found is not None and found.needs_consent:
        consent = st.checkbox("Launch without knowing what it costs", key="studies.consent")
    with st.container(horizontal=True):
        st.button(
            "Save and launch",
            key="studies.launch",
            type="primary",
            icon=":material/play_arrow:",
            disabled=not (ready and consent and spec),
            on_click=_launch,
            args=(spec, draft_id),
        )
        st.button(
            "Save",
            key="studies.save",
            icon=":material/save:",
            disabled=not (ready and spec),
            on_click=_save,
            args=(spec, draft_id),
        )
        st.button(
            "Discard",
            key="studies.discard",
            icon=":material/delete:",
            type="tertiary",
            on_click=study_drafts.drop,
            args=(draft_id,),
        )


def places() -> None:
    """Draw the choice of processes, or of a cluster."""
    with st.expander("Where it runs", key="studies.where", icon=":material/dns:"):
        left, right = st.columns([1, 2], gap="small")
        left.number_input(
            "Processes",
            min_value=1,
            max_value=64,
            step=1,
            key="studies.workers",
            help="More than one uses more cores; the limits hold for all of them together",
        )
        right.text_input(
            "Address of a Dask scheduler",
            key="studies.cluster",
            placeholder="empty: this machine; or tcp://…:8786",
            max_chars=200,
            help="Several machines need PostgreSQL and requirements-cluster.txt",
        )


def _options() -> list[str]:
    cluster = str(st.session_state.get("studies.cluster") or "").strip()
    workers = int(st.session_state.get("studies.workers") or 1)
    return run_options(workers=workers, cluster=cluster)


def _save(spec: StudySpec, draft_id: str) -> None:
    with errors.shown():
        wiring.demand(Role.ADMIN)
        save_study(spec, wiring.settings())
        study_drafts.drop(draft_id)
        state.put(study=spec.name)


def _launch(spec: StudySpec, draft_id: str) -> None:
    with errors.shown():
        wiring.demand(Role.ADMIN)
        save_study(spec, wiring.settings())
        run(spec.name)
        study_drafts.drop(draft_id)
        state.put(study=spec.name)


def run(name: str) -> None:
    """Start the saved file of a study."""
    with errors.shown():
        wiring.demand(Role.ADMIN)
        settings = wiring.settings()
        pid = start_run(study_path(name, settings), settings, _options())
        st.session_state[_STARTED] = Started(name, pid, time.monotonic())


def resume(study: Study, *, failed: bool = False) -> None:
    """Go on with a stored study, and with `failed` try again what failed."""
    with errors.shown():
        wiring.demand(Role.ADMIN)
        options = [*_options(), *(["--failed"] if failed else [])]
        budget = st.session_state.get("studies.budget")
        if budget is not None:
            options += ["--budget-usd", f"{budget:.2f}"]
        pid = start_resume(study.name, wiring.settings(), options)
        st.session_state[_STARTED] = Started(study.name, pid, time.monotonic())


def starting(name: str) -> bool:
    """Whether a process of this session is on its way for that study."""
    started = _started(name)
    return started is not None and is_running(started.pid)


def fault(name: str) -> str:
    """The last words of a process of this session that ended at once; empty while it works."""
    started = _started(name)
    if started is None or is_running(started.pid):
        return ""
    return last_words(study_path(name, wiring.settings()), wiring.settings())


def forget(name: str) -> None:
    """The process has shown up in the database: what it does is read there from now on."""
    if _started(name) is not None:
        st.session_state[_STARTED] = None


def _started(name: str) -> Started | None:
    started: Started | None = st.session_state.get(_STARTED)
    return started if started is not None and started.study == name else None
