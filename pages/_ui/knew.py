"""What the assistant of a dialogue knew of the person and the moment, and what it did not."""

from __future__ import annotations

import streamlit as st

from core.context import Section, assistant_briefing
from core.types import ContextSetting, Dialogue, Part, Scenario
from pages._ui import plain, text

_SECTIONS = {
    Part.DEMOGRAPHICS: Section.DEMOGRAPHICS,
    Part.INTERACTIONS: Section.INTERACTIONS,
    Part.SITUATION: Section.SITUATION,
}


def show(dialogue: Dialogue, scenario: Scenario | None) -> None:
    """Draw each part with a tick or a dash; open, with its words."""
    setting = dialogue.arm.context
    marks = " · ".join(f"{text.PARTS[p]} {'✓' if p in setting else '–'}" for p in Part)
    with st.expander(f"The assistant knew: {marks}", key="dialogues.knew"):
        if scenario is None:
            st.caption("The dataset of this dialogue is not here, so the words are not known.")
            return
        words = dict(assistant_briefing(scenario, ContextSetting.of(*Part)).sections())
        for part in sorted(Part, key=lambda p: p not in setting):
            told = "told" if part in setting else "not told"
            name = text.PARTS[part]
            st.markdown(f"**{name[:1].upper()}{name[1:]}**: {told}")
            plain.show(words.get(_SECTIONS[part]) or "There is nothing in this part.")
        _never(dialogue, scenario)


def _never(dialogue: Dialogue, scenario: Scenario) -> None:
    st.markdown("**What the person likes and wants**: never told, only said in conversation")
    persona = scenario.persona
    for affinity in persona.in_domains(dialogue.domains):
        relevant = affinity.ref in scenario.task.relevant
        mark = ", matters for this task" if relevant else ""
        values = ", ".join(affinity.values)
        plain.show(f"{affinity.domain}, {affinity.name}: {values}{mark}")
    plain.show(f"Goal: {scenario.task.goal}")
