"""Names of affinities in tasks, resolved to the affinities that profiles hold."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.types import AffinityRef

_QUALIFIED = re.compile(r"(?P<name>.+?) \((?P<domain>[^()]+)\)")


@dataclass(frozen=True, slots=True)
class Resolved:
    """What one name means; `irregular` is the kind of irregularity it needed, if any."""

    refs: tuple[AffinityRef, ...]
    irregular: str = ""


class AffinityNames:
    """The affinity names of each domain, as the profiles of a source spell them."""

    def __init__(self, names: Mapping[str, Sequence[str]]) -> None:
        self._exact = {d: {n: n for n in of_domain} for d, of_domain in names.items()}
        self._folded = {d: {_folded(n): n for n in of} for d, of in names.items()}

    def resolve(self, name: str, domains: Sequence[str]) -> Resolved:
        """Find the affinities that `name` means in a task of `domains`.

        Tried in turn: the name as it stands in the task's domains (all that have it), a name
        with its domain in brackets, another spelling, and last the domains outside the task.
        """
        if literal := self._literal(name, domains):
            return Resolved(literal, "ambiguous_affinity_name" if len(literal) > 1 else "")
        if qualified := self._qualified(name, domains):
            return Resolved(qualified, "affinity_name_qualified")
        if spelt := self._spelt(name, domains):
            return Resolved(spelt, "affinity_name_spelling")
        everywhere = sorted(self._exact)
        elsewhere = self._literal(name, everywhere) or self._spelt(name, everywhere)
        return Resolved(
            elsewhere, "affinity_from_other_domain" if elsewhere else "unresolvable_affinity"
        )

    def _literal(self, name: str, domains: Sequence[str]) -> tuple[AffinityRef, ...]:
        return tuple(AffinityRef(d, name) for d in domains if name in self._exact.get(d, {}))

    def _spelt(self, name: str, domains: Sequence[str]) -> tuple[AffinityRef, ...]:
        key = _folded(name)
        return tuple(
            AffinityRef(d, self._folded[d][key]) for d in domains if key in self._folded.get(d, {})
        )

    def _qualified(self, name: str, domains: Sequence[str]) -> tuple[AffinityRef, ...]:
        found = _QUALIFIED.fullmatch(name)
        if found is None or found["domain"] not in domains:
            return ()
        return self._spelt(found["name"], [found["domain"]])


def _folded(name: str) -> str:
    return " ".join(name.casefold().replace("favourite", "favorite").split())
