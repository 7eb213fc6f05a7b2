"""A study's arms side by side, read from the store."""

from __future__ import annotations

from typing import Any

from core.compare import compare
from core.comparison import Comparison
from core.ports import Store, Study
from core.review_ports import ReviewingStore


def arms_of(study: Study, present: list[str]) -> list[str]:
    """The arms of a study in its own order; those only the data have come after, by name."""
    planned = [a.name for a in study.spec.arms] if study.spec is not None else []
    return planned + sorted(set(present) - set(planned))


def compare_study(
    study: Study, store: Store, *, baseline: str | None = None, dimension: str | None = None
) -> Comparison:
    """Compare every arm of a study on one dimension or all, by every instrument, uncorrected.

    The baseline is the study's first arm unless named. What is said of one dimension does not
    depend on the others.
    """
    ratings = store.ratings(study.id, dimension=dimension)
    arms = arms_of(study, store.list_arms(study.id))
    return compare(ratings, arms=arms, baseline=baseline)


def study_results(study: Study, store: ReviewingStore) -> dict[str, Any]:
    """The object of `results --json`: what judges rated and, of conversations, how near it came."""
    from core.corrected_results import corrections_of, results_with_people

    comparison = compare_study(study, store)
    rated = results_with_people(study.name, comparison, corrections_of(study, comparison, store))
    if study.spec is None or study.spec.instances is None:
        return rated
    from core.personaconv.results import find, findings_object

    found = findings_object(study.name, find(study, store))
    for key in ("results", "differences"):
        found[key] += rated[key]
    return found
