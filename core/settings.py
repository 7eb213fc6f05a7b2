"""Everything that can be set from outside, read once and refused at the door.

One variable of the environment per field, `RAPPORT_` and the field's name in capitals. Keys
of model providers are no settings: they keep their usual names (`OPENAI_API_KEY`, ...) and
are read where a model is called.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from core.errors import SettingsError

PREFIX = "RAPPORT_"
_DATABASES = ("sqlite://", "postgresql+psycopg://")
_SECRET_QUERY = re.compile(r"(?i)([?&][^=&]*(?:pass|key|token|secret)[^=&]*=)[^&]*")


def default_data_dir() -> Path:
    """`rapport` in the user's data folder: `XDG_DATA_HOME`, else `~/.local/share`."""
    home = os.environ.get("XDG_DATA_HOME", "")
    base = Path(home) if Path(home).is_absolute() else Path.home() / ".local" / "share"
    return base / "rapport"


def _default_database(fields: dict[str, Any]) -> str:
    return f"sqlite:///{fields.get('data_dir', default_data_dir()) / 'rapport.db'}"


class Settings(BaseSettings):
    """Frozen and hashable: caches are keyed by it. Make it with `Settings.from_env()`."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="ignore", env_ignore_empty=True
    )

    data_dir: Path = Field(
        default_factory=default_data_dir,
        description="Folder for the database and everything else that Rapport writes",
    )
    database_url: str = Field(
        default_factory=_default_database,
        description="Where everything is remembered: sqlite:///FILE or "
        "postgresql+psycopg://USER:PASSWORD@HOST/NAME",
    )
    concurrency: int = Field(
        default=32, ge=1, le=1000, description="Model calls at the same time in one process"
    )
    request_timeout: float = Field(
        default=120.0,
        gt=0,
        le=3600,
        allow_inf_nan=False,
        description="Seconds that one request to a model may take",
    )
    retry_seconds: float = Field(
        default=120.0,
        ge=0,
        le=86_400,
        allow_inf_nan=False,
        description="Seconds during which a failed request is tried again; 0 never",
    )
    user_model: str = Field(
        default="scripted/user",
        min_length=1,
        description="Model that plays the persona unless a study names another",
    )
    assistant_model: str = Field(
        default="scripted/attentive",
        min_length=1,
        description="Assistant that is offered first when a dialogue is launched",
    )
    judge_model: str = Field(
        default="scripted/judge",
        min_length=1,
        description="Judge that is offered first when dialogues are rated",
    )
    api_base: str | None = Field(
        default=None,
        description="Address of an OpenAI-compatible server (http://127.0.0.1:8000/v1) for "
        "openai/ models that name none",
    )
    address: str = Field(
        default="127.0.0.1", min_length=1, description="Address that the web app listens on"
    )
    port: int = Field(default=8501, ge=1, le=65_535, description="Port of the web app")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="INFO", description="What is logged to standard error: DEBUG, INFO, WARNING, ERROR"
    )

    @field_validator("data_dir")
    @classmethod
    def _folder(cls, value: Path) -> Path:
        try:
            folder = value.expanduser().absolute()
        except RuntimeError:
            raise ValueError("there is no home folder to put it in") from None
        if folder.exists() and not folder.is_dir():
            raise ValueError("it names a file, not a folder")
        return folder

    @field_validator("database_url")
    @classmethod
    def _supported(cls, value: str) -> str:
        # what hosting providers hand out names no driver
        url = re.sub(r"^postgres(ql)?://", "postgresql+psycopg://", value.strip())
        if not url.startswith(_DATABASES):
            raise ValueError("it must begin with sqlite:/// or postgresql+psycopg://")
        return url

    @field_validator("api_base")
    @classmethod
    def _web_address(cls, value: str | None) -> str | None:
        if value is not None and not re.match(r"https?://[^/\s]", value):
            raise ValueError("it must begin with http:// or https://")
        return value

    @field_validator("log_level", mode="before")
    @classmethod
    def _capitals(cls, value: Any) -> Any:
        return value.strip().upper() if isinstance(value, str) else value

    @classmethod
    def from_env(cls) -> Settings:
        """Read the environment. Raises `SettingsError` naming the variable at fault."""
        try:
            return cls()
        except ValidationError as error:
            raise SettingsError(_sentence(error)) from None

    def public(self) -> list[tuple[str, str, str]]:
        """Variable, value and meaning of each setting, with passwords masked."""
        return [
            (variable(name), mask(_shown(getattr(self, name))), field.description or "")
            for name, field in type(self).model_fields.items()
        ]


def variable(field: str) -> str:
    """Name of the environment variable that sets a field."""
    return PREFIX + field.upper()


# defaults that depend on the machine, as documentation writes them
_DEFAULTS = {
    "data_dir": "$XDG_DATA_HOME/rapport or ~/.local/share/rapport",
    "database_url": "sqlite file rapport.db in RAPPORT_DATA_DIR",
}


def settings_table() -> list[tuple[str, str, str]]:
    """Variable, default and meaning of each setting: what README's table must say."""
    return [
        (variable(name), _DEFAULTS.get(name, _shown(field.default)), field.description or "")
        for name, field in Settings.model_fields.items()
    ]


def mask(value: str) -> str:
    """The text with the password of a URL, if it is one, replaced by `***`.

    Passwords may hold any character, so everything up to the last `@` is taken for one.
    """
    value = re.sub(r"(?s)^(https?://).*@", r"\1***@", value)
    value = re.sub(r"(?s)^([\w+.-]+://[^:/?#]*):.*@", r"\1:***@", value)
    return _SECRET_QUERY.sub(r"\1***", value)


def _shown(value: object) -> str:
    if value is None:
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _sentence(error: ValidationError) -> str:
    # the value stays out: it may hold a password
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    name = str(first["loc"][0])
    meaning = Settings.model_fields[name].description or ""
    reason = first["msg"].removeprefix("Value error, ").replace("Input should", "it should", 1)
    return f"{variable(name)} cannot be used: {reason}. Its meaning: {meaning}."
