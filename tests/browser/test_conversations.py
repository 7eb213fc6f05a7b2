"""Conversations in a browser: a thread as a tree, a reply asked about, by keyboard too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from core.clock import now
from core.importing import import_source
from core.personaconv.generator import SAMPLE
from storage.store import open_store
from tests.conftest import sqlite_url
from tests.support.web import served_app

pytestmark = pytest.mark.browser
PATIENCE = 60_000


def test_from_a_thread_to_a_prompt(page: Page, tmp_path: Path) -> None:
    store = open_store(sqlite_url(tmp_path))
    import_source(SAMPLE, kind="personaconv", name="talk", store=store, now=now)
    target = store.list_targets("talk")[0]
    store.close()
    with served_app(tmp_path) as address:
        query = f"dataset=talk&thread={target.thread_id}&message={target.number}"
        page.goto(f"{address}/conversations?{query}")
        expect(page.get_by_text("240 threads, ")).to_be_visible(timeout=PATIENCE)
        tree = page.get_by_test_id("stDataFrame").nth(1)
        expect(tree).to_be_visible(timeout=PATIENCE)
        tree.click(position={"x": 300, "y": 60})
        page.keyboard.press("ArrowDown")
        expect(page.get_by_text("Show what was written until")).to_be_visible()

        page.get_by_role("link", name="Ask about this reply").click()
        heading = page.get_by_role("heading", name="How was it received?")
        expect(heading).to_be_visible(timeout=PATIENCE)
        expect(page.get_by_text("no leak found")).to_be_visible(timeout=PATIENCE)
        expect(page.get_by_text(re.compile("^Community: "))).to_be_visible()
        expect(page.get_by_text("No study has asked about this reply yet.")).to_be_visible()
