"""A thread as a tree that stays usable with 5,000 comments, by mouse and by keyboard.

The tree is one table: it draws only what is on the screen, and arrow keys move in it. A picked
message is shown whole below, with what can be done with it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import streamlit as st

from core.personaconv.selection import targets_of
from core.personaconv.tree import TreeRow, fold_all, folded_at_first, moments, tree_rows
from core.personaconv.types import POST, Thread
from pages._ui import frame, state, tables, text

log = logging.getLogger(__name__)
_HIDDEN = "••"
_LOCKED = "(written later: locked)"
_SHORT = 220
_WIDTHS: dict[str, Any] = {"Who": 50, "Mark": 60, "After": 80, "Score": 60, "Text": "large"}


def show(thread: Thread, dataset: str, target: int | None = None, *, key: str = "tree") -> None:
    """Draw the whole thread with its controls."""
    until = _slider(thread, target, key)
    folded = _folded(thread, target, key)
    with st.container(horizontal=True, vertical_alignment="center"):
        scores = _scores(thread, dataset, key)
        shut = fold_all(thread)
        st.button("Unfold all", key=f"{key}.unfold", on_click=_fold, args=(thread, key, ()))
        st.button("Fold all", key=f"{key}.fold", on_click=_fold, args=(thread, key, shut))
    rows = tree_rows(thread, target=target, until=until, folded=folded)
    st.caption(
        f"{text.plural(len(thread.comments), 'comment')}, {text.count(len(rows))} rows shown"
    )
    tables.pick_row(
        [_cells(row, scores) for row in rows],
        [str(row.number) for row in rows],
        key=f"{key}.rows",
        param="message",
        height=tables.height_of(len(rows), most=14),
        column_config={
            name: st.column_config.TextColumn(width=width) for name, width in _WIDTHS.items()
        },
    )
    _picked(thread, dataset, rows, scores, key)


def _slider(thread: Thread, target: int | None, key: str) -> datetime | None:
    """Until when messages are open; at first until the target was written."""
    times = moments(thread)
    if len(times) < 2:
        return None
    at = thread.at_of(target) if target else None
    chosen = st.slider(
        "Show what was written until",
        times[0],
        times[-1],
        value=at or times[-1],
        format="YYYY-MM-DD HH:mm",
        key=f"{key}.until.{thread.id}.{target}",
        help="Later messages stay in their place, locked.",
    )
    return chosen if isinstance(chosen, datetime) else None


def _scores(thread: Thread, dataset: str, key: str) -> bool:
    return st.toggle(
        "Show scores",
        key=f"{key}.scores",
        on_change=_note_scores,
        args=(thread.id, dataset, key),
        help="Scores are what two of the tasks ask for. That you looked is written to the log.",
    )


def _note_scores(thread_id: str, dataset: str, key: str) -> None:
    shown = "shown" if st.session_state.get(f"{key}.scores") else "masked"
    who = state.author() or "somebody"
    log.info("scores %s: %s, thread %s of %s", shown, who, thread_id, dataset)


def _folded(thread: Thread, target: int | None, key: str) -> frozenset[int]:
    kept: dict[str, frozenset[int]] = st.session_state.setdefault(f"{key}.folded", {})
    if thread.id not in kept:
        kept[thread.id] = folded_at_first(thread, target)
    return kept[thread.id]


def _fold(thread: Thread, key: str, numbers: Sequence[int] | frozenset[int]) -> None:
    st.session_state.setdefault(f"{key}.folded", {})[thread.id] = frozenset(numbers)


def _toggle(thread: Thread, key: str, number: int) -> None:
    st.session_state[f"{key}.folded"][thread.id] ^= {number}


def _cells(row: TreeRow, scores: bool) -> dict[str, object]:
    said = _LOCKED if row.text is None else row.text or "(no text)"
    short = said if len(said) <= _SHORT else f"{said[:_SHORT]}…"
    more = f"  [+{row.folded}]" if row.folded else ""
    return {
        "Who": row.who,
        "Mark": row.mark,
        "After": "" if row.minutes is None else f"{row.minutes:,} min",
        "Score": _score(row.score) if scores else _HIDDEN,
        "Text": f"{'· ' * min(row.depth, 40)}{short}{more}",
    }


def _score(score: float | None) -> str:
    return "" if score is None else f"{score:g}"


def _picked(thread: Thread, dataset: str, rows: Sequence[TreeRow], scores: bool, key: str) -> None:
    """The chosen message whole, and what can be done with it."""
    chosen = state.get("message")
    row = next((r for r in rows if str(r.number) == chosen), None)
    if row is None:
        st.caption("Pick a row to read the whole message.")
        return
    with st.container(border=True):
        when = text.when(row.at) if row.at else "at an unknown time"
        score = f", score {_score(row.score)}" if scores and row.score is not None else ""
        st.caption(text.escape_md(f"{row.who}, {when}, level {row.depth}{score}"))
        st.text(_LOCKED if row.text is None else row.text or "(no text)")
        if row.number != POST and thread.children[row.number]:
            st.button(
                "Unfold what is below" if row.folded else "Fold what is below",
                key=f"{key}.toggle",
                on_click=_toggle,
                args=(thread, key, row.number),
            )
        if any(t.number == row.number for t in targets_of(thread)):
            st.page_link(
                frame.path("instances"),
                label="Ask about this reply",
                icon=":material/help:",
                query_params={"dataset": dataset, "thread": thread.id, "reply": str(row.number)},
            )
