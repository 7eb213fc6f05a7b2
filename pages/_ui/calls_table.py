"""The model calls that one dialogue cost."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.types import Dialogue, ModelCall
from pages._ui import tables, text, wiring


def find(dialogue: Dialogue) -> list[ModelCall]:
    """The calls of the parties, then those of judges; scripted parties call nobody."""
    unit = dialogue.unit_id
    scope = dialogue.id if unit is None else f"{unit}:{dialogue.attempt}"
    store = wiring.store()
    return store.list_calls(scope) + store.list_judge_calls(dialogue.id)


def show(calls: Sequence[ModelCall]) -> None:
    """Draw the calls with what they cost; an unknown price is not 0."""
    if not calls:
        st.caption("No model was called: scripted parties need none.")
        return
    st.caption(_sum(calls))
    tables.show_texts([_row(call) for call in calls])


def _sum(calls: Sequence[ModelCall]) -> str:
    known = [call.cost_usd for call in calls if call.cost_usd is not None]
    cost = text.money(sum(known)) if len(known) == len(calls) else "unknown in part"
    if not known:
        cost = "unknown"
    seconds = text.duration(sum(call.seconds for call in calls))
    return f"{text.plural(len(calls), 'call')}, {seconds} in all, cost {cost}"


def _row(call: ModelCall) -> dict[str, str]:
    """One narrow row: the table stands beside the transcript."""
    failed = f"\n{call.error}" if call.error else ""
    return {
        "Call": f"{call.party.replace(':', ', ')}\n{call.model}{failed}",
        "Tokens in / out": f"{_known(call.tokens_in)} / {_known(call.tokens_out)}",
        "Time": text.duration(call.seconds),
        "Cost": text.money(call.cost_usd),
        "Tries": "cached" if call.cached else str(call.attempts),
    }


def _known(tokens: int | None) -> str:
    return "?" if tokens is None else text.count(tokens)
