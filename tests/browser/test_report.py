"""A report file in Chromium, with the network off: it opens, draws, asks for nothing, prints."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from core.report import make_report
from core.settings import Settings
from pages._ui.report_files import document
from tests.builders import NOW
from tests.support.app import own_store
from tests.support.judged import store_judged


@pytest.mark.browser
def test_report_opens_and_draws_without_a_network(browser: Browser, tmp_path: Path) -> None:
    with own_store() as store:
        made = make_report(store_judged(store), store, now=NOW)
    file = tmp_path / "report.html"
    file.write_text(document(made, "html", Settings.from_env()), encoding="utf-8")
    context = browser.new_context(offline=True, viewport={"width": 900, "height": 1200})
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    page.wait_for_selector("#chart-1-distribution .main-svg", state="attached")
    assert page.locator(".chart").count() == page.locator(".chart .plot-container").count() == 6
    assert said == []
    assert asked == [file.as_uri()]
    # Charts still work: pointing at a mark tells what it is.
    page.locator("#chart-0-arms .scatterlayer .point").first.hover(force=True)
    page.wait_for_selector("#chart-0-arms .hoverlayer .hovertext")
    # A mark of a claim leads to its line in the ledger.
    page.locator("#question sup a").first.click()
    assert "#c" in page.url
    # Nothing is wider than the page, on the screen or on A4.
    page.emulate_media(media="print")
    assert page.evaluate("document.querySelector('.chart').scrollWidth") <= 680
    assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF")
    context.close()
