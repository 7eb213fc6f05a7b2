"""What may go out is decided by numbers alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.ledger import Caps, OpenCall, Standing, Verdict, decide, provider_of
from core.limits import caps_of
from core.study_file import Limits
from core.types import ModelSpec

GO, WAIT, OVER = Verdict.GO, Verdict.WAIT, Verdict.OVER_BUDGET


def calls(*worst: float | None, provider: str = "openai") -> list[OpenCall]:
    return [
        OpenCall(f"c{i}", "s1", "u1", "user", i, "hash", provider, "me", usd)
        for i, usd in enumerate(worst)
    ]


def test_as_many_go_out_as_there_are_places_and_the_first_go_first() -> None:
    assert decide(calls(None, None, None), Caps(3), Standing(in_flight=1)) == [GO, GO, WAIT]


def test_process_keeps_to_its_part_while_another_waits_and_takes_all_when_none_does() -> None:
    four = calls(None, None, None, None)
    assert decide(four, Caps(8), Standing(in_flight=4, mine=2, rivals=1)) == [GO, GO, WAIT, WAIT]
    assert decide(four, Caps(8), Standing(in_flight=4, mine=4, rivals=1)) == [WAIT] * 4
    assert decide(four, Caps(8), Standing(in_flight=4, mine=4, rivals=0)) == [GO] * 4
    assert decide(four, Caps(2), Standing(in_flight=1, mine=0, rivals=5))[0] is GO


def test_requests_by_the_minute_are_those_of_each_provider() -> None:
    caps = Caps(requests_per_minute=5)
    standing = Standing(requests={"openai": 4, "other": 5})
    mixed = calls(None, None) + calls(None, provider="other") + calls(None, provider="third")
    assert decide(mixed, caps, standing) == [GO, WAIT, WAIT, GO]


def test_tokens_by_the_minute_wait_once_they_are_used_up() -> None:
    caps = Caps(tokens_per_minute=100)
    assert decide(calls(None), caps, Standing(tokens={"openai": 99})) == [GO]
    assert decide(calls(None), caps, Standing(tokens={"openai": 100})) == [WAIT]


@pytest.mark.parametrize(
    ("standing", "verdict"),
    [
        (Standing(spent=0.8), GO),
        (Standing(spent=0.8, reserved=0.1), GO),
        (Standing(spent=0.8, reserved=0.2), WAIT),  # what is out may cost less in the end
        (Standing(spent=0.8, lost=0.2), OVER),  # what is lost stays counted
        (Standing(spent=0.95), OVER),
    ],
)
def test_budget_waits_for_what_may_still_come_and_refuses_when_nothing_can(
    standing: Standing, verdict: Verdict
) -> None:
    assert decide(calls(0.1), Caps(budget_usd=1.0), standing) == [verdict]


money = st.floats(0, 2, allow_nan=False)


@given(
    st.lists(money, max_size=30), money, money, money, st.integers(0, 12), st.integers(0, 3),
    st.integers(1, 10), money, st.integers(1, 20),
)  # fmt: skip
def test_no_limit_is_passed_by_what_goes_out(
    worst: list[float],
    spent: float,
    lost: float,
    reserved: float,
    in_flight: int,
    rivals: int,
    concurrency: int,
    budget: float,
    rpm: int,
) -> None:
    standing = Standing(spent, lost, reserved, in_flight, in_flight, rivals, {"openai": 3})
    caps = Caps(concurrency, rpm, None, budget)
    asked = calls(*worst)
    verdicts = decide(asked, caps, standing)
    out = [c for c, v in zip(asked, verdicts, strict=True) if v is GO]
    if out:
        assert in_flight + len(out) <= concurrency
        assert 3 + len(out) <= rpm
        assert spent + lost + reserved + sum(c.worst_usd or 0 for c in out) <= budget + 1e-9
    assert decide(asked, caps, replace(standing, requests={"openai": 3})) == verdicts
    for call, verdict in zip(asked, verdicts, strict=True):
        if verdict is OVER:
            assert spent + lost + (call.worst_usd or 0) > budget


def test_provider_is_the_prefix_and_the_server() -> None:
    assert provider_of(ModelSpec("openai/gpt-x")) == "openai"
    here = ModelSpec("openai/local", "http://127.0.0.1:1/v1")
    assert provider_of(here) == "openai http://127.0.0.1:1/v1"
    assert provider_of(replace(here, model="openai/other")) == provider_of(here)


def test_what_the_command_line_says_goes_before_the_file() -> None:
    limits = Limits(concurrency=12, requests_per_minute=60, budget_usd=3.0)
    assert caps_of(limits) == Caps(12, 60, None, 3.0)
    assert caps_of(limits, concurrency=2, budget_usd=0.0) == Caps(2, 60, None, 0.0)
