"""What the pages about conversations ask of the store, kept by its revision."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from core.errors import NotFound
from core.personaconv.bench import InstanceBench
from core.personaconv.results import Findings, find
from core.personaconv.types import KIND, Conversations, Thread, ThreadSummary
from core.ports import Study
from core.settings import Settings
from core.study_file import InstanceSelection
from core.types import Dataset
from pages._ui import wiring


class At(NamedTuple):
    """A dataset in the store as it stands: the key of what is kept here."""

    settings: Settings
    dataset: str
    hash: str


def datasets() -> list[Dataset]:
    """Datasets that hold conversations."""
    return [d for d in wiring.store().list_datasets() if d.kind == KIND]


def at(dataset: str) -> At:
    return At(wiring.settings(), dataset, counts(dataset).hash)


def counts(dataset: str) -> Conversations:
    return wiring.store().get_conversations(dataset)


def threads(
    dataset: str, domain: str | None, author: str | None, limit: int, offset: int
) -> list[ThreadSummary]:
    return wiring.store().list_threads(
        dataset, domain=domain, author=author, limit=limit, offset=offset
    )


def thread(where: At, thread_id: str) -> Thread:
    """One whole thread. Raises `NotFound`."""
    return _thread(where, thread_id)


def bench(where: At, selection: InstanceSelection) -> InstanceBench:
    """Makes cases and prompts of a dataset; kept, since it knows everybody's past."""
    return _bench(where, selection)


def findings(study: Study) -> Findings:
    """Every figure of a study, counted again only when something was stored."""
    return _findings(wiring.settings(), wiring.store().revision(), study.id)


@st.cache_resource(max_entries=20, show_spinner=False)
def _thread(where: At, thread_id: str) -> Thread:
    found = wiring.store().get_threads(where.dataset, [thread_id])
    if thread_id not in found:
        raise NotFound(f"There is no thread {thread_id} in {where.dataset}.")
    return found[thread_id]


@st.cache_resource(max_entries=4, show_spinner="Reading the dataset …")
def _bench(where: At, selection: InstanceSelection) -> InstanceBench:
    return InstanceBench.reading(wiring.store(), where.dataset, selection)


@st.cache_data(max_entries=8, show_spinner="Counting …")
def _findings(settings: Settings, revision: str, study_id: str) -> Findings:
    del settings, revision
    return find(wiring.store().get_study(study_id), wiring.store())
