"""Overriding every judgement of the filtered list at once: choose, read the preview, save.

Saving stores exactly what the preview showed. Whoever changes a choice or a filter after it has
to look again.
"""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from core.bulk_override import (
    BulkPlan,
    BulkResult,
    BulkRow,
    Given,
    Rater,
    Special,
    override_all,
    preview,
    take_back,
)
from core.clock import new_id, now
from core.compare import rubric_ends
from core.overrides import Why
from core.types import OverrideReason
from pages._ui import dialogue_query, errors, state, tables, text, who, wiring
from pages._ui.dialogue_query import Query

_PLAN, _DONE = "dialogues.bulk.plan", "dialogues.bulk.result"
_WORDS = {Special.NONE: "No value", Special.JUDGE: "The judge's own value again"}
_LISTED = 50


class Previewed(NamedTuple):
    """A plan, and the choices that it was made for."""

    choice: str
    plan: BulkPlan


def show(query: Query) -> None:
    """Draw what became of the last bulk override, and the way to another one."""
    _told()
    if not st.toggle(
        "Override all of these at once",
        key="dialogues.bulk",
        help="Gives one value to the judgements of every dialogue that fits the filters",
    ):
        st.session_state.pop(_PLAN, None)
        return
    with st.container(border=True, key="dialogues.bulk.box"):
        raters = _raters(dialogue_query.at(dialogue_query.key_of(query.where)), query)
        if raters:
            _form(query, raters)
        else:
            st.caption("Nothing here is judged, so that there is nothing to override.")


def _form(query: Query, raters: list[Rater]) -> None:
    left, right = st.columns([3, 4], gap="small")
    with left:
        at = st.selectbox(
            "Judgements",
            range(len(raters)),
            key="dialogues.bulk.rater",
            format_func=lambda i: _rater_label(raters[i]),
        )
    rater = raters[at]
    with right:
        given = st.segmented_control(
            "New value",
            _values(rater.dimension),
            key=f"dialogues.bulk.value.{rater.dimension}",
            format_func=lambda v: _given_label(rater.dimension, v),
        )
    choice = repr((dialogue_query.key_of(query.where), rater.dimension, rater.instrument_id, given))
    st.button(
        "Preview",
        key="dialogues.bulk.preview",
        icon=":material/preview:",
        disabled=given is None,
        on_click=_preview,
        args=(query, rater, given, choice),
    )
    made = st.session_state.get(_PLAN)
    if made is not None and made.choice == choice:
        _previewed(made.plan)


def _rater_label(rater: Rater) -> str:
    name = text.dimension_label(rater.dimension)
    return f"{name} ({text.count(rater.judgements)}), {rater.instrument}"


def _values(dimension: str) -> list[Given]:
    ends = rubric_ends().get(dimension)
    scale = range(10) if ends is None else range(ends.low, ends.high + 1)
    return [*scale, *Special]


def _given_label(dimension: str, given: Given) -> str:
    return _WORDS[given] if isinstance(given, Special) else text.value_label(dimension, given)


def _preview(query: Query, rater: Rater, given: Given, choice: str) -> None:
    st.session_state.pop(_PLAN, None)
    with errors.shown():
        plan = preview(
            wiring.bulk_store(), query.where, rater.dimension, rater.instrument_id, given
        )
        st.session_state[_PLAN] = Previewed(choice, plan)


# --- the preview --------------------------------------------------------------------------------


def _previewed(plan: BulkPlan) -> None:
    st.markdown(text.escape_md(sentence(plan)))
    if not plan.rows:
        return
    turns = any(row.judgement.turn is not None for row in plan.rows)
    rows = [_row(plan, row, turns) for row in plan.rows[:_LISTED]]
    st.dataframe(
        rows,
        key="dialogues.bulk.rows",
        hide_index=True,
        lazy=False,
        placeholder="–",
        height=tables.height_of(len(rows), most=8),
    )
    if len(plan.rows) > _LISTED:
        st.caption(f"The first {_LISTED} of {text.count(len(plan.rows))} are shown.")
    _sign(plan)


