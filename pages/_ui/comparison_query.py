"""Which comparison a person looks at: study, dimension, baseline and instrument, in the address."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from core.comparison import Comparison
from core.findings import compare_study
from core.ports import DialogueFilter, Study
from core.settings import Settings
from pages._ui import state, text, wiring


class At(NamedTuple):
    """What is asked of the store as it stands: the key of what is kept here."""

    settings: Settings
    revision: str


def studies() -> list[Study]:
    """Studies that hold at least one dialogue, newest first."""
    return _studies(_at())


def dimensions(study: Study) -> tuple[str, ...]:
    """What the study's judgements rate; empty when nothing of it has been judged."""
    return _dimensions(_at(), study.id)


def comparison(
    study: Study, baseline: str | None = None, dimension: str | None = None
) -> Comparison:
    """Of one dimension, which is read in a fraction of the time, or of all."""
    return _comparison(_at(), study.id, baseline, dimension)


def pick_study(found: list[Study]) -> Study:
    """The study that the address names; otherwise the newest one that was planned."""
    ids = [s.id for s in found]
    named = next((s.id for s in found if s.name == state.get("study")), None)
    planned = next((s.id for s in found if s.kind == "study"), ids[0])
    chosen = _pick("Study", "study", ids, named or planned, {s.id: _study_label(s) for s in found})
    return next(s for s in found if s.id == chosen)


def pick_dimension(study: Study, dimensions: tuple[str, ...]) -> str:
    """The dimension that the address names; otherwise the study's primary one."""
    primary = study.spec.primary if study.spec is not None else "personalization"
    default = primary if primary in dimensions else dimensions[0]
    labels = {d: text.dimension_label(d) for d in dimensions}
    return _pick("Dimension", "dimension", list(dimensions), default, labels)


def pick_baseline(arms: tuple[str, ...], default: str) -> str:
    return _pick("Baseline", "baseline", list(arms), default, {a: a for a in arms})


def pick_instrument(whole: Comparison, dimension: str) -> Comparison:
    """The part of one instrument; where several rated the dimension, a person chooses one."""
    there = whole.instruments(dimension)
    if len(there) == 1:
        return whole.select(dimension)
    ids = list(there)
    chosen = _pick(
        "Instrument (two are two rulers, so they are never averaged)",
        "instrument",
        ids,
        ids[0],
        there,
    )
    return whole.select(dimension, chosen)


def _pick(label: str, name: str, ids: list[str], default: str, labels: dict[str, str]) -> str:
    """A select box whose value is a parameter of the address; the address decides."""
    key = f"compare.{name}"
    chosen = state.choice(name, ids, default) or default
    st.session_state[key] = chosen
    st.selectbox(
        label,
        ids,
        key=key,
        format_func=lambda i: labels[i],
        on_change=lambda: state.put(**{name: st.session_state[key]}),
    )
    state.put(**{name: chosen})
    return chosen


def _study_label(study: Study) -> str:
    kinds = {"launched": "launched by hand", "imported": "imported"}
    return f"{study.name} ({kinds[study.kind]})" if study.kind == "imported" else study.name


def _at() -> At:
    return At(wiring.settings(), wiring.store().revision())


@st.cache_data(show_spinner=False, max_entries=50)
def _studies(at: At) -> list[Study]:
    del at
    store = wiring.store()
    found = store.list_studies()
    return [s for s in found if store.count_dialogues(DialogueFilter(study_id=s.id))]


@st.cache_data(show_spinner=False, max_entries=50)
def _dimensions(at: At, study_id: str) -> tuple[str, ...]:
    del at
    return tuple(wiring.store().rated_dimensions(study_id))


@st.cache_data(show_spinner="Comparing …", max_entries=50)
def _comparison(at: At, study_id: str, baseline: str | None, dimension: str | None) -> Comparison:
    del at
    store = wiring.store()
    study = store.get_study(study_id)
    return compare_study(study, store, baseline=baseline, dimension=dimension)
