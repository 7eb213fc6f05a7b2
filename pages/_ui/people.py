"""What the page Personas reads, kept until the store changes. What is returned is not changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import streamlit as st

from core.personas import demographic_values, interest_domains
from core.ports import ScenarioFilter
from core.settings import Settings
from core.types import PersonaSummary, ScenarioRef, Task
from pages._ui import wiring

_ENTRIES = 16  # several people at several datasets; entries of an old revision fall out
_MANY = 64

People = tuple[PersonaSummary, ...]


class At(NamedTuple):
    """A dataset as it stood: the key of everything that is kept here."""

    settings: Settings
    revision: str
    dataset: str


def at(dataset: str) -> At:
    """The dataset as it stands now."""
    return At(wiring.settings(), wiring.store().revision(), dataset)


@st.cache_resource(show_spinner=False, max_entries=_ENTRIES)
def everyone(at: At) -> People:
    """All personas, in the order of their numbers."""
    return tuple(wiring.store().list_personas(at.dataset))


@st.cache_resource(show_spinner=False, max_entries=_ENTRIES)
def demographics(at: At) -> Mapping[str, tuple[str, ...]]:
    """Each demographic field that is present, and its values."""
    return demographic_values(everyone(at))


@st.cache_resource(show_spinner=False, max_entries=_ENTRIES)
def domains(at: At) -> tuple[str, ...]:
    """Each domain that somebody cares for."""
    return interest_domains(everyone(at))


def found(at: At, words: str) -> frozenset[str] | None:
    """Ids of the personas about whom `words` are said anywhere; None without words."""
    return _found(at, words.strip()) if words.strip() else None


@st.cache_resource(show_spinner=False, max_entries=_MANY)
def _found(at: At, words: str) -> frozenset[str]:
    return frozenset(wiring.store().search_personas(at.dataset, words))


@st.cache_resource(show_spinner=False, max_entries=_ENTRIES)
def _tasks(at: At) -> Mapping[str, Task]:
    return {task.id: task for task in wiring.store().list_tasks(at.dataset)}


@st.cache_resource(show_spinner=False, max_entries=_MANY)
def scenarios_of(at: At, persona_id: str) -> tuple[tuple[ScenarioRef, Task], ...]:
    """The scenarios of one persona with their tasks: single before multi."""
    where = ScenarioFilter(persona_ids=frozenset([persona_id]))
    refs = wiring.store().list_scenarios(at.dataset, where)
    return tuple((ref, _tasks(at)[ref.task_id]) for ref in refs)
