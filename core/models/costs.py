"""What litellm's list of models knows of one. The list is handed in: see `litellm_model`."""

from __future__ import annotations

import functools
from typing import Any


@functools.lru_cache(maxsize=256)
def listed(litellm: Any, model: str) -> bool:
    """Whether litellm knows a model of this name, or of its kind."""
    try:
        return litellm.get_model_info(model) is not None
    except Exception:
        return False


@functools.lru_cache(maxsize=256)
def priced(litellm: Any, model: str) -> bool:
    """Whether the list states prices for the model; litellm itself takes a missing one for 0."""
    try:
        entry = litellm.model_cost[litellm.get_model_info(model)["key"]]
    except Exception:
        return False
    return any(name.startswith("input_cost_per") and entry[name] is not None for name in entry)
