"""A study from its definition to its end, in browsers of which one is never reloaded."""

from __future__ import annotations

import re
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from core.clock import new_id, now
from core.launcher import start_run
from core.ports import DialogueFilter
from core.settings import Settings
from core.shelf import save_study
from core.study_file import StudySpec
from core.types import Override, OverrideReason, StudyState
from storage.store import open_store
from tests.conftest import sqlite_url
from tests.support.web import served_app

pytestmark = pytest.mark.browser

PATIENCE = 20_000
COUNT = re.compile(r"(\d[\d,]*) of (\d[\d,]*) dialogues")


def ended(page: Page) -> int:
    """How many dialogues the monitor says are over."""
    found = COUNT.search(page.get_by_text(COUNT).first.inner_text())
    assert found is not None
    return int(found[1].replace(",", ""))


def await_more(page: Page, than: int, seconds: float = 60) -> int:
    until = time.monotonic() + seconds
    while (n := ended(page)) <= than:
        assert time.monotonic() < until, f"still {n} dialogues"
        page.wait_for_timeout(300)
    return n


def test_define_launch_and_watch_without_a_reload(page: Page, app: str, tmp_path: Path) -> None:
    page.goto(f"{app}/studies")
    page.get_by_role("button", name="From the example").click()
    name = page.get_by_role("textbox", name="Name", exact=True)
    expect(name).to_have_value("my-study", timeout=PATIENCE)
    name.fill("watched")
    name.press("Enter")
    expect(page.get_by_test_id("stCode")).to_contain_text("name: watched", timeout=PATIENCE)

    # A reload comes back to the same draft.
    page.reload()
    expect(name).to_have_value("watched", timeout=PATIENCE)
    repetitions = page.get_by_role("spinbutton", name="Repetitions")
    repetitions.fill("3")
    repetitions.press("Enter")
    expect(page.get_by_text(re.compile("^Dialogues\\s+1,440$"))).to_be_visible(timeout=PATIENCE)
    page.get_by_role("button", name="Save and launch").click()
    expect(page).to_have_url(re.compile("study=watched"), timeout=PATIENCE)

    # It comes along by itself, under a half-typed text.
    expect(page.get_by_text(COUNT).first).to_be_visible(timeout=60_000)
    page.evaluate("window.neverReloaded = true")
    persona = page.get_by_role("textbox", name="Persona")
    persona.press_sequentially("user")
    first = await_more(page, than=0)
    await_more(page, than=first)
    expect(persona).to_have_value("user")
    assert page.evaluate("window.neverReloaded") is True

    # A reload in the middle comes back to the monitor.
    page.reload()
    expect(page.get_by_role("heading", name="watched", level=1)).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_text(re.compile("^Done · 1,440 of 1,440 dialogues"))).to_be_visible(
        timeout=120_000
    )
    store = open_store(sqlite_url(tmp_path))
    try:
        assert store.progress(store.get_study("watched").id).done == 1_440
    finally:
        store.close()


def study(name: str) -> StudySpec:
    return StudySpec.model_validate(
        {
            "name": name,
            "dataset": "sample",
            "scenarios": {"limit": 120},
            "arms": [{"name": a, "model": f"scripted/{a}"} for a in ("attentive", "forgetful")],
            "judges": [{"model": "scripted/judge", "rubrics": ["personalization"]}],
            "repetitions": 6,
        }
    )


def override_each(store: Any, study_id: str, saved: list[str], over: threading.Event) -> None:
    """An annotator who corrects one judgement after another for as long as the study runs."""
    done: set[str] = set()
    while not over.is_set():
        for dialogue in store.list_dialogues(DialogueFilter(study_id=study_id), limit=20):
            if dialogue.id in done or over.is_set():
                continue
            done.add(dialogue.id)
            (judgement,) = store.list_judgements(dialogue.id)
            override = Override(
                new_id(), judgement.id, dialogue.id, 2, OverrideReason.MISREAD, "No.", "Ana", now()
            )
            store.add_override(override)
            saved.append(override.id)
        time.sleep(0.02)


def test_two_watch_and_one_corrects_while_a_study_runs(
    browser: Browser, database_url: str, tmp_path: Path
) -> None:
    settings = Settings.from_env().model_copy(update={"database_url": database_url})
    with served_app(tmp_path, RAPPORT_DATABASE_URL=database_url) as address:
        start_run(save_study(study("crowd"), settings), settings)
        store = open_store(database_url)
        saved: list[str] = []
        over = threading.Event()
        pages = [browser.new_context().new_page() for _ in range(2)]
        try:
            until = time.monotonic() + 60
            while (found := store.find_study("crowd")) is None and time.monotonic() < until:
                time.sleep(0.1)
            assert found is not None
            arguments = (store, found.id, saved, over)
            annotator = threading.Thread(target=override_each, args=arguments)
            annotator.start()
            for page in pages:
                page.goto(f"{address}/studies?study=crowd")
            for page in pages:
                whole = page.get_by_text(re.compile("^Done · 1,440 of 1,440 dialogues"))
                expect(whole).to_be_visible(timeout=180_000)
            over.set()
            annotator.join(30)
            progress = store.progress(found.id)
            assert progress.state is StudyState.DONE
            assert (progress.done, progress.judgements, progress.failed) == (1_440, 1_440, 0)
            kept = {o.id for o in store.list_all_overrides(found.id)}
            assert len(saved) > 20
            assert kept == set(saved)
        finally:
            over.set()
            store.close()
            for page in pages:
                page.context.close()
