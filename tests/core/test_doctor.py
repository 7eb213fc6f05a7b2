"""What the doctor sees, and what it must not say."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from core import doctor
from core.doctor import Check, examine
from core.errors import StoreError
from core.settings import Settings
from tests.builders import fill_dataset


class DeadStore:
    """A store whose database does not answer."""

    def revision(self) -> str:
        raise StoreError("The database did not answer.")

    def find_dataset(self, name: str) -> None:
        raise StoreError("The database did not answer.")


def look(store: Any, **changes: Any) -> dict[str, Check]:
    settings = Settings.from_env().model_copy(update=changes)
    return {check.name: check for check in examine(settings, store)}


def test_everything_needed_is_there_when_the_sample_is_imported(sqlite_store: Any) -> None:
    fill_dataset(sqlite_store, "sample")
    checks = look(sqlite_store)
    assert [c.name for c in checks.values() if c.needed and not c.ok] == []
    assert checks["Sample data"].state == "2 personas, 2 scenarios"
    assert checks["Database"].state.startswith("SQLite at sqlite:////")
    assert checks["Python"].state == ".".join(map(str, sys.version_info[:3]))


def test_every_fault_says_what_to_do(sqlite_store: Any) -> None:
    checks = look(sqlite_store)
    assert not checks["Sample data"].ok
    assert not checks["Keys of providers"].ok
    assert [c.name for c in checks.values() if not c.ok and not c.advice] == []
    assert [c.name for c in checks.values() if c.ok and c.advice] == []


def test_a_database_that_does_not_answer_is_a_fault_and_no_crash() -> None:
    checks = look(DeadStore())
    assert (checks["Database"].ok, checks["Sample data"].ok) == (False, False)
    assert checks["Database"].advice == "The database did not answer."


def test_neither_password_nor_key_is_said(
    sqlite_store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-anybody")
    url = "postgresql+psycopg://ana:open-sesame@db.example/rapport"
    checks = look(sqlite_store, database_url=url)
    said = " ".join(f"{c.state} {c.advice}" for c in checks.values())
    assert "PostgreSQL at postgresql+psycopg://ana:***@db.example/rapport" in said
    assert "OPENAI_API_KEY" in said
    assert "sesame" not in said
    assert "sk-not" not in said


def test_a_data_folder_that_is_not_there_yet_counts_by_where_it_would_be_made(
    sqlite_store: Any, tmp_path: Path
) -> None:
    assert look(sqlite_store, data_dir=tmp_path / "a" / "b")["Data folder"].ok


def test_a_data_folder_that_cannot_be_written_is_a_fault(
    sqlite_store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor.os, "access", lambda *_: False)
    check = look(sqlite_store)["Data folder"]
    assert (check.ok, check.needed) == (False, True)
    assert "RAPPORT_DATA_DIR" in check.advice


def test_litellm_is_looked_for_and_not_loaded(
    sqlite_store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = "litellm" in sys.modules
    assert look(sqlite_store)["litellm"].ok
    assert ("litellm" in sys.modules) == before
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert not look(sqlite_store)["litellm"].ok


def test_rapport_does_without_a_browser(sqlite_store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    check = look(sqlite_store)["Chromium"]
    assert (check.ok, check.needed) == (False, False)
