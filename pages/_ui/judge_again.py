"""Asking another judge, or by another rubric, about one stored dialogue."""

from __future__ import annotations

import streamlit as st

from core.bench import Judging
from core.parties.make import SCRIPTED_JUDGE
from core.rejudge import judge_again
from core.types import Dialogue
from pages._ui import frame, text, wiring
from pages._ui.model_picker import Picker
from pages._ui.rubric_picker import pick_rubrics


def show(dialogue: Dialogue) -> None:
    """Draw the choice of judge and rubrics; what comes of it is added to what is there."""
    if not dialogue.stop_reason.judged:
        st.caption("A dialogue that was broken off is not judged.")
        return
    if dialogue.dataset is None:
        st.caption("This dialogue names no dataset, so a judge cannot be told what was wanted.")
        return
    with st.expander("Judge again", icon=":material/gavel:", key="dialogues.again"):
        default = wiring.settings().judge_model
        choice = Picker("dialogues.judge", "Judge", (SCRIPTED_JUDGE,), default).choose()
        rubrics = pick_rubrics("dialogues.rubrics", ())
        ready = choice.spec is not None and not choice.complaint and bool(rubrics)
        pressed = st.button(
            "Judge",
            key="dialogues.judge_again",
            icon=":material/gavel:",
            disabled=not ready,
            help=None if ready else "Choose a judge and at least one rubric",
        )
        if pressed and choice.spec is not None:
            _judge(dialogue, Judging(choice.spec, rubrics))


def _judge(dialogue: Dialogue, judging: Judging) -> None:
    with frame.busy(f"{text.escape_md(judging.spec.model)} is reading …"):
        words = wiring.lexicon(dialogue.dataset or "")
        judge_again(dialogue, judging, wiring.store(), wiring.model(), words)
        st.rerun()
