"""What a PersonaLens profile should hold: domains, affinities, lists or texts, vocabularies.

It comes from the source's own `res/schema.json`, or else from the facts in
`assets/vocabulary/personalens.v1.yaml`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from core.errors import SourceError
from core.sources.irregularities import Irregularities
from core.sources.json_text import get_text, get_texts, missing, wrong
from core.types import Vocabulary

_ASSET = Path(__file__).parents[2] / "assets" / "vocabulary" / "personalens.v1.yaml"
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

# domain -> affinity -> whether it holds a list: the shape of one profile
Shape: TypeAlias = tuple[tuple[str, tuple[tuple[str, bool], ...]], ...]


@dataclass(frozen=True, slots=True)
class AffinityType:
    """Whether an affinity holds a list, and its closed vocabulary where one is known."""

    listed: bool
    values: tuple[str, ...] | None = None


Catalogue: TypeAlias = Mapping[str, Mapping[str, AffinityType]]


@cache
def default_catalogue() -> Catalogue:
    """Load the catalogue that the project ships."""
    domains = yaml.safe_load(_ASSET.read_text(encoding="utf-8"))["domains"]
    return {
        domain: {
            name: AffinityType(
                entry["listed"], tuple(entry["values"]) if "values" in entry else None
            )
            for name, entry in affinities.items()
        }
        for domain, affinities in domains.items()
    }


# --- res/schema.json --------------------------------------------------------------------------


def catalogue_of_schema(data: Any, where: str, found: Irregularities) -> Catalogue:
    """Read a source's schema; its slips are counted. Raises `SourceError` if it is no schema."""
    if not isinstance(data, list):
        raise wrong(where, "the whole", "a list of domains", data)
    catalogue: dict[str, dict[str, AffinityType]] = {}
    for number, domain in enumerate(data):
        name = get_text(domain, "domain", where, f"[{number}]")
        affinities = domain.get("affinities")
        if not isinstance(affinities, list):
            raise wrong(where, f"[{number}].affinities", "a list", affinities)
        catalogue[name] = dict(_schema_affinity(a, f"{where}: {name}", found) for a in affinities)
    return catalogue


def _schema_affinity(data: Any, where: str, found: Irregularities) -> tuple[str, AffinityType]:
    name = get_text(data, "name", where)
    listed, closed = _flag(data, "has_multiple_values", where), _flag(data, "is_categorical", where)
    values = get_texts(data, "possible_values", where)
    for slip in _slips(values):
        found.add("schema_fault", f"{where}.{name}: {slip}")
    return name, AffinityType(listed, values if closed else None)


def _flag(data: dict[str, Any], key: str, where: str) -> bool:
    if key not in data:
        raise missing(where, key)
    if not isinstance(data[key], bool):
        raise wrong(where, key, "true or false", data[key])
    return bool(data[key])


def _slips(values: tuple[str, ...]) -> Iterator[str]:
    for value in sorted({v for v in values if values.count(v) > 1}):
        yield f"{value!r} is listed twice"
    for value in values:
        for word in value.casefold().split():
            near = difflib.get_close_matches(word, _DAYS, n=1, cutoff=0.8)
            if near and word not in _DAYS and word.rstrip("s") not in _DAYS:
                yield f"{value!r} looks like a misspelt {near[0].title()}"


# --- checks -----------------------------------------------------------------------------------


def check_shape(shape: Shape, catalogue: Catalogue, where: str, found: Irregularities) -> None:
    """Check that a profile has every domain and affinity of the catalogue, of its type.

    Raises `SourceError` for what is missing or of the wrong type; counts what is unknown.
    """
    have = {domain: dict(affinities) for domain, affinities in shape}
    for domain, affinities in catalogue.items():
        if domain not in have:
            raise missing(where, f"affinities.{domain}")
        for name, kind in affinities.items():
            _check_affinity(have[domain], name, kind, f"{where}: affinities.{domain}")
    for domain, names in have.items():
        for name in names:
            if name not in catalogue.get(domain, {}):
                found.add("unknown_affinity", f"{where}: {domain}.{name}")


def _check_affinity(have: Mapping[str, bool], name: str, kind: AffinityType, within: str) -> None:
    if name not in have:
        raise SourceError(f"{within}.{name} is missing.")
    if have[name] != kind.listed:
        is_, should = ("a list", "a text") if have[name] else ("a text", "a list of texts")
        raise SourceError(f"{within}.{name} should be {should}, it is {is_}.")


def check_values(vocabulary: Vocabulary, catalogue: Catalogue, found: Irregularities) -> None:
    """Count values outside the closed vocabularies, apart from those that differ in case."""
    for domain, affinities in catalogue.items():
        for name, kind in affinities.items():
            if kind.values is None:
                continue
            folded = {v.casefold() for v in kind.values}
            for value, count in vocabulary.get(domain, {}).get(name, {}).items():
                if value not in kind.values:
                    case_only = value.casefold() in folded
                    variant = "value_case_variant" if case_only else "value_outside_vocabulary"
                    found.add(variant, f"{domain}.{name}: {value} ({count})", count)


def check_names(catalogue: Catalogue, found: Irregularities) -> None:
    """Count pairs of affinities of a domain of which one's name ends with the other's."""
    for domain, names in catalogue.items():
        for short in names:
            for longer in names:
                if longer.endswith(f" {short}"):
                    found.add("near_synonymous_affinities", f"{domain}: {short} / {longer}")
