"""The page Settings: what works here, and no secret of anybody."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.assets import list_prompts, list_rubrics
from core.settings import Settings
from pages._ui import wiring
from tests.support.app import marked, no_fault, open_page

KEY = "settings.tab"


def tab(name: str) -> dict[str, str]:
    return {KEY: name}


def test_what_works_here_is_said() -> None:
    app = open_page("settings")
    assert no_fault(app)
    checks = app.table[0].value
    assert list(checks.columns) == ["Check", "Result", "State"]
    results = dict(zip(checks["Check"], checks["Result"], strict=True))
    assert results["Database"] == "works ✓"
    assert results["Sample data"] == "works ✓"
    assert results["Keys of providers"] == "not there, optional"


def test_a_key_is_said_to_be_set_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", "sk-not-for-anybody")
    app = open_page("settings")
    assert no_fault(app)
    keys = app.table[2].value.set_index("Provider")["Key"]
    assert keys["mistral"] == "set ✓"
    assert keys["openai"] == "not set"
    assert not [m for m in marked(app) if "not-for-anybody" in m]


def test_a_password_in_the_database_address_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Settings.from_env().model_copy(
        update={"database_url": "postgresql+psycopg://ana:open-sesame@h/d"}
    )
    store = wiring.store()
    monkeypatch.setattr(wiring, "settings", lambda: shown)
    monkeypatch.setattr(wiring, "store", lambda: store)
    for name in ("This installation", "All settings"):
        app = open_page("settings", **tab(name))
        assert no_fault(app)
        assert any("&#42;&#42;&#42;" in m for m in marked(app))
        assert not [m for m in marked(app) if "sesame" in m]


def test_every_setting_is_listed_with_its_variable_and_meaning() -> None:
    app = open_page("settings", **tab("All settings"))
    assert no_fault(app)
    table = app.table[0].value
    assert len(table) == len(Settings.model_fields)
    assert "RAPPORT&#95;CONCURRENCY" in list(table["Variable"])


def test_every_prompt_is_shown_word_for_word() -> None:
    app = open_page("settings", **tab("Prompts"))
    assert no_fault(app)
    prompts = list_prompts()
    assert app.selectbox(key="settings.prompt").options == [p.ref for p in prompts]
    for prompt in prompts:
        app.selectbox(key="settings.prompt").set_value(prompt.ref).run()
        assert all(part in app.code[0].value for part in prompt.parts.values())
        assert any(prompt.hash[:8] in c.value for c in app.caption)


def test_every_rubric_is_shown_word_for_word() -> None:
    app = open_page("settings", **tab("Rubrics"))
    assert no_fault(app)
    for rubric in list_rubrics():
        app.selectbox(key="settings.rubric").set_value(rubric.ref).run()
        assert no_fault(app)
        assert f"dimension: {rubric.dimension}" in app.code[0].value
        assert any(rubric.hash[:8] in c.value for c in app.caption)


def test_a_name_is_kept_in_the_session_and_for_the_next_one() -> None:
    app = open_page("settings")
    app.text_input(key="settings.author").set_value("  Ana *x*  Silva ").run()
    assert no_fault(app)
    assert app.session_state["author"] == "Ana *x* Silva"
    again = open_page("settings")
    assert again.text_input(key="settings.author").value == "Ana *x* Silva"


def test_no_name_is_asked_for_where_others_visit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It would prove nothing there: only a login says who somebody is."""
    monkeypatch.setenv("RAPPORT_ADDRESS", "0.0.0.0")
    app = open_page("settings")
    assert not [field for field in app.text_input if field.key == "settings.author"]
    assert any(c.value == "Signed in as nobody" for c in app.caption)
    assert app.session_state["author"] == ""
    assert not (tmp_path / "author.txt").exists()


def test_one_sentence_when_a_setting_cannot_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAPPORT_CONCURRENCY", "many")
    app = open_page("settings")
    assert not app.exception
    assert len(app.error) == 1
    assert "RAPPORT&#95;CONCURRENCY cannot be used" in app.error[0].value
    assert marked(app)[0] == "Settings"
