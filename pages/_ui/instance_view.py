"""One instance: what is asked, what models answered, and word for word what they were told."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.errors import NotFound
from core.personaconv.answers import read_answer
from core.personaconv.bench import InstanceBench, answer_of
from core.personaconv.history import history
from core.personaconv.leaks import Section
from core.personaconv.metrics import figures
from core.personaconv.prompting import Case, Prompt, about_tokens
from core.personaconv.reference import SETTINGS
from core.personaconv.results import scored_of
from core.personaconv.selection import can_ask, label_of, parent_text, targets_of
from core.personaconv.types import Mode, Setting, Task, task_id_of
from core.ports import DialogueFilter
from core.types import Dialogue
from pages._ui import conversation_query as query
from pages._ui import state, tables, text, wiring

TASKS = {
    Task.SENTIMENT: "How was it received?",
    Task.IMPACT: "Which score did it get?",
    Task.REPLY: "What was answered?",
}
COLOURS = {
    "instructions": "gray",
    "post": "orange",
    "history": "violet",
    "conversation": "blue",
    "reply": "green",
}
_MOST = 50


def pick_target(dataset: str) -> tuple[str, int] | None:
    """Thread and number of the reply that the address names; else of the first there is."""
    thread_id, reply = state.get("thread"), state.get("reply")
    if thread_id is None:
        first = next((t for t in query.threads(dataset, None, None, 200, 0) if t.targets), None)
        thread_id = first.id if first else None
    if thread_id is None:
        return None
    thread = query.thread(query.at(dataset), thread_id)
    numbers = [str(t.number) for t in targets_of(thread)]
    if not numbers:
        raise NotFound(f"No reply of thread {thread_id} may be asked about; choose another one.")
    chosen = reply if reply in numbers else numbers[-1]
    st.session_state["instances.reply"] = chosen
    st.selectbox(
        "Reply",
        numbers,
        key="instances.reply",
        format_func=lambda n: f"{thread_id} · {thread.comment(int(n)).text[:80]}",
        on_change=lambda: state.put(thread=thread_id, reply=st.session_state["instances.reply"]),
    )
    return thread_id, int(chosen)


# --- the task -----------------------------------------------------------------------------------


def show_task(case: Case, dataset: str) -> None:
    """The question, the answers given to it, and behind a switch what happened."""
    thread, target, task = case.thread, case.target, case.instance.task
    with st.container(border=True):
        st.caption("It answers")
        st.text(parent_text(thread, target.parent))
        if task is not Task.REPLY:
            st.caption("The reply")
            st.text(target.text)
    revealed = st.toggle("Reveal what happened", key=f"instances.gold.{case.instance.id}.{task}")
    if revealed:
        _gold(case)
    _answers(case, dataset, revealed)


def _gold(case: Case) -> None:
    target, task = case.target, case.instance.task
    with st.container(border=True):
        st.caption("What happened")
        if task is Task.REPLY:
            st.text(target.text)
        elif not can_ask(task, target.score):
            st.text("Its score says neither yes nor no, so that this is not asked.")
        else:
            label = label_of(target.score) or "without a score"
            st.text(label if task is Task.SENTIMENT else f"{target.score:g}")


def _answers(case: Case, dataset: str, revealed: bool) -> None:
    found = _dialogues(case, dataset)
    if not found:
        st.caption("No study has asked about this reply yet.")
    for dialogue in found:
        with st.container(border=True):
            _answer(case, dialogue, revealed)


def _dialogues(case: Case, dataset: str) -> list[Dialogue]:
    store = wiring.store()
    where = DialogueFilter(dataset=dataset, personas=frozenset({case.instance.member}))
    wanted = task_id_of(case.instance.task, case.instance.comment_id)
    there = [d for d in store.list_dialogues(where, limit=2000) if d.task_id == wanted]
    return [store.get_dialogue(d.id) for d in there[:_MOST]]


def _answer(case: Case, dialogue: Dialogue, revealed: bool) -> None:
    """One answer: as it was read, how, and as it came."""
    answer = answer_of(dialogue)
    name = text.escape_md(f"{dialogue.arm.name} · {dialogue.arm.setting}", one_line=True)
    good = answer.status.valid
    left, right = st.columns([3, 2])
    left.markdown(f"**{name}**")
    right.badge(str(answer.status), color="green" if good else "red")
    value = answer.label or answer.text
    st.text(value if value is not None else f"{answer.score:g}" if good else "no answer")
    if answer.status == "recovered":
        st.caption("It was not in the form that was asked for; what it says was read from it.")
    raw = _raw(dialogue)
    if raw is not None:
        with st.expander("As it came"):
            st.text(raw)
            st.caption(f"Read again now: {read_answer(case.instance.task, raw).status}")
    if leaks := dialogue.prompts.get("leaks"):
        st.badge(f"its prompt leaks: {leaks}", color="red", icon=":material/warning:")
    if revealed and good:
        scored = [scored_of(case, answer)]
        said = [f"{f.metric} {f.value:.3f}" for f in figures(case.instance.task, scored) if f.value]
        st.caption(text.escape_md(", ".join(said)))


def _raw(dialogue: Dialogue) -> str | None:
    """What the model answered to the letter; None for a scripted one."""
    calls = wiring.store().list_calls(f"{dialogue.unit_id}:{dialogue.attempt}")
    return next((c.reply for c in reversed(calls) if not c.error), None)


# --- what was told ------------------------------------------------------------------------------


def show_history(case: Case) -> None:
    """What the member answered before, in the order of the prompt, and which of it is used."""
    past = history(case.own, case.instance, len(case.own))
    if not past:
        st.caption("Nothing is known of this member before this reply.")
        return
    rows = [
        {"Thread": p.thread_id, "To": p.parent_text, "Reply": p.text, "When": text.when(p.at)}
        for p in past[:_MOST]
    ]
    st.caption(f"{text.plural(len(past), 'earlier reply', 'earlier replies')}, first those shown")
    tables.show_texts(rows)


def show_prompt(prompt: Prompt, *, key: str) -> None:
    """The sections of a prompt, each with its size and its leaks."""
    total = sum(about_tokens(section.text) for section in prompt.sections)
    st.caption(f"about {text.count(total)} tokens, {text.escape_md(prompt.prompt_id)}")
    if not prompt.leaks:
        st.badge("no leak found", color="green", icon=":material/verified_user:")
    for section in prompt.sections:
        _section(section, prompt)
    with st.expander("Word for word as it is sent", key=f"{key}.sent"):
        for message in prompt.messages:
            st.caption(message.role)
            st.text(message.content)


def _section(section: Section, prompt: Prompt) -> None:
    colour = COLOURS.get(section.name, "gray")
    size = text.count(about_tokens(section.text))
    with st.container(border=True):
        st.badge(f"{section.name.replace('_', ' ')} · {size} tokens", color=colour)  # type: ignore[arg-type]
        for leak in (leak for leak in prompt.leaks if leak.section == section.name):
            words = text.escape_md(f"{leak.kind}: {leak.what}", one_line=True)
            st.markdown(f":red-badge[:material/warning: leak] {words}")
        st.text(section.text)


def show_settings(bench: InstanceBench, case: Case, settings: Sequence[Setting]) -> None:
    """Settings of one instance beside each other."""
    for column, setting in zip(st.columns(len(settings)), settings, strict=True):
        with column:
            st.markdown(f"**{setting}**")
            show_prompt(bench.prompt(case, setting), key=f"instances.{setting}")


def settings_of(mode: Mode) -> list[Setting]:
    return list(SETTINGS) if mode is Mode.REFERENCE else list(Setting)
