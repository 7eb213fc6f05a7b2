"""Dialogues, judgements and overrides as plain JSON records: what is exported and read back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.errors import SourceError
from core.types import (
    Arm,
    ContextSetting,
    Dialogue,
    Judgement,
    Message,
    ModelSpec,
    Override,
    Part,
    Role,
    StopReason,
    TaskKind,
)

_DIALOGUE = (
    "id",
    "study_id",
    "unit_id",
    "attempt",
    "dataset",
    "persona_id",
    "task_id",
    "kind",
    "domains",
    "intent",
    "repetition",
    "seed",
    "stop_reason",
    "stop_detail",
    "seconds",
    "author",
    "parent_id",
    "parent_message",
)
_JUDGEMENT = (
    "id",
    "dialogue_id",
    "study_id",
    "dimension",
    "target",
    "turn",
    "status",
    "value",
    "rationale",
    "raw",
)
_OVERRIDE = (
    "id",
    "judgement_id",
    "dialogue_id",
    "value",
    "reason_kind",
    "reason",
    "author",
    "supersedes",
)


def dialogue_record(dialogue: Dialogue) -> dict[str, Any]:
    """Return everything a dialogue holds, raw; `dialogue_of` reads it back."""
    return {name: getattr(dialogue, name) for name in _DIALOGUE} | {
        "domains": list(dialogue.domains),
        "arm": dialogue.arm.to_dict(),
        "user_agent": dialogue.user_agent.to_dict(),
        "prompts": dict(dialogue.prompts),
        "created_at": dialogue.created_at.isoformat(),
        "messages": [message_record(m) for m in dialogue.messages],
    }


def message_record(message: Message) -> dict[str, Any]:
    """Return role and text, and who wrote it and when where that is known."""
    record: dict[str, Any] = {"role": str(message.role), "content": message.content}
    if message.at is not None:
        record["at"] = message.at.isoformat()
    if message.author is not None:
        record["author"] = message.author
    return record


def judgement_record(judgement: Judgement) -> dict[str, Any]:
    """Return everything a judgement holds, its instrument spelt out."""
    instrument = judgement.instrument
    return {name: getattr(judgement, name) for name in _JUDGEMENT} | {
        "evidence": list(judgement.evidence),
        "instrument": {
            "id": instrument.id,
            "judge": instrument.judge,
            "rubric": instrument.rubric,
            "prompt_hash": instrument.prompt_hash,
            "params": dict(instrument.params),
        },
        "created_at": judgement.created_at.isoformat(),
    }


def override_record(override: Override) -> dict[str, Any]:
    """Return everything an override holds."""
    record = {name: getattr(override, name) for name in _OVERRIDE}
    return record | {"created_at": override.created_at.isoformat()}


# --- reading back -----------------------------------------------------------------------------


class _Read(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, protected_namespaces=(), strict=False)


class _Message(_Read):
    role: Role
    content: str
    at: datetime | None = None
    author: str | None = None


class _Model(_Read):
    model: str = Field(min_length=1)
    api_base: str | None = None
    params: dict[str, Any] = Field(default_factory=dict)

    @property
    def spec(self) -> ModelSpec:
        return ModelSpec(self.model, self.api_base, self.params)


class _Arm(_Model):
    name: str = Field(min_length=1)
    context: tuple[Part, ...] = ()
    prompt: str

    @property
    def arm(self) -> Arm:
        return Arm(self.name, self.spec, ContextSetting.of(*self.context), self.prompt)


class _Dialogue(_Read):
    id: str = Field(min_length=1)
    attempt: int = Field(ge=1)
    dataset: str | None
    persona_id: str = Field(min_length=1)
    task_id: str = Field(min_length=1)
    kind: TaskKind
    domains: tuple[str, ...]
    intent: str
    arm: _Arm
    user_agent: _Model
    repetition: int = Field(ge=0)
    seed: int
    messages: tuple[_Message, ...]
    stop_reason: StopReason
    stop_detail: str
    prompts: dict[str, str]
    created_at: datetime
    seconds: float = Field(ge=0, allow_inf_nan=False)
    author: str = ""
    parent_id: str | None = None
    parent_message: int | None = None


def dialogue_of(data: Any, where: str) -> Dialogue:
    """Read a dialogue record. It belongs to no study yet: study and unit are left empty.

    Raises `SourceError` that names the field at fault.
    """
    try:
        read = _Dialogue.model_validate(data)
    except ValidationError as error:
        raise SourceError(f"{where}: {first_fault(error)}") from None
    if read.created_at.tzinfo is None:
        raise SourceError(f"{where}: created_at has no time zone.")
    values: Mapping[str, Any] = {n: getattr(read, n) for n in _Dialogue.model_fields} | {
        "study_id": "",
        "unit_id": None,
        "arm": read.arm.arm,
        "user_agent": read.user_agent.spec,
        "messages": tuple(Message(m.role, m.content, m.at, m.author) for m in read.messages),
    }
    return Dialogue(**values)


def first_fault(error: ValidationError) -> str:
    """Word the first fault that pydantic found: the field, and what is wrong with it."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "the whole"
    return f"{where}: {first['msg']}."
