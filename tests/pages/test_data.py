"""The page Data: what there is, importing more, and what imports found."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.records import dialogue_record
from core.sample import SAMPLE
from core.settings import Settings
from core.types import Irregularity
from pages._ui import jobs, text
from tests.builders import (
    fill_dataset,
    make_dialogue,
    make_persona,
    make_report,
    make_vocabulary,
)
from tests.support.app import links, marked, no_fault, open_page, own_store


def ended(app: AppTest) -> AppTest:
    """Wait for the import that was started, and draw the page again."""
    job = jobs.registry(Settings.from_env()).latest
    assert job is not None
    assert job.thread is not None
    job.thread.join(30)
    assert not job.running
    return app.run()


def import_path(app: AppTest, path: Path | str, *, name: str = "", users: str = "") -> AppTest:
    app.text_input(key="data.path").set_value(str(path))
    app.text_input(key="data.name").set_value(name)
    app.text_input(key="data.users").set_value(users)
    return app.button(key="data.import").click().run()


def dataset_names(app: AppTest) -> list[str]:
    return sorted(app.get_by_key("data.datasets").value["Dataset"])


def zipped_sample() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path in sorted(SAMPLE.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(SAMPLE))
    return buffer.getvalue()


def test_the_sample_is_there_and_its_import_can_be_read() -> None:
    app = open_page("data", dataset="sample")
    assert no_fault(app)
    assert dataset_names(app) == ["sample"]
    assert ("personas", "dataset=sample") in links(app)
    assert any("14 personas, 64 tasks" in m for m in marked(app))


def test_a_folder_is_imported_and_its_report_is_shown() -> None:
    app = import_path(open_page("data"), SAMPLE, name="second", users="0-3")
    assert not app.exception
    app = ended(app)
    assert no_fault(app)
    assert dataset_names(app) == ["sample", "second"]
    assert [s.value for s in app.success] == ["second is imported."]
    assert any("4 personas" in m for m in marked(app))


def test_the_news_of_an_import_can_be_dismissed() -> None:
    app = ended(import_path(open_page("data"), SAMPLE, name="second", users="7"))
    assert app.success
    app.button(key="data.dismiss").click().run()
    assert no_fault(app)
    assert not app.success
    assert dataset_names(app) == ["sample", "second"]


def test_the_name_of_the_file_names_the_dataset_when_none_is_given(tmp_path: Path) -> None:
    archive = tmp_path / "people.v2.zip"
    archive.write_bytes(zipped_sample())
    app = ended(import_path(open_page("data"), archive, users="0"))
    assert no_fault(app)
    assert dataset_names(app) == ["people", "sample"]


def test_an_upload_is_imported_and_its_copy_is_gone_afterwards(tmp_path: Path) -> None:
    app = open_page("data")
    app.segmented_control(key="data.origin").set_value("upload").run()
    upload = ("../../up load.zip", zipped_sample(), "application/zip")
    app.file_uploader(key="data.upload").set_value(upload)
    app.text_input(key="data.name").set_value("uploaded")
    app = ended(app.button(key="data.import").click().run())
    assert no_fault(app)
    assert "uploaded" in dataset_names(app)
    assert list((tmp_path / "uploads").rglob("*")) == []
    assert not list(tmp_path.parent.glob("*.zip"))


def test_the_same_again_adds_nothing_and_says_so() -> None:
    app = ended(import_path(open_page("data"), SAMPLE, name="twice", users="7"))
    app = ended(import_path(app, SAMPLE, name="twice", users="7"))
    assert no_fault(app)
    assert any("all of it known before" in m for m in marked(app))


@pytest.mark.parametrize(
    ("path", "name", "users", "said"),
    [
        ("", "", "", "Nothing to import yet"),
        (str(SAMPLE), "a/b\n", "", "The name cannot be used"),
        (str(SAMPLE), "x", "everyone", "selects no users"),
    ],
)
def test_a_form_that_cannot_be_meant_is_refused_at_once(
    path: str, name: str, users: str, said: str
) -> None:
    app = import_path(open_page("data"), path, name=name, users=users)
    assert not app.exception
    assert [said in e.value for e in app.error] == [True]
    assert jobs.registry(Settings.from_env()).latest is None


def test_a_source_that_is_not_there_is_one_sentence_and_the_form_can_be_used_again() -> None:
    app = ended(import_path(open_page("data"), "/nowhere/*x*.zip", name="none"))
    assert not app.exception
    said = text.escape_md("none: There is no file or folder /nowhere/*x*.zip.")
    assert [e.value for e in app.error] == [said]
    app = ended(import_path(app, SAMPLE, name="second", users="7"))
    assert no_fault(app)
    assert dataset_names(app) == ["sample", "second"]


def test_what_is_typed_stays_when_the_import_ends() -> None:
    app = ended(import_path(open_page("data"), SAMPLE, name="second", users="7"))
    assert app.text_input(key="data.path").value == str(SAMPLE)
    assert app.text_input(key="data.users").value == "7"


def test_users_are_not_asked_for_when_dialogues_are_imported() -> None:
    app = open_page("data")
    app.segmented_control(key="data.kind").set_value("dialogues").run()
    assert no_fault(app)
    assert "data.users" not in {t.key for t in app.text_input}
    assert app.text_input(key="data.name").label == "Name of the study"


def test_dialogues_are_imported_and_a_link_leads_to_them(tmp_path: Path) -> None:
    lines = [dialogue_record(make_dialogue("user: hi", "assistant: yes", id=f"d{n}")) for n in "12"]
    source = tmp_path / "dialogues.jsonl"
    source.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    app = open_page("data")
    app.segmented_control(key="data.kind").set_value("dialogues").run()
    app.text_input(key="data.path").set_value(str(source))
    app.text_input(key="data.name").set_value("theirs")
    app = ended(app.button(key="data.import").click().run())
    assert no_fault(app)
    assert any("2 dialogues" in m for m in marked(app))
    with own_store() as store:
        assert ("dialogues", f"study={store.get_study('theirs').id}") in links(app)


def test_files_of_the_machine_are_not_offered_where_others_visit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RAPPORT_ADDRESS", "0.0.0.0")
    app = open_page("data")
    assert no_fault(app)
    assert app.segmented_control(key="data.origin").options == ["Upload"]
    assert "data.path" not in {t.key for t in app.text_input}


def test_stored_reports_are_listed_newest_first_and_shown_inert() -> None:
    odd = Irregularity("empty_list", 3, False, "*what* <b>", ("![](http://x/y.png)", ":smile:"))
    with own_store() as store:
        fill_dataset(store, "mine")
        with store.write_dataset("mine", "personalens") as writer:
            report = make_report("mine", source="later *x*.zip", added=0, irregularities=(odd,))
            writer.finish(report, make_vocabulary(make_persona()))
    app = open_page("data", dataset="mine")
    assert no_fault(app)
    options = app.selectbox(key="data.report").options
    assert [o.split(" · ")[2] for o in options] == ["later *x*.zip", "sample.tar.xz"]
    row = app.table[0].value.iloc[0].to_dict()
    assert (row["Irregularity"], row["Count"], row["Done"]) == ("Empty list", "3", "reported")
    assert row["What it is"] == text.escape_md("*what* <b>")
    for raw in ("<b>", "![](", "*x*", ":smile:"):
        assert [m for m in marked(app) if raw in m] == []
    app.selectbox(key="data.report").set_value(1).run()
    assert app.table[0].value.iloc[0]["Done"] == "repaired"


def test_the_page_works_on_a_store_without_datasets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.sample.ensure_sample", lambda store: None)
    monkeypatch.setattr("pages._ui.wiring.ensure_sample", lambda store: None)
    app = open_page("data")
    assert no_fault(app)
    assert [i.value for i in app.info] == ["There is no dataset yet; import one below."]
    app = open_page("personas")
    assert no_fault(app)
    assert ("data", "") in links(app)
