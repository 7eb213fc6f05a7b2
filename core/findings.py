"""A study's arms side by side, read from the store."""

from __future__ import annotations

from core.compare import compare
from core.comparison import Comparison
from core.ports import Store, Study


def arms_of(study: Study, present: list[str]) -> list[str]:
    """The arms of a study in its own order; those only the data have come after, by name."""
    planned = [a.name for a in study.spec.arms] if study.spec is not None else []
    return planned + sorted(set(present) - set(planned))


def compare_study(study: Study, store: Store, *, baseline: str | None = None) -> Comparison:
    """Compare every arm of a study on every dimension and instrument, uncorrected.

    The baseline is the study's first arm unless named.
    """
    ratings = store.ratings(study.id)
    arms = arms_of(study, [str(a) for a in ratings["arm"].unique()])
    return compare(ratings, arms=arms, baseline=baseline)
