"""Prompts and rubrics as the files that they are, word for word."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import streamlit as st

from core.assets import ASSETS, Prompt, Rubric, list_prompts, list_rubrics
from pages._ui import text

_HEIGHT = 620


def show_prompts() -> None:
    """Let a person choose a prompt and read its file."""
    prompts = {p.ref: p for p in list_prompts()}
    ref = _pick("Prompt", prompts, "settings.prompt")
    if ref is None:
        return
    prompt = prompts[ref]
    names = ", ".join(sorted(prompt.placeholders)) or "nothing"
    st.caption(f"Version {prompt.version} · hash {prompt.hash[:8]} · filled in: {names}")
    _show_file(_prompt_file(prompt), "markdown")


def show_rubrics() -> None:
    """Let a person choose a rubric, see its scale, and read its file."""
    rubrics = {r.ref: r for r in list_rubrics()}
    ref = _pick("Rubric", rubrics, "settings.rubric")
    if ref is None:
        return
    rubric = rubrics[ref]
    st.markdown(f"**{text.escape_md(rubric.title)}**: {text.escape_md(_question(rubric))}")
    ends = "yes or no" if rubric.scale.kind == "verdict" else _ends(rubric)
    st.caption(
        f"Version {rubric.version} · hash {rubric.hash[:8]} · {ends} · about: {rubric.target}"
    )
    _show_file(_rubric_file(rubric), "yaml")


def _pick(label: str, options: Mapping[str, object], key: str) -> str | None:
    if not options:
        st.info(f"There is no {label.lower()}.", icon=":material/info:")
        return None
    return st.selectbox(label, list(options), key=key, bind="query-params")


def _question(rubric: Rubric) -> str:
    return " ".join(rubric.question.split())


def _ends(rubric: Rubric) -> str:
    low, high = rubric.scale.low, rubric.scale.high
    return f"{low} ({rubric.scale.label(low)}) to {high} ({rubric.scale.label(high)})"


def _prompt_file(prompt: Prompt) -> Path:
    return ASSETS / "prompts" / prompt.name / f"v{prompt.version}.md"


def _rubric_file(rubric: Rubric) -> Path:
    return ASSETS / "rubrics" / f"{rubric.name}.v{rubric.version}.yaml"


def _show_file(path: Path, language: str) -> None:
    inside = text.escape_md(str(path.relative_to(ASSETS.parent)))
    st.caption(f"{inside}; never edited: a new wording is a new file.")
    st.code(path.read_text(encoding="utf-8"), language=language, wrap_lines=True, height=_HEIGHT)