def sentence(plan: BulkPlan) -> str:
    """What a plan would do, in plain words."""
    already = f" {text.plural(plan.alike, 'judgement')} held this already." if plan.alike else ""
    if not plan.rows:
        return f"Nothing would change.{already}"
    dialogues = text.plural(len({row.judgement.dialogue_id for row in plan.rows}), "dialogue")
    moves = ", ".join(
        f"{text.count(n)} from {_value(plan, old)} to {_value(plan, new)}"
        for old, new, n in plan.moves
    )
    people = (
        f" In {text.count(plan.over_people)} of them this replaces what a person said."
        if plan.over_people
        else ""
    )
    judgements = text.plural(len(plan.rows), "judgement")
    return f"{judgements} of {dialogues} would change: {moves}.{people}{already}"


def _value(plan: BulkPlan, value: int | None) -> str:
    return "no value" if value is None else text.value_label(plan.dimension, value)


def _row(plan: BulkPlan, row: BulkRow, turns: bool) -> dict[str, object]:
    last = row.force.override
    return {
        "Dialogue": row.judgement.dialogue_id,
        **({"Turn": row.judgement.turn} if turns else {}),
        "Judge": _value(plan, row.judgement.value),
        "In force": _value(plan, row.force.value),
        "Set by": last.author if last else "judge",
        "New": _value(plan, plan.value_of(row)),
    }


def _sign(plan: BulkPlan) -> None:
    with st.form("dialogues.bulk.form", border=False):
        st.selectbox(
            "One reason for all of them",
            list(OverrideReason),
            index=None,
            key="dialogues.bulk.reason",
            placeholder="Choose one",
            format_func=lambda reason: reason[:1].upper() + reason[1:],
        )
        st.text_area("In your words (optional)", key="dialogues.bulk.words", height=80)
        if not state.author():
            st.text_input("Your name, asked once", key="dialogues.bulk.author", max_chars=who.MOST)
        st.form_submit_button(
            f"Save {text.plural(len(plan.rows), 'override')}",
            key="dialogues.bulk.save",
            icon=":material/save:",
            on_click=_save,
            args=(plan,),
        )


# --- saving -------------------------------------------------------------------------------------


def _save(plan: BulkPlan) -> None:
    given = str(st.session_state.get("dialogues.bulk.author") or "").strip()
    if given and not state.author():
        who.remember(wiring.settings(), given)
    reason, author = st.session_state.get("dialogues.bulk.reason"), state.author()
    missing = [n for n, have in (("a reason", reason), ("your name", author)) if not have]
    if missing:
        st.warning(
            f"Nothing is saved yet: choose {' and '.join(missing)}.", icon=":material/warning:"
        )
        return
    words = str(st.session_state.get("dialogues.bulk.words") or "")
    why = Why(author, OverrideReason(str(reason)), words)
    with errors.shown():
        done = override_all(plan, why, wiring.bulk_store(), now=now, new_id=new_id)
        st.session_state[_DONE] = done
        for name in (_PLAN, "dialogues.bulk.reason", "dialogues.bulk.words"):
            st.session_state.pop(name, None)


def _undo(result: BulkResult) -> None:
    with errors.shown():
        back = take_back(result, state.author(), wiring.bulk_store(), now=now, new_id=new_id)
        st.session_state.pop(_DONE, None)
        words = f"{text.plural(len(back.saved), 'override')} taken back."
        st.success(words + _late(back), icon=":material/undo:")


def _told() -> None:
    done: BulkResult | None = st.session_state.get(_DONE)
    if done is None:
        return
    words = f"{text.plural(len(done.saved), 'override')} saved." + _late(done)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f":material/check: {words}", width="content")
        if done.saved:
            st.button(
                "Undo",
                key="dialogues.bulk.undo",
                type="tertiary",
                icon=":material/undo:",
                help="Adds rows that give back what held before",
                on_click=_undo,
                args=(done,),
            )


def _late(result: BulkResult) -> str:
    if not result.late:
        return ""
    return (
        f" {text.plural(len(result.late), 'judgement')} somebody else overrode in the meantime: "
        "theirs is in force; preview again to see it."
    )


@st.cache_resource(show_spinner=False, max_entries=16)
def _raters(at: dialogue_query.At, _query: Query) -> list[Rater]:
    del at  # the key
    return wiring.bulk_store().list_raters(_query.where)
