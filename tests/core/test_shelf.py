"""Study files and drafts that the web app keeps."""

from __future__ import annotations

import pytest

from core.errors import AppError
from core.launcher import run_options, study_path
from core.settings import Settings
from core.shelf import (
    Draft,
    drop_draft,
    list_drafts,
    mapping_of,
    read_draft,
    save_study,
    saved_studies,
    write_draft,
)
from core.study_file import load_study
from tests.builders import make_study_spec

WEIRD = "name: é 😀\nnote: [half"


def test_what_is_saved_is_what_run_takes() -> None:
    spec = make_study_spec("pilot 1")
    path = save_study(spec, Settings.from_env())
    assert load_study(path) == spec
    assert path.read_text(encoding="utf-8") == spec.to_yaml()
    assert saved_studies(Settings.from_env()) == [spec]


def test_a_file_that_is_no_study_hides_none_that_is() -> None:
    path = save_study(make_study_spec("b"), Settings.from_env())
    (path.parent / "a.yaml").write_text("nonsense", encoding="utf-8")
    assert [s.name for s in saved_studies(Settings.from_env())] == ["b"]


@pytest.mark.parametrize("other", ["a b", "a+b", "a·b", "a.b"])
def test_no_two_names_share_a_file_and_none_leaves_its_folder(other: str) -> None:
    settings = Settings.from_env()
    one, two = study_path("a-b", settings), study_path(other, settings)
    assert one != two
    assert two.parent == one.parent == settings.data_dir / "studies"


def test_a_draft_comes_back_as_it_was_whatever_it_is() -> None:
    settings = Settings.from_env()
    write_draft(Draft("0123abcd", WEIRD), settings)
    assert read_draft("0123abcd", settings) == Draft("0123abcd", WEIRD)
    assert [d.name for d in list_drafts(settings)] == [""]
    drop_draft("0123abcd", settings)
    assert read_draft("0123abcd", settings) is None
    assert list_drafts(settings) == []


@pytest.mark.parametrize("bad", ["", "../../../x", "0123ABCD", "0123abcde", "0123abc/"])
def test_an_id_that_is_none_reads_and_writes_nothing(bad: str) -> None:
    settings = Settings.from_env()
    assert read_draft(bad, settings) is None
    with pytest.raises(AppError, match="eight hexadecimal digits"):
        write_draft(Draft(bad, "x"), settings)


@pytest.mark.parametrize("words", ["", "- a", "a: [", "5", "a: b: c"])
def test_only_a_mapping_is_a_mapping(words: str) -> None:
    assert mapping_of(words) is None


def test_options_of_a_run_are_those_of_the_command_line() -> None:
    assert run_options() == []
    assert run_options(workers=3, cluster="tcp://x:1") == [
        "--workers",
        "3",
        "--cluster",
        "tcp://x:1",
    ]
