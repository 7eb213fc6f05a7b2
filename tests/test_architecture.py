"""Walls of the house that no other tool guards."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from pages._ui import frame

ROOT = Path(__file__).parent.parent
CODE = [
    p
    for folder in ("core", "storage", "pages")
    for p in sorted((ROOT / folder).rglob("*.py"))
    if "versions" not in p.parts
] + sorted(ROOT.glob("*.py"))
PAGES = sorted((ROOT / "pages").glob("[!_]*.py"))


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_frame_imports_only_streamlit_and_the_frame() -> None:
    tree = ast.parse(read(ROOT / "app.py"))
    imported = {
        name
        for node in ast.walk(tree)
        for name in (
            [a.name for a in node.names]
            if isinstance(node, ast.Import)
            else [node.module]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported == {"streamlit", "pages._ui"}


def test_every_page_is_in_the_navigation_and_guards_itself() -> None:
    named = {name for entries in frame.SECTIONS.values() for name, _, _ in entries}
    assert {p.stem for p in PAGES} == named
    for page in PAGES:
        assert "frame.enter()" in read(page), page.name


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_page_is_short(page: Path) -> None:
    assert len(read(page).splitlines()) <= 80


@pytest.mark.parametrize("path", CODE, ids=lambda p: str(p.relative_to(ROOT)))
def test_module_is_no_longer_than_a_person_reads(path: Path) -> None:
    # Two are lists by nature: the nouns, and the commands with their options.
    most = {"types.py": 560, "cli.py": 700}.get(path.name, 400)
    assert len(read(path).splitlines()) <= most


@pytest.mark.parametrize("path", CODE, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_function_is_longer_than_a_screen(path: Path) -> None:
    for node in ast.walk(ast.parse(read(path))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 60, node.name


def test_no_page_makes_markup_of_text() -> None:
    for path in CODE:
        assert "unsafe_allow_html" not in read(path), path
        assert "st.html(" not in read(path), path


def test_storage_changes_only_what_may_change() -> None:
    """Updates are for work in progress and datasets; what was measured is only added."""
    changing = {"STUDY", "UNIT", "DATASET", "OPEN_CALL", "SPENDING", "WAITING", "ASSIGNMENT"}
    for path in (ROOT / "storage").glob("*.py"):
        for table in re.findall(r"sa\.(?:update|delete)\((\w+)\)", read(path)):
            assert table in changing, f"{path.name}: {table}"


def test_no_file_names_a_registry_or_a_path_of_a_machine() -> None:
    for path in [*CODE, ROOT / "README.md", ROOT / "Makefile", ROOT / ".ci" / "run"]:
        for word in ("pypi.org", "files.pythonhosted", "/root/", "/work/"):
            assert word not in read(path), f"{path}: {word}"
