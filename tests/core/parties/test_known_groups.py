"""The assistants differ as they must, and the scripted judge sees it: the controls hold."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean

import pytest

from core.context import Section, assistant_briefing, judge_briefing, user_briefing
from core.parties.lexicon import Lexicon, TokenIndex
from core.parties.opening import reveals
from core.parties.scripted_judge import rate
from core.simulate import Exchange
from core.types import ContextSetting, Role, Scenario, StopReason
from tests.support.scenarios import (
    EVERYTHING,
    NOTHING,
    SAMPLE,
    read_archive,
    read_folder,
    some_scenarios,
    talk,
)

ARMS = (
    ("attentive", EVERYTHING),
    ("attentive", NOTHING),
    ("forgetful", EVERYTHING),
    ("inventive", EVERYTHING),
    ("pushy", EVERYTHING),
)
DIMENSIONS = ("personalization", "grounding", "context_fairness", "task_completion")
Means = dict[tuple[str, str, str], float]


def value(
    dimension: str, exchange: Exchange, case: Scenario, setting: ContextSetting, lexicon: Lexicon
) -> int:
    briefing = judge_briefing(case, tuple(Section))
    if dimension in ("grounding", "context_fairness"):
        given = assistant_briefing(case, setting)
        briefing = replace(
            briefing,
            demographics=given.demographics,
            interactions=given.interactions,
            situation=given.situation,
        )
    return rate(dimension, exchange.messages, briefing, lexicon).value


def means_over(scenarios: Sequence[Scenario], lexicon: Lexicon) -> Means:
    values: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for number, case in enumerate(scenarios):
        for name, setting in ARMS:
            exchange = talk(case, name, setting, lexicon=lexicon, seed=number)
            check_dialogue(exchange, case)
            for dimension in DIMENSIONS:
                rating = value(dimension, exchange, case, setting, lexicon)
                values[dimension, name, setting.label].append(rating)
    return {key: mean(of) for key, of in values.items()}


def check_dialogue(exchange: Exchange, case: Scenario) -> None:
    assert exchange.stop_reason is StopReason.USER_DONE, case.id
    assert sum(m.role is Role.USER for m in exchange.messages) <= 12, case.id
    own = [v for a in user_briefing(case).affinities or () for v in a.values]
    assert not reveals(exchange.messages[0].content, TokenIndex((v, v) for v in own)), case.id


def check_order(means: Means) -> None:
    personal = {(name, label): m for (d, name, label), m in means.items() if d == DIMENSIONS[0]}
    best = personal["attentive", "all"]
    assert best > personal["attentive", "none"] + 1
    assert best > personal["forgetful", "all"] + 1
    assert best > personal["inventive", "all"] + 1
    assert best > personal["pushy", "all"] + 1
    assert personal["inventive", "all"] <= personal["attentive", "none"]
    grounded = {name: m for (d, name, label), m in means.items() if d == "grounding"}
    assert means["grounding", "attentive", "all"] > grounded["inventive"] + 1
    assert means["grounding", "attentive", "none"] > grounded["inventive"] + 1
    fair = {(name, label): m for (d, name, label), m in means.items() if d == "context_fairness"}
    assert fair["attentive", "none"] > fair["forgetful", "all"] + 1
    assert fair["attentive", "none"] > fair["inventive", "all"] + 1
    assert all(m > 0.9 for (d, _, _), m in means.items() if d == "task_completion")


def test_controls_are_ordered_on_the_sample() -> None:
    if not SAMPLE.exists():
        pytest.skip("the sample dataset is not there yet")
    scenarios, lexicon = some_scenarios(read_folder(), each=2)
    check_order(means_over(scenarios, lexicon))


@pytest.mark.real_data
@pytest.mark.slow
def test_controls_are_ordered_on_the_real_archive(personalens_archive: Path) -> None:
    users = [f"user{n}" for n in (7, 66, 132, 207, 313, 428, 439, 674, 788, 874, 1231, 1495)]
    scenarios, lexicon = some_scenarios(read_archive(personalens_archive, users), each=20)
    assert len(scenarios) >= 200
    check_order(means_over(scenarios, lexicon))


@pytest.mark.real_data
@pytest.mark.slow
def test_every_task_of_a_persona_with_all_interests_comes_to_an_end(
    personalens_archive: Path,
) -> None:
    users = read_archive(personalens_archive, ["user7", "user429"])
    scenarios, lexicon = some_scenarios(users, each=200)
    for number, case in enumerate(scenarios):
        for name in ("attentive", "forgetful", "inventive", "pushy"):
            for setting in (EVERYTHING, NOTHING):
                check_dialogue(talk(case, name, setting, lexicon=lexicon, seed=number), case)
