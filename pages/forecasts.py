"""Forecasts: how near models came to what members of a community did, beside simple rules."""

from __future__ import annotations

import streamlit as st

from core.personaconv.types import Task
from core.ports import Study
from pages._ui import conversation_query as query
from pages._ui import errors, forecast_parts, frame, state, text, wiring


def pick_study(studies: list[Study]) -> Study:
    names = [s.name for s in studies]
    chosen = state.choice("study", names, names[0]) or names[0]
    st.session_state["forecasts.study"] = chosen
    st.selectbox(
        "Study",
        names,
        key="forecasts.study",
        on_change=lambda: state.put(study=st.session_state["forecasts.study"]),
    )
    return studies[names.index(chosen)]


def show(study: Study) -> None:
    assert study.spec is not None
    assert study.spec.instances is not None
    found = query.findings(study)
    left, right = st.columns(2)
    tasks = list(study.spec.instances.tasks)
    with left:
        task = Task(
            st.segmented_control(
                "Task", tasks, default=tasks[0], key="forecasts.task", required=True
            )
            or tasks[0]
        )
    with right:
        metric = st.selectbox(
            "Metric", forecast_parts.metrics_of(found, task), key=f"forecasts.metric.{task}"
        )
    rows = forecast_parts.rows_of(found, task, metric or "")
    if not any(r.model for r in rows):
        st.info("No answer of this study is there yet.", icon=":material/hourglass_empty:")
    st.plotly_chart(forecast_parts.arms_chart(rows, metric or ""), key="forecasts.chart")
    arms, domains, differences, published = st.tabs(
        ["Arms and baselines", "By domain", "Differences", "Published figures"]
    )
    with arms:
        forecast_parts.show_table(found, task, metric or "")
    with domains:
        forecast_parts.show_domains(found, task, metric or "")
    with differences:
        forecast_parts.show_differences(found.differences, task, metric or "")
    with published:
        forecast_parts.show_published(task)


frame.enter()
st.title("Forecasts", anchor=False)
known = [s for s in wiring.store().list_studies() if s.spec is not None and s.spec.instances]
if known:
    with errors.shown():
        show(pick_study(known))
else:
    st.info("No study of conversations has been defined yet.", icon=":material/science:")
    st.text("python cli.py run assets/conversations/study.yaml")
    with st.expander("Published figures", expanded=True):
        for shown in Task:
            st.subheader(text.escape_md(shown.capitalize()), anchor=False)
            forecast_parts.show_published(shown)
