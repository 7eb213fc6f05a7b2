"""One persona: who it is, what it likes, what its summaries say, what it wants done."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.errors import NotFound
from core.personas import (
    MarkedAffinity,
    count_marked,
    domains_of,
    facts,
    headline,
    marked_affinities,
    relevant_affinities,
    says,
)
from core.types import Persona, ScenarioRef, Task, TaskKind
from pages._ui import frame, people, state, tables, text, wiring

IN_SUMMARY = ":gray-badge[:material/check: in summary]"
_KINDS = {TaskKind.SINGLE: "one domain", TaskKind.MULTI: "several domains"}


def show(at: people.At, persona_id: str) -> None:
    """Draw the card of a persona, or say that there is none of that id."""
    try:
        persona = wiring.store().get_persona(at.dataset, persona_id)
    except NotFound as error:
        st.warning(text.escape_md(str(error)), icon=":material/person_off:")
        return
    with st.container(border=True, key="personas.card"):
        _head(persona)
        _tabs(at, persona)


def _head(persona: Persona) -> None:
    name, close = st.columns([9, 1], vertical_alignment="center")
    name.subheader(text.escape_md(headline(persona), one_line=True), anchor=False)
    close.button(
        "Close",
        key="personas.close",
        type="tertiary",
        icon=":material/close:",
        on_click=lambda: state.put(persona=None, task=None),
    )
    tables.facts(facts(persona.demographics), columns=5)
    st.markdown(_interests(persona))


def _interests(persona: Persona) -> str:
    cared_for = sorted(persona.interests)
    if not cared_for:
        return "Cares for no domain in particular."
    badges = " ".join(f":gray-badge[{text.escape_md(d, one_line=True)}]" for d in cared_for)
    return f":small[Cares for]  \n{badges}"


def _tabs(at: people.At, persona: Persona) -> None:
    scenarios = people.scenarios_of(at, persona.id)
    names = ["Likings and summaries", f"Tasks ({len(scenarios)})"]
    asked = names[1] if state.get("task") else names[0]
    likings, tasks = st.tabs(names, default=asked, key="personas.tab", on_change="rerun")
    if likings.open:
        with likings:
            _likings(persona)
    if tasks.open:
        with tasks:
            _tasks(at.dataset, persona, scenarios)


# --- likings ----------------------------------------------------------------------------------


def _likings(persona: Persona) -> None:
    domain = _pick_domain(persona)
    if domain is None:
        st.info("Nothing is known of this person's likings.", icon=":material/info:")
        return
    affinities = marked_affinities(persona, domain)
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown(f"**Affinities in {text.escape_md(domain, one_line=True)}**")
        _affinities(affinities)
    with right:
        st.markdown("**Interaction summary**")
        summary = persona.interactions.get(domain, "")
        st.text(summary or "There is no summary for this domain.")


def _pick_domain(persona: Persona) -> str | None:
    domains = domains_of(persona)
    if not domains:
        return None
    first = next((d for d in domains if d in persona.interests), domains[0])
    if st.session_state.get("personas.domain") not in domains:
        st.session_state["personas.domain"] = first
    chosen = st.pills(
        "Domain; a heart marks those this person cares for",
        domains,
        format_func=lambda d: _pill(d, d in persona.interests),
        key="personas.domain",
        required=True,
        persist_state="page",
    )
    return chosen or first


def _pill(domain: str, cared_for: bool) -> str:
    return (":material/favorite: " if cared_for else "") + text.escape_md(domain, one_line=True)


def _affinities(affinities: Sequence[MarkedAffinity]) -> None:
    if not affinities:
        st.caption("No affinities in this domain.")
        return
    said, n = count_marked(affinities)
    st.caption(
        f"Said word for word in the summary: {said} of {text.plural(n, 'value')}; an assistant "
        "that is given the summary is given these."
    )
    tables.show_marked(
        [{"Affinity": text.escape_md(a.name), "Values": _values(a)} for a in affinities]
    )


def _values(affinity: MarkedAffinity) -> str:
    shown = (
        text.escape_md(v.text, one_line=True) + (f" {IN_SUMMARY}" if v.in_summary else "")
        for v in affinity.values
    )
    return "  \n".join(shown) or "no value"


# --- tasks ------------------------------------------------------------------------------------


def _tasks(dataset: str, persona: Persona, scenarios: Sequence[tuple[ScenarioRef, Task]]) -> None:
    if not scenarios:
        st.info("This person has no tasks.", icon=":material/info:")
        return
    rows = [
        {
            "Task": task.id,
            "Intent": task.intent,
            "Domains": ", ".join(task.domains),
            "Kind": _KINDS[task.kind],
        }
        for _, task in scenarios
    ]
    ids = [task.id for _, task in scenarios]
    height = tables.height_of(len(rows), most=5)
    tables.pick_row(rows, ids, key="personas.tasks", param="task", height=height)
    chosen = state.choice("task", ids)
    if chosen is None:
        st.caption("Choose a task to read its intent, goal and what it makes relevant.")
        return
    _task(dataset, persona, next(task for _, task in scenarios if task.id == chosen))


def _task(dataset: str, persona: Persona, task: Task) -> None:
    title, launch = st.columns([4, 1], vertical_alignment="center")
    title.markdown(f"**{text.escape_md(task.description, one_line=True)}**")
    with launch:
        st.page_link(
            frame.path("launch"),
            label="Launch",
            icon=":material/play_circle:",
            help="Simulate this scenario and read the dialogue",
            query_params={"dataset": dataset, "persona": persona.id, "task": task.id},
        )
    left, right = st.columns(2, gap="medium")
    with left:
        _words("Intent, told to the simulated user", task.intent)
        _words("Goal, seen by the judge alone", task.goal)
    with right:
        st.markdown("**What it makes relevant**")
        _relevant(persona, task)
    scenario = wiring.store().get_scenario(dataset, persona.id, task.id)
    st.markdown("**Situation**")
    tables.facts(list(scenario.situation.fields.items()), columns=5)


def _words(title: str, body: str) -> None:
    st.markdown(f"**{title}**")
    st.text(body or "–")


def _relevant(persona: Persona, task: Task) -> None:
    found = relevant_affinities(persona, task)
    if not found:
        st.caption("The task names no affinities.")
        return
    tables.show_marked(
        [
            {
                "Affinity": text.escape_md(f"{r.ref.domain}: {r.ref.name}", one_line=True),
                f"Value of {text.escape_md(persona.id)}": _held(persona, r.ref.domain, r.values),
            }
            for r in found
        ]
    )


def _held(persona: Persona, domain: str, values: tuple[str, ...] | None) -> str:
    if values is None:
        return "holds no such affinity"
    summary = persona.interactions.get(domain, "").casefold()
    shown = (
        text.escape_md(v, one_line=True) + (f" {IN_SUMMARY}" if says(summary, v) else "")
        for v in values
    )
    return "  \n".join(shown) or "no value"
