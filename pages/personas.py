"""Personas: find people of a dataset, and read one of them."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.personas import with_personas
from core.types import Dataset, PersonaSummary
from pages._ui import filters, frame, people, persona_card, state, tables, text, wiring

_ALONE, _ABOVE = 14, 5  # rows without an open card, and above one


def show_table(shown: Sequence[PersonaSummary], persona: str | None) -> None:
    rows = [
        {
            "Persona": p.id,
            "Age": p.demographics.get("age"),
            "Gender": p.demographics.get("gender"),
            "Work": p.demographics.get("employment_status"),
            "Lives in": p.demographics.get("reside_country"),
            "Born in": p.demographics.get("birth_country"),
            "Interests": len(p.interests),
        }
        for p in shown
    ]
    height = tables.height_of(len(rows), most=_ALONE if persona is None else _ABOVE)
    ids = [p.id for p in shown]
    tables.pick_row(rows, ids, key="personas.table", param="persona", height=height)


def show_people(datasets: Sequence[Dataset]) -> None:
    left, right = st.columns([1, 2])
    with left:
        at = people.at(filters.pick_dataset(datasets, key="personas.dataset").name)
    with right:
        ids = filters.search(at)
    shown = filters.narrow(at, ids)
    st.caption(
        f"{text.plural(len(people.everyone(at)), 'persona')}, {text.count(len(shown))} shown"
    )
    persona = state.get("persona")
    if shown:
        show_table(shown, persona)
    else:
        st.info("Nobody matches; search for less or take a filter out.", icon=":material/search:")
    if persona is not None:
        persona_card.show(at, persona)
    elif shown:
        st.caption("Tick a row to open that person's card.")


frame.enter()
st.title("Personas", anchor=False)
datasets = with_personas(wiring.store().list_datasets())
if datasets:
    show_people(datasets)
else:
    st.info("There is no dataset yet.", icon=":material/database:")
    st.page_link(frame.path("data"), label="Import a dataset", icon=":material/upload:")
