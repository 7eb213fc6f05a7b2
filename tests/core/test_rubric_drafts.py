"""A new wording is a new version; the old one stays as it is."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from core.assets import ASSETS, forget_files, load_rubric
from core.errors import AssetError
from core.rubric_drafts import begin, diff, read_draft, rubric_text, save


@pytest.fixture
def root(tmp_path: Path) -> Path:
    shutil.copytree(ASSETS / "rubrics", tmp_path / "rubrics")
    forget_files()
    return tmp_path


def changed(root: Path) -> str:
    return begin("personalization", root=root).replace("without", "with no", 1)


def test_draft_begins_as_the_next_version_of_the_same_words(root: Path) -> None:
    text = begin("personalization", root=root)
    assert "version: 2" in text
    with pytest.raises(AssetError, match="nothing to save"):
        read_draft(text, root=root)


def test_saved_draft_is_a_new_file_and_the_old_one_is_untouched(root: Path) -> None:
    before = rubric_text("personalization@1", root=root)
    draft = read_draft(changed(root), root=root)
    shown = diff(draft, root=root)
    assert sum(line.startswith("+") and not line.startswith("+++") for line in shown) == 2
    saved = save(draft, root=root)
    assert saved.ref == "personalization@2"
    assert load_rubric("personalization", root=root).version == 2
    assert rubric_text("personalization@1", root=root) == before
    with pytest.raises(AssetError):
        save(draft, root=root)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("version: 2", "version: 7", "never edited"),
        ("high: 4", "high: 3", "one anchor for each value"),
        ("dimension: personalization", "dimension: charm", "another measure"),
        ("name: personalization", "name: nobody", "no rubric"),
        ("title:", "title: [", "not valid YAML"),
        ("question:", "asks:", "The draft"),
    ],
)
def test_broken_draft_is_told_in_a_sentence(root: Path, old: str, new: str, said: str) -> None:
    text = changed(root)
    assert old in text
    with pytest.raises(AssetError, match=said):
        read_draft(text.replace(old, new, 1), root=root)
