"""What a study will take, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from core.estimate import Estimate, Extent, Range, estimate
from core.estimate_words import estimate_object, estimate_words
from core.monitor import CallsSeen, Past, TurnsSeen
from core.study_file import ArmEntry, JudgeEntry, Limits, ModelEntry, StudySpec
from core.types import ModelSpec, TaskKind
from tests.builders import make_ref, make_study_spec, make_task

EXTENT = Extent(scenarios=10, personas=5, single=10, multi=0)
ONE_DOLLAR_A_MILLION = 1e-6
NOTHING = Past()


def priced(spec: ModelSpec) -> tuple[float, float] | None:
    return (0.0, 0.0) if spec.scripted else (ONE_DOLLAR_A_MILLION, 2 * ONE_DOLLAR_A_MILLION)


def unpriced(spec: ModelSpec) -> tuple[float, float] | None:
    return (0.0, 0.0) if spec.scripted else None


def model_spec(**fields: Any) -> StudySpec:
    """One arm with a model, a scripted user, no judge."""
    values: dict[str, Any] = {"arms": [ArmEntry(name="gpt", model="openai/gpt")]} | fields
    return make_study_spec(**values)


def seen(mean: float = 4, deviation: float = 0, calls: int = 100) -> Past:
    return Past(
        (TurnsSeen("openai/gpt", TaskKind.SINGLE, 100, mean, deviation),),
        (CallsSeen("openai/gpt", "assistant", calls, 1000, 100, 2.0),),
    )


def run(spec: StudySpec, past: Past = NOTHING, price: Any = priced) -> Estimate:
    return estimate(spec, EXTENT, past, price)


def test_an_extent_counts_people_and_kinds() -> None:
    both = make_task("MD-task-1", domains=("Books", "Hotels"))
    refs = [make_ref("user0"), make_ref("user0", both), make_ref("user1")]
    assert Extent.of(refs) == Extent(scenarios=3, personas=2, single=2, multi=1)


def test_a_scripted_study_calls_nobody_and_costs_nothing() -> None:
    found = run(make_study_spec(arms=["scripted/attentive", "scripted/forgetful"]))
    assert found.dialogues == 20
    assert found.calls == Range(0, 0, 0)
    assert found.cost_usd == Range(0, 0, 0)
    assert found.seconds.expected == pytest.approx(20 * 0.01)
    assert found.basis == (
        "All parties and judges are scripted: no model is called, and nothing is paid.",
    )


def test_past_turns_and_tokens_make_calls_and_cost() -> None:
    """10 dialogues × 4 turns = 40 calls of 1000 + 100 tokens; 40 × (1000 + 2 × 100) $ / 10⁶."""
    found = run(model_spec(), seen())
    assert found.calls == Range(40, 40, 40)
    assert found.tokens.expected == pytest.approx(44_000)
    assert found.cost_usd is not None
    assert found.cost_usd.expected == pytest.approx(0.048)
    assert found.cost_usd.low == pytest.approx(0.048 * 0.8)
    assert found.cost_usd.high == pytest.approx(0.048 * 1.2)
    assert "past" in " ".join(found.basis)
    assert "Assumed" not in " ".join(found.basis)


def test_turns_may_differ_by_two_standard_errors() -> None:
    """2 × 1.5 × √(1/100 + 1/10) = 0.995 turns, times 10 dialogues."""
    found = run(model_spec(), seen(mean=4, deviation=1.5))
    assert found.calls.low == pytest.approx(40 - 9.95, abs=0.01)
    assert found.calls.high == pytest.approx(40 + 9.95, abs=0.01)


def test_without_a_past_the_assumptions_are_stated() -> None:
    found = run(model_spec())
    assert found.calls == Range(30, 60, 120)
    told = " ".join(found.basis)
    assert "Assumed: 6 turns for a task in one domain (3 to 12)" in told
    assert "Assumed of openai/gpt as assistant: 1,060 tokens sent, 120 received and 4 s" in told


def test_four_past_calls_are_too_few_to_rely_on() -> None:
    assert "Assumed of openai/gpt" in " ".join(run(model_spec(), seen(calls=4)).basis)


def test_the_limit_of_turns_bounds_the_calls() -> None:
    assert run(model_spec(limits=Limits(max_turns=4))).calls == Range(30, 40, 40)


def test_repetitions_arms_users_and_judges_all_count() -> None:
    """20 dialogues per arm; 40 in all. User: 40 × 4. Assistants: 160. Judge: 40 × 1 + 160."""
    spec = make_study_spec(
        arms=[ArmEntry(name=n, model="openai/gpt") for n in ("a", "b")],
        user_agent=ModelEntry(model="openai/user"),
        judges=(
            JudgeEntry(
                model="openai/judge", rubrics=("personalization", "personalization_per_turn")
            ),
        ),
        repetitions=2,
    )
    found = run(spec, seen())
    calls = {(s.model, s.role): s.calls.expected for s in found.shares if s.role != "assistant"}
    assert calls == {("openai/user", "user"): 160, ("openai/judge", "judge"): 200}
    assert found.calls.expected == 160 + 160 + 200
    assert found.dialogues == 40


def test_the_time_is_work_over_concurrency_but_no_less_than_one_dialogue() -> None:
    """40 calls × 2 s = 80 s; 2 at once take 40 s; with 32 at once one dialogue takes 8 s."""
    assert run(model_spec(limits=Limits(concurrency=2)), seen()).seconds.expected == 40
    assert run(model_spec(limits=Limits(concurrency=32)), seen()).seconds.expected == 8


def test_the_limits_of_a_minute_stretch_the_time() -> None:
    """40 calls at 10 a minute are 240 s; 44,000 tokens at 4,400 a minute are 600 s."""
    by_calls = model_spec(limits=Limits(requests_per_minute=10))
    assert run(by_calls, seen()).seconds.expected == 240
    by_tokens = model_spec(limits=Limits(tokens_per_minute=4_400))
    assert run(by_tokens, seen()).seconds.expected == pytest.approx(600)


def test_an_unknown_price_is_unknown_and_asked_about() -> None:
    found = run(model_spec(), seen(), unpriced)
    assert found.cost_usd is None
    assert found.unpriced == ("openai/gpt",)
    assert found.needs_consent
    assert found.warning == (
        "The price of openai/gpt is unknown, so nobody can say what this costs: give "
        "input_cost_per_token and output_cost_per_token in its params."
    )
    assert "cost unknown" in estimate_words(found)
    assert estimate_object(found)["cost_usd"] is None


def test_an_unknown_price_cannot_be_held_to_a_budget() -> None:
    found = run(model_spec(limits=Limits(budget_usd=5)), seen(), unpriced)
    assert not found.needs_consent
    assert "a budget cannot be kept" in found.warning


@pytest.mark.parametrize(
    ("budget", "says"),
    [
        (0.01, "below the expected cost of $0.05: the study will stop before its end"),
        (0.05, "may not suffice: the study could cost $0.06"),
        (0.06, ""),
    ],
)
def test_a_budget_is_held_against_the_estimate(budget: float, says: str) -> None:
    warning = run(model_spec(limits=Limits(budget_usd=budget)), seen()).warning
    assert (says in warning) if says else warning == ""


def test_the_object_of_the_terminal_has_its_keys() -> None:
    value = estimate_object(run(model_spec(), seen()))
    assert value["units"] == 10
    assert value["calls"] == {"low": 40, "expected": 40, "high": 40}
    assert value["dry_run"] is True
