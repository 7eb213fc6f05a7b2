"""One PersonaLens `profile.json`: checked field by field, repaired where it is plain how."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from core.errors import SourceError
from core.sources.catalogue import Shape
from core.sources.irregularities import Irregularities
from core.sources.json_text import get_object, get_text, kind_of, missing, wrong
from core.types import Affinity, Persona, Vocabulary

DEMOGRAPHICS = (
    "user_id",
    "age",
    "gender",
    "employment_status",
    "education",
    "marital_status",
    "english_proficiency",
    "ethnicity",
    "religion",
    "birth_country",
    "reside_country",
)
_UNKNOWN = {"n/a", "prefer not to say"}
_NEAR_CONSTANT = 0.895  # nine in ten, rounded to whole percent
_ENOUGH_PERSONAS = 30
_ORNAMENT = re.compile(r"[^\w ]+")


@dataclass(slots=True)
class _Answer:
    """What some personas hold alike for one affinity; `where` is the first of them."""

    affinity: Affinity
    where: str
    count: int = 0

    def __str__(self) -> str:
        affinity = self.affinity
        return f"{affinity.domain}.{affinity.name}: {', '.join(affinity.values) or 'empty'}"


class Profiles:
    """Turns profiles into personas, and gathers what is only seen over all of them."""

    def __init__(self, found: Irregularities) -> None:
        self._found = found
        self.shapes: dict[Shape, str] = {}
        self.count = 0
        self._answers: dict[tuple[str, str, bool, Any], _Answer] = {}
        self._orders: dict[tuple[str, ...], list[str]] = defaultdict(list)

    def read(self, data: Any, folder: str, where: str) -> Persona:
        """Return the persona of one profile. Raises `SourceError` that names file and field."""
        if not isinstance(data, dict):
            raise wrong(where, "the whole", "an object", data)
        affinities = self._affinities(get_object(data, "affinities", where), where)
        interactions = self._interactions(get_object(data, "interactions", where), where)
        domains = dict.fromkeys([*(a for a, _ in affinities), *interactions])
        interests = self._interests(get_object(data, "interests", where), domains, where)
        parts: dict[str, Mapping[str, Any]] = {
            "affinities": dict(affinities),
            "interactions": interactions,
            "interests": interests,
        }
        _same_domains(domains, parts, where)
        self._note_shape(affinities, where)
        self.count += 1
        return Persona(
            id=folder,
            demographics=self._demographics(data, folder, where),
            interests=frozenset(d for d, wanted in interests.items() if wanted),
            affinities=tuple(a for _, of_domain in affinities for a in of_domain),
            interactions=interactions,
        )

    # demographics

    def _demographics(self, data: dict[str, Any], folder: str, where: str) -> dict[str, str]:
        given = get_object(data, "demographics", where)
        fields = {key: get_text(given, key, where, "demographics") for key in DEMOGRAPHICS}
        fields |= {k: get_text(given, k, where, "demographics") for k in given if k not in fields}
        if fields.pop("user_id") != folder:
            said = given["user_id"][:40]
            raise SourceError(f"{where}: demographics.user_id is {said!r}, the folder is {folder}.")
        unknown = [k for k, v in fields.items() if v.strip().casefold() in _UNKNOWN]
        if unknown:
            self._found.add("unknown_demographic", f"{folder}: {', '.join(unknown)}")
        return fields

    # affinities

    def _affinities(
        self, data: dict[str, Any], where: str
    ) -> list[tuple[str, tuple[Affinity, ...]]]:
        read = []
        for domain in data:
            given = get_object(data, domain, where, "affinities")
            read.append((domain, tuple(self._affinity(given, domain, n, where) for n in given)))
        return read

    def _affinity(self, given: dict[str, Any], domain: str, name: str, where: str) -> Affinity:
        """The affinity; what many personas answer alike is checked and kept once."""
        value = given[name]
        listed = isinstance(value, list)
        answer = (domain, name, listed, tuple(value) if listed else value)
        try:
            known = self._answers.get(answer)
        except TypeError:  # not hashable, so no texts; said precisely below
            known = None
        if known is None:
            _require_texts(value, f"affinities.{domain}.{name}", where)
            values = tuple(value) if listed else (value,)
            known = _Answer(Affinity(domain, name, values, listed), where)
            self._answers[answer] = known
        known.count += 1
        return known.affinity

    def _note_shape(self, affinities: list[tuple[str, tuple[Affinity, ...]]], where: str) -> None:
        shape = tuple((d, tuple((a.name, a.listed) for a in of)) for d, of in affinities)
        self.shapes.setdefault(shape, where)

    # summaries and the interest mask

    def _interactions(self, data: dict[str, Any], where: str) -> dict[str, str]:
        for domain in data:
            text = get_text(data, domain, where, "interactions")
            if not text.strip():
                self._found.add("empty_summary", f"{where}: {domain}")
            elif text.startswith("Here"):
                self._found.add("summary_announces_itself", f"{where}: {domain}")
            elif text.startswith("Based on"):
                self._found.add("summary_based_on", f"{where}: {domain}")
        return dict(data)

    def _interests(
        self, data: dict[str, Any], domains: Iterable[str], where: str
    ) -> dict[str, bool]:
        mask: dict[str, bool] = {}
        for key, value in data.items():
            domain = self._domain_of(key, domains, where)
            if isinstance(value, bool) or value not in (0, 1):
                said = value if isinstance(value, int | float) else kind_of(value)
                raise SourceError(f"{where}: interests.{key} should be 0 or 1, it is {said}.")
            if domain in mask:
                raise SourceError(f"{where}: interests names {domain} twice.")
            mask[domain] = value == 1
        self._orders[tuple(mask)].append(where)
        for domain in (d for d, wanted in mask.items() if not wanted):
            self._found.add("masked_domain_has_affinities", f"{where}: {domain}")
        return mask

    def _domain_of(self, key: str, domains: Iterable[str], where: str) -> str:
        if key in domains:
            return key
        plain = _ORNAMENT.sub("", key).strip().casefold()
        for domain in domains:
            if domain.casefold() == plain:
                self._found.add("misspelt_mask_key", f"{where}: {key} is {domain}")
                return domain
        raise SourceError(f"{where}: interests names {key[:40]!r}, which is no domain here.")

    # over all profiles

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Domain, affinity, value: how many personas hold it. To be asked for at the end."""
        held: dict[str, dict[str, Counter[str]]] = {}
        for answer in self._answers.values():
            counts = held.setdefault(answer.affinity.domain, {})
            values = counts.setdefault(answer.affinity.name, Counter())
            for value in set(answer.affinity.values):
                values[value] += answer.count
        return held

    @property
    def names(self) -> Mapping[str, list[str]]:
        """Affinity names by domain, over all profiles."""
        return {domain: list(names) for domain, names in self.vocabulary.items()}

    def finish(self) -> None:
        """Count what only shows over all profiles, or is the same in many."""
        self._check_orders()
        most: dict[tuple[str, str], _Answer] = {}
        for answer in self._answers.values():
            self._note_answer(answer)
            key = answer.affinity.domain, answer.affinity.name
            if key not in most or answer.count > most[key].count:
                most[key] = answer
        for answer in most.values():
            share = answer.count / self.count
            if share >= _NEAR_CONSTANT and self.count >= _ENOUGH_PERSONAS:
                self._found.add("near_constant_affinity", f"{answer} ({share:.0%})")

    def _check_orders(self) -> None:
        usual = max(self._orders, key=lambda order: len(self._orders[order]), default=())
        for order, places in self._orders.items():
            for where in places if order != usual else ():
                self._found.add("mask_order", where)

    def _note_answer(self, answer: _Answer) -> None:
        values = answer.affinity.values
        example = f"{answer.where}: {answer}"
        if not values:
            self._found.add("empty_list", example, answer.count)
        if len(set(values)) < len(values):
            self._found.add("duplicate_value", example, answer.count)
        words = {value.strip().casefold() for value in values}
        for word, kind in (("n/a", "literal_na_value"), ("no preference", "no_preference")):
            if word in words:
                self._found.add(kind, example, answer.count)


def _require_texts(value: Any, field: str, where: str) -> None:
    if not isinstance(value, list):
        if not isinstance(value, str):
            raise wrong(where, field, "a text or a list of texts", value)
        return
    for number, item in enumerate(value):
        if not isinstance(item, str):
            raise wrong(where, f"{field}[{number}]", "a text", item)


def _same_domains(
    domains: Iterable[str], parts: Mapping[str, Mapping[str, Any]], where: str
) -> None:
    for domain in domains:
        for field, held in parts.items():
            if domain not in held:
                raise missing(where, f"{field}.{domain}")
