"""The filters above the list of dialogues. What stands in them is what the address says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.compare import rubric_ends
from core.ports import DialogueFilter, Study
from core.types import StopReason, TaskKind
from pages._ui import dialogue_query, state, text, wiring
from pages._ui.dialogue_query import FAR, ORDERS, PARAMS, put

_KINDS = {TaskKind.SINGLE: "one domain", TaskKind.MULTI: "several domains"}
_LOOKED_AT = 2_000
_ANY = ""


@dataclass(frozen=True, slots=True)
class Facets:
    """What there is to filter by."""

    studies: tuple[Study, ...]
    arms: tuple[str, ...]
    domains: tuple[str, ...]


def draw() -> None:
    """Draw the filters; each writes its own part of the address."""
    facets = _facets(dialogue_query.at("facets"))
    study, search, sort = st.columns([3, 4, 2], gap="small")
    with study:
        _study(facets.studies)
    with search:
        _free("text", "Search", "Words of an intent or a message, or an id")
    with sort:
        _one("sort", "Sort", list(ORDERS), ORDERS.get)
    active = sum(name in st.query_params for name in (*PARAMS[1:6], *PARAMS[7:], "dimension"))
    label = f"Filters ({active} in use)" if active else "Filters"
    with st.expander(label, key="dialogues.filters", icon=":material/filter_list:"):
        _more(facets)


def _more(facets: Facets) -> None:
    first = st.columns(3, gap="small")
    with first[0]:
        _many("arm", "Arm", facets.arms)
    with first[1]:
        _free("persona", "Persona", "An id, a country, an author, a habit")
    with first[2]:
        _many("domain", "Domain", facets.domains)
    second = st.columns(3, gap="small")
    with second[0]:
        _many("stop", "Ended by", list(StopReason), text.stop_reason_label)
    with second[1]:
        _one("kind", "Task", [_ANY, *TaskKind], _kind)
    with second[2]:
        _one("dimension", "Has a value on", [_ANY, *rubric_ends()], _dimension)
    third = st.columns(3, gap="small", vertical_alignment="center")
    with third[0]:
        _toggle("overridden", "Overridden only")
    with third[1]:
        _toggle("differ", f"Judge and a person differ by {FAR} or more")
    with third[2]:
        _values()


def _study(studies: Sequence[Study]) -> None:
    names = {study.id: study.name for study in studies}
    _one("study", "Study", [_ANY, *names], lambda i: names.get(i, "All studies"))


def _kind(kind: str) -> str:
    return _KINDS[TaskKind(kind)] if kind else "any"


def _dimension(dimension: str) -> str:
    return text.dimension_label(dimension) if dimension else "no matter"


def _values() -> None:
    """From and to on the chosen dimension, each from its own end of the scale."""
    dimension = state.choice("dimension", tuple(rubric_ends()))
    if dimension is None:
        return
    ends = rubric_ends()[dimension]
    values = [str(value) for value in range(ends.low, ends.high + 1)]
    low, high = st.columns(2, gap="small")
    with low:
        _one("min", "From", values, lambda v: text.value_label(dimension, int(v)))
    with high:
        _one("max", "To", values[::-1], lambda v: text.value_label(dimension, int(v)))


def _toggle(name: str, label: str) -> None:
    key = f"dialogues.{name}"
    st.session_state[key] = state.get(name) == "yes"
    st.toggle(label, key=key, on_change=lambda: put(name, "yes" if st.session_state[key] else None))


# --- widgets whose value is in the address ------------------------------------------------------


def _one(name: str, label: str, options: list[Any], shown: Callable[[Any], Any]) -> None:
    key = f"dialogues.{name}"
    value = st.query_params.get(name, options[0])
    st.session_state[key] = value if value in options else options[0]

    def changed() -> None:
        put(name, st.session_state[key])
        if name == "dimension":
            state.put(min=None, max=None)

    st.selectbox(label, options, key=key, format_func=shown, on_change=changed)


def _many(name: str, label: str, options: Iterable[str], shown: Callable[[Any], Any] = str) -> None:
    key = f"dialogues.{name}"
    known = list(options)
    st.session_state[key] = [value for value in dialogue_query.texts(name) if value in known]
    st.multiselect(
        label,
        known,
        key=key,
        format_func=shown,
        placeholder="Any",
        on_change=lambda: put(name, st.session_state[key]),
    )


def _free(name: str, label: str, hint: str) -> None:
    key = f"dialogues.{name}"
    st.session_state[key] = dialogue_query.text_of(name)
    st.text_input(
        label,
        key=key,
        type="search",
        placeholder=hint,
        max_chars=200,
        on_change=lambda: put(name, (st.session_state[key] or "").strip()),
    )


@st.cache_resource(show_spinner=False, max_entries=8)
def _facets(at: dialogue_query.At) -> Facets:
    """Arms of every study and of the newest dialogues; domains of every dataset and of those."""
    del at  # the key
    store = wiring.store()
    studies = tuple(store.list_studies())
    newest = store.list_dialogues(DialogueFilter(), limit=_LOOKED_AT)
    planned = [arm.name for s in studies if s.spec for arm in s.spec.arms]
    arms = dict.fromkeys([*planned, *(d.arm for d in newest)])
    tasks = (t.domains for d in store.list_datasets() for t in store.list_tasks(d.name))
    domains = {domain for of in (*tasks, *(d.domains for d in newest)) for domain in of}
    return Facets(studies, tuple(arms), tuple(sorted(domains)))
