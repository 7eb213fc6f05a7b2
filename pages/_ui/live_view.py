"""Watching a dialogue while it is made."""

from __future__ import annotations

import streamlit as st

from core.errors import NotFound
from core.live import LiveDialogue, LiveState, Snapshot
from core.types import Role
from pages._ui import ending, errors, frame, launch_form, state, text, transcript, wiring
from pages._ui.live_registry import registry

_EVERY = 0.3  # seconds between looks
_TALL = 470  # pixels of the transcript while it grows


def show(live_id: str) -> None:
    """Draw a live dialogue, or say what has become of it."""
    live = registry(wiring.settings()).find(live_id)
    if live is None:
        _gone(live_id)
        return
    _head(live)
    if live.snapshot().over:
        _look(live)
    else:
        st.fragment(_watch, run_every=_EVERY)(live)


def _gone(live_id: str) -> None:
    try:
        dialogue = wiring.store().get_dialogue(live_id)
    except NotFound:
        st.warning(
            "This dialogue is not being made any more, and was not finished before the app was "
            "started again. Launch it once more.",
            icon=":material/history_toggle_off:",
        )
    else:
        st.info(f"This dialogue is over. {ending.sentence(dialogue.stop_reason)}")
        _open(live_id)
    _again(None)


def _head(live: LiveDialogue) -> None:
    launch = live.launch
    scenario, arm = launch.scenario, launch.arm
    st.markdown(f"**{text.escape_md(scenario.task.intent, one_line=True)}**")
    parts = (
        f"User: {scenario.persona.id}, played by {launch.user_agent.model}",
        f"Assistant: {arm.assistant.model}",
        f"told: {text.context_label(arm.context).lower()}",
    )
    st.caption(text.escape_md(" · ".join(parts), one_line=True))


def _watch(live: LiveDialogue) -> None:
    with errors.shown():
        if _look(live).over:
            st.rerun(scope="app")  # the same once more, without looking again and again


def _look(live: LiveDialogue) -> Snapshot:
    seen = live.snapshot()
    left, right = st.columns([3, 2], gap="medium")
    with left, st.container(height=_TALL, border=True, autoscroll=not seen.over):
        transcript.show(seen.messages)
        if seen.speaking is not None and not seen.over:
            turn = sum(m.role is Role.USER for m in seen.messages)
            turn += seen.speaking is Role.USER
            transcript.show_coming(max(turn, 1), seen.speaking, seen.shown_piece)
        elif not seen.messages:
            st.caption("Nothing was said." if seen.over else "Starting …")
    with right:
        _status(live, seen)
        with st.container(horizontal=True, vertical_alignment="center"):
            _buttons(live, seen)
        if seen.dialogue_id is not None:
            _judgements(live, seen)
    return seen


def _status(live: LiveDialogue, seen: Snapshot) -> None:
    if seen.stop_reason is not None:
        icon = ":material/check_circle:" if seen.stop_reason.judged else ":material/warning:"
        box = st.success if seen.stop_reason.judged else st.warning
        box(ending.sentence(seen.stop_reason, seen.stop_detail), icon=icon)
    if seen.state is LiveState.FAILED:
        kept = "The dialogue is kept. " if seen.dialogue_id else ""
        st.error(f"{kept}{text.escape_md(seen.error)}", icon=":material/error:")
    elif seen.state is LiveState.JUDGING:
        st.caption(":material/hourglass_top: Judging …")
    elif seen.state is LiveState.TALKING:
        wish = "Stopping after this message …" if live.stopping else "The two are talking …"
        st.caption(f":material/graphic_eq: {wish}")


def _judgements(live: LiveDialogue, seen: Snapshot) -> None:
    asked = sum(len(entry.rubrics) for entry in live.launch.judging)
    if not asked or seen.stop_reason is None or not seen.stop_reason.judged:
        return
    found = wiring.store().list_judgements(live.id)
    st.markdown("**Judgements**")
    if found:
        rows = [
            f"| {text.escape_md(text.dimension_label(j.dimension))}"
            f"{f', turn {j.turn}' if j.turn else ''} "
            f"| {text.value_label(j.dimension, j.value)} |"
            for j in found
        ]
        st.markdown("\n".join(["| Dimension | Value |", "| :-- | --: |", *rows]))
    else:
        st.caption("None yet." if not seen.over else "None.")


def _buttons(live: LiveDialogue, seen: Snapshot) -> None:
    if not seen.over:
        st.button(
            "Stop",
            key="launch.stop",
            icon=":material/stop_circle:",
            on_click=live.stop,
            disabled=live.stopping,
            help="Ends after the message that is being said; what was said is kept",
        )
        return
    if seen.dialogue_id is not None:
        _open(seen.dialogue_id)
    _again(live)


def _open(dialogue_id: str) -> None:
    st.page_link(
        frame.path("dialogues"),
        label="Open dialogue",
        icon=":material/forum:",
        query_params={"dialogue": dialogue_id},
    )


def _again(live: LiveDialogue | None) -> None:
    label = "Launch another" if live is None else "Again with another arm"
    st.button(label, key="launch.again", icon=":material/replay:", on_click=_back, args=(live,))


def _back(live: LiveDialogue | None) -> None:
    if live is not None:
        launch_form.fill(live.launch)
    state.put(live=None)
