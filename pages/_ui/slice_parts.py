"""The tabs Slices and Turns of Compare: one arm by domain or persona, and arms over turns."""

from __future__ import annotations

from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from core.comparison import Comparison, Ends
from core.export_tables import defused
from core.personas import ID_FIELD, field_title
from core.ports import Study
from core.slicing import (
    AtTurn,
    Sliced,
    by_length,
    by_turn,
    fields_to_slice,
    scenario_values,
    sliced_by_domain,
    sliced_by_persona,
)
from pages._ui import comparison_parts, text, wiring
from pages._ui.comparison_query import At
from pages._ui.slice_charts import slices_chart, slices_words, turns_chart

DOMAIN = "domain"
CONFIG: dict[str, Any] = {
    "displaylogo": False,
    "toImageButtonOptions": {"format": "svg", "scale": 2},
}


class Asked(NamedTuple):
    """What slices are made of: the key of what is kept here."""

    at: At
    study_id: str
    dimension: str
    instrument_id: str
    ends: Ends


def asked(study: Study, part: Comparison) -> Asked:
    first = part.rows[0]
    at = At(wiring.settings(), wiring.store().revision())
    ends = part.ends[first.dimension]
    return Asked(at, study.id, first.dimension, first.instrument_id, ends)


def show_slices(study: Study, part: Comparison) -> None:
    """One arm in slices: chart, sentence, table, and the same as a file."""
    of = asked(study, part)
    left, right = st.columns(2)
    arm = left.selectbox("Arm", part.arms, key="compare.slice_arm")
    fields = [DOMAIN, *_fields(of.at, study.id)]
    by = right.selectbox(
        "Slices by", fields, key="compare.slice_by", format_func=lambda name: field_title(name)
    )
    found = _sliced(of, arm, by)
    if not found.slices:
        st.info("No dialogue of this arm has a value.", icon=":material/category:")
        return
    st.markdown(text.escape_md(slices_words(found, dimension=of.dimension, ends=of.ends)))
    figure = slices_chart(
        found, dimension=of.dimension, ends=of.ends, arms=part.arms, dark=comparison_parts.dark()
    )
    st.plotly_chart(
        figure, key="compare.slices", theme=None, config=CONFIG, alt="One arm in each slice"
    )
    st.caption(
        text.escape_md(
            f"Judged by {part.rows[0].instrument}, uncorrected. Slices were not chosen before "
            "looking: the false-discovery rate is held at 5 % over all of them, and ranks are by "
            "the shrunken value, because the extremes of small slices are mostly noise.",
            one_line=True,
        )
    )
    rows = [
        {
            "slice": s.name, "n": s.n, "personas": s.n_personas, "estimate": s.estimate,
            "lo": s.lo, "hi": s.hi, "shrunken": s.shrunk, "p adjusted": s.p,
            "too few to say": s.too_few,
        }
        for s in found.slices
    ]  # fmt: skip
    st.dataframe(pd.DataFrame(rows), hide_index=True, key="compare.slice_table")
    download("Slices as CSV", rows, "slices")


def show_turns(study: Study, part: Comparison) -> None:
    """Arms over turns: by the number of turns, and at each turn where turns are rated."""
    of = asked(study, part)
    lengths, turns = _over_turns(of)
    for rows, at, key in ((turns, "turn", "turn"), (lengths, "number of turns", "length")):
        if not rows:
            continue
        figure = turns_chart(
            rows, dimension=of.dimension, ends=of.ends, arms=part.arms, at=at,
            dark=comparison_parts.dark(),
        )  # fmt: skip
        st.plotly_chart(
            figure, key=f"compare.{key}", theme=None, config=CONFIG, alt=f"Each arm by {at}"
        )
        download(f"By {at} as CSV", [_turn_row(row, at) for row in rows], f"by-{key}")
    if not turns:
        st.caption(
            "This dimension is rated for whole dialogues. A curve over turns needs a rubric of "
            "turns, such as personalisation per turn."
        )
    st.caption(
        text.escape_md(
            f"Judged by {part.rows[0].instrument}, uncorrected. How many turns a dialogue took "
            "came of the dialogue itself: a difference between lengths is no effect of length.",
            one_line=True,
        )
    )


def _turn_row(row: AtTurn, at: str) -> dict[str, Any]:
    return {
        "arm": row.arm, at: row.turn, "estimate": row.estimate, "lo": row.lo, "hi": row.hi,
        "n": row.n, "personas": row.n_personas, "too few to say": row.too_few,
    }  # fmt: skip


def download(label: str, rows: list[dict[str, Any]], name: str) -> None:
    """A table as a file in which no cell is a formula."""
    safe = [{k: defused(v) if isinstance(v, str) else v for k, v in row.items()} for row in rows]
    st.download_button(
        label,
        pd.DataFrame(safe).to_csv(index=False).encode(),
        file_name=f"{name}.csv",
        mime="text/csv",
        key=f"compare.{name}_csv",
        icon=":material/download:",
        on_click="ignore",
    )


@st.cache_data(show_spinner="Reading …", max_entries=8)
def _scenarios(of: Asked) -> pd.DataFrame:
    ratings = wiring.store().ratings(of.study_id, dimension=of.dimension)
    return scenario_values(ratings, of.instrument_id)


@st.cache_data(show_spinner=False, max_entries=20)
def _fields(at: At, study_id: str) -> list[str]:
    del at
    return [name for name in fields_to_slice(_demographics(study_id).values()) if name != ID_FIELD]


def _demographics(study_id: str) -> dict[str, dict[str, str]]:
    store = wiring.store()
    spec = store.get_study(study_id).spec
    if spec is None or store.find_dataset(spec.dataset) is None:
        return {}
    return {p.id: dict(p.demographics) for p in store.list_personas(spec.dataset)}


@st.cache_data(show_spinner="Slicing …", max_entries=50)
def _sliced(of: Asked, arm: str, by: str) -> Sliced:
    scenarios = _scenarios(of)
    if by == DOMAIN:
        return sliced_by_domain(scenarios, arm=arm, ends=of.ends)
    told = {p: facts.get(by, "") for p, facts in _demographics(of.study_id).items()}
    return sliced_by_persona(scenarios, told, arm=arm, by=field_title(by), ends=of.ends)


@st.cache_data(show_spinner="Reading …", max_entries=20)
def _over_turns(of: Asked) -> tuple[tuple[AtTurn, ...], tuple[AtTurn, ...]]:
    ratings = wiring.store().ratings(of.study_id, dimension=of.dimension)
    turns = by_turn(ratings, of.instrument_id, of.ends)
    return by_length(_scenarios(of), of.ends), turns
