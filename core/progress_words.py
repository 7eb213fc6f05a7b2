"""How a study stands, as a JSON object and in sentences for a terminal."""

from __future__ import annotations

from typing import Any

from core.types import StudyProgress


def progress_object(p: StudyProgress) -> dict[str, Any]:
    """The counts of a study as `status --json` gives them: a contract, no key is renamed."""
    return {
        "study": p.study,
        "state": p.state,
        "units": p.units,
        "done": p.done,
        "failed": p.failed,
        "owed": p.owed,
        "judgements": p.judgements,
        "unscored": p.unscored,
        "cost_usd": p.cost_usd,
        "possibly_paid": p.possibly_paid,
        "possibly_paid_usd": p.possibly_paid_usd,
        "cached_calls": p.cached_calls,
        "stop_reasons": dict(p.stop_reasons),
        "seconds": round(p.seconds, 2),
        "message": p.message,
        "stalled": p.stalled,
    }


def progress_line(p: StudyProgress) -> str:
    """One line while a study is at work."""
    return f"{p.study}: {p.done + p.failed:,} of {p.units:,} dialogues, {p.failed:,} failed"


def state_word(p: StudyProgress) -> str:
    """The state of a study, and whether it only says so."""
    return "stalled" if p.stalled else str(p.state)


def progress_words(p: StudyProgress) -> str:
    """How a study stands, in sentences."""
    cost = "cost unknown" if p.cost_usd is None else f"${p.cost_usd:.2f}"
    reasons = ", ".join(f"{k} {v:,}" for k, v in p.stop_reasons.items()) or "none yet"
    rest = f"\n{p.message}" if p.message else ""
    if p.possibly_paid:
        rest += f"\n{_possibly_paid(p)}"
    if p.cached_calls:
        rest += f"\n{p.cached_calls:,} calls were answered from what other studies had paid for."
    if p.stalled:
        rest += "\nNo runner has given a sign of life lately; `resume` goes on with it."
    return (
        f"{p.study} is {state_word(p)}: {p.done:,} done, {p.failed:,} failed, {p.owed:,} owed of "
        f"{p.units:,} dialogues; {p.judgements:,} judgements, {p.unscored:,} without a value; "
        f"{cost}; {p.seconds:.0f} s.\nEnded by: {reasons}.{rest}"
    )


def _possibly_paid(p: StudyProgress) -> str:
    most = f", ${p.possibly_paid_usd:.2f} at most" if p.possibly_paid_usd else ""
    return (
        f"{p.possibly_paid:,} calls whose answer was lost may have been paid for beside "
        f"that{most}; the budget counts them."
    )
