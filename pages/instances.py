"""Instances: one reply to predict; its conversation, the answers to it, and every prompt."""

from __future__ import annotations

import streamlit as st

from core.personaconv.types import Setting, Task, task_id_of
from core.study_file import InstanceSelection
from pages._ui import conversation_query as query
from pages._ui import errors, filters, frame, instance_view, text, thread_view


def show(dataset: str, thread_id: str, number: int) -> None:
    where = query.at(dataset)
    left, right = st.columns(2)
    with left:
        task = st.segmented_control(
            "Task", list(Task), default=Task.SENTIMENT, key="instances.task", required=True
        )
    with right:
        mode = st.segmented_control(
            "Prompts", ["strict", "reference"], default="strict", key="instances.mode"
        )
    chosen = Task(task or Task.SENTIMENT)
    bench = query.bench(where, InstanceSelection.model_validate({"mode": mode or "strict"}))
    thread = query.thread(where, thread_id)
    task_id = task_id_of(chosen, thread.comment_id(number))
    case = bench.cases([task_id])[task_id]
    st.subheader(instance_view.TASKS[chosen], anchor=False)
    tree, ask, told = st.columns([5, 4, 5], gap="medium")
    with tree:
        thread_view.show(thread, dataset, number, key="instances.tree")
    with ask:
        instance_view.show_task(case, dataset)
    with told, errors.shown():
        known = instance_view.settings_of(bench.selection.mode)
        picked = st.multiselect("Settings", known, [Setting.P_CONV], key="instances.settings")
        prompts, past = st.tabs(["Prompt", "Earlier replies"])
        with prompts:
            if picked:
                instance_view.show_settings(bench, case, picked)
        with past:
            instance_view.show_history(case)


frame.enter()
st.title("Instances", anchor=False)
datasets = query.datasets()
if not datasets:
    st.info("There are no conversations yet.", icon=":material/forum:")
    st.page_link(frame.path("data"), label="Import conversations", icon=":material/upload:")
    st.stop()
name = filters.pick_dataset(datasets, key="instances.dataset").name
with errors.shown():
    target = instance_view.pick_target(name)
    if target is None:
        st.info(f"No reply of {text.escape_md(name, one_line=True)} may be asked about.")
    else:
        show(name, *target)
