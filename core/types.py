"""The nouns of Rapport: frozen values that cross every boundary of the program.

Nothing here reads, writes, draws or calls a model. Names follow the glossary in
`docs/glossary.md`; a new noun enters it in the same commit.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class Part(StrEnum):
    """One part of what an assistant may be told about the person and the moment."""

    DEMOGRAPHICS = "demographics"
    INTERACTIONS = "interactions"
    SITUATION = "situation"


class Role(StrEnum):
    """Who wrote a message."""

    USER = "user"
    ASSISTANT = "assistant"


class TaskKind(StrEnum):
    SINGLE = "single"
    MULTI = "multi"


class StopReason(StrEnum):
    """Why a dialogue ended. Only the first two end with something to judge."""

    USER_DONE = "user_done"
    TURN_LIMIT = "turn_limit"
    MODEL_ERROR = "model_error"
    REFUSED = "refused"
    CONTEXT_OVERFLOW = "context_overflow"
    BUDGET = "budget"
    CANCELLED = "cancelled"

    @property
    def judged(self) -> bool:
        return self in (StopReason.USER_DONE, StopReason.TURN_LIMIT)


class JudgementStatus(StrEnum):
    """How a judge's answer came out. Only `OK` carries a value."""

    OK = "ok"
    UNPARSABLE = "unparsable"
    OUT_OF_RANGE = "out_of_range"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    EMPTY = "empty"
    MODEL_ERROR = "model_error"


class Target(StrEnum):
    """What part of a dialogue one judgement is about."""

    DIALOGUE = "dialogue"
    USER = "user"
    ASSISTANT = "assistant"
    TURN = "turn"


class StudyState(StrEnum):
    DEFINED = "defined"
    RUNNING = "running"
    PAUSED = "paused"
    CANCELLED = "cancelled"
    DONE = "done"
    FAILED = "failed"


class OverrideReason(StrEnum):
    """The kinds of reason a person chooses from when replacing a judgement."""

    MISREAD = "judge misread the dialogue"
    RUBRIC = "rubric applied wrongly"
    INVENTED = "judge invented something"
    FORMAT = "judge's answer was not understood"
    OTHER = "other"


# --- personas and tasks -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AffinityRef:
    """A domain and the name of an affinity in it; together they are unique."""

    domain: str
    name: str


@dataclass(frozen=True, slots=True)
class Affinity:
    """One lasting liking or habit in a domain. `listed` keeps whether the source held a list."""

    domain: str
    name: str
    values: tuple[str, ...]
    listed: bool

    @property
    def ref(self) -> AffinityRef:
        return AffinityRef(self.domain, self.name)


@dataclass(frozen=True, slots=True)
class PersonaSummary:
    """What a list of personas shows: no affinities, no interaction summaries."""

    id: str
    demographics: Mapping[str, str]
    interests: frozenset[str]


@dataclass(frozen=True, slots=True)
class Persona:
    """One simulated person.

    `interests` names the domains that this person cares for; affinities and interaction
    summaries exist for every domain, cared for or not.
    """

    id: str
    demographics: Mapping[str, str]
    interests: frozenset[str]
    affinities: tuple[Affinity, ...]
    interactions: Mapping[str, str]

    def in_domains(self, domains: tuple[str, ...]) -> tuple[Affinity, ...]:
        """Affinities of `domains`, in the order of `domains`, then as stored."""
        return tuple(a for d in domains for a in self.affinities if a.domain == d)

    def affinity(self, ref: AffinityRef) -> Affinity | None:
        return next((a for a in self.affinities if a.ref == ref), None)

    @property
    def summary(self) -> PersonaSummary:
        return PersonaSummary(self.id, self.demographics, self.interests)


@dataclass(frozen=True, slots=True)
class Task:
    """One thing a persona wants done. The goal is for judges; no party in the dialogue sees it."""

    id: str
    kind: TaskKind
    domains: tuple[str, ...]
    description: str
    intent: str
    goal: str
    relevant: tuple[AffinityRef, ...]


SITUATION_FIELDS = ("Location", "Device", "Time of Day", "Day of the Week", "Environment")


