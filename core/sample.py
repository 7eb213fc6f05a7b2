"""The dataset that ships with Rapport, written for it, and a study on it."""

from __future__ import annotations

from core.assets import ASSETS
from core.clock import now
from core.ports import Store
from core.sources.personalens import import_personalens

SAMPLE = ASSETS / "sample"
SAMPLE_NAME = "sample"
SAMPLE_STUDY = SAMPLE / "study.yaml"


def ensure_sample(store: Store) -> None:
    """Import the sample where it is not there yet; nothing else is touched."""
    if store.find_dataset(SAMPLE_NAME) is None:
        import_personalens(SAMPLE, name=SAMPLE_NAME, store=store, now=now)
