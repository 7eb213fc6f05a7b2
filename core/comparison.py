"""What a comparison of arms consists of: estimates, differences, distributions, domains.

Every row names its instrument, and a comparison of one dimension by two instruments can only
be looked at one instrument at a time: two instruments are two rulers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from core.stats.types import MixedInstruments

MULTI_DOMAIN = "Multi-domain"


@dataclass(frozen=True, slots=True)
class Ends:
    """The scale of a dimension: its lowest and highest value, and whether it is yes or no."""

    low: int
    high: int
    verdict: bool = False


@dataclass(frozen=True, slots=True)
class ArmEstimate:
    """One arm on one dimension by one instrument.

    `n` counts dialogues with a value; `estimate` is None when there is none, `lo` and `hi`
    when there are too few personas for an interval, and then `dots` holds the persona means.
    """

    arm: str
    dimension: str
    instrument: str
    instrument_id: str
    estimate: float | None
    lo: float | None
    hi: float | None
    n: int
    n_personas: int
    n_unscored: int
    method: str
    warnings: tuple[str, ...] = ()
    dots: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """An arm minus the baseline over the scenarios that both have.

    `n` counts those scenarios (pairs); the two means are over them. `p` is the sign-flip p,
    `p_adjusted` Holm's over the arms of this dimension and instrument. `ranked` is False when
    too many dialogues of either arm are unscored to say which is higher.
    """

    arm: str
    baseline: str
    dimension: str
    instrument: str
    instrument_id: str
    estimate: float | None
    lo: float | None
    hi: float | None
    p: float | None
    n: int
    n_personas: int
    wins: int
    losses: int
    ties: int
    superiority: float | None
    arm_mean: float | None = None
    baseline_mean: float | None = None
    p_adjusted: float | None = None
    ranked: bool = True
    warnings: tuple[str, ...] = ()

    @property
    def resolved(self) -> bool:
        """Whether the interval says which of the two is higher."""
        return self.lo is not None and self.hi is not None and (self.lo > 0 or self.hi < 0)


@dataclass(frozen=True, slots=True)
class Distribution:
    """How often each value was given, per judgement; values of the scale with 0 included."""

    arm: str
    dimension: str
    instrument: str
    instrument_id: str
    counts: tuple[tuple[int, int], ...]
    n_unscored: int


@dataclass(frozen=True, slots=True)
class DomainEstimate:
    """One arm in one domain; a dialogue over several domains counts under `MULTI_DOMAIN`."""

    arm: str
    domain: str
    dimension: str
    instrument: str
    instrument_id: str
    estimate: float
    lo: float | None
    hi: float | None
    n: int
    n_personas: int
    too_few: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that one look at a study needs; rows of all parts name their instrument."""

    arms: tuple[str, ...]
    baseline: str
    rows: tuple[ArmEstimate, ...] = ()
    differences: tuple[Difference, ...] = ()
    distributions: tuple[Distribution, ...] = ()
    domains: tuple[DomainEstimate, ...] = ()
    ends: Mapping[str, Ends] = field(default_factory=dict)

    @property
    def dimensions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.dimension for row in self.rows))

    def instruments(self, dimension: str) -> dict[str, str]:
        """Instrument id to label, of the instruments that rated `dimension`."""
        return {r.instrument_id: r.instrument for r in self.rows if r.dimension == dimension}

    def select(self, dimension: str, instrument_id: str | None = None) -> Comparison:
        """The part about one dimension by one instrument.

        Raises `MixedInstruments` when several instruments rated it and none is named.
        """
        there = self.instruments(dimension)
        if instrument_id is None and len(there) > 1:
            raise MixedInstruments(
                f"{dimension} was rated by {len(there)} instruments; choose one of them: "
                + ", ".join(there.values())
            )
        wanted = instrument_id or next(iter(there), "")

        def kept(parts: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(p for p in parts if p.dimension == dimension and p.instrument_id == wanted)

        return replace(
            self,
            rows=kept(self.rows),
            differences=kept(self.differences),
            distributions=kept(self.distributions),
            domains=kept(self.domains),
        )


def results_object(study: str, comparison: Comparison) -> dict[str, Any]:
    """The JSON object of `results --json`: its keys are a contract, none is renamed."""
    row_keys = (
        "arm", "dimension", "estimate", "lo", "hi", "n", "n_personas", "n_unscored", "method",
        "instrument",
    )  # fmt: skip
    difference_keys = (
        "arm", "baseline", "dimension", "estimate", "lo", "hi", "p", "n", "instrument",
    )  # fmt: skip
    return {
        "study": study,
        "results": [{key: getattr(r, key) for key in row_keys} for r in comparison.rows],
        "differences": [
            {key: getattr(d, key) for key in difference_keys} for d in comparison.differences
        ],
    }
