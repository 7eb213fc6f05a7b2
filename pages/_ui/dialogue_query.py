"""Which dialogues a person looks at: read from the address, so that a view can be shared."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import streamlit as st

from core.compare import rubric_ends
from core.ports import DialogueFilter
from core.settings import Settings
from core.types import DialogueSummary, StopReason, TaskKind
from pages._ui import state, wiring

PAGE = 50
_SEARCHED = 2_000
"""So many rows are looked through for the place of a dialogue that is not on its page."""

ORDERS = {
    "newest": "newest first",
    "oldest": "oldest first",
    "turns": "most turns",
    "persona": "persona",
    "task": "task",
    "arm": "arm",
}
PARAMS = ("study", "arm", "persona", "domain", "kind", "stop", "text", "overridden", "differ")
VALUE_PARAMS = ("dimension", "min", "max")
_LONGEST = 200
FAR = 2
"""So many points apart, judge and person are said to differ."""


@dataclass(frozen=True, slots=True)
class Query:
    """A filter, an order and a page; `page` counts from 1."""

    where: DialogueFilter
    order: str
    page: int

    @property
    def filtered(self) -> bool:
        return self.where != DialogueFilter()


@dataclass(frozen=True, slots=True)
class Neighbours:
    """A dialogue's place in the list, from 1, and who stands before and after it."""

    position: int
    before: str | None
    after: str | None


def read() -> Query:
    """The query that the address asks for; what is not understood is left out."""
    where = DialogueFilter(
        study_id=state.get("study"),
        arms=frozenset(texts("arm")),
        personas=_personas(text_of("persona")),
        domains=frozenset(texts("domain")),
        stop_reasons=frozenset(StopReason(s) for s in texts("stop") if s in list(StopReason)),
        kind=_kind(),
        text=text_of("text"),
        overridden=True if state.get("overridden") == "yes" else None,
        min_value=_bound("min"),
        max_value=_bound("max"),
        differ=_differ(),
    )
    order = state.choice("sort", tuple(ORDERS), "newest") or "newest"
    return Query(where, order, whole("page", 1))


def texts(name: str) -> list[str]:
    """Every value of a parameter that may be given several times."""
    return [value[:_LONGEST] for value in st.query_params.get_all(name) if value]


def text_of(name: str) -> str:
    """A parameter of free text; only ever compared, never read as anything else."""
    return str(st.query_params.get(name, "")).strip()[:_LONGEST]


def whole(name: str, otherwise: int) -> int:
    """A parameter that is a number of at most six digits."""
    value = st.query_params.get(name, "")
    return int(value) if value.isascii() and value.isdigit() and len(value) < 7 else otherwise


def put(name: str, value: str | Iterable[str] | None) -> None:
    """Write one part of the query into the address and begin at the first page again."""
    if value:
        st.query_params[name] = value if isinstance(value, str) else list(value)
    else:
        st.query_params.pop(name, None)
    st.query_params.pop("page", None)


def clear() -> None:
    """Take every filter out of the address."""
    for name in (*PARAMS, *VALUE_PARAMS, "page"):
        st.query_params.pop(name, None)


def _kind() -> TaskKind | None:
    kind = state.choice("kind", list(TaskKind))
    return TaskKind(kind) if kind else None


def _bound(name: str) -> tuple[str, int] | None:
    dimension = state.choice("dimension", tuple(rubric_ends()))
    if dimension is None:
        return None
    ends = rubric_ends()[dimension]
    end = ends.low if name == "min" else ends.high
    return dimension, min(max(whole(name, end), ends.low), ends.high)


def _differ() -> tuple[str, int] | None:
    """Judge and a person apart by `FAR` points, on the chosen dimension or on any."""
    if state.get("differ") != "yes":
        return None
    return state.choice("dimension", tuple(rubric_ends())) or "", FAR


def _personas(words: str) -> frozenset[str]:
    """Ids of personas about whom `words` are said; the words themselves may be an id.

    That also keeps the set from being empty, which would mean everybody.
    """
    if not words:
        return frozenset()
    store = wiring.store()
    names = (dataset.name for dataset in store.list_datasets())
    return frozenset(i for name in names for i in store.search_personas(name, words)) | {words}


# --- rows -------------------------------------------------------------------------------------


class At(NamedTuple):
    """What is asked of the store as it stands: the key of what is kept here."""

    settings: Settings
    revision: str
    asked: str
    order: str = ""


def at(asked: str, order: str = "") -> At:
    """A question to the store as it stands now."""
    return At(wiring.settings(), wiring.store().revision(), asked, order)


def total() -> int:
    """How many dialogues there are at all."""
    return _count(at(""), DialogueFilter())


def count(query: Query) -> int:
    """How many dialogues fit."""
    return _count(at(key_of(query.where)), query.where)


def rows(query: Query) -> list[DialogueSummary]:
    """The rows of the query's page."""
    return _slice(query, (query.page - 1) * PAGE, PAGE)


def neighbours(query: Query, dialogue_id: str) -> Neighbours | None:
    """The place of a dialogue in the list; None when it is not in it or too far away."""
    start = max((query.page - 1) * PAGE - 1, 0)
    place = _place(_slice(query, start, PAGE + 2), start, dialogue_id)
    if place is not None:
        return place
    return _place(_slice(query, 0, _SEARCHED), 0, dialogue_id)


def _place(found: list[DialogueSummary], start: int, dialogue_id: str) -> Neighbours | None:
    ids = [summary.id for summary in found]
    if dialogue_id not in ids:
        return None
    at = ids.index(dialogue_id)
    before = ids[at - 1] if at else None
    after = ids[at + 1] if at + 1 < len(ids) else None
    return Neighbours(start + at + 1, before, after)


def key_of(where: DialogueFilter) -> str:
    """The filter as a text that is equal for equal filters: a cache's key."""
    sets = (where.arms, where.personas, where.domains, where.stop_reasons)
    plain = (where.study_id, where.kind, where.text, where.overridden)
    values = (where.min_value, where.max_value, where.differ)
    return repr((plain, [sorted(s) for s in sets], values))


def _slice(query: Query, offset: int, limit: int) -> list[DialogueSummary]:
    return _rows(at(key_of(query.where), query.order), query.where, limit, offset)


@st.cache_resource(show_spinner=False, max_entries=64)
def _count(at: At, _where: DialogueFilter) -> int:
    del at  # the key
    return wiring.store().count_dialogues(_where)


@st.cache_resource(show_spinner=False, max_entries=64)
def _rows(at: At, _where: DialogueFilter, limit: int, offset: int) -> list[DialogueSummary]:
    return wiring.store().list_dialogues(_where, order=at.order, limit=limit, offset=offset)
