"""A new wording of a rubric: edited, held against the old one, tried out, saved as a version."""

from __future__ import annotations

import streamlit as st

from core.assets import Rubric, list_rubrics, load_rubric
from core.dry_run import Tried, dry_run, pick_dialogues
from core.errors import AssetError
from core.judge import prompt_for
from core.judging import scenario_of
from core.parties.make import SCRIPTED_JUDGE
from core.roles import Role
from core.rubric_drafts import Draft, begin, diff, read_draft, save
from core.rubric_replay import change_words, what_changed
from core.types import Dialogue, Judgement
from pages._ui import errors, frame, judge_replay, text, transcript, wiring
from pages._ui.model_picker import Picker

_TRIED = "judges.tried"


def show() -> None:
    """Draw the editor and what follows from its text."""
    newest = {rubric.name: rubric for rubric in list_rubrics()}
    name = st.selectbox(
        "Rubric", list(newest), key="judges.rubric", format_func=lambda n: newest[n].title
    )
    written = st.text_area(
        "Next version", begin(name), key=f"judges.draft.{name}.{newest[name].version}", height=420
    )
    st.caption("A version is never edited, because results name the version they were made with.")
    if newest[name].version > 1:
        older = load_rubric(f"{name}@{newest[name].version - 1}")
        judge_replay.show(older, newest[name], saved=True)
    try:
        draft = read_draft(written)
    except AssetError as error:
        st.info(text.escape_md(str(error)), icon=":material/edit_note:")
        return
    st.code("\n".join(diff(draft)), language="diff", wrap_lines=True)
    change = what_changed(newest[name], draft.rubric)
    st.markdown(text.escape_md(change_words(change), one_line=True))
    dialogues = pick_dialogues(wiring.store())
    with st.expander("The exact prompt", key="judges.prompt"):
        _show_prompt(draft.rubric, dialogues)
    _try(draft, dialogues)
    if newest[name].version == 1:
        judge_replay.show(newest[name], draft.rubric, saved=False)
    if st.button(
        f"Save as {draft.rubric.ref}", key="judges.save", type="primary", icon=":material/save:"
    ):
        _save(draft)


def _save(draft: Draft) -> None:
    with errors.shown():
        wiring.demand(Role.ADMIN)
        saved = save(draft)
        st.session_state.pop(_TRIED, None)
        st.toast(f"Saved {saved.ref}; what older versions rated stays as it is.")
        st.rerun()


def _show_prompt(rubric: Rubric, dialogues: list[Dialogue]) -> None:
    """Word for word what a model judge is told about the first dialogue."""
    if not dialogues:
        st.caption("There is no dialogue to show it with.")
        return
    first = dialogues[0]
    with errors.shown():
        scenario = scenario_of(first, wiring.store()) if rubric.needs_scenario else None
        for message in prompt_for(first.messages, scenario, rubric, context=first.arm.context):
            st.caption(message.role)
            st.code(message.content, language=None, wrap_lines=True)


def _try(draft: Draft, dialogues: list[Dialogue]) -> None:
    default = wiring.settings().judge_model
    choice = Picker("judges.dry_judge", "Judge for a dry run", (SCRIPTED_JUDGE,), default).choose()
    ready = choice.spec is not None and not choice.complaint and bool(dialogues)
    if st.button(
        f"Try it on {len(dialogues)} dialogues",
        key="judges.try",
        icon=":material/science:",
        disabled=not ready,
    ):
        st.session_state.pop(_TRIED, None)
        with frame.busy("The judge is reading …"):
            assert choice.spec is not None
            found = dry_run(draft.rubric, choice.spec, dialogues, wiring.store(), wiring.model())
            st.session_state[_TRIED] = (draft.rubric.hash, found)
    kept = st.session_state.get(_TRIED)
    if kept is not None and kept[0] == draft.rubric.hash:
        for number, tried in enumerate(kept[1], 1):
            _show_tried(number, tried)


def _show_tried(number: int, tried: Tried) -> None:
    def values(judgements: tuple[Judgement, ...]) -> str:
        said = [text.value_label(j.dimension, j.value) for j in judgements]
        return ", ".join(said) or "none"

    before = values(tried.before)
    line = f"{number} · {tried.dialogue.intent} · draft {values(tried.judgements)}, before {before}"
    with st.expander(text.escape_md(line, one_line=True)):
        for judgement in tried.judgements:
            st.markdown(text.escape_md(judgement.rationale))
        transcript.show(tried.dialogue.messages)
