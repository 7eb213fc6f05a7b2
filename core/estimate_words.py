"""An estimate as the terminal says it: as an object for programs, and in words for people."""

from __future__ import annotations

from core.estimate import Estimate, Range


def estimate_object(found: Estimate) -> dict[str, object]:
    """The estimate as the terminal's JSON says it."""

    def span(value: Range | None) -> dict[str, float] | None:
        if value is None:
            return None
        ends = {"low": value.low, "expected": value.expected, "high": value.high}
        return {name: round(end, 4) for name, end in ends.items()}

    return {
        "study": found.study,
        "dry_run": True,
        "scenarios": found.scenarios,
        "personas": found.personas,
        "units": found.dialogues,
        "calls": span(found.calls),
        "tokens": span(found.tokens),
        "cost_usd": span(found.cost_usd),
        "seconds": span(found.seconds),
        "unpriced": list(found.unpriced),
        "budget_usd": found.budget_usd,
        "warning": found.warning,
        "basis": list(found.basis),
    }


def estimate_words(found: Estimate) -> str:
    """The estimate as a person reads it in the terminal."""
    cost = "cost unknown"
    if found.cost_usd is not None:
        low, high = found.cost_usd.low, found.cost_usd.high
        cost = f"${found.cost_usd.expected:,.2f} (${low:,.2f} to ${high:,.2f})"
    calls, seconds = found.calls, found.seconds
    lines = [
        f"{found.study}: {found.dialogues:,} dialogues of {found.scenarios:,} scenarios with "
        f"{found.personas:,} people; {calls.expected:,.0f} model calls ({calls.low:,.0f} to "
        f"{calls.high:,.0f}); {found.tokens.expected:,.0f} tokens; {cost}; "
        f"{seconds.expected:,.0f} s ({seconds.low:,.0f} to {seconds.high:,.0f}). Nothing was run.",
        *found.basis,
    ]
    return "\n".join([*lines, found.warning] if found.warning else lines)
