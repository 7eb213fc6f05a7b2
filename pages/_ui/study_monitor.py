"""The monitor of one study: how it comes along, read from the database every two seconds.

Everything that a person types into stands outside of the part that draws itself again.
"""

from __future__ import annotations

import streamlit as st

from core.clock import now
from core.errors import AppError
from core.launcher import study_path
from core.pace import WINDOW, Pace, pace_of, silence
from core.ports import Study
from core.study_file import load_study
from core.types import StudyProgress, StudyState
from pages._ui import (
    errors,
    frame,
    running,
    study_controls,
    study_form,
    study_launch,
    study_news,
    tables,
    text,
    wiring,
)

_EVERY = 2.0


def show(name: str) -> None:
    """Draw the monitor of a study, or what is known of one that is only saved."""
    study = wiring.store().find_study(name)
    if study is None:
        _show_saved(name)
        return
    _head(study)
    if study.spec is None:
        st.info("These dialogues came from elsewhere; there is nothing to run.")
        return
    st.fragment(_watch, run_every=_EVERY)(study)
    left, right = st.columns([1, 1], gap="medium")
    with left:
        st.fragment(study_news.show_counts, run_every=_EVERY)(study)
    with right:
        news = study_news.pick(study)
        st.fragment(study_news.show_newest, run_every=_EVERY)(study, news)
    study_controls.show_more(study)


def _head(study: Study) -> None:
    st.title(text.escape_md(study.name, one_line=True), anchor=False)
    if study.spec is not None and study.spec.question:
        st.caption(text.escape_md(study.spec.question, one_line=True))
    with st.container(horizontal=True, vertical_alignment="center"):
        study_form.back()
        for page, label, icon in (
            ("dialogues", "Dialogues", ":material/forum:"),
            ("compare", "Compare", ":material/bar_chart:"),
        ):
            key = study.id if page == "dialogues" else study.name
            st.page_link(frame.path(page), label=label, icon=icon, query_params={"study": key})


def _watch(study: Study) -> None:
    with errors.shown():
        store = wiring.store()
        progress = store.progress(study.id)
        if running.at_work(progress):
            study_launch.forget(study.name)
        pace = pace_of(progress, store.count_finished_since(study.id, now() - WINDOW))
        _progress(progress, pace)
        _facts(study, progress, pace)
        _notices(study, progress)
        study_controls.show(study, progress)


def _progress(progress: StudyProgress, pace: Pace) -> None:
    ended = progress.done + progress.failed
    told = [
        running.state_label(progress).capitalize(),
        f"{text.count(ended)} of {text.plural(progress.units, 'dialogue')}",
    ]
    if running.at_work(progress) and pace.seconds_left is not None and progress.owed:
        told.append(f"about {text.duration(pace.seconds_left)} left")
    share = ended / progress.units if progress.units else 0.0
    st.progress(share, text=text.escape_md(" · ".join(told), one_line=True))


def _facts(study: Study, progress: StudyProgress, pace: Pace) -> None:
    silent = silence(progress, now())
    beat = "none yet" if silent is None else f"{text.duration(round(silent))} ago"
    if not running.at_work(progress):
        beat = "–" if silent is None else f"{text.duration(round(silent))} ago"
    lately = text.number(pace.per_minute, 0 if pace.per_minute >= 10 else 1)
    judged = text.count(progress.judgements)
    pairs = [
        ("dialogues a minute", lately if running.at_work(progress) else "–"),
        ("spent", _spent(study, progress)),
        ("failed", text.count(progress.failed)),
        ("judgements", f"{judged}, {text.count(progress.unscored)} unscored"),
        ("last sign of life", beat),
        ("at work for", text.duration(progress.seconds)),
    ]
    tables.facts(pairs, columns=6)


def _spent(study: Study, progress: StudyProgress) -> str:
    """What was paid, against the budget. Unknown is said."""
    spent = running.spent_label(progress)
    budget = study.spec.limits.budget_usd if study.spec is not None else None
    return f"{spent} of {text.money(budget)}" if budget is not None else spent


def _notices(study: Study, progress: StudyProgress) -> None:
    if progress.stalled:
        silent = silence(progress, now())
        since = "" if silent is None else f" for {text.duration(round(silent))}"
        st.warning(
            f"No sign of life{since}: nobody works on this study any more. What is finished is "
            "kept; resume it.",
            icon=":material/heart_broken:",
        )
    if progress.possibly_paid:
        st.caption(text.escape_md(_possibly_paid(progress)))
    if progress.message and progress.state is not StudyState.RUNNING:
        st.warning(text.escape_md(progress.message), icon=":material/report:")
    if running.at_work(progress):
        return
    if study_launch.starting(study.name):
        st.info("A process is starting …", icon=":material/hourglass_top:")
    elif progress.owed and (said := study_launch.fault(study.name)):
        st.error(text.escape_md(f"The last start ended: {said}"), icon=":material/error:")


def _possibly_paid(progress: StudyProgress) -> str:
    calls = text.plural(progress.possibly_paid, "call was", "calls were")
    usd = progress.possibly_paid_usd
    most = f", {text.money(usd)} at most" if usd else ""
    return (
        f"{calls} out when a process died or was told to leave, and may have been paid for "
        f"beside what was spent{most}; the budget counts them."
    )


# --- saved, not started -----------------------------------------------------------------------


def _show_saved(name: str) -> None:
    """A study that the database does not know yet: starting, or waiting to be started."""
    st.title(text.escape_md(name, one_line=True), anchor=False)
    study_form.back()
    try:
        spec = load_study(study_path(name, wiring.settings()))
    except AppError:
        st.info("There is no study of this name.", icon=":material/search_off:")
        return
    st.fragment(_await, run_every=_EVERY)(name)
    study_launch.places()
    study_controls.show_file(spec)


def _await(name: str) -> None:
    if wiring.store().find_study(name) is not None:
        st.rerun(scope="app")
    starting = study_launch.starting(name)
    if starting:
        st.progress(0.0, text="Starting …")
    else:
        st.info("Saved, and not started yet.", icon=":material/description:")
        if said := study_launch.fault(name):
            st.error(text.escape_md(f"The study did not start: {said}"), icon=":material/error:")
    st.button(
        "Launch",
        key="studies.start",
        type="primary",
        icon=":material/play_arrow:",
        disabled=starting,
        on_click=study_launch.run,
        args=(name,),
    )
