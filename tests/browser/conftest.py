"""Browser tests: skipped without Chromium, compulsory with RAPPORT_REQUIRE_BROWSER=1."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.support.web import chromium, served_app


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if shutil.which("chromium") is None:
        why = "Chromium is not installed (Debian: apt install chromium)"
        if os.environ.get("RAPPORT_REQUIRE_BROWSER") == "1":
            pytest.fail(why)
        pytest.skip(why)
    with chromium() as opened:
        yield opened


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(20_000)
    yield context.new_page()
    context.close()


@pytest.fixture
def app(tmp_path: Path) -> Iterator[str]:
    """The app in a fresh process on a fresh database; its address."""
    with served_app(tmp_path) as address:
        yield address
