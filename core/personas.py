"""The persona browser's logic: which personas match, and what of a persona matters for a task.

Nothing here reads a store; a free text over affinities and summaries is `Store.search_personas`,
whose ids come in through `PersonaFilter.ids`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from core.types import Affinity, AffinityRef, Dataset, Persona, PersonaSummary, Task

ID_FIELD = "user_id"  # repeats the persona's id; it says nothing about the person
_TITLES = {
    "age": "age",
    "gender": "gender",
    "employment_status": "work",
    "education": "education",
    "marital_status": "marital status",
    "english_proficiency": "English",
    "ethnicity": "ethnicity",
    "religion": "religion",
    "birth_country": "born in",
    "reside_country": "lives in",
}


@dataclass(frozen=True, slots=True)
class PersonaFilter:
    """Which personas; empty fields mean all.

    `ids` are those a search found, None without a search. A persona matches when it has one
    of the values of every field in `demographics`, and cares for all of `interests`.
    """

    ids: frozenset[str] | None = None
    demographics: Mapping[str, frozenset[str]] = field(default_factory=dict)
    interests: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class MarkedValue:
    """One value of an affinity, and whether the summary of its domain says it word for word."""

    text: str
    in_summary: bool


@dataclass(frozen=True, slots=True)
class MarkedAffinity:
    name: str
    values: tuple[MarkedValue, ...]


@dataclass(frozen=True, slots=True)
class RelevantAffinity:
    """An affinity that a task makes relevant, with this persona's values; None: it has none."""

    ref: AffinityRef
    values: tuple[str, ...] | None


# --- which personas ---------------------------------------------------------------------------


def matching(personas: Iterable[PersonaSummary], where: PersonaFilter) -> list[PersonaSummary]:
    """Return the personas that match `where`, in the order given."""
    wanted = {name: values for name, values in where.demographics.items() if values}
    return [p for p in personas if _matches(p, where, wanted)]


def _matches(
    persona: PersonaSummary, where: PersonaFilter, wanted: Mapping[str, frozenset[str]]
) -> bool:
    if where.ids is not None and persona.id not in where.ids:
        return False
    if not where.interests <= persona.interests:
        return False
    return all(persona.demographics.get(name) in values for name, values in wanted.items())


def demographic_values(personas: Iterable[PersonaSummary]) -> dict[str, tuple[str, ...]]:
    """Return each demographic field that is present with its values, sorted.

    Known fields come first, in the order in which people read them, then others as met.
    """
    met: dict[str, set[str]] = {name: set() for name in _TITLES}
    for persona in personas:
        for name, value in persona.demographics.items():
            met.setdefault(name, set()).add(value)
    met.pop(ID_FIELD, None)
    return {name: tuple(sorted(values)) for name, values in met.items() if values}


def interest_domains(personas: Iterable[PersonaSummary]) -> tuple[str, ...]:
    """Return every domain that one of the personas cares for, sorted."""
    return tuple(sorted({domain for p in personas for domain in p.interests}))


# --- words ------------------------------------------------------------------------------------


def field_title(name: str) -> str:
    """Return a demographic field's name as people read it: `lives in` for `reside_country`."""
    return _TITLES.get(name, name.replace("_", " "))


def facts(demographics: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return title and value of each demographic field, known ones first; no id."""
    known = [name for name in _TITLES if name in demographics]
    others = [name for name in demographics if name not in _TITLES and name != ID_FIELD]
    return [(field_title(name), demographics[name]) for name in (*known, *others)]


def headline(persona: Persona | PersonaSummary) -> str:
    """Return one line that says who this is: id, age, work, where they live."""
    told = persona.demographics
    parts = [persona.id, told.get("age"), told.get("employment_status")]
    if "reside_country" in told:
        parts.append(f"lives in {told['reside_country']}")
    return " · ".join(part for part in parts if part)


# --- one persona ------------------------------------------------------------------------------


def domains_of(persona: Persona) -> tuple[str, ...]:
    """Return every domain of which the persona holds affinities or a summary, as stored."""
    held = (a.domain for a in persona.affinities)
    return tuple(dict.fromkeys((*held, *persona.interactions)))


def marked_affinities(persona: Persona, domain: str) -> tuple[MarkedAffinity, ...]:
    """Return the affinities of `domain`, each value marked when the domain's summary says it.

    An assistant that is given the summary is given these values with it.
    """
    summary = persona.interactions.get(domain, "").casefold()
    return tuple(_marked(a, summary) for a in persona.in_domains((domain,)))


def _marked(affinity: Affinity, summary: str) -> MarkedAffinity:
    values = (MarkedValue(v, says(summary, v)) for v in affinity.values)
    return MarkedAffinity(affinity.name, tuple(values))


def says(folded_summary: str, value: str) -> bool:
    """Tell whether a case-folded summary holds `value` word for word, in any letter case."""
    wanted = value.strip().casefold()
    return bool(wanted) and wanted in folded_summary


def count_marked(affinities: Sequence[MarkedAffinity]) -> tuple[int, int]:
    """Return how many values the summary says, and how many there are."""
    values = [v for a in affinities for v in a.values]
    return sum(v.in_summary for v in values), len(values)


def relevant_affinities(persona: Persona, task: Task) -> tuple[RelevantAffinity, ...]:
    """Return what the task makes relevant, in its order, with this persona's values."""
    found = ((ref, persona.affinity(ref)) for ref in task.relevant)
    return tuple(RelevantAffinity(ref, a.values if a else None) for ref, a in found)


def with_personas(datasets: Iterable[Dataset]) -> list[Dataset]:
    """Those that hold personas; members of conversations by real people are none."""
    return [d for d in datasets if d.kind != "personaconv"]
