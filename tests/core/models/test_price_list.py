"""What a token costs, where it is known."""

from __future__ import annotations

from core.models.price_list import token_price
from core.types import ModelSpec

PRICES = {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6}


def test_scripted_parties_are_free() -> None:
    assert token_price(ModelSpec("scripted/user")) == (0.0, 0.0)


def test_prices_of_the_study_go_first() -> None:
    assert token_price(ModelSpec("openai/gpt-4o-mini", None, PRICES)) == (1e-6, 2e-6)


def test_a_model_of_the_list_has_a_price_and_another_has_none() -> None:
    known = token_price(ModelSpec("openai/gpt-4o-mini"))
    assert known is not None
    assert 0 < known[0] < known[1] < 1e-3
    assert token_price(ModelSpec("hosted_vllm/mine")) is None


def test_half_a_price_is_no_price() -> None:
    half = ModelSpec("openai/gpt-4o-mini", None, {"input_cost_per_token": 1e-6})
    assert token_price(half) is None
