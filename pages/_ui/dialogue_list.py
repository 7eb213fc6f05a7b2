"""The list of dialogues: filters, a page of rows, and how many there are."""

from __future__ import annotations

import streamlit as st

from core.types import DialogueSummary
from pages._ui import bulk_form, dialogue_filters, dialogue_query, frame, tables, text, transcript
from pages._ui.dialogue_query import PAGE, Query

_ROW, _SHOWN = 35, 14


def show(query: Query) -> None:
    """Draw the list; a picked row puts its dialogue into the address."""
    everything = dialogue_query.total()
    if not everything:
        st.info("There are no dialogues yet. Launch one, or run a study.", icon=":material/forum:")
        st.page_link(frame.path("launch"), label="Launch", icon=":material/play_circle:")
        return
    dialogue_filters.draw()
    found = dialogue_query.count(query)
    left, right = st.columns([3, 1], vertical_alignment="center")
    left.caption(f"{text.plural(everything, 'dialogue')}, {text.count(found)} shown")
    if query.where.study_id is not None:
        st.page_link(
            frame.path("studies"),
            label="Monitor of this study",
            icon=":material/monitoring:",
            query_params={"study": query.where.study_id},
        )
    if query.filtered:
        right.button(
            "Clear filters",
            key="dialogues.clear",
            type="tertiary",
            icon=":material/filter_list_off:",
            on_click=dialogue_query.clear,
        )
    if not found:
        st.info("No dialogue fits; take a filter out.", icon=":material/search_off:")
        return
    _table(_within(query, found))
    _pages(query, found)
    bulk_form.show(query)


def _within(query: Query, found: int) -> Query:
    last = max(1, -(-found // PAGE))
    return Query(query.where, query.order, min(max(query.page, 1), last))


def _table(query: Query) -> None:
    found = dialogue_query.rows(query)
    rows = [_row(summary) for summary in found]
    tables.pick_row(
        rows,
        [summary.id for summary in found],
        key="dialogues.table",
        param="dialogue",
        height=(min(len(rows), _SHOWN) + 1) * _ROW + 3,
        column_config=_COLUMNS,
    )


_WIDTHS = {
    "Persona": 75,
    "Intent": 225,
    "Arm": 105,
    "Assistant told": 130,
    "Turns": 50,
    "Ended": 95,
    "Made": 135,
}
_COLUMNS = {name: st.column_config.Column(width=width) for name, width in _WIDTHS.items()}


def _row(summary: DialogueSummary) -> dict[str, object]:
    made = summary.created_at
    return {
        "Persona": summary.persona_id,
        "Intent": summary.intent,
        "Arm": summary.arm,
        "Assistant told": _told(summary.context),
        "Turns": summary.turns,
        "Ended": text.stop_reason_label(summary.stop_reason),
        "Made": text.when(made, transcript.local_zone()),
        "Study": summary.study,
    }


def _told(context: str) -> str:
    """The long list would be cut off in its column, so that the whole has a word."""
    return "Everything" if context == "all" else text.context_label(context)


def _pages(query: Query, found: int) -> None:
    pages = -(-found // PAGE)
    if pages < 2:
        return
    page = _within(query, found).page
    key = f"dialogues.page.{page}"  # the address decides: another page is another widget
    st.pagination(
        pages,
        default=page,
        key=key,
        on_change=lambda: st.query_params.update(page=str(st.session_state[key])),
    )
