"""What people's labels add to results and to a report, and what a changed label takes away."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from typer.testing import CliRunner

from cli import app
from core.clock import new_id
from core.correcting import correct
from core.findings import compare_study
from core.labels import standing
from core.report import Report, make_report
from core.report_check import check_report
from core.review_designs import store_draw
from core.review_queue import Given
from core.review_types import Act, ReviewDesign
from core.settings import Settings
from pages._ui.report_files import document
from tests.builders import NOW
from tests.support.app import own_store
from tests.support.judged import store_judged
from tests.support.reviewing import DIMENSION, queue, wish

RESULT = ("estimate", "lo", "hi", "n", "n_personas", "n_unscored", "n_labels", "frame_hash")


@pytest.fixture
def store() -> Iterator[Any]:
    with own_store() as opened:
        yield opened


def label(store: Any, design: ReviewDesign) -> None:
    desk = queue(store, design)
    while (at := desk.current()) is not None:
        dialogue = store.get_dialogue(at.dialogue_id)
        said = Given(1 + (int(dialogue.persona_id[4:]) + len(dialogue.arm.name)) % 4)
        if desk.rate(at, {DIMENSION: said}, 5.0):
            desk.answer(at, {})


def labelled(store: Any, budget: int = 40, personas: int = 20) -> tuple[Any, ReviewDesign]:
    study = store_judged(store, personas=personas)
    design = store_draw(wish(budget, study_id=study.id), store, now=lambda: NOW, new_id=new_id)
    label(store, design)
    return study, design


def claims(made: Report, kind: str) -> list[Any]:
    return [claim for claim in made.claims if claim.kind == kind]


def results() -> dict[str, Any]:
    run = CliRunner().invoke(app, ["results", "pilot", "--json"])
    assert run.exit_code == 0, run.output
    return dict(json.loads(run.stdout))


def test_numbers_of_corrected_claims_are_those_of_results_and_of_the_page(store: Any) -> None:
    study, design = labelled(store, budget=110)
    made = make_report(study, store, now=NOW)
    printed = results()
    assert made.ledger.results == printed
    uncorrected = [row for row in printed["results"] if "design" not in row]
    assert len(uncorrected) == 6
    assert len(printed["differences"]) == 4
    added = {row["arm"]: row for row in printed["results"] if "design" in row}
    assert set(added) == {"attentive", "forgetful", "pushy"}
    whole = compare_study(study, store)
    (instrument_id,) = whole.instruments(DIMENSION)
    found = correct(
        design, DIMENSION, instrument_id, store, arms=whole.arms, baseline=whole.baseline
    )
    rows = {row.arm: row for row in found.arms}
    for claim in claims(made, "corrected"):
        row = added[claim.arm]
        head = rows[claim.arm].found
        assert head is not None
        assert row["method"] == claim.method == "corrected"
        assert row["estimate"] == head.headline.est == claim.numbers["estimate"]
        for key in RESULT[:-1]:
            assert claim.numbers[key] == row[key]
        assert claim.numbers["n_labels"] == rows[claim.arm].n_labels >= 30
        assert claim.frame_hash == row["frame_hash"] == design.frame_hash
        assert (claim.design, row["design"]) == ("pilot", "pilot")
        assert len(claim.dialogue_ids) == claim.numbers["n_labels"]


def test_below_thirty_labels_results_and_report_say_people_alone(store: Any) -> None:
    study, _ = labelled(store, budget=30)
    found = claims(make_report(study, store, now=NOW), "corrected")
    assert {claim.method for claim in found} == {"human_only"}
    for claim in found:
        assert claim.numbers["estimate"] == claim.numbers["people_estimate"]


def test_labels_that_no_draw_asked_for_add_nothing(store: Any) -> None:
    study, design = labelled(store, budget=30)
    made = make_report(study, store, now=NOW)
    before = [c.to_dict() for c in claims(made, "corrected")]
    drawn = {i.dialogue_id for i in store.list_items(design.id, selected=True)}
    other = next(d for d in store.iter_dialogues(study.id) if d.id not in drawn)
    (row, *_) = [r for r in store.study_annotations(study.id) if r.act is Act.RATED]
    store.add_annotations([replace(row, id=new_id(), dialogue_id=other.id)])
    again = make_report(study, store, now=NOW)
    assert [c.to_dict() for c in claims(again, "corrected")] == before


def test_a_report_without_labels_stays_as_it_is(store: Any) -> None:
    study = store_judged(store)
    made = make_report(study, store, now=NOW)
    assert not made.ledger.corrections
    assert {c.kind for c in made.claims} == {"dialogues", "arm", "difference", "example"}
    html = document(made, "html", Settings.from_env())
    assert "as people would rate" not in html
    assert all("design" not in row for row in made.ledger.results["results"])


def test_check_names_corrected_and_agreement_claims_of_a_label_taken_back(store: Any) -> None:
    study, _ = labelled(store, budget=110)
    html = document(make_report(study, store, now=NOW), "html", Settings.from_env())
    assert check_report(html, store).ok
    (said, *_) = standing(store.study_annotations(study.id))
    arm = store.get_dialogue(said.dialogue_id).arm.name
    row = next(r for r in store.study_annotations(study.id) if r.id == said.id)
    store.add_annotations(
        [replace(row, id=new_id(), act=Act.UNDONE, value=None, supersedes=said.id)]
    )
    wrong = {(u.kind, u.arm) for u in check_report(html, store).unsupported}
    # A drawn dialogue without its label lowers the probability of all: every arm moves.
    assert ("corrected", arm) in wrong
    assert ("agreement", "") in wrong
    assert {kind for kind, _ in wrong} == {"corrected", "agreement"}


@pytest.mark.parametrize("form", ["html", "markdown", "latex"])
def test_every_form_says_what_people_would_say(store: Any, form: str) -> None:
    study, design = labelled(store, budget=110)
    made = make_report(study, store, now=NOW)
    written = document(made, form, Settings.from_env())
    assert "as people would rate it" in written
    if form != "latex":
        assert "corrected by people" in written
        assert design.frame_hash[:12] in written
