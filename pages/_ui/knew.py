"""What the assistant of a dialogue knew of the person and the moment, and what it did not."""

from __future__ import annotations

import streamlit as st

from core.context import Section, assistant_briefing
from core.types import ContextSetting, Part, Scenario
from pages._ui import plain, text

_SECTIONS = {
    Part.DEMOGRAPHICS: Section.DEMOGRAPHICS,
    Part.INTERACTIONS: Section.INTERACTIONS,
    Part.SITUATION: Section.SITUATION,
}


def show(setting: ContextSetting, scenario: Scenario | None, key: str = "dialogues.knew") -> None:
    """Draw each part with a tick or a dash; open, with its words."""
    with st.expander(f"The assistant knew: {marks(setting)}", key=key):
        inside(setting, scenario)


def marks(setting: ContextSetting) -> str:
    """Each part with a tick where the assistant was told it."""
    return " · ".join(f"{text.PARTS[p]} {'✓' if p in setting else '–'}" for p in Part)


def inside(setting: ContextSetting, scenario: Scenario | None) -> None:
    """Draw the words of each part, what was told first, and what never is."""
    if scenario is None:
        st.caption("The dataset of this dialogue is not here, so the words are not known.")
        return
    words = dict(assistant_briefing(scenario, ContextSetting.of(*Part)).sections())
    for part in sorted(Part, key=lambda p: p not in setting):
        told = "told" if part in setting else "not told"
        name = text.PARTS[part]
        st.markdown(f"**{name[:1].upper()}{name[1:]}**: {told}")
        plain.show(words.get(_SECTIONS[part]) or "There is nothing in this part.")
    _never(scenario)


def _never(scenario: Scenario) -> None:
    st.markdown("**What the person likes and wants**: never told, only said in conversation")
    persona = scenario.persona
    for affinity in persona.in_domains(scenario.task.domains):
        relevant = affinity.ref in scenario.task.relevant
        mark = ", matters for this task" if relevant else ""
        values = ", ".join(affinity.values)
        plain.show(f"{affinity.domain}, {affinity.name}: {values}{mark}")
    plain.show(f"Goal: {scenario.task.goal}")
