"""What of a model's `params` is sent, what is meant for us, and what may not be there.

Explicit params win over the request's temperature, max_tokens and seed; null leaves one out.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.errors import ModelMisconfigured
from core.models.keys import is_set
from core.ports import ChatRequest
from core.types import ModelSpec

KEY_VARIABLE = "api_key_env"
PRICES = ("input_cost_per_token", "output_cost_per_token")
CONSUMED = frozenset({"structured", KEY_VARIABLE, *PRICES})
# Set by the adapter, or a place where a secret would end up in a stored study.
RESERVED = frozenset(
    {
        *("model", "messages", "stream", "stream_options", "n", "timeout", "client"),
        *("max_retries", "num_retries", "drop_params", "additional_drop_params", "fallbacks"),
        *("custom_llm_provider", "mock_response", "metadata", "callbacks", "cache"),
        *("api_key", "api_base", "base_url", "headers", "extra_headers"),
    }
)


@dataclass(frozen=True, slots=True)
class Prices:
    """Dollars per token, as a study states them for a model that litellm does not know."""

    per_token_in: float
    per_token_out: float

    def cost(self, tokens_in: int | None, tokens_out: int | None) -> float | None:
        if tokens_in is None or tokens_out is None:
            return None
        return tokens_in * self.per_token_in + tokens_out * self.per_token_out


def check_params(spec: ModelSpec) -> None:
    """Raise `ModelMisconfigured` for params that no call could use."""
    for name in spec.params:
        if name in RESERVED:
            raise ModelMisconfigured(
                f"{spec.model}: {name} cannot stand in params; keys belong in the environment, "
                "the server in api_base, the rest in Rapport's settings."
            )
    prices(spec)
    key_of(spec)


def sent_params(request: ChatRequest) -> dict[str, Any]:
    """The parameters that go out: those of the request under those of the spec."""
    explicit = {k: v for k, v in request.spec.params.items() if k not in CONSUMED}
    if explicit.get("seed") is True:  # "the work unit's own seed"
        explicit["seed"] = request.seed
    implied = {
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
        "seed": request.seed,
    }
    if "max_completion_tokens" in explicit:
        del implied["max_tokens"]
    return {k: v for k, v in (implied | explicit).items() if v is not None}


def prices(spec: ModelSpec) -> Prices | None:
    """The spec's own prices, both or none. Raises `ModelMisconfigured` for anything else."""
    given = [spec.params.get(name) for name in PRICES]
    if all(price is None for price in given):
        return None
    if not all(_is_price(price) for price in given):
        raise ModelMisconfigured(
            f"{spec.model}: {PRICES[0]} and {PRICES[1]} must both be dollars per token, 0 or more."
        )
    return Prices(*(float(price) for price in given if price is not None))


def _is_price(value: object) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value) and value >= 0  # type: ignore[arg-type,operator]


def key_of(spec: ModelSpec) -> str | None:
    """The key that the spec's own variable holds; None when it names no variable.

    Only variables that are named as keys are read: a study file comes from anywhere, and must
    not be able to send another secret of the environment to a server of its choice.
    """
    name = spec.params.get(KEY_VARIABLE)
    if name is None:
        return None
    if not (isinstance(name, str) and name.endswith("_API_KEY")):
        raise ModelMisconfigured(
            f"{spec.model}: {KEY_VARIABLE} must name a variable that ends in _API_KEY."
        )
    if not is_set(name):
        raise ModelMisconfigured(f"{spec.model} needs a key: set {name} in the environment.")
    return os.environ[name].strip()


def response_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON schema as chat-completions servers take it; strict where the schema allows it."""
    named = {"name": "answer", "schema": dict(schema), "strict": _closed(schema)}
    return {"type": "json_schema", "json_schema": named}


def _closed(schema: Mapping[str, Any]) -> bool:
    """Whether every object of the schema requires all it has and nothing else."""
    properties = schema.get("properties", {})
    if schema.get("type") == "object" and not (
        schema.get("additionalProperties") is False
        and set(schema.get("required", ())) == set(properties)
    ):
        return False
    inner = [*properties.values(), schema.get("items")]
    return all(_closed(s) for s in inner if isinstance(s, Mapping))
