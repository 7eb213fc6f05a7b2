"""The latest findings and dialogues, a line each."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.findings import compare_study
from core.ports import DialogueFilter
from core.settings import Settings
from core.types import DialogueSummary, StudyProgress, StudyState
from pages._ui import frame, text, wiring

_FINDINGS, _DIALOGUES, _INTENT = 2, 5, 90


def show_findings(progress: Sequence[StudyProgress]) -> None:
    """Draw what the newest finished studies found on their primary dimension."""
    done = [p for p in progress if p.state is StudyState.DONE and p.judgements]
    for one in done[:_FINDINGS]:
        told = _finding(wiring.settings(), one.study_id, one.judgements)
        left, right = st.columns([6, 1], vertical_alignment="center")
        shown = text.escape_md(told or "Judged, but there is nothing to compare.", one_line=True)
        left.markdown(f"**{text.escape_md(one.study, one_line=True)}**  \n{shown}")
        with right:
            st.page_link(
                frame.path("compare"),
                label="Compare",
                icon=":material/bar_chart:",
                query_params={"study": one.study},
            )
    if not done:
        st.caption("No study has been judged to its end yet.")


@st.cache_data(show_spinner=False, max_entries=16)
def _finding(settings: Settings, study_id: str, judgements: int) -> str:
    """One sentence on the primary dimension; a further judgement makes it be found again."""
    del settings, judgements
    study = wiring.store().get_study(study_id)
    primary = study.spec.primary if study.spec is not None else "personalization"
    found = compare_study(study, wiring.store())
    instrument = next(iter(found.instruments(primary)), None)
    return text.what_is_estimated(found.select(primary, instrument)) if instrument else ""


def show_dialogues() -> None:
    """Draw a link to each of the newest dialogues."""
    newest = wiring.store().list_dialogues(DialogueFilter(), limit=_DIALOGUES)
    for one in newest:
        st.page_link(
            frame.path("dialogues"),
            label=text.escape_md(_line(one), one_line=True),
            icon=":material/forum:",
            query_params={"dialogue": one.id},
        )
    if not newest:
        st.caption("No dialogue yet.")


def _line(one: DialogueSummary) -> str:
    intent = one.intent if len(one.intent) <= _INTENT else f"{one.intent[:_INTENT].rstrip()} …"
    turns = text.plural(one.turns, "turn")
    return " · ".join([one.persona_id, intent, one.arm, turns])
