"""Launch: simulate one scenario with one arm, and watch it."""

from __future__ import annotations

import streamlit as st

from core.live import Launch, LiveDialogue
from core.personas import with_personas
from pages._ui import errors, frame, launch_form, live_view, state, text, told, wiring
from pages._ui.live_registry import registry


def start(launch: Launch) -> None:
    with errors.shown():
        words = wiring.lexicon(launch.scenario.dataset)
        live = LiveDialogue(launch, wiring.store(), wiring.model(), words)
        registry(wiring.settings()).add(live.start())
        state.put(live=live.id)


def show_form() -> None:
    store = wiring.store()
    if not with_personas(store.list_datasets()):
        st.info("There is no dataset yet.", icon=":material/database:")
        st.page_link(frame.path("data"), label="Import a dataset", icon=":material/upload:")
        return
    left, right = st.columns(2, gap="medium")
    with left, st.container(border=True):
        scenario = launch_form.pick_scenario(store)
    with right, st.container(border=True):
        arms = launch_form.pick_arms()
        if scenario is None:
            return
        ready = arms.launch(scenario, state.author())
        st.button(
            "Launch",
            key="launch.start",
            type="primary",
            icon=":material/play_circle:",
            disabled=ready is None,
            help=text.escape_md(arms.complaint) or None,
            on_click=start,
            args=(ready,),
            width="stretch",
        )
    st.markdown("**What each party will be told**")
    judge = arms.judge.spec
    told.show(scenario, arms.arm, arms.user_agent.spec, judge, arms.rubrics)


frame.enter()
st.title("Launch one dialogue", anchor=False)
live_id = state.get("live")
if live_id is None:
    show_form()
else:
    live_view.show(live_id)
