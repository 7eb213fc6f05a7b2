"""A study file: YAML to a validated `StudySpec`, with one sentence for each fault.

The keys are a contract (see README, "Study files"); keys may be added, none renamed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from core.errors import StudyError
from core.personaconv.types import Mode, Setting, Split, Task
from core.types import Arm, ContextSetting, ModelSpec, Part

_SECRET = re.compile(r"api_?key|secret|password|authorization|headers|credential", re.IGNORECASE)
_NAME = re.compile(r"\w[\w .+·-]{0,79}")


class _Frozen(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())


class ScenarioSelection(_Frozen):
    """Which scenarios. `limit` draws that many at random with `seed`; None takes all."""

    kind: Literal["single", "multi", "all"] = "all"
    domains: tuple[str, ...] = ()
    users: str | None = None
    limit: int | None = Field(default=None, ge=1)
    limit_single: int | None = Field(default=None, ge=0)
    limit_multi: int | None = Field(default=None, ge=0)
    seed: int = 7


class InstanceSelection(_Frozen):
    """Which replies of conversations are asked about, and how. `split` may be `all`.

    With `mode: reference` the released code's own choice and prompts are used. `select: top-abs`
    takes its choice with the strict prompts.
    """

    tasks: tuple[Task, ...] = (Task.SENTIMENT, Task.IMPACT, Task.REPLY)
    mode: Mode = Mode.STRICT
    select: Literal["all", "top-abs"] = "all"
    split: Split | Literal["all"] = Split.TEST
    split_by: Literal["time", "user"] = "time"
    domains: tuple[str, ...] = ()
    limit: int | None = Field(default=None, ge=1)
    seed: int = 7
    dead_zone: int = Field(default=2, ge=1)
    context_tokens: int = Field(default=6000, ge=0)
    history_tokens: int = Field(default=2000, ge=0)
    history_items: int = Field(default=8, ge=0)
    history_scores: bool = False

    @property
    def released(self) -> bool:
        """Whether the released code's rules choose the replies."""
        return self.mode is Mode.REFERENCE or self.select == "top-abs"


class ModelEntry(_Frozen):
    """A model with its parameters. Nothing secret may stand here: it is stored and exported."""

    model: str = Field(min_length=1)
    api_base: str | None = None
    params: dict[str, Any] = Field(default_factory=dict)

    @field_validator("params")
    @classmethod
    def _no_secrets(cls, value: dict[str, Any]) -> dict[str, Any]:
        for name in value:
            if _SECRET.search(name):
                raise ValueError(f"{name} belongs in the environment, never in a study")
        return value

    @field_validator("api_base")
    @classmethod
    def _plain_address(cls, value: str | None) -> str | None:
        if value is None:
            return None
        address = urlsplit(value)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise ValueError("api_base is an address such as http://127.0.0.1:8000/v1")
        if "@" in address.netloc or address.query:
            raise ValueError("api_base may hold no name, password or key")
        return value

    @property
    def spec(self) -> ModelSpec:
        return ModelSpec(self.model, self.api_base, dict(self.params))


class ArmEntry(ModelEntry):
    name: str
    context: tuple[Part, ...] = ()
    prompt: str = "assistant@1"
    setting: Setting | None = None

    @field_validator("context", mode="before")
    @classmethod
    def _words(cls, value: Any) -> Any:
        return (
            {"all": list(Part), "none": []}.get(value, value) if isinstance(value, str) else value
        )

    @field_validator("name")
    @classmethod
    def _short(cls, value: str) -> str:
        if not _NAME.fullmatch(value):
            raise ValueError("an arm's name is 1 to 80 letters, digits, spaces or . + - _")
        return value

    @property
    def arm(self) -> Arm:
        context = ContextSetting.of(*self.context)
        return Arm(self.name, self.spec, context, self.prompt, self.setting or "")


class JudgeEntry(ModelEntry):
    rubrics: tuple[str, ...] = Field(min_length=1)


class Limits(_Frozen):
    concurrency: int = Field(default=32, ge=1, le=1000)
    requests_per_minute: int | None = Field(default=None, ge=1)
    tokens_per_minute: int | None = Field(default=None, ge=1)
    budget_usd: float | None = Field(default=None, ge=0)
    max_turns: int | None = Field(default=None, ge=1, le=200)
    cache: bool = False


class StudySpec(_Frozen):
    """A study as its file says it, with every default filled in."""

    name: str
    question: str = ""
    dataset: str
    scenarios: ScenarioSelection = ScenarioSelection()
    instances: InstanceSelection | None = None
    user_agent: ModelEntry = ModelEntry(model="scripted/user")
    arms: tuple[ArmEntry, ...] = Field(min_length=1)
    repetitions: int = Field(default=1, ge=1, le=100)
    judges: tuple[JudgeEntry, ...] = ()
    primary: str = "personalization"
    limits: Limits = Limits()

    @field_validator("name")
    @classmethod
    def _short(cls, value: str) -> str:
        if not _NAME.fullmatch(value):
            raise ValueError("a study's name is 1 to 80 letters, digits, spaces or . + - _")
        return value

    @model_validator(mode="after")
    def _distinct_arms(self) -> StudySpec:
        names = [a.name for a in self.arms]
        if len(set(names)) != len(names):
            raise ValueError("two arms have the same name")
        return self

    @model_validator(mode="after")
    def _settings(self) -> StudySpec:
        for arm in self.arms:
            if (arm.setting is None) != (self.instances is None):
                raise ValueError(
                    "arms of a study of conversations each name a setting, such as P-Conv; "
                    "other studies have none"
                )
        return self

    @property
    def scripted(self) -> bool:
        """Whether all parties and judges are scripted, so that no model is called."""
        return all(e.spec.scripted for e in (self.user_agent, *self.arms, *self.judges))

    def to_yaml(self) -> str:
        return yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False, allow_unicode=True)


def parse_study(data: Any, *, source: str) -> StudySpec:
    """Validate a mapping read from a study file. Raises `StudyError` naming the field."""
    if not isinstance(data, dict):
        raise StudyError(f"{source} is not a study: it must be a YAML mapping with a name.")
    try:
        return StudySpec.model_validate(data)
    except ValidationError as error:
        raise StudyError(f"{source}: {_first_fault(error)}") from None


def _first_fault(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "study"
    more = error.error_count() - 1
    rest = f" ({more} more faults)" if more > 1 else " (1 more fault)" if more else ""
    return f"{where}: {first['msg']}{rest}."


def load_study(path: Path) -> StudySpec:
    """Read a study file. Raises `StudyError` with one sentence."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise StudyError(f"Cannot read the study file {path}: {reason}.") from None
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark else ""
        raise StudyError(f"{path.name} is not valid YAML{where}.") from None
    return parse_study(data, source=path.name)


def read_params(words: Iterable[str]) -> dict[str, Any]:
    """A model's params from words such as `max_tokens=800`: JSON where it is, else text.

    Raises `StudyError` for a word that is none, and for secrets.
    """
    found: dict[str, Any] = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not (name.strip() and sign):
            raise StudyError(f"{word!r} is no parameter; write NAME=VALUE, such as max_tokens=800.")
        if _SECRET.search(name):
            raise StudyError(f"{name} belongs in the environment, never on a command line.")
        try:
            found[name.strip()] = json.loads(value)
        except ValueError:
            found[name.strip()] = value
    return found
