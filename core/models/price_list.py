"""What a token costs: as a study's params state it, else as litellm's list does."""

from __future__ import annotations

from core.errors import ModelMisconfigured
from core.models.call_params import prices
from core.models.costs import priced
from core.models.litellm_model import load_litellm
from core.types import ModelSpec


def token_price(spec: ModelSpec) -> tuple[float, float] | None:
    """Dollars of a token sent and one received; None when they are not known."""
    if spec.scripted:
        return 0.0, 0.0
    try:
        own = prices(spec)
    except ModelMisconfigured:  # said where the model is chosen
        return None
    if own is not None:
        return own.per_token_in, own.per_token_out
    litellm = load_litellm()
    if not priced(litellm, spec.model):
        return None
    sent, received = litellm.cost_per_token(
        model=spec.model, prompt_tokens=1_000_000, completion_tokens=1_000_000
    )
    return float(sent) / 1_000_000, float(received) / 1_000_000
