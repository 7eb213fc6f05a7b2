"""The way through, in a browser: click, dialogue, judgement, override, another arm, chart."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from core.ports import DialogueFilter
from storage.store import open_store
from tests.conftest import sqlite_url

pytestmark = pytest.mark.browser


def pick(page: Page, key: str, option: str) -> None:
    """Choose an option of the select box with this key."""
    box = page.locator(f".st-key-{key.replace('.', '-')}")
    box.get_by_role("combobox").click()
    page.get_by_role("option", name=option).first.click()
    expect(box.get_by_role("combobox")).to_have_value(re.compile(f"^{option}"))


def launch(page: Page) -> None:
    page.get_by_role("button", name="Launch", exact=True).click()
    expect(page.get_by_text("The two are talking")).to_be_visible()
    expect(page.get_by_text("1 User")).to_be_visible()
    expect(page.get_by_text("1 Assistant")).to_be_visible()
    expect(page.get_by_role("link", name="Open dialogue")).to_be_visible(timeout=60_000)
    expect(page.get_by_text("Personalisation 1–4")).to_be_visible(timeout=30_000)


def test_from_click_to_chart(page: Page, app: str, tmp_path: Path) -> None:
    # Meet a persona, and take one of its tasks along.
    page.goto(f"{app}/personas?dataset=sample&persona=user3&task=SD-Alarm-task-1")
    expect(page.get_by_text(re.compile("user3 · 45-54 years old")).first).to_be_visible()
    page.get_by_role("tab", name=re.compile("Tasks")).click()
    page.get_by_test_id("stMain").get_by_role("link", name="Launch").first.click()
    expect(page.get_by_role("heading", name="Launch one dialogue")).to_be_visible()
    expect(page).to_have_url(re.compile("persona=user3"))

    # Two arms, watched as they arrive.
    launch(page)
    page.get_by_role("button", name=re.compile("again", re.IGNORECASE)).click()
    pick(page, "launch.assistant", "scripted/forgetful")
    launch(page)

    # Read the second one, and override its judge with a reason.
    page.get_by_role("link", name="Open dialogue").click()
    expect(
        page.get_by_role("link", name="All dialogues").or_(
            page.get_by_role("button", name="All dialogues")
        )
    ).to_be_visible()
    page.get_by_text("Override", exact=True).click()
    form = page.get_by_test_id("stForm")
    form.get_by_test_id("stButtonGroup").get_by_text("2", exact=True).click()
    form.get_by_role("combobox").click()
    page.get_by_role("option", name="Rubric applied wrongly").click()
    form.get_by_label("Your name").fill("Ana")
    form.get_by_label("In your words").fill("It asked, but politely.")
    form.get_by_role("button", name="Save override").click()
    expect(page.get_by_text("History (1)")).to_be_visible()

    # Both arms in a chart, and the sentence that says what it is.
    page.get_by_test_id("stSidebarNav").get_by_role("link", name="Compare").click()
    expect(
        page.get_by_text("Values of the judge, not yet corrected by people").first
    ).to_be_visible()
    chart = page.locator(".js-plotly-plot").first
    expect(chart).to_contain_text("attentive")
    expect(chart).to_contain_text("forgetful")
    expect(page.get_by_text(re.compile("not yet checked by people")).first).to_be_visible()

    store = open_store(sqlite_url(tmp_path))
    try:
        found = store.list_dialogues(DialogueFilter())
        assert {d.model for d in found} == {"scripted/attentive", "scripted/forgetful"}
        overrides = store.list_all_overrides()
        assert [(o.author, o.value, o.reason) for o in overrides] == [
            ("Ana", 2, "It asked, but politely.")
        ]
    finally:
        store.close()
