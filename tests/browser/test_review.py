"""Two people label by keyboard alone, a third settles; other libraries find the same numbers."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect
from sklearn.metrics import cohen_kappa_score

from core.agreement import agreement
from core.agreement_words import judge_words
from core.clock import new_id, now
from core.comparison import Ends
from core.label_files import export_labels
from core.labels import annotation_rows
from core.review_designs import draw, store_draw
from core.review_types import Act, ReviewDesign
from storage.store import open_store
from tests.conftest import sqlite_url
from tests.support.reviewing import DIMENSION, fill_study, wish
from tests.support.web import served_app

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PATIENCE = 20_000
DONE = re.compile("Your part is done|All of it is labelled")
JUDGE = re.compile("^judge: ")


def drawn(store: Any) -> ReviewDesign:
    """Twenty dialogues, ten of them for two people."""
    for seed in range(1000):
        asked = wish(20, overlap=0.5, seed=seed, annotators=("Ana", "Ben"))
        if draw(asked, store).labels == 30:
            return store_draw(asked, store, now=now, new_id=new_id)
    raise AssertionError("no seed draws ten doubled dialogues")


def press(page: Page, key: str) -> None:
    """Press a key as a person does: not within a blink of what they see."""
    page.wait_for_timeout(200)
    page.keyboard.press(key)


def label_all(page: Page, address: str, person: str, shift: int) -> int:
    """Label what comes until there is no more, touching nothing but keys; returns how many."""
    page.goto(address)
    name = page.get_by_label("Your name", exact=False)
    name.focus()
    page.keyboard.type(person)
    page.keyboard.press("Enter")
    labelled = 0
    while labelled < 40:
        save = page.get_by_role("button", name="Save")
        expect(save.or_(page.get_by_text(DONE)).first).to_be_visible(timeout=PATIENCE)
        if page.get_by_text(DONE).count():
            return labelled
        value = 1 + (labelled * 7 + shift) % 4
        press(page, str(value))
        expect(page.get_by_text(f"Personalisation: {value} ")).to_be_visible(timeout=PATIENCE)
        press(page, "Enter")
        expect(page.get_by_text(JUDGE)).to_be_visible(timeout=PATIENCE)
        press(page, "Enter")
        expect(page.get_by_text(JUDGE)).to_have_count(0, timeout=PATIENCE)
        labelled += 1
    raise AssertionError("the queue has no end")


def test_a_review_with_the_keyboard_alone(browser: Browser, tmp_path: Path) -> None:
    store = open_store(sqlite_url(tmp_path))
    fill_study(store, dataset="mine")
    design = drawn(store)
    with served_app(tmp_path) as app:
        address = f"{app}/desk?design={design.root_id}"
        counts = {}
        for person, shift in (("Ana", 0), ("Ben", 1)):
            (tmp_path / "author.txt").unlink(missing_ok=True)  # somebody else sits down
            context = browser.new_context(viewport={"width": 1280, "height": 800})
            counts[person] = label_all(context.new_page(), address, person, shift)
            context.close()
        assert counts == {"Ana": 15, "Ben": 15}

        (tmp_path / "author.txt").unlink()
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        page = context.new_page()
        _adjudicate(page, app)
        page.goto(f"{app}/agreement")
        rows = annotation_rows("s1", DIMENSION, store)
        found = agreement(rows, dimension=DIMENSION, ends=Ends(1, 4), boot=500)
        assert found.judge is not None
        first = judge_words(found.judge).split(". ")[0]
        expect(page.get_by_text(first)).to_be_visible(timeout=PATIENCE)
        context.close()

    acts = [row.act for row in store.list_annotations(root_id=design.root_id)]
    assert acts.count(Act.RATED) == acts.count(Act.REVEALED) == acts.count(Act.AFTER) == 30
    assert len(store.list_decisions(design.root_id)) == 1
    _numbers_are_those_of_other_libraries(store, tmp_path / "labels", found)
    store.close()


def _adjudicate(page: Page, app: str) -> None:
    page.goto(f"{app}/adjudicate")
    name = page.get_by_label("Your name", exact=False)
    name.fill("Cleo")
    name.press("Enter")
    expect(page.get_by_text("Reviewer A")).to_be_visible(timeout=PATIENCE)
    page.get_by_role("radio", name="2", exact=True).click()
    page.get_by_label("Because").click()
    page.get_by_role("option").first.click()
    page.get_by_label("In a sentence").fill("Turn 1 says it.")
    page.get_by_role("button", name="Settle").click()
    expect(page.get_by_text("1 settled")).to_be_visible(timeout=PATIENCE)


def _numbers_are_those_of_other_libraries(store: Any, folder: Path, found: Any) -> None:
    export_labels(store, store.get_study("s1"), to=folder, form="csv", design=None, blank=False)
    with (folder / "labels.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 30
    items = list(dict.fromkeys(row["dialogue_id"] for row in rows))
    people = ["Ana", "Ben"]
    table = np.full((2, len(items)), np.nan)
    for row in rows:
        place = people.index(row["annotator"]), items.index(row["dialogue_id"])
        table[place] = float(row["value_before_reveal"])
    alpha = krippendorff.alpha(table, level_of_measurement="ordinal", value_domain=[1, 2, 3, 4])
    assert found.people.alpha.est == pytest.approx(alpha, abs=1e-9)
    human = [int(row["value_before_reveal"]) for row in rows]
    judge = [int(float(row["judge_value"])) for row in rows]
    per_item = np.sum(~np.isnan(table), axis=0)
    weight = [1 / per_item[items.index(row["dialogue_id"])] for row in rows]
    kappa = cohen_kappa_score(
        human, judge, labels=[1, 2, 3, 4], weights="quadratic", sample_weight=weight
    )
    assert found.judge.kappa.est == pytest.approx(kappa, abs=1e-9)


def test_nothing_of_judge_arm_or_model_reaches_the_browser_before_a_rating_is_stored(
    browser: Browser, tmp_path: Path
) -> None:
    """Every element, attribute, address and message from the server is looked through."""
    store = open_store(sqlite_url(tmp_path))
    fill_study(store, dataset="mine")
    design = store_draw(wish(6), store, now=now, new_id=new_id)
    (tmp_path / "author.txt").write_text("Ana", encoding="utf-8")
    heard: list[bytes] = []
    asked: list[str] = []

    def listen(frame: Any) -> None:
        heard.append(frame if isinstance(frame, bytes) else frame.encode())

    with served_app(tmp_path) as app:
        context = browser.new_context(viewport={"width": 1024, "height": 768})
        page = context.new_page()
        page.on("websocket", lambda socket: socket.on("framereceived", listen))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{app}/desk?design={design.root_id}")
        expect(page.get_by_role("button", name="Save")).to_be_visible(timeout=PATIENCE)
        press(page, "j")
        press(page, "2")
        expect(page.get_by_text("Personalisation: 2 ")).to_be_visible(timeout=PATIENCE)
        (assignment,) = store.list_assignments(design.root_id)
        held = [*heard, page.content().encode(), page.url.encode(), *(u.encode() for u in asked)]
        dialogue = store.get_dialogue(assignment.dialogue_id)
        (judgement,) = store.list_judgements(dialogue.id)
        secrets = [
            *(judgement.rationale, judgement.instrument.judge, judgement.instrument.id),
            *(judgement.id, dialogue.arm.name, dialogue.arm.assistant.model, str(dialogue.unit_id)),
        ]
        assert any(b"hello" in message for message in heard)  # the dialogue did come that way
        for secret in secrets:
            assert not any(secret.encode() in message for message in held), secret

        press(page, "Enter")
        expect(page.get_by_text(JUDGE)).to_be_visible(timeout=PATIENCE)
        assert any(judgement.rationale.encode() in message for message in heard)  # and now it is
        context.close()
    store.close()
