"""Numbers as a reader should see them: as many digits as their interval supports."""

from __future__ import annotations

import math

NBSP = "\u00a0"


def decimals_for(lo: float | None, hi: float | None, *, otherwise: int = 1) -> int:
    """How many decimals an interval supports: its half-width in one or two digits.

    More only where an end that is not 0 would be shown as 0.
    """
    if lo is None or hi is None or not hi > lo:
        return otherwise
    decimals = min(4, max(0, -math.floor(math.log10((hi - lo) / 6))))
    clear = lo if lo > 0 else -hi if hi < 0 else None
    while clear is not None and round(clear, decimals) == 0 and decimals < 4:
        decimals += 1
    return decimals


def number(value: float, decimals: int = 1, *, sign: bool = False) -> str:
    """A number with a real minus, and never a minus before zero."""
    shown = f"{abs(value):,.{decimals}f}"
    negative = value < 0 and float(shown.replace(",", "")) != 0
    return ("−" if negative else "+" if sign and value > 0 else "") + shown
