"""Which users of a benchmark: `0-49`, `7,66`, a mixture, or one of its own samples."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from core.errors import SourceError

# The fixed user lists of PersonaLens (Zhao et al. 2025), each holding the one before it:
# what a list adds to the smaller ones. Checked against the benchmark's scenario counts.
_ADDS: dict[int, tuple[int, ...]] = {
    20: (66, 132, 139, 207, 230, 340, 386, 389, 415, 428)
    + (597, 746, 774, 854, 900, 1111, 1197, 1231, 1322, 1458),
    30: (7, 251, 313, 376, 788, 822, 1142, 1150, 1492, 1495),
    50: (53, 107, 167, 195, 418, 439, 517, 532, 630, 641)
    + (660, 674, 701, 802, 1145, 1335, 1362, 1377, 1439, 1493),
    100: (21, 86, 157, 166, 168, 248, 312, 352, 363, 365, 394, 431, 470, 482, 619, 657, 659)
    + (664, 686, 689, 744, 745, 813, 838, 840, 842, 847, 857, 870, 878, 880, 913, 928)
    + (942, 954, 997, 1069, 1114, 1118, 1120, 1151, 1167, 1184, 1246, 1330, 1345, 1384)
    + (1434, 1461, 1496),
}
SAMPLE_SIZES = tuple(_ADDS)
_HOW = "give user numbers such as 0-49 or 7,66, or sample-20, sample-30, sample-50, sample-100"
_NUMBER = re.compile(r"(?:user)?(\d{1,9})")
_RANGE = re.compile(r"(?:user)?(\d{1,9})\s*-\s*(?:user)?(\d{1,9})")
_SAMPLE = re.compile(r"sample-(\d+)")
_LAST_NUMBER = re.compile(r"(\d{1,9})$")

Span: TypeAlias = tuple[int, int]


def sample_users(size: int) -> frozenset[int]:
    """Return the user numbers of the benchmark's list of `size`. Raises `SourceError`."""
    if size not in _ADDS:
        raise SourceError(f"There is no sample-{size}: {_HOW}.")
    return frozenset(n for step, added in _ADDS.items() if step <= size for n in added)


@dataclass(frozen=True, slots=True)
class Selection:
    """A parsed selection. `named` numbers must exist; of `spans` at least one must."""

    text: str
    named: frozenset[int]
    spans: tuple[Span, ...]

    def wants(self, user_id: str) -> bool:
        """Tell whether a user belongs to the selection."""
        number = user_number(user_id)
        if number is None:
            return False
        return number in self.named or any(low <= number <= high for low, high in self.spans)


def user_number(user_id: str) -> int | None:
    """Return the number at the end of a user's id: 7 of `user7`."""
    found = _LAST_NUMBER.search(user_id)
    return int(found[1]) if found else None


def parse_selection(spec: str) -> Selection:
    """Parse a selection. Raises `SourceError` with one sentence for anything else."""
    named: set[int] = set()
    spans: list[Span] = []
    for part in (p.strip() for p in spec.split(",")):
        if found := _SAMPLE.fullmatch(part):
            named |= sample_users(int(found[1]))
        elif found := _NUMBER.fullmatch(part):
            named.add(int(found[1]))
        elif found := _RANGE.fullmatch(part):
            spans.append(_span(part, int(found[1]), int(found[2])))
        else:
            raise SourceError(f"{part[:40]!r} selects no users: {_HOW}.")
    return Selection(spec, frozenset(named), tuple(spans))


def _span(part: str, low: int, high: int) -> Span:
    if low > high:
        raise SourceError(f"The range {part} runs backwards: write {high}-{low}.")
    return low, high


def select_users(spec: str, available: Sequence[str], *, few_are_all: bool = False) -> list[str]:
    """Return the ids of `available` that `spec` selects, ordered by number.

    A sample is the benchmark's own list, so that all its users must be there, as must every
    user that is named singly; a range takes what it covers and must cover somebody. Raises
    `SourceError` otherwise. With `few_are_all`, a sample of no more people than it would have
    is all of them, so that one study file serves the dataset that ships and the benchmark.
    """
    selection = parse_selection(spec)
    by_number = {n: user for user in available if (n := user_number(user)) is not None}
    sample = _SAMPLE.fullmatch(spec.strip())
    if few_are_all and sample and len(by_number) <= int(sample[1]):
        return [by_number[n] for n in sorted(by_number)]
    absent = sorted(selection.named - by_number.keys())
    if absent:
        raise SourceError(_absent(spec, absent))
    for low, high in selection.spans:
        if not any(low <= n <= high for n in by_number):
            raise SourceError(f"No user between {low} and {high} is here.")
    return [by_number[n] for n in sorted(by_number) if selection.wants(by_number[n])]


def _absent(spec: str, absent: list[int]) -> str:
    shown = ", ".join(str(n) for n in absent[:5]) + (", …" if len(absent) > 5 else "")
    return f"{spec} names {len(absent)} users that are not here ({shown}): {_HOW}."
