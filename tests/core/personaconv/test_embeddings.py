"""Similarity of meaning, where the extra is installed."""

from __future__ import annotations

import os

import numpy as np
import pytest

from core.personaconv import embeddings

pytestmark = pytest.mark.skipif(
    not embeddings.available() and os.environ.get("RAPPORT_REQUIRE_EMBEDDINGS") != "1",
    reason="the extra of requirements-embeddings.txt is not installed",
)


def test_texts_that_say_the_same_are_nearer_than_others() -> None:
    references = ["The cat sleeps on the sofa."] * 4
    candidates = [
        "The cat sleeps on the sofa.",
        "A cat is taking a nap on the couch.",
        "Interest rates rose by half a point.",
        "",
    ]
    found = embeddings.similarities(references, candidates)
    assert found is not None
    same, near, far, empty = found
    assert same == pytest.approx(1, abs=1e-6)
    assert near > 0.5 > far + 0.2
    assert empty == 0


def test_a_vector_does_not_depend_on_its_company() -> None:
    long = "and so on " * 300
    alone = embeddings.similarities(["a short text"], ["another one"])
    together = embeddings.similarities(["a short text", long], ["another one", long])
    assert alone is not None
    assert together is not None
    assert np.allclose(alone[0], together[0], atol=0.02)


def test_nothing_has_no_similarities() -> None:
    found = embeddings.similarities([], [])
    assert found is not None
    assert len(found) == 0
