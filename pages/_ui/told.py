"""What each party is told before a dialogue, word for word."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.assets import Rubric, load_prompt, sections_text
from core.calls import NoCalls
from core.context import Briefing, assistant_briefing, judge_briefing, user_briefing
from core.judge import prompt_for
from core.parties.make import USER_PROMPT
from core.parties.model_party import ModelAssistant, ModelUser
from core.ports import ChatMessage
from core.types import Arm, ContextSetting, Message, ModelSpec, Role, Scenario
from pages._ui import plain, text

_LATER = (Message(Role.USER, "(here stands the conversation so far)"),)
_SYSTEM = {"system": "System text", "user": "User message"}


def show(
    scenario: Scenario,
    arm: Arm | None,
    user_agent: ModelSpec | None,
    judge: ModelSpec | None,
    rubrics: Sequence[Rubric],
) -> None:
    """Draw one tab for each party; a party that is not chosen yet says so."""
    tabs = st.tabs(["User agent", "Assistant", "Judge"], key="launch.told", on_change="rerun")
    if tabs[0].open:
        with tabs[0]:
            _user(scenario, user_agent)
    if tabs[1].open:
        with tabs[1]:
            _assistant(scenario, arm)
    if tabs[2].open:
        with tabs[2]:
            _judge(scenario, arm, judge, rubrics)


def _user(scenario: Scenario, spec: ModelSpec | None) -> None:
    briefing = user_briefing(scenario)
    if spec is None:
        st.caption("Choose a user agent first.")
        return
    if spec.scripted:
        _scripted(briefing)
        named = ", ".join(f"{r.domain}: {r.name}" for r in scenario.task.relevant)
        st.caption("It also knows which likings matter for this task:")
        plain.show(named or "none")
        return
    party = ModelUser(spec, briefing, load_prompt(USER_PROMPT), NoCalls())
    st.markdown("**Before its first message**")
    _messages(party.messages(()))
    with st.expander("Before each later message"):
        _messages(party.messages(_LATER))


def _assistant(scenario: Scenario, arm: Arm | None) -> None:
    if arm is None:
        st.caption("Choose an assistant first.")
        return
    briefing = assistant_briefing(scenario, arm.context)
    if arm.assistant.scripted:
        _scripted(briefing)
        return
    party = ModelAssistant(arm.assistant, briefing, load_prompt(arm.prompt), NoCalls())
    st.markdown("**Before each message**")
    _messages(party.messages(_LATER))


def _judge(
    scenario: Scenario, arm: Arm | None, spec: ModelSpec | None, rubrics: Sequence[Rubric]
) -> None:
    if spec is None or not rubrics:
        st.caption("Nobody judges this dialogue.")
        return
    chosen = st.selectbox(
        "Rubric", rubrics, key="launch.told.rubric", format_func=lambda r: r.title, width=420
    )
    if chosen is None:
        return
    if spec.scripted:
        st.caption("The scripted judge rates by rule; it reads the conversation and these facts.")
        plain.block(sections_text(judge_briefing(scenario, chosen.inputs).sections()))
        return
    context = ContextSetting() if arm is None else arm.context
    _messages(prompt_for((), scenario, chosen, context=context))


def _scripted(briefing: Briefing) -> None:
    st.caption("A scripted party gets no prompt; it follows rules and reads these facts alone.")
    plain.block(sections_text(briefing.sections()))


def _messages(messages: Sequence[ChatMessage]) -> None:
    for message in messages:
        st.caption(text.escape_md(_SYSTEM.get(message.role, message.role)))
        plain.block(message.content)
