"""Filters that several pages share: which dataset, and which of its personas."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.personas import PersonaFilter, field_title, matching
from core.types import Dataset, PersonaSummary
from pages._ui import people, state, text

_COLUMNS = 3


def pick_dataset(datasets: Sequence[Dataset], *, key: str) -> Dataset:
    """Draw a picker whose value is `dataset` in the address. There must be a dataset."""
    names = [d.name for d in datasets]
    chosen = state.choice("dataset", names, names[0])
    # The address decides: a link to this very page must not be undone by the widget's memory.
    st.session_state[key] = chosen
    st.selectbox(
        "Dataset",
        names,
        key=key,
        on_change=lambda: _dataset_picked(key),
        help="Import more on the page Data.",
    )
    state.put(dataset=chosen)
    return datasets[names.index(chosen or names[0])]


def _dataset_picked(key: str) -> None:
    state.put(dataset=st.session_state[key], persona=None, task=None)


def search(at: people.At) -> frozenset[str] | None:
    """Draw the search box; returns the ids of whom it finds, None when it is empty."""
    words = st.text_input(
        "Search",
        key="personas.search",
        type="search",
        placeholder="Anything about a person: a country, an author, a habit, an airline",
        bind="query-params",
    )
    return people.found(at, words or "")


def narrow(at: people.At, ids: frozenset[str] | None) -> list[PersonaSummary]:
    """Draw the filters; returns the personas that match them, of those that were found."""
    chosen = _demographics(at)
    interests = st.session_state.get("personas.interests", [])
    return matching(people.everyone(at), PersonaFilter(ids, chosen, frozenset(interests)))


def _demographics(at: people.At) -> dict[str, frozenset[str]]:
    fields = people.demographics(at)
    active = sum(bool(st.session_state.get(_key(name))) for name in fields)
    active += bool(st.session_state.get("personas.interests"))
    label = f"Filters ({active} in use)" if active else "Filters"
    with st.expander(label, key="personas.filters", icon=":material/filter_list:"):
        st.multiselect(
            "Cares for all of",
            people.domains(at),
            key="personas.interests",
            placeholder="Any domain",
            wrap=True,
            bind="query-params",
        )
        columns = st.columns(_COLUMNS)
        return {
            name: _values(columns[i % _COLUMNS], name, values)
            for i, (name, values) in enumerate(fields.items())
        }


def _values(
    column: st.delta_generator.DeltaGenerator, name: str, values: tuple[str, ...]
) -> frozenset[str]:
    title = text.escape_md(field_title(name), one_line=True)
    return frozenset(
        column.multiselect(
            title[:1].upper() + title[1:],
            values,
            key=_key(name),
            placeholder="Any",
            wrap=True,
            bind="query-params",
        )
    )


def _key(name: str) -> str:
    return f"personas.{name}"
