"""How studies come along, read from the database while they work."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.types import StudyProgress, StudyState
from pages._ui import frame, sample_run, text, wiring

_STATES = {
    StudyState.DEFINED: "not started",
    StudyState.RUNNING: "running",
    StudyState.PAUSED: "paused",
    StudyState.CANCELLED: "cancelled",
    StudyState.DONE: "done",
    StudyState.FAILED: "failed",
}
_SHOWN = 5
_EVERY = 2.0


def at_work(progress: StudyProgress) -> bool:
    """Tell whether a process works on the study and has said so lately."""
    return progress.state is StudyState.RUNNING and not progress.stalled


@st.fragment(run_every=_EVERY)
def watch() -> None:
    """Draw the studies again and again; when none is at work any more, the whole page."""
    progress = wiring.store().list_progress()
    sample_run.settle(progress)
    if not sample_run.starting() and not any(map(at_work, progress)):
        st.rerun()
    show(progress)


def show(progress: Sequence[StudyProgress]) -> None:
    """Draw the newest studies, those at work first."""
    if sample_run.starting():
        st.progress(0.0, text="Starting the sample study …")
    for one in sorted(progress, key=lambda p: not at_work(p))[:_SHOWN]:
        _study(one)
    if len(progress) > _SHOWN:
        st.caption(f"and {text.plural(len(progress) - _SHOWN, 'older study', 'older studies')}")


def _study(progress: StudyProgress) -> None:
    left, right = st.columns([6, 2], vertical_alignment="center")
    ended = progress.done + progress.failed
    words = text.escape_md(_words(progress, ended), one_line=True)
    with left:
        if ended < progress.units:
            st.progress(ended / progress.units, text=words)
        else:
            st.markdown(words)
    with right, st.container(horizontal=True, gap="small"):
        st.page_link(
            frame.path("studies"),
            label="Monitor",
            icon=":material/monitoring:",
            query_params={"study": progress.study_id},
        )
        st.page_link(
            frame.path("dialogues"),
            label="Read",
            icon=":material/forum:",
            query_params={"study": progress.study_id},
        )


def _words(progress: StudyProgress, ended: int) -> str:
    told = [progress.study, state_label(progress), _count(progress, ended)]
    if progress.failed:
        told.append(f"{text.count(progress.failed)} failed")
    if progress.unscored:
        told.append(f"{text.count(progress.unscored)} unscored")
    if progress.cost_usd:
        told.append(text.money(progress.cost_usd))
    if progress.message:
        told.append(progress.message)
    return " · ".join(told)


def spent_label(progress: StudyProgress) -> str:
    """What was paid in words: `nothing`, a sum, or `unknown`."""
    return "nothing" if progress.cost_usd == 0 else text.money(progress.cost_usd)


def state_label(progress: StudyProgress) -> str:
    """The state of a study in words."""
    if progress.stalled:
        return "stopped without a word; resume it"
    return _STATES[progress.state]


def _count(progress: StudyProgress, ended: int) -> str:
    if progress.units > ended:
        return f"{text.count(ended)} of {text.plural(progress.units, 'dialogue')}"
    return text.plural(ended, "dialogue")
