"""The judgements of one dialogue: the judge's value, the person's, and the one in force."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.overrides import Rated, RatedDimension
from core.types import Judgement
from pages._ui import state, text

_WIDTHS = (10, 3, 3, 3)


def show(groups: Sequence[RatedDimension], chosen: Rated | None) -> None:
    """Draw one row for each dimension, judge by judge; a click opens its card."""
    judge = ""
    with st.container(gap=None):
        for number, group in enumerate(groups):
            if group.instrument.judge != judge:
                judge = group.instrument.judge
                _head(judge)
            _row(group, number, chosen)


def pick(groups: Sequence[RatedDimension]) -> Rated | None:
    """The judgement that the address names, or the first."""
    everything = [rated for group in groups for rated in group.rated]
    named = state.get("judgement")
    found = (rated for rated in everything if rated.judgement.id == named)
    return next(found, everything[0] if everything else None)


def judge_value(judgement: Judgement) -> str:
    """The judge's own value, a dash where it gave none."""
    if judgement.value is None:
        return "–"
    return text.value_label(judgement.dimension, judgement.value)


def human_value(rated: Rated) -> str:
    """What a person set in the judge's place, with the mark of an override."""
    if not rated.corrected:
        return "–"
    return f":orange[:material/edit:] {_value(rated)}"


def _value(rated: Rated) -> str:
    value = rated.force.value
    return "none" if value is None else text.value_label(rated.judgement.dimension, value)


def _head(judge: str) -> None:
    cells = st.columns(_WIDTHS, gap="xsmall", vertical_alignment="bottom")
    titles = (f"by {text.escape_md(judge, one_line=True)}", "Judge", "Human", "In force")
    for cell, title in zip(cells, titles, strict=True):
        cell.caption(title)


def _row(group: RatedDimension, number: int, chosen: Rated | None) -> None:
    cells = st.columns(_WIDTHS, gap="xsmall", vertical_alignment="center")
    first = group.rated[0]
    cells[0].button(
        _name(group, chosen),
        key=f"dialogues.judgement.{number}",
        type="tertiary",
        on_click=state.put,
        kwargs={"judgement": first.judgement.id},
        help="Why, by what instrument, and what people changed",
    )
    if group.per_turn:
        cells[1].caption("turn: value", width="content")
        st.markdown(_strip(group.rated))
        return
    cells[1].markdown(judge_value(first.judgement))
    cells[2].markdown(human_value(first))
    cells[3].markdown(f"**{_value(first) if first.force.value is not None else '–'}**")


def _name(group: RatedDimension, chosen: Rated | None) -> str:
    name = text.escape_md(text.dimension_label(group.dimension), one_line=True)
    return f"**{name}**" if chosen in group.rated else name


def _strip(rated: Sequence[Rated]) -> str:
    """Every turn with the value in force; an override is marked."""
    badges = (
        f":{'orange' if r.corrected else 'gray'}-badge["
        f"{':material/edit: ' if r.corrected else ''}{r.judgement.turn}: {_value(r)}]"
        for r in rated
    )
    return " ".join(badges)
