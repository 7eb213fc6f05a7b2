"""What happens in a study: arms, stop reasons, failures, who is at work, newest dialogues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from core.clock import now
from core.monitor import ArmProgress
from core.ports import DialogueFilter, Study
from core.settings import Settings
from core.types import DialogueSummary, FailureKind, StopReason
from pages._ui import errors, frame, study_charts, text, wiring

_NEWEST = 12
_INTENT = 70
_EXAMPLES = 3
_STEPS = 200  # below so many dialogues the arms are counted after each one
_KINDS = {
    "unavailable": "The model could not be reached",
    "empty_reply": "The model answered with nothing",
    "judge_unavailable": "The judge could not be reached",
    "retried": "Answered only after another attempt",
}
_ANY = "all arms"


@dataclass(frozen=True, slots=True)
class News:
    """Which of the newest dialogues a person wants to see."""

    arm: str | None
    persona: str

    def filter(self, study_id: str) -> DialogueFilter:
        return DialogueFilter(
            study_id=study_id,
            arms=frozenset([self.arm] if self.arm else []),
            personas=frozenset([self.persona] if self.persona else []),
        )


def pick(study: Study) -> News:
    """Draw the filter of the newest dialogues."""
    arms = [arm.name for arm in study.spec.arms] if study.spec is not None else []
    left, right = st.columns(2, gap="small")
    arm = left.selectbox("Newest dialogues of", [_ANY, *arms], key="studies.news.arm")
    persona = right.text_input(
        "Persona", key="studies.news.persona", placeholder="anybody; or user7", max_chars=80
    )
    return News(None if arm == _ANY else arm, (persona or "").strip())


# --- counts -----------------------------------------------------------------------------------


def show_counts(study: Study) -> None:
    """Draw how far each arm is, why dialogues ended, what failed, and who is at work."""
    with errors.shown():
        store = wiring.store()
        st.markdown("**Arms**")
        progress = store.progress(study.id)
        parts = max(1, progress.units // _STEPS)
        steps = (progress.done // parts, progress.failed // parts, progress.units)
        arms = _arms(wiring.settings(), study.id, steps)
        for one in arms:
            ended = one.done + one.failed
            failed = f", {text.count(one.failed)} failed" if one.failed else ""
            told = f"{one.arm}: {text.count(ended)} of {text.count(one.units)}{failed}"
            share = ended / one.units if one.units else 0.0
            st.progress(share, text=text.escape_md(told, one_line=True))
        if not arms:
            st.caption("No dialogue is planned.")
        _reasons(study, progress.stop_reasons)
        _failures(store.failure_kinds(study.id))
        _statuses(store.judgement_statuses(study.id))
        _holders(study)


@st.cache_data(show_spinner=False, max_entries=32)
def _arms(settings: Settings, study_id: str, steps: tuple[int, int, int]) -> list[ArmProgress]:
    """The arms as they stood when the study was last a two-hundredth further.

    They are counted from the units, of which there may be a hundred thousand.
    """
    del settings, steps
    return wiring.store().arm_progress(study_id)


def _reasons(study: Study, reasons: Mapping[str, int]) -> None:
    if not reasons:
        return
    dark = st.context.theme.type == "dark"
    st.plotly_chart(
        study_charts.reasons_chart(reasons, dark=dark),
        key="studies.reasons",
        config={"displayModeBar": False},
    )
    with st.container(horizontal=True, gap="small"):
        for reason, n in reasons.items():
            st.page_link(
                frame.path("dialogues"),
                label=f"{text.stop_reason_label(reason)} ({text.count(n)})",
                query_params={"study": study.id, "stop": reason},
            )


def kind_label(kind: str) -> str:
    """A kind of failure in words."""
    if kind in list(StopReason):
        return text.stop_reason_label(kind)
    return _KINDS.get(kind, kind.replace("_", " ").capitalize())


def _failures(kinds: list[FailureKind]) -> None:
    if not kinds:
        return
    st.markdown("**What went wrong**")
    for kind in kinds:
        st.markdown(f"{text.escape_md(kind_label(kind.kind))}: {text.count(kind.count)}")
        for example in kind.examples[:_EXAMPLES]:
            said = text.escape_md(example.message[:200] or "no message", one_line=True)
            if not example.dialogue_id:
                st.caption(said)
                continue
            st.page_link(
                frame.path("dialogues"),
                label=said,
                icon=":material/error_outline:",
                query_params={"dialogue": example.dialogue_id},
            )


def _statuses(statuses: dict[str, int]) -> None:
    if statuses:
        st.markdown("**Judgements**")
        parts = (f"{text.status_label(name)}: {text.count(n)}" for name, n in statuses.items())
        st.caption(text.escape_md(" · ".join(sorted(parts, reverse=True))))


def _holders(study: Study) -> None:
    holders = wiring.store().lease_holders(study.id)
    st.markdown("**At work**")
    if not holders:
        st.caption("Nobody holds a dialogue of this study at the moment.")
    for one in holders:
        left = (one.until - now()).total_seconds()
        until = f"for {text.duration(left)} more" if left > 0 else "though its claim has run out"
        machine, _, process = one.owner.rpartition(":")[0].rpartition(":")
        who = f"{machine.partition('/')[0]}, process {process}"
        held = f"{who}: holds {text.plural(one.units, 'dialogue')} {until}"
        st.caption(text.escape_md(held, one_line=True))


# --- newest dialogues -------------------------------------------------------------------------


def show_newest(study: Study, news: News) -> None:
    """Draw a link to each of the newest dialogues that fit."""
    with errors.shown():
        found = wiring.store().list_dialogues(news.filter(study.id), limit=_NEWEST)
        for one in found:
            st.page_link(
                frame.path("dialogues"),
                label=text.escape_md(_line(one), one_line=True),
                icon=_icon(one),
                query_params={"dialogue": one.id},
            )
        if not found:
            st.caption("No dialogue yet." if news == News(None, "") else "No dialogue fits.")


def _icon(one: DialogueSummary) -> str:
    return ":material/check:" if one.stop_reason.judged else ":material/error_outline:"


def _line(one: DialogueSummary) -> str:
    intent = one.intent if len(one.intent) <= _INTENT else f"{one.intent[:_INTENT].rstrip()} …"
    ended = [text.stop_reason_label(one.stop_reason)] if not one.stop_reason.judged else []
    return " · ".join([one.persona_id, one.arm, *ended, text.plural(one.turns, "turn"), intent])