@dataclass(frozen=True, slots=True)
class Situation:
    """Circumstances of one scenario: field name to text, in the order of `SITUATION_FIELDS`."""

    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ScenarioRef:
    """A scenario without its texts: enough to list, count, select and expand."""

    dataset: str
    persona_id: str
    task_id: str
    kind: TaskKind
    domains: tuple[str, ...]

    @property
    def id(self) -> str:
        return f"{self.persona_id}/{self.task_id}"


@dataclass(frozen=True, slots=True)
class Scenario:
    """Persona, task and situation: the unit that is simulated."""

    dataset: str
    persona: Persona
    task: Task
    situation: Situation

    @property
    def id(self) -> str:
        return f"{self.persona.id}/{self.task.id}"


# domain -> affinity name -> value -> number of personas of the dataset that hold it
Vocabulary = Mapping[str, Mapping[str, Mapping[str, int]]]


@dataclass(frozen=True, slots=True)
class Irregularity:
    """One departure of a source from its own format, and what was done about it."""

    kind: str
    count: int
    repaired: bool
    what: str
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What one import read, added and found irregular."""

    dataset: str
    kind: str
    source: str
    personas: int
    tasks: int
    scenarios: int
    dialogues: int
    added: int
    irregularities: tuple[Irregularity, ...]
    seconds: float
    at: datetime


@dataclass(frozen=True, slots=True)
class Dataset:
    name: str
    kind: str
    personas: int
    tasks: int
    scenarios: int
    imported_at: datetime
    sample: bool = False


# --- what is compared -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ContextSetting:
    """Which parts the assistant is given: any subset of the three."""

    parts: frozenset[Part] = frozenset()

    @classmethod
    def of(cls, *parts: Part | str) -> ContextSetting:
        return cls(frozenset(Part(p) for p in parts))

    @classmethod
    def every(cls) -> tuple[ContextSetting, ...]:
        """All eight settings, from none to all."""
        kinds = tuple(Part)
        masks = sorted(range(8), key=lambda m: (m.bit_count(), m))
        return tuple(cls(frozenset(p for i, p in enumerate(kinds) if m >> i & 1)) for m in masks)

    @property
    def label(self) -> str:
        if not self.parts:
            return "none"
        if len(self.parts) == len(Part):
            return "all"
        return "+".join(p for p in Part if p in self.parts)

    def __contains__(self, part: Part) -> bool:
        return part in self.parts

    def to_list(self) -> list[str]:
        return [str(p) for p in Part if p in self.parts]


def _frozen_json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def digest(*parts: object) -> str:
    """Hash of the parts' canonical JSON, as 32 hex digits: ids and cache keys are made of it."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model as a study names it: `scripted/...` or any litellm model string."""

    model: str
    api_base: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def scripted(self) -> bool:
        return self.model.startswith("scripted/")

    def to_dict(self) -> dict[str, Any]:
        return {"model": self.model, "api_base": self.api_base, "params": dict(self.params)}


@dataclass(frozen=True, slots=True)
class Arm:
    """Assistant and context setting: what a comparison compares."""

    name: str
    assistant: ModelSpec
    context: ContextSetting
    prompt: str = "assistant@1"
    setting: str = ""  # of conversations by real people: what is shown of them

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            **self.assistant.to_dict(),
            "context": self.context.to_list(),
            "prompt": self.prompt,
            **({"setting": self.setting} if self.setting else {}),
        }


@dataclass(frozen=True, slots=True)
class WorkUnit:
    """Study, scenario, arm, repetition and seed: fully determines one dialogue."""

    study_id: str
    scenario: ScenarioRef
    arm: Arm
    repetition: int
    seed: int

    @property
    def id(self) -> str:
        return digest(self.study_id, self.scenario.id, self.arm.name, self.repetition)


