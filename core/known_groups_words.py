"""What the controls say of a judge: passed or not, with the numbers, in a sentence each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from core.numerals import number
from core.stats.intervals import mean_ci
from core.stats.types import Estimate, FloatArray

if TYPE_CHECKING:
    from core.known_groups import JudgeCheck

MOST_UNSCORED = 0.05
MOST_ALIKE = 0.9


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that a judge must or must not do. `lo`, `hi`: 95 % interval by persona."""

    name: str
    passed: bool
    said: str
    estimate: float | None = None
    lo: float | None = None
    hi: float | None = None
    n: int = 0


def differences(values: Mapping[str, FloatArray], personas: Sequence[str]) -> list[Check]:
    """The orders that must hold, and the probes that must not matter."""
    found = [
        _above(values, personas, "attentive", "forgetful"),
        _above(values, personas, "attentive", "inventive"),
        _not_above(values, personas, "inventive", "forgetful", "does not reward inventions"),
    ]
    for probe, says in (
        ("length", "is not won by length"),
        ("restating", "is not won by repeating the person's words"),
    ):
        if probe in values:
            found.append(_not_above(values, personas, probe, "forgetful", says))
    if "order" in values:
        found.append(_same(values, personas))
    return found


def _paired(
    values: Mapping[str, FloatArray], personas: Sequence[str], one: str, other: str
) -> tuple[Estimate | None, int]:
    """The mean difference over personas that both have a value for; None below two of them."""
    d = values[one] - values[other]
    there = ~np.isnan(d)
    n = int(there.sum())
    if n < 2:
        return None, n
    return mean_ci(d[there], cluster=np.asarray(personas)[there]), n


def _above(
    values: Mapping[str, FloatArray], personas: Sequence[str], one: str, other: str
) -> Check:
    found, n = _paired(values, personas, one, other)
    name = f"rates {one} above {other}"
    if found is None:
        return Check(name, False, f"It gave too few values to compare {one} with {other}.", n=n)
    passed = found.lo > 0
    word = "above" if passed else "not clearly above"
    said = f"It rates {one} {word} {other}: {_size(found)}, {n} personas."
    return Check(name, passed, said, found.est, found.lo, found.hi, n)


def _not_above(
    values: Mapping[str, FloatArray], personas: Sequence[str], one: str, other: str, name: str
) -> Check:
    found, n = _paired(values, personas, one, other)
    if found is None:
        return Check(name, False, f"It gave too few values to compare {one} with {other}.", n=n)
    passed = found.lo <= 0
    word = "not shown above" if passed else "above"
    about = {"length": "the same with empty words", "restating": "the same with words repeated"}
    said = f"It rates {about.get(one, one)} {word} {other}: {_size(found)}, {n} personas."
    return Check(name, passed, said, found.est, found.lo, found.hi, n)


def _same(values: Mapping[str, FloatArray], personas: Sequence[str]) -> Check:
    """Whether the order of the facts moves the judge either way."""
    found, n = _paired(values, personas, "order", "forgetful")
    name = "does not mind the order of the facts"
    if found is None:
        return Check(name, False, "It gave too few values to compare two orders.", n=n)
    d = values["order"] - values["forgetful"]
    moved = int((d[~np.isnan(d)] != 0).sum())
    passed = found.lo <= 0 <= found.hi
    said = f"With the facts in another order {moved} of {n} values change: {_size(found)}."
    return Check(name, passed, said, found.est, found.lo, found.hi, n)


def spread(counts: Mapping[int, int], asked: int) -> Check:
    """Whether the judge is more than one that always says the same."""
    name = "does not always say the same"
    scored = sum(counts.values())
    if scored == 0:
        return Check(name, False, f"It gave no value in {asked} answers.")
    value, most = max(counts.items(), key=lambda item: (item[1], -item[0]))
    share = most / scored
    said = (
        f"Its most frequent value is {value}, in {most} of {scored} answers; a judge that always "
        f"says {value} would give {scored} of {scored}, and every difference would be 0."
    )
    return Check(name, share <= MOST_ALIKE, said, share, n=scored)


def unscored_check(values: Mapping[str, FloatArray], scale: tuple[int, int]) -> Check:
    """How many answers had no value, and how far that leaves the means open."""
    every = np.concatenate(list(values.values()))
    missing = int(np.isnan(every).sum())
    name = "answers so that it can be read"
    share = missing / len(every)
    said = f"{missing} of {len(every)} answers had no value"
    if missing:
        ranges = [
            f"{who} {number(lo, 2)} to {number(hi, 2)}"
            for who, (lo, hi) in ((w, bounds_of(v, scale)) for w, v in values.items())
        ]
        said += f"; whatever they would have been, means lie here: {', '.join(ranges)}"
    return Check(name, share <= MOST_UNSCORED, f"{said}.", share, n=len(every))


def bounds_of(values: FloatArray, scale: tuple[int, int]) -> tuple[float, float]:
    """The mean if every missing value were the lowest of the scale, and if the highest."""
    low, high = (np.where(np.isnan(values), end, values).mean() for end in scale)
    return float(low), float(high)


def _size(found: Estimate) -> str:
    lo, hi = number(found.lo, 2, sign=True), number(found.hi, 2, sign=True)
    return f"{number(found.est, 2, sign=True)} points ({lo} to {hi})"


def verdict_words(found: JudgeCheck) -> str:
    """Whether the judge is fit to use by these controls, in one sentence."""
    failed = [check.name for check in found.checks if not check.passed]
    if not failed:
        return f"{found.instrument.label} passes all {len(found.checks)} checks."
    return (
        f"{found.instrument.label} fails {len(failed)} of {len(found.checks)} checks and should "
        f"not be used as it is: {'; '.join(failed)}."
    )


def check_words(found: JudgeCheck) -> str:
    """The verdict and every check, a line each."""
    lines = [f"{'passed' if c.passed else 'FAILED'}  {c.name}: {c.said}" for c in found.checks]
    return "\n".join([verdict_words(found), *lines])


def check_object(found: JudgeCheck) -> dict[str, Any]:
    """The check as a JSON object."""
    return {
        "judge": found.instrument.judge,
        "rubric": found.instrument.rubric,
        "instrument": found.instrument.id,
        "passed": found.passed,
        "personas": len(found.personas),
        "n_unscored": found.n_unscored,
        "counts": {str(value): n for value, n in found.counts.items()},
        "checks": [asdict(check) for check in found.checks],
    }
