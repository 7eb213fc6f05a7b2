"""A report's claims: their numbers, what they rest on, and which a changed row takes away."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.comparison import results_object
from core.errors import NotFound, SourceError, StudyError
from core.findings import compare_study
from core.report import make_report
from core.report_check import check_report, checked_words, read_report
from core.report_examples import AGAINST, FOR, TYPICAL
from core.report_ledger import hash_lines
from core.settings import Settings
from pages._ui.report_files import FORMS, document, write_report
from pages._ui.report_paper import escape_tex
from tests.builders import NOW, make_study
from tests.support.annotations import annotations
from tests.support.app import own_store
from tests.support.judged import store_judged


@pytest.fixture
def store() -> Iterator[Any]:
    with own_store() as opened:
        yield opened


@pytest.fixture
def other_store(tmp_path: Path) -> Iterator[Any]:
    from storage.store import open_store

    opened = open_store(f"sqlite:///{tmp_path / 'other.db'}")
    yield opened
    opened.close()


def html_of(store: Any, **how: Any) -> str:
    made = make_report(store_judged(store, **how), store, now=NOW)
    return document(made, "html", Settings.from_env())


def test_numbers_of_the_claims_are_those_of_the_results(store: Any) -> None:
    study = store_judged(store)
    made = make_report(study, store, now=NOW)
    results = results_object(study.name, compare_study(study, store))
    assert made.ledger.results == results
    for row in results["results"]:
        claim = next(
            c
            for c in made.claims
            if c.kind == "arm" and (c.arm, c.dimension) == (row["arm"], row["dimension"])
        )
        for key in ("estimate", "lo", "hi", "n", "n_personas", "n_unscored"):
            assert claim.numbers[key] == row[key]
    for row in results["differences"]:
        claim = made.ledger.claim(
            "|".join(
                ("difference", row["arm"], row["baseline"], row["dimension"], next(
                    c.instrument_id for c in made.claims if c.dimension == row["dimension"]
                ))
            )
        )  # fmt: skip
        assert [claim.numbers[k] for k in ("estimate", "lo", "hi", "p", "n")] == [
            row[k] for k in ("estimate", "lo", "hi", "p", "n")
        ]


def test_every_finding_has_three_dialogues_chosen_by_rule(store: Any) -> None:
    made = make_report(store_judged(store, changed=("user4", "forgetful", "personalization")),
                       store, now=NOW)  # fmt: skip
    for claim in made.claims:
        if claim.kind == "difference":
            found = made.examples_of(claim.id)
            assert [e.role for e in found] == [FOR, TYPICAL, AGAINST]
            assert len({e.dialogue.id for e in found}) == 3
            assert {e.dialogue.arm.name for e in found} == {claim.arm}
    claim = next(c for c in made.claims if c.id.startswith("difference|forgetful|attentive|pers"))
    clearest = made.examples_of(claim.id)[0]
    assert clearest.dialogue.persona_id == "user4"
    assert clearest.value - (clearest.other or 0) == -3


def test_report_that_nothing_happened_to_holds(store: Any) -> None:
    found = check_report(html_of(store), store)
    assert found.ok
    assert found.claims > 10
    assert checked_words(found) == f"{found.claims} of {found.claims} claims of pilot hold."


def test_one_changed_row_takes_away_exactly_the_claims_that_rest_on_it(
    store: Any, other_store: Any
) -> None:
    html = html_of(store)
    store_judged(other_store, changed=("user4", "forgetful", "personalization"))
    found = check_report(html, other_store)
    wrong = {(u.kind, u.arm, u.baseline, u.dimension) for u in found.unsupported}
    numbers = {w for w in wrong if w[0] != "example"}
    assert numbers == {
        ("arm", "forgetful", "", "personalization"),
        ("difference", "forgetful", "attentive", "personalization"),
    }
    assert {u.why for u in found.unsupported} == {"the rows behind it have changed"}
    assert not found.edited
    assert not found.ok


def test_changed_row_of_the_baseline_takes_away_every_difference_to_it(
    store: Any, other_store: Any
) -> None:
    html = html_of(store)
    store_judged(other_store, changed=("user4", "attentive", "personalization"))
    wrong = {
        (u.kind, u.arm) for u in check_report(html, other_store).unsupported if u.kind != "example"
    }
    assert wrong == {("arm", "attentive"), ("difference", "forgetful"), ("difference", "pushy")}


def test_quoted_dialogue_is_checked_though_another_would_be_chosen_now(
    store: Any, other_store: Any
) -> None:
    html = html_of(store)
    store_judged(other_store, words="other words")
    kinds = {u.kind for u in check_report(html, other_store).unsupported}
    assert "example" in kinds


def test_number_changed_in_the_text_breaks_the_seal(store: Any) -> None:
    html = html_of(store)
    edited = re.sub(r"<td>3\.\d{3}</td>", "<td>3.999</td>", html, count=1)
    assert edited != html
    found = check_report(edited, store)
    assert found.edited
    assert not found.unsupported
    assert "not as it was written" in checked_words(found)


def test_rows_in_the_file_have_the_hash_of_their_claim(store: Any) -> None:
    html = html_of(store)
    rows = json.loads(re.findall(r'id="rows">(.*?)</script>', html, re.DOTALL)[0])
    ledger = json.loads(re.findall(r'id="ledger">(.*?)</script>', html, re.DOTALL)[0])
    claim = next(c for c in ledger["claims"] if c["kind"] == "arm" and c["arm"] == "pushy")
    own = [r for r in rows if r.split("\t")[1] == "pushy" and f"\t{claim['dimension']}\t" in r]
    assert len(own) == 20
    assert hash_lines(own) == claim["data_hash"]


def test_labels_of_people_become_claims_of_agreement(store: Any) -> None:
    study = store_judged(store)
    labels = annotations().assign(
        dimension="naturalness_assistant", instrument_id="i1", instrument="m · naturalness@1"
    )
    made = make_report(study, store, now=NOW, annotations=labels)
    claim = next(c for c in made.claims if c.kind == "agreement")
    assert claim.numbers["n_labels"] == 180
    assert claim.numbers["kappa_est"] is not None
    html = document(made, "html", Settings.from_env())
    assert check_report(html, store, annotations=labels).ok
    moved = labels.copy()
    moved.loc[0, "value_before_reveal"] = 1.0
    wrong = check_report(html, store, annotations=moved).unsupported
    assert [u.kind for u in wrong] == ["agreement"]


@pytest.mark.parametrize("form", FORMS)
def test_foreign_text_is_inert_in_every_form(store: Any, form: str) -> None:
    made = make_report(store_judged(store), store, now=NOW)
    written = document(made, form, Settings.from_env())
    assert "<script>alert" not in written
    assert "\u202e" not in written.split("<script>")[0]
    if form == "html":
        shown = written.split('<script type="application/json" id="ledger">')[0]
        assert "<b> " not in shown.split("<body>")[1]
        assert written.count("</script>") == 4
        assert "&lt;script&gt;alert(1)" in shown
    if form == "markdown":
        assert "$5 *x* <b>" not in written.split("## To do it again")[0]


def test_report_of_nothing_judged_says_what_to_do(store: Any) -> None:
    store.add_study(make_study())
    with pytest.raises(StudyError, match="cli.py judge pilot"):
        make_report(store.get_study("s1"), store, now=NOW)


def test_what_is_no_report_is_refused_in_a_sentence(store: Any, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no report"):
        check_report("<html></html>", store)
    broken = '<script type="application/json" id="ledger">{"a": 1}</script>'
    with pytest.raises(SourceError, match="cannot be read"):
        check_report(broken, store)
    with pytest.raises(SourceError, match="Cannot read"):
        read_report(tmp_path / "nowhere.html", store)


def test_study_that_is_not_here_is_told(store: Any, other_store: Any) -> None:
    with pytest.raises(NotFound, match="not in this database"):
        check_report(html_of(store), other_store)


def test_wrong_form_baseline_and_folder_are_refused(store: Any, tmp_path: Path) -> None:
    study, settings = store_judged(store), Settings.from_env()
    with pytest.raises(StudyError, match="form pdf"):
        write_report(study, store, settings, tmp_path / "r", "pdf")
    with pytest.raises(StudyError, match="no arm nobody"):
        write_report(study, store, settings, tmp_path / "r", "html", "nobody")
    with pytest.raises(StudyError, match="is a folder"):
        write_report(study, store, settings, tmp_path, "html")


def test_report_of_one_engine_holds_on_the_other(store: Any, blank_postgres_url: str) -> None:
    from storage.copy import copy_database
    from storage.store import open_store

    html = html_of(store)
    copy_database(Settings.from_env().database_url, blank_postgres_url)
    copied = open_store(blank_postgres_url)
    try:
        found = check_report(html, copied)
    finally:
        copied.close()
    assert found.ok, checked_words(found)


def test_text_in_latex_is_no_command() -> None:
    assert escape_tex("\\input{x} 5% & a_b $ #1 ~ ^\n<é>") == (
        r"\textbackslash{}input\{x\} 5\% \& a\_b \$ \#1 \textasciitilde{} \textasciicircum{} "
        r"\textless{}é\textgreater{}"
    )
