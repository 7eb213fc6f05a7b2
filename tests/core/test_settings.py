"""Settings: read from the environment, refused with a sentence, shown without secrets."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import SettingsError
from core.settings import Settings, default_data_dir, mask, settings_table, variable


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, _, _ in settings_table():
        monkeypatch.delenv(name, raising=False)


def test_everything_is_scripted_and_local_when_nothing_is_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    settings = Settings.from_env()
    assert settings.data_dir == tmp_path / "rapport"
    assert settings.database_url == f"sqlite:///{tmp_path}/rapport/rapport.db"
    assert settings.user_model == "scripted/user"
    assert settings.judge_model == "scripted/judge"
    assert settings.address == "127.0.0.1"
    assert not settings.data_dir.exists()


def test_the_home_folder_is_used_when_xdg_is_not_an_absolute_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert default_data_dir() == tmp_path / ".local" / "share" / "rapport"


def test_the_database_follows_the_data_folder_when_only_that_is_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RAPPORT_DATA_DIR", str(tmp_path / "here"))
    assert Settings.from_env().database_url == f"sqlite:///{tmp_path}/here/rapport.db"


def test_a_postgres_url_gets_its_driver_when_it_names_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAPPORT_DATABASE_URL", "postgres://ann@host/db")
    assert Settings.from_env().database_url == "postgresql+psycopg://ann@host/db"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("port", "70000"),
        ("port", "http"),
        ("concurrency", "0"),
        ("request_timeout", "0"),
        ("request_timeout", "inf"),
        ("retry_seconds", "-1"),
        ("retry_seconds", "nan"),
        ("log_level", "LOUD"),
        ("api_base", "127.0.0.1:8000"),
        ("database_url", "mysql://ann:hunter22@host/db"),
        ("data_dir", __file__),
    ],
)
def test_a_sentence_names_the_variable_when_its_value_is_unusable(
    monkeypatch: pytest.MonkeyPatch, field: str, value: str
) -> None:
    monkeypatch.setenv(variable(field), value)
    with pytest.raises(SettingsError, match=f"^RAPPORT_{field.upper()} cannot be used: ") as caught:
        Settings.from_env()
    assert "\n" not in str(caught.value)
    assert "hunter22" not in str(caught.value)


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAPPORT_PORT", "")
    assert Settings.from_env().port == 8501


def test_settings_are_equal_and_hash_alike_when_they_say_the_same() -> None:
    assert hash(Settings.from_env()) == hash(Settings.from_env())
    assert {Settings.from_env(): 1}[Settings.from_env()] == 1


def test_log_level_is_understood_when_written_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAPPORT_LOG_LEVEL", "debug")
    assert Settings.from_env().log_level == "DEBUG"


def test_a_password_is_masked_when_settings_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAPPORT_DATABASE_URL", "postgresql://ann:hunt@er22@host:5432/db?x=1")
    monkeypatch.setenv("RAPPORT_API_BASE", "https://bob:swordfish@host/v1?api_key=opensesame")
    shown = {name: value for name, value, _ in Settings.from_env().public()}
    assert shown["RAPPORT_DATABASE_URL"] == "postgresql+psycopg://ann:***@host:5432/db?x=1"
    assert shown["RAPPORT_API_BASE"] == "https://***@host/v1?api_key=***"


@given(st.text(min_size=1))
def test_no_password_survives_masking_whatever_its_characters(password: str) -> None:
    assert mask(f"postgresql+psycopg://u:{password}@h/d") == "postgresql+psycopg://u:***@h/d"
    assert mask(f"https://{password}@h/v1") == "https://***@h/v1"


def test_every_setting_has_a_default_and_a_meaning() -> None:
    table = settings_table()
    assert {name for name, _, _ in table} == {variable(f) for f in Settings.model_fields}
    assert all(default and meaning for _, default, meaning in table)
    assert str(Path.home()) not in str(table)
