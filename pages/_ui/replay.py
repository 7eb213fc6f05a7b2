"""The transcript of a stored dialogue: as a whole, or replayed message by message."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

import streamlit as st

from core.types import Dialogue
from pages._ui import transcript

_SPEEDS: Mapping[str, float] = {"slow": 3.0, "normal": 1.5, "fast": 0.6}
_SPEED = "normal"
_TALL, _MANY = 560, 7  # pixels of a transcript that scrolls by itself; messages that need it
_EARLY = 0.8  # a look that comes a little before its time counts


@dataclass
class Replay:
    """How far a replay has come: messages shown, and since when it plays by itself."""

    dialogue_id: str
    step: int = 1
    since: float | None = None

    @property
    def playing(self) -> bool:
        return self.since is not None

    def go(self, step: int, last: int) -> None:
        """Show so many messages, and play no further."""
        self.step, self.since = min(max(step, 1), last), None

    def toggle(self, last: int, now: float) -> None:
        """Play or pause; at the end, play from the beginning."""
        if not self.playing and self.step >= last:
            self.step = 1
        self.since = None if self.playing else now

    def advance(self, last: int, seconds: float, now: float) -> None:
        """Show one more message when its time has come; stop at the end."""
        if self.since is None or now - self.since < _EARLY * seconds:
            return
        self.step, self.since = self.step + 1, now
        if self.step >= last:
            self.step, self.since = last, None


def show(dialogue: Dialogue, cited: Collection[int]) -> None:
    """Draw the transcript with its switches; a replay redraws nothing else of the page."""
    replay = _replay(dialogue)
    every = _seconds() if _on() and replay.playing else None
    st.fragment(_panel, run_every=every)(dialogue, cited)


def _on() -> bool:
    return bool(st.session_state.get("dialogues.replay"))


def _seconds() -> float:
    return _SPEEDS[st.session_state.get("dialogues.speed") or _SPEED]


def _replay(dialogue: Dialogue) -> Replay:
    kept = st.session_state.get("dialogues.replayed")
    if not isinstance(kept, Replay) or kept.dialogue_id != dialogue.id:
        kept = st.session_state["dialogues.replayed"] = Replay(dialogue.id)
    return kept


def _panel(dialogue: Dialogue, cited: Collection[int]) -> None:
    replay, last = _replay(dialogue), len(dialogue.messages)
    with st.container(horizontal=True, gap="medium"):
        st.toggle("Replay", key="dialogues.replay", help="Message by message", on_change=_stop)
        rendered = st.toggle(
            "Rendered",
            key="dialogues.rendered",
            help="Draws markdown as a chat window would; images are never loaded",
        )
        was = replay.playing
        if _on():
            replay.advance(last, _seconds(), time.monotonic())
            st.caption(f"message {replay.step} of {last}", width="content")
    if _on():
        _controls(replay, last)
        if was != replay.playing:
            st.rerun(scope="app")  # how often to look is decided outside of the fragment
    shown = dialogue.messages[: replay.step] if _on() else dialogue.messages
    height: int | Literal["content"] = _TALL if last > _MANY else "content"
    with st.container(height=height, border=last > _MANY, autoscroll=_on()):
        transcript.show(shown, cited=cited, rendered=rendered)


def _stop() -> None:
    kept = st.session_state.get("dialogues.replayed")
    if isinstance(kept, Replay):
        kept.since = None


def _controls(replay: Replay, last: int) -> None:
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        _step("first", "skip_previous", "To the first message", replay, 1, last)
        _step("back", "chevron_left", "One message back", replay, replay.step - 1, last)
        if st.button(
            "Pause" if replay.playing else "Play",
            key="dialogues.play",
            icon=":material/pause:" if replay.playing else ":material/play_arrow:",
        ):
            replay.toggle(last, time.monotonic())
            st.rerun(scope="app")
        _step("next", "chevron_right", "One message on", replay, replay.step + 1, last)
        _step("last", "skip_next", "To the last message", replay, last, last)
        st.segmented_control(
            "Speed",
            list(_SPEEDS),
            default=_SPEED,
            key="dialogues.speed",
            label_visibility="collapsed",
            required=True,
        )


def _step(name: str, icon: str, hint: str, replay: Replay, step: int, last: int) -> None:
    st.button(
        "",
        key=f"dialogues.step.{name}",
        icon=f":material/{icon}:",
        help=hint,
        on_click=replay.go,
        args=(step, last),
    )
