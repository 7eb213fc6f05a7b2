"""One dialogue: what was said, what the assistant knew, what judges and people make of it."""

from __future__ import annotations

import streamlit as st

from core.errors import NotFound
from core.overrides import Rated, RatedDimension, rated_dimensions
from core.personas import headline
from core.types import Dialogue, Scenario
from pages._ui import (
    calls_table,
    dialogue_query,
    ending,
    judge_again,
    judgement_card,
    judgement_table,
    knew,
    plain,
    replay,
    state,
    text,
    transcript,
    wiring,
)
from pages._ui.dialogue_query import PAGE, Query


def show(query: Query, dialogue_id: str) -> None:
    """Draw a dialogue, or say that there is none of that id."""
    _bar(query, dialogue_id)
    try:
        dialogue = wiring.store().get_dialogue(dialogue_id)
    except NotFound as error:
        st.warning(text.escape_md(str(error)), icon=":material/search_off:")
        return
    scenario = _scenario(dialogue)
    _head(dialogue, scenario)
    store = wiring.store()
    groups = rated_dimensions(store.list_judgements(dialogue.id), store.list_overrides(dialogue.id))
    chosen = judgement_table.pick(groups)
    left, right = st.columns([5, 4], gap="medium")
    with left:
        replay.show(dialogue, frozenset(chosen.judgement.evidence if chosen else ()))
        knew.show(dialogue.arm.context, scenario)
    with right:
        _right(dialogue, groups, chosen)


def _scenario(dialogue: Dialogue) -> Scenario | None:
    if dialogue.dataset is None:
        return None
    try:
        return wiring.store().get_scenario(dialogue.dataset, dialogue.persona_id, dialogue.task_id)
    except NotFound:
        return None


# --- the way through the list -------------------------------------------------------------------


def _bar(query: Query, dialogue_id: str) -> None:
    place = dialogue_query.neighbours(query, dialogue_id)
    back, where, before, after = st.columns([3, 5, 2, 2], vertical_alignment="center")
    back.button(
        "All dialogues",
        key="dialogues.back",
        type="tertiary",
        icon=":material/arrow_back:",
        on_click=lambda: state.put(dialogue=None, judgement=None),
    )
    if place is not None:
        found = text.count(dialogue_query.count(query))
        where.caption(f"{text.count(place.position)} of {found}", text_alignment="right")
    at = place.position if place else 1
    _go(before, "Previous", "Left", place.before if place else None, at - 1)
    _go(after, "Next", "Right", place.after if place else None, at + 1)


def _go(
    column: st.delta_generator.DeltaGenerator,
    label: str,
    key: str,
    dialogue_id: str | None,
    position: int,
) -> None:
    column.button(
        label,
        key=f"dialogues.{label.lower()}",
        shortcut=key,
        disabled=dialogue_id is None,
        on_click=_open,
        args=(dialogue_id, position),
        width="stretch",
    )


def _open(dialogue_id: str | None, position: int) -> None:
    page = (max(position, 1) - 1) // PAGE + 1
    state.put(dialogue=dialogue_id, judgement=None, page=str(page) if page > 1 else None)


# --- head ---------------------------------------------------------------------------------------


def _head(dialogue: Dialogue, scenario: Scenario | None) -> None:
    with st.container(border=True, gap="xsmall"):
        st.markdown(f"**{text.escape_md(dialogue.intent, one_line=True)}**")
        st.caption(text.escape_md(_line(dialogue, scenario), one_line=True))
    if not dialogue.stop_reason.judged:
        words = ending.sentence(dialogue.stop_reason, dialogue.stop_detail)
        st.warning(words, icon=":material/warning:")


def _line(dialogue: Dialogue, scenario: Scenario | None) -> str:
    parts = (
        headline(scenario.persona) if scenario else dialogue.persona_id,
        dialogue.arm.name,
        f"{dialogue.arm.assistant.model} told {text.context_label(dialogue.arm.context).lower()}",
        f"{text.stop_reason_label(dialogue.stop_reason)}, {text.plural(dialogue.turns, 'turn')}",
        text.when(dialogue.created_at, transcript.local_zone()),
    )
    return " · ".join(parts)


# --- right --------------------------------------------------------------------------------------


def _right(dialogue: Dialogue, groups: list[RatedDimension], chosen: Rated | None) -> None:
    calls = calls_table.find(dialogue)
    names = ["Judgements", f"Model calls ({len(calls)})", "About"]
    rated, called, about = st.tabs(names, key="dialogues.tab")
    with rated:
        _judgements(dialogue, groups, chosen)
    with called:
        calls_table.show(calls)
    with about:
        _about(dialogue)


def _judgements(dialogue: Dialogue, groups: list[RatedDimension], chosen: Rated | None) -> None:
    if chosen is None:
        st.caption("Nobody has judged this dialogue yet.")
    else:
        judgement_table.show(groups, chosen)
        judgement_card.show(next(g for g in groups if chosen in g.rated), chosen)
    judge_again.show(dialogue)


def _about(dialogue: Dialogue) -> None:
    st.caption("Link to this dialogue")
    st.code(f"{_base()}/dialogues?dialogue={dialogue.id}", language=None, wrap_lines=True)
    rows = (
        ("Dialogue", dialogue.id),
        ("Task", dialogue.task_id),
        ("Dataset", dialogue.dataset or "none"),
        ("Study", dialogue.study_id),
        ("User agent", dialogue.user_agent.model),
        ("Seed, repetition", f"{dialogue.seed}, {dialogue.repetition}"),
        ("Time", text.duration(dialogue.seconds)),
        ("Started by", dialogue.author or "nobody named"),
        *((f"Prompt of the {party}", prompt) for party, prompt in dialogue.prompts.items()),
    )
    plain.show("\n".join(f"{name}: {value}" for name, value in rows))


def _base() -> str:
    """The app's own address, without page and parameters."""
    address = str(st.context.url or "").partition("?")[0].rstrip("/")
    return address.removesuffix("/dialogues")
