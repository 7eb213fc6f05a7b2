"""Labels as files: out for computing or for another tool, and back with author and time."""

from __future__ import annotations

import io
import tempfile
import zipfile
from pathlib import Path

import streamlit as st

from core.clock import now
from core.errors import AppError, SourceError
from core.files import safe_name
from core.label_files import FORMS, Form, export_labels, import_label_file
from core.label_import import ImportedLabels
from core.ports import Study
from core.review_designs import latest
from core.review_types import ReviewDesign
from pages._ui import frame, text, who, wiring

_TABLES = ("csv", "jsonl", "parquet")
_NAMES: dict[Form, str] = {
    "csv": "CSV",
    "jsonl": "JSONL",
    "parquet": "Parquet",
    "label-studio": "Label Studio",
    "argilla": "Argilla",
}
_MADE, _CAME = "data.labels.made", "data.labels.came"
_EVERY = "all of them"


def show() -> None:
    """Draw both ways; nothing when there is no study that could have labels."""
    studies = wiring.store().list_studies()
    if not studies:
        return
    st.subheader("Labels", anchor=False)
    out, back = st.tabs(["Write to files", "Bring back"])
    with out:
        _export(studies)
    with back:
        _import()


# --- out ----------------------------------------------------------------------------------------


def _export(studies: list[Study]) -> None:
    names = {study.id: study.name for study in studies}
    first, second, third = st.columns(3)
    chosen = first.selectbox(
        "Study", list(names), key="data.labels.study", format_func=lambda i: names[i]
    )
    study = next(s for s in studies if s.id == chosen)
    designs = {d.root_id: d for d in latest(wiring.reviews().list_designs(study.id))}
    root = second.selectbox(
        "Labels of",
        [_EVERY, *designs],
        key=f"data.labels.design.{study.id}",
        format_func=lambda i: designs[i].name if i in designs else i,
    )
    form: Form = third.selectbox(
        "Form", FORMS, key="data.labels.form", format_func=lambda f: _NAMES[f]
    )
    blank = form not in _TABLES and st.toggle(
        "Leave the labels out, for people who are to label blind", True, key="data.labels.blank"
    )
    asked = (study.id, root, form, blank)
    if st.button("Prepare the labels", key="data.labels.export", icon=":material/archive:"):
        with frame.busy("Writing …"):
            st.session_state[_MADE] = asked, _archive(study, form, designs.get(root), blank)
    made = st.session_state.get(_MADE)
    if made is not None and made[0] == asked:
        st.download_button(
            "Download the labels",
            made[1],
            file_name=f"{safe_name(study.name)}-labels-{form}.zip",
            mime="application/zip",
            key="data.labels.get",
            icon=":material/download:",
            on_click="ignore",
        )


def _archive(study: Study, form: Form, design: ReviewDesign | None, blank: bool) -> bytes:
    """The export as one file: a browser takes no folder."""
    with tempfile.TemporaryDirectory() as folder:
        to = Path(folder) / "labels"
        export_labels(wiring.reviews(), study, to=to, form=form, design=design, blank=blank)
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(p for p in to.rglob("*") if p.is_file()):
                archive.write(path, path.relative_to(to))
        return buffer.getvalue()


# --- back ---------------------------------------------------------------------------------------


def _import() -> None:
    if not who.own_machine(wiring.settings()):
        # A file may hold labels in anybody's name.
        st.info(
            "Where several people share Rapport, labels are brought back from the terminal: "
            "`python cli.py labels import FILE`.",
            icon=":material/terminal:",
        )
        return
    with st.form("data.labels.form", border=False):
        st.file_uploader(
            "A file of labels: CSV, JSONL, Parquet, or JSON of Label Studio or Argilla",
            type=["csv", "jsonl", "parquet", "json"],
            key="data.labels.file",
        )
        st.text_input(
            "Who is who (optional)",
            key="data.labels.people",
            placeholder="7=ana@example.org, 8=ben@example.org",
            help="For numbers and ids by which another tool names its annotators",
        )
        st.form_submit_button("Bring in", key="data.labels.import", on_click=_bring)
    came = st.session_state.get(_CAME)
    if isinstance(came, ImportedLabels):
        st.success(text.escape_md(summary(came)), icon=":material/label:")
    elif came:
        st.error(text.escape_md(str(came)), icon=":material/error:")


def _bring() -> None:
    upload = st.session_state.get("data.labels.file")
    try:
        if upload is None:
            raise SourceError("Choose a file first.")
        people = _people(str(st.session_state.get("data.labels.people") or ""))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{safe_name(Path(upload.name).stem)}{Path(upload.name).suffix}"
            path.write_bytes(upload.getvalue())
            came = import_label_file(path, wiring.reviews(), now=now, people=people)
        st.session_state[_CAME] = came
    except AppError as error:
        st.session_state[_CAME] = str(error)


def _people(words: str) -> dict[str, str]:
    people = {}
    for pair in filter(None, (part.strip() for part in words.split(","))):
        known, sign, name = pair.partition("=")
        if not sign or not known.strip() or not name.strip():
            raise SourceError(f"{pair!r} does not say who is who; write it as 7=ana@example.org.")
        people[known.strip()] = name.strip()
    return people


def summary(came: ImportedLabels) -> str:
    """What came of an import, in plain words."""
    parts = [
        f"{text.count(came.added)} of {text.plural(came.labels, 'label')} added, "
        f"{text.count(came.drawn)} of them drawn by a design here."
    ]
    if came.here_already:
        parts.append(f"{text.count(came.here_already)} were here already.")
    for title, counts in (("not drawn", came.not_drawn), ("left out", came.left_out)):
        parts += [f"{text.count(n)} {title}: {why}." for why, n in counts.items()]
    return " ".join(parts)
