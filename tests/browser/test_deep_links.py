"""Any address may be the first that anybody opens, in a process that has served nobody yet."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from pages._ui import frame
from tests.support.web import served_app

pytestmark = pytest.mark.browser
PAGES = [(n, title) for es in frame.SECTIONS.values() for n, title, _ in es if n != frame.DEFAULT]


@pytest.mark.parametrize(("name", "title"), PAGES)
def test_first_address_of_a_fresh_process_is_framed(
    page: Page, tmp_path: Path, name: str, title: str
) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    with served_app(tmp_path) as address:
        page.goto(f"{address}/{name}")
        expect(
            page.get_by_role("heading", name=re.compile(rf"^{title}\b"), level=1)
        ).to_be_visible()
        navigation = page.get_by_test_id("stSidebarNav")
        expect(navigation.get_by_text("Explore")).to_be_visible()
        expect(navigation.get_by_role("link", name="Settings")).to_be_visible()
        assert page.url.startswith(f"{address}/{name}")
    own = re.compile(r"(https?|wss?)://localhost[:/]|data:|blob:")
    assert [url for url in asked if not own.match(url)] == []


def test_plain_streamlit_run_is_framed_too(page: Page, tmp_path: Path) -> None:
    """Without `cli.py serve`, the page's own guard has to do it."""
    with served_app(tmp_path, plain=True) as address:
        page.goto(f"{address}/personas")
        expect(page.get_by_role("heading", name="Personas", exact=True, level=1)).to_be_visible()
        expect(page.get_by_test_id("stSidebarNav").get_by_text("Explore")).to_be_visible()
