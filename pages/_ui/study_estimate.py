"""What a study comes to, shown beside its form: the count, the estimate, and what it rests on."""

from __future__ import annotations

import json

import streamlit as st

from core.errors import StudyError
from core.estimate import Estimate, Extent, Range, estimate
from core.monitor import Past
from core.settings import Settings
from core.study import select_scenarios
from core.study_file import ScenarioSelection, StudySpec
from core.types import Dataset, ModelSpec
from pages._ui import tables, text, wiring


def extent_of(dataset: Dataset, selection: ScenarioSelection) -> Extent:
    """How many scenarios and people a selection comes to. Raises `StudyError` for none."""
    imported = dataset.imported_at.isoformat()
    found = _extent(wiring.settings(), dataset.name, imported, selection.model_dump_json())
    if isinstance(found, str):
        raise StudyError(found)
    return found


@st.cache_resource(show_spinner=False, max_entries=64)
def _extent(settings: Settings, dataset: str, imported: str, selection: str) -> Extent | str:
    del settings, imported  # the key
    asked = ScenarioSelection.model_validate_json(selection)
    try:
        return Extent.of(select_scenarios(dataset, asked, wiring.store()))
    except StudyError as error:
        return str(error)


def of(spec: StudySpec, extent: Extent) -> Estimate:
    """The estimate of a checked study."""
    return estimate(spec, extent, _past(wiring.settings(), spec.dataset), _price)


@st.cache_data(show_spinner=False, ttl=30)
def _past(settings: Settings, dataset: str) -> Past:
    del settings
    return wiring.store().past(dataset)


def _price(spec: ModelSpec) -> tuple[float, float] | None:
    return _priced(json.dumps(spec.to_dict(), sort_keys=True, default=str), spec)


@st.cache_data(show_spinner="Looking up prices …", max_entries=256)
def _priced(key: str, _spec: ModelSpec) -> tuple[float, float] | None:
    del key
    return wiring.token_price(_spec)


def show_count(extent: Extent, arms: int, repetitions: int) -> None:
    """Draw how many scenarios, people and dialogues there will be."""
    dialogues = extent.scenarios * arms * repetitions
    pairs = [
        ("scenarios", text.count(extent.scenarios)),
        ("people", text.count(extent.personas)),
        ("dialogues", text.count(dialogues)),
    ]
    tables.facts(pairs, columns=3)


def show(found: Estimate) -> None:
    """Draw an estimate, what to beware of, and what it rests on."""
    pairs = [
        ("model calls", span(found.calls)),
        ("tokens", span(found.tokens)),
        ("cost", cost(found)),
        ("time", _time(found.seconds)),
    ]
    tables.facts(pairs, columns=2)
    if found.warning:
        st.warning(text.escape_md(found.warning), icon=":material/payments:")
    with st.expander("What this rests on", key="studies.basis", icon=":material/info:"):
        for sentence in found.basis:
            st.caption(text.escape_md(sentence))


def span(value: Range) -> str:
    """`600 (300 to 1,200)`, or one number where nothing is uncertain."""
    expected = _round(value.expected)
    if value.low == value.high:
        return expected
    return f"{expected} ({_round(value.low)} to {_round(value.high)})"


def cost(found: Estimate) -> str:
    """The cost in words; unknown stays unknown."""
    value = found.cost_usd
    if value is None:
        return "unknown"
    if value.high == 0:
        return "nothing"
    ends = f"{text.money(value.low)} to {text.money(value.high)}"
    return f"{text.money(value.expected)} ({ends})"


def _round(value: float) -> str:
    """Three digits at most: an estimate has no more."""
    if value < 1000:
        return text.count(round(value))
    for size, unit in ((1e9, "billion"), (1e6, "million")):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return text.count(100 * round(value / 100))


def _time(value: Range) -> str:
    ends = f"{text.duration(value.low)} to {text.duration(value.high)}"
    return f"{text.duration(value.expected)} ({ends})"
