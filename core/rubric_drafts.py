"""A new wording of a rubric: read, held against the old one, and saved as a new version.

A version is never edited, because results name the version they were made with.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

import yaml
from pydantic import ValidationError

from core import assets
from core.assets import ASSETS, Rubric, list_rubrics, load_rubric
from core.errors import AssetError
from core.records import first_fault


@dataclass(frozen=True, slots=True)
class Draft:
    """A rubric that is not saved yet, and the text it was read from."""

    rubric: Rubric
    text: str


def rubric_text(ref: str, *, root: Path = ASSETS) -> str:
    """The file of a rubric as it stands."""
    rubric = load_rubric(ref, root=root)
    path = root / "rubrics" / f"{rubric.name}.v{rubric.version}.yaml"
    return path.read_text(encoding="utf-8")


def next_version(name: str, *, root: Path = ASSETS) -> int:
    return max((r.version for r in list_rubrics(root=root) if r.name == name), default=0) + 1


def begin(ref: str, *, root: Path = ASSETS) -> str:
    """The text of a rubric with the number that its next version will have."""
    rubric = load_rubric(ref, root=root)
    lines = rubric_text(ref, root=root).splitlines(keepends=True)
    wanted = f"version: {next_version(rubric.name, root=root)}\n"
    return "".join(wanted if line.startswith("version:") else line for line in lines)


def read_draft(text: str, *, root: Path = ASSETS) -> Draft:
    """Read and check a draft. Raises `AssetError` with what is wrong and where."""
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        raise AssetError(f"The draft{where}: this is not valid YAML.") from None
    try:
        rubric = Rubric.model_validate(data)
    except ValidationError as error:
        raise AssetError(f"The draft, {first_fault(error)}") from None
    old = load_rubric(rubric.name, root=root)  # raises for a name that is not there
    if rubric.version != old.version + 1:
        raise AssetError(
            f"The draft's version is {rubric.version}; the next of {rubric.name} is "
            f"{old.version + 1}, because versions are never edited."
        )
    if (rubric.dimension, rubric.scale.low, rubric.scale.high) != (
        old.dimension,
        old.scale.low,
        old.scale.high,
    ):
        raise AssetError(
            f"The draft changes the dimension or the ends of the scale of {old.ref}; that is "
            "another measure and needs a name of its own."
        )
    if rubric.hash == old.model_copy(update={"version": rubric.version}).hash:
        raise AssetError(f"The draft says the same as {old.ref}; there is nothing to save.")
    return Draft(rubric, text)


def diff(draft: Draft, *, root: Path = ASSETS) -> list[str]:
    """The lines of a unified diff against the newest version."""
    old = load_rubric(draft.rubric.name, root=root)
    return list(
        difflib.unified_diff(
            rubric_text(old.ref, root=root).splitlines(),
            draft.text.splitlines(),
            fromfile=old.ref,
            tofile=draft.rubric.ref,
            lineterm="",
        )
    )


def save(draft: Draft, *, root: Path = ASSETS) -> Rubric:
    """Write the draft as a new file, and make it known. Raises `AssetError` if it is there."""
    checked = read_draft(draft.text, root=root).rubric
    path = root / "rubrics" / f"{checked.name}.v{checked.version}.yaml"
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(draft.text if draft.text.endswith("\n") else f"{draft.text}\n")
    except FileExistsError:
        raise AssetError(f"{checked.ref} is there already; somebody was faster.") from None
    except OSError as error:
        raise AssetError(f"Cannot write {path.name}: {error.strerror}.") from None
    assets.forget_files()
    return load_rubric(checked.ref, root=root)