# --- dialogues --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Message:
    """One utterance, raw. `author` is set only where a person wrote it."""

    role: Role
    content: str
    at: datetime | None = None
    author: str | None = None


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One whole exchange. Never changed after it is stored.

    `unit_id` is None for a dialogue that no study owes (imported ones); `attempt` counts
    from 1 and grows only when a failed unit is tried again. `prompts` maps party to
    `name@version:hash` of the prompt used.
    """

    id: str
    study_id: str
    unit_id: str | None
    attempt: int
    dataset: str | None
    persona_id: str
    task_id: str
    kind: TaskKind
    domains: tuple[str, ...]
    intent: str
    arm: Arm
    user_agent: ModelSpec
    repetition: int
    seed: int
    messages: tuple[Message, ...]
    stop_reason: StopReason
    stop_detail: str
    prompts: Mapping[str, str]
    created_at: datetime
    seconds: float
    author: str = ""
    parent_id: str | None = None
    parent_message: int | None = None

    @property
    def turns(self) -> int:
        """Number of user messages."""
        return sum(m.role is Role.USER for m in self.messages)

    @property
    def content_hash(self) -> str:
        return digest([(m.role, m.content) for m in self.messages], self.stop_reason)


@dataclass(frozen=True, slots=True)
class DialogueSummary:
    """A dialogue as a list shows it: everything but the messages."""

    id: str
    study_id: str
    study: str
    dataset: str | None
    persona_id: str
    task_id: str
    kind: TaskKind
    domains: tuple[str, ...]
    intent: str
    arm: str
    model: str
    context: str
    repetition: int
    turns: int
    stop_reason: StopReason
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One answered (or finally failed) call to a model.

    `scope` is what the call belongs to (a work unit's id, or a dialogue's id for judges),
    `party` who spoke (`user`, `assistant`, or `judge:` and the dimension, with the turn where
    there is one), `seq` its number within scope and party from 0. `request_hash` is the
    digest of exactly what was sent. `cost_usd` is None when the price is unknown.
    """

    scope: str
    party: str
    seq: int
    request_hash: str
    model: str
    reply: str
    finish_reason: str
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None
    seconds: float
    attempts: int
    at: datetime
    study_id: str = ""
    error: str = ""
    cached: bool = False


# --- judgements -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Instrument:
    """Judge model, prompt hash, rubric version and parameters: one measuring device."""

    judge: str
    rubric: str  # name@version
    prompt_hash: str
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return digest(self.judge, self.rubric, self.prompt_hash, _frozen_json(self.params))[:16]

    @property
    def label(self) -> str:
        return f"{self.judge} · {self.rubric}"


@dataclass(frozen=True, slots=True)
class Judgement:
    """One judge's answer on one target. A value exists only when the status is `OK`."""

    id: str
    dialogue_id: str
    study_id: str
    dimension: str
    target: Target
    turn: int | None
    status: JudgementStatus
    value: int | None
    rationale: str
    evidence: tuple[int, ...]
    raw: str
    instrument: Instrument
    created_at: datetime

    def __post_init__(self) -> None:
        if (self.value is not None) != (self.status is JudgementStatus.OK):
            raise ValueError("a judgement has a value exactly when its status is ok")


@dataclass(frozen=True, slots=True)
class Override:
    """A person's later value for one judgement, for reading that dialogue. Never evidence."""

    id: str
    judgement_id: str
    dialogue_id: str
    value: int | None
    reason_kind: OverrideReason
    reason: str
    author: str
    created_at: datetime
    supersedes: str | None = None


@dataclass(frozen=True, slots=True)
class StudyProgress:
    """Counts of one study as they stand in the database."""

    study_id: str
    study: str
    state: StudyState
    units: int
    done: int
    failed: int
    judgements: int
    unscored: int
    cost_usd: float | None
    cost_known: bool
    stop_reasons: Mapping[str, int]
    seconds: float
    heartbeat_at: datetime | None
    message: str = ""
    possibly_paid: int = 0  # calls whose answer was lost: nobody knows whether they cost
    possibly_paid_usd: float = 0.0  # the most that they can have cost, where that is known
    cached_calls: int = 0  # answered from what another study had paid for
    stalled: bool = False  # said to be running, and silent for longer than a lease

    @property
    def owed(self) -> int:
        return self.units - self.done - self.failed


@dataclass(frozen=True, slots=True)
class FailureExample:
    """One failure to look at. `dialogue_id` is empty while its dialogue is not finished."""

    dialogue_id: str
    message: str
    at: datetime


@dataclass(frozen=True, slots=True)
class FailureKind:
    """Failures of one kind in a study, with the newest ones.

    `kind` is `unavailable` or `empty_reply` (dialogues that ended in a model error), another
    stop reason that forbids judging, `judge_unavailable` (judgements), or `retried` (calls that
    were answered after more than one attempt, and so failed nothing).
    """

    kind: str
    count: int
    examples: tuple[FailureExample, ...]
