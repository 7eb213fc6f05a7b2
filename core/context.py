"""What each party may be told. This is the only place that decides it.

Source of the rules: PersonaLens, "who sees what" (Zhao et al. 2025, arXiv 2506.09902). The
user agent sees the whole person and the moment but never the goal; an assistant sees the parts
its context setting names, and nothing else; a judge sees what its rubric lists as inputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from core.types import Affinity, AffinityRef, ContextSetting, Part, Scenario, Task, TaskKind

T = TypeVar("T")


class Section(StrEnum):
    """One block of information that a party may be given."""

    DEMOGRAPHICS = "demographics"
    AFFINITIES = "affinities"
    INTERACTIONS = "interactions"
    SITUATION = "situation"
    INTENT = "intent"
    GOAL = "goal"
    RELEVANT = "relevant"


@dataclass(frozen=True, slots=True)
class Briefing:
    """Everything one party is told before a dialogue. What it may not see is None.

    An assistant learns which domains a task touches only through an interaction summary or
    from the user's own words; the domains themselves are no part of a briefing.
    """

    kind: TaskKind
    demographics: Mapping[str, str] | None = None
    affinities: tuple[Affinity, ...] | None = None
    interactions: Mapping[str, str] | None = None
    situation: Mapping[str, str] | None = None
    intent: str | None = None
    goal: str | None = None
    relevant: tuple[AffinityRef, ...] | None = None

    def sections(self) -> list[tuple[Section, str]]:
        """The briefing as text blocks, in a fixed order. `relevant` is for scripts only."""
        blocks: list[tuple[Section, str]] = []
        if self.demographics is not None:
            blocks.append((Section.DEMOGRAPHICS, _lines(self.demographics)))
        if self.affinities is not None:
            blocks.append((Section.AFFINITIES, _affinity_lines(self.affinities, self.kind)))
        if self.interactions is not None:
            blocks.append((Section.INTERACTIONS, _summaries(self.interactions, self.kind)))
        if self.situation is not None:
            blocks.append((Section.SITUATION, _lines(self.situation)))
        if self.intent is not None:
            blocks.append((Section.INTENT, self.intent))
        if self.goal is not None:
            blocks.append((Section.GOAL, self.goal))
        return blocks


def user_briefing(scenario: Scenario) -> Briefing:
    """What the party that plays the persona is told: everything but the goal."""
    sees = (
        Section.DEMOGRAPHICS,
        Section.AFFINITIES,
        Section.INTERACTIONS,
        Section.SITUATION,
        Section.INTENT,
        Section.RELEVANT,
    )
    return _visible(scenario, sees)


def assistant_briefing(scenario: Scenario, setting: ContextSetting) -> Briefing:
    """What the assistant is told: the parts of its context setting and nothing else."""
    by_part = {
        Part.DEMOGRAPHICS: Section.DEMOGRAPHICS,
        Part.INTERACTIONS: Section.INTERACTIONS,
        Part.SITUATION: Section.SITUATION,
    }
    return _visible(scenario, [by_part[p] for p in Part if p in setting])


def judge_briefing(scenario: Scenario, inputs: Iterable[Section]) -> Briefing:
    """What a judge is told beside the transcript: the inputs that its rubric names."""
    return _visible(scenario, inputs)


def _visible(scenario: Scenario, sees: Iterable[Section]) -> Briefing:
    sees = frozenset(sees)
    persona, task = scenario.persona, scenario.task

    def given(section: Section, value: T) -> T | None:
        return value if section in sees else None

    return Briefing(
        kind=task.kind,
        demographics=given(Section.DEMOGRAPHICS, _demographics(persona.demographics)),
        affinities=given(Section.AFFINITIES, persona.in_domains(task.domains)),
        interactions=given(Section.INTERACTIONS, _of_task(persona.interactions, task)),
        situation=given(Section.SITUATION, dict(scenario.situation.fields)),
        intent=given(Section.INTENT, task.intent),
        goal=given(Section.GOAL, task.goal),
        relevant=given(Section.RELEVANT, task.relevant),
    )


def _demographics(fields: Mapping[str, str]) -> dict[str, str]:
    return {k: v for k, v in fields.items() if k != "user_id"}


def _of_task(interactions: Mapping[str, str], task: Task) -> dict[str, str]:
    return {d: interactions[d] for d in task.domains if d in interactions}


def _lines(fields: Mapping[str, str]) -> str:
    return "\n".join(f"- {key}: {value}" for key, value in fields.items())


def _affinity_lines(affinities: tuple[Affinity, ...], kind: TaskKind) -> str:
    lines: list[str] = []
    domain = ""
    for affinity in affinities:
        if kind is TaskKind.MULTI and affinity.domain != domain:
            domain = affinity.domain
            lines.append(f"{domain}:")
        lines.append(f"- {affinity.name}: {', '.join(affinity.values)}")
    return "\n".join(lines)


def _summaries(interactions: Mapping[str, str], kind: TaskKind) -> str:
    if kind is TaskKind.SINGLE:
        return "\n\n".join(interactions.values())
    return "\n\n".join(f"<{d}>\n{text}\n</{d}>" for d, text in interactions.items())
