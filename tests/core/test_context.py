"""Nobody is told more than they may know."""

from __future__ import annotations

import pytest

from core.assets import load_prompt
from core.calls import NoCalls
from core.context import Section, assistant_briefing, judge_briefing, user_briefing
from core.parties.model_party import ModelAssistant, ModelUser
from core.types import ContextSetting, Message, ModelSpec, Part, Role, Scenario
from tests.builders import make_persona, make_scenario, make_situation, make_task

SECRETS = {
    Part.DEMOGRAPHICS: "zz-demographics",
    Part.INTERACTIONS: "zz-interactions",
    Part.SITUATION: "zz-situation",
}
NEVER = ("zz-affinity", "zz-intent", "zz-goal", "zz-description", "zz-otherdomain", "user42")


def marked_scenario(domains: tuple[str, ...] = ("Books",)) -> Scenario:
    """A scenario in which every piece of information carries a word of its own."""
    persona = make_persona(
        "user42",
        affinities={
            "Books": {"Genre": ["zz-affinity"]},
            "Hotels": {"Amenity Preference": ["zz-affinity"]},
            "Flights": {"Seat Preference": "zz-otherdomain"},
        },
        interactions={
            "Books": "They read. zz-interactions",
            "Hotels": "They slept. zz-interactions",
            "Flights": "zz-otherdomain",
        },
        age="zz-demographics",
    )
    task = make_task("SD-Books-task-1", domains=domains, intent="zz-intent", goal="zz-goal")
    return make_scenario(
        persona=persona, task=task, situation=make_situation(location="zz-situation")
    )


@pytest.mark.parametrize("setting", ContextSetting.every(), ids=lambda s: s.label)
@pytest.mark.parametrize("domains", [("Books",), ("Books", "Hotels")])
def test_assistant_is_told_exactly_its_context_setting(
    setting: ContextSetting, domains: tuple[str, ...]
) -> None:
    scenario = marked_scenario(domains)
    assistant = ModelAssistant(
        ModelSpec("openai/x"),
        assistant_briefing(scenario, setting),
        load_prompt("assistant@1"),
        NoCalls(),
    )
    sent = "\n".join(m.content for m in assistant.messages([]))
    for part, secret in SECRETS.items():
        assert (secret in sent) == (part in setting), part
    for secret in NEVER:
        assert secret not in sent


def test_there_are_eight_context_settings_from_none_to_all() -> None:
    labels = [s.label for s in ContextSetting.every()]
    assert len(set(labels)) == 8
    assert (labels[0], labels[-1]) == ("none", "all")


@pytest.mark.parametrize("occasion", ["opening", "turn"])
def test_user_agent_is_told_everything_but_the_goal_and_other_domains(occasion: str) -> None:
    scenario = marked_scenario()
    user = ModelUser(
        ModelSpec("openai/x"), user_briefing(scenario), load_prompt("user_agent@1"), NoCalls()
    )
    history = [] if occasion == "opening" else [Message(Role.USER, "hello")]
    sent = "\n".join(m.content for m in user.messages(history))
    for told in (*SECRETS.values(), "zz-affinity", "zz-intent"):
        assert told in sent
    for hidden in ("zz-goal", "zz-otherdomain", "zz-description", "user42"):
        assert hidden not in sent


@pytest.mark.parametrize("section", list(Section))
def test_judge_is_told_only_the_inputs_of_its_rubric(section: Section) -> None:
    briefing = judge_briefing(marked_scenario(), [section])
    given = {
        Section.DEMOGRAPHICS: briefing.demographics,
        Section.AFFINITIES: briefing.affinities,
        Section.INTERACTIONS: briefing.interactions,
        Section.SITUATION: briefing.situation,
        Section.INTENT: briefing.intent,
        Section.GOAL: briefing.goal,
        Section.RELEVANT: briefing.relevant,
    }
    assert {s for s, value in given.items() if value is not None} == {section}
