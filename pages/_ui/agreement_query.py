"""What the page Agreement reads, kept until the store changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from core.agreement import Agreement, agreement
from core.agreement_rows import instruments
from core.compare import rubric_ends
from core.comparison import Ends
from core.labels import annotation_rows
from core.ports import Study
from core.settings import Settings
from pages._ui import state, text, wiring

if TYPE_CHECKING:
    import pandas as pd

_ENTRIES = 16
BOOT = 500  # draws of the intervals: half a second, and the second digit is right


def studies() -> list[Study]:
    """Studies that somebody has labelled, those with designs first."""
    store = wiring.reviews()
    labelled = {design.study_id for design in store.list_designs()}
    return [study for study in store.list_studies() if study.id in labelled]


def dimensions(study: Study) -> list[str]:
    """What the designs of a study ask about."""
    designs = wiring.reviews().list_designs(study.id)
    return list(dict.fromkeys(name for design in designs for name in design.dimensions))


def pick_study(found: list[Study]) -> Study:
    """The study that the address names, or the newest that is labelled."""
    by_id = {study.id: study for study in found}
    chosen = _pick("Study", "study", list(by_id), {i: s.name for i, s in by_id.items()})
    return by_id[chosen]


def pick_dimension(names: list[str]) -> str:
    labels = {name: text.dimension_label(name) for name in names}
    return _pick("Dimension", "dimension", names, labels)


def pick_instrument(rows: pd.DataFrame, dimension: str) -> str | None:
    """One instrument at a time: two are two rulers."""
    found = instruments(rows, dimension)
    if not found:
        st.selectbox("Instrument", ["none has judged this"], disabled=True, key="agreement.none")
        return None
    return _pick("Instrument", "instrument", list(found), found)


def _pick(label: str, name: str, options: list[str], labels: dict[str, str]) -> str:
    key = f"agreement.{name}"
    if st.session_state.get(key) not in options:
        st.session_state[key] = state.choice(name, options, options[0])
    return st.selectbox(
        label,
        options,
        key=key,
        format_func=lambda option: labels.get(option, option),
        on_change=lambda: state.put(**{name: str(st.session_state[key])}),
    )


def rows(study: Study, dimension: str) -> pd.DataFrame:
    """The labels of one dimension, as `core.agreement` takes them."""
    return _rows(wiring.settings(), wiring.store().revision(), study.id, dimension)


def found(study: Study, dimension: str, instrument: str | None) -> Agreement:
    """Everything about the agreement on one dimension by one instrument."""
    return _found(wiring.settings(), wiring.store().revision(), study.id, dimension, instrument)


@st.cache_resource(show_spinner=False, max_entries=_ENTRIES)
def _rows(settings: Settings, revision: str, study_id: str, dimension: str) -> pd.DataFrame:
    del settings, revision
    return annotation_rows(study_id, dimension, wiring.reviews())


@st.cache_resource(show_spinner="Comparing what people and the judge said …", max_entries=_ENTRIES)
def _found(
    settings: Settings, revision: str, study_id: str, dimension: str, instrument: str | None
) -> Agreement:
    table = _rows(settings, revision, study_id, dimension)
    return agreement(
        table, dimension=dimension, ends=ends(dimension), instrument_id=instrument, boot=BOOT
    )


def ends(dimension: str) -> Ends:
    return rubric_ends().get(dimension) or Ends(0, 9)
