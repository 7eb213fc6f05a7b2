"""The limits of a study as its file and a command line state them."""

from __future__ import annotations

from core.errors import AppError
from core.ledger import Caps
from core.study_file import Limits

__all__ = ["BudgetReached", "Caps", "caps_of"]


class BudgetReached(AppError):
    """The next call could pass the study's budget."""


def caps_of(
    limits: Limits, *, concurrency: int | None = None, budget_usd: float | None = None
) -> Caps:
    """The limits of a study, what a command line says going first."""
    return Caps(
        concurrency=concurrency or limits.concurrency,
        requests_per_minute=limits.requests_per_minute,
        tokens_per_minute=limits.tokens_per_minute,
        budget_usd=limits.budget_usd if budget_usd is None else budget_usd,
    )
