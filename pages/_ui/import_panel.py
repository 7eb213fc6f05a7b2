"""The form that imports a dataset or dialogues, and what becomes of it."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from core.clock import new_id, now
from core.errors import SourceError
from core.settings import Settings
from core.sources.progress import OnProgress
from core.sources.selection import parse_selection
from core.types import ImportReport
from pages._ui import errors, frame, import_report, jobs, text, who, wiring

_KINDS = {
    "personalens": "Personas and tasks (PersonaLens)",
    "personaconv": "Conversations (PersonaConvBench)",
    "dialogues": "Dialogues",
}
_ORIGINS = {"path": "A file or folder on this machine", "upload": "Upload"}
_TYPES = ["zip", "tar", "gz", "xz", "tgz", "json", "jsonl"]
_NAME = re.compile(r"\w[\w .+·-]{0,79}")
_USERS_HELP = (
    "Which users: `0-49`, `7,66`, a mixture, or one of the benchmark's own lists `sample-20`, "
    "`sample-30`, `sample-50`, `sample-100`. Empty: all of them."
)


@dataclass(frozen=True, slots=True)
class Order:
    """What a person asked for; `upload` is a copy of ours, removed after the import."""

    kind: str
    path: Path
    name: str
    users: str | None
    upload: bool


def show() -> None:
    """Draw the form, the running import with its progress, or how the last one ended."""
    settings = wiring.settings()
    job = jobs.registry(settings).latest
    running = job is not None and job.running
    _form(settings, running)
    if job is None or job.id == st.session_state.get("data.dismissed"):
        return
    if running:
        watch(job.id)
    else:
        _ended(job)


# --- the form ---------------------------------------------------------------------------------


def _form(settings: Settings, running: bool) -> None:
    kind = _choose("What to import", _KINDS, "data.kind")
    # A shared app must not read whatever file of its machine a visitor names.
    origins = _ORIGINS if who.own_machine(settings) else {"upload": _ORIGINS["upload"]}
    origin = _choose("From", origins, "data.origin")
    with st.container(key="data.form"):
        source = _path() if origin == "path" else _upload()
        left, right = st.columns(2)
        name = left.text_input(
            "Name of the study" if kind == "dialogues" else "Name of the dataset",
            key="data.name",
            placeholder="Empty: the name of the file",
            max_chars=80,
            persist_state="page",
        )
        users = ""
        if kind == "personalens":
            users = right.text_input(
                "Users",
                key="data.users",
                help=_USERS_HELP,
                placeholder="Empty: all users",
                persist_state="page",
            )
    label = "Import is running …" if running else "Import"
    if st.button(label, key="data.import", type="primary", disabled=running):
        with errors.shown():
            _start(settings, kind, source, (name or "").strip(), (users or "").strip())


def _choose(label: str, options: dict[str, str], key: str) -> str:
    first = next(iter(options))
    if st.session_state.get(key) not in options:
        st.session_state[key] = first
    chosen = st.segmented_control(
        label, list(options), format_func=options.__getitem__, key=key, required=True
    )
    return chosen or first


def _path() -> str:
    return (
        st.text_input(
            "File or folder",
            key="data.path",
            placeholder="/data/personalens.tar.xz",
            help="A folder, .zip, .tar.gz or .tar.xz; it is read as a stream, never unpacked.",
            persist_state="page",
        )
        or ""
    ).strip()


def _upload() -> Any:
    return st.file_uploader("Archive", type=_TYPES, key="data.upload")


# --- from the form to a job -------------------------------------------------------------------


def _start(settings: Settings, kind: str, source: Any, name: str, users: str) -> None:
    if not source:
        raise SourceError("Nothing to import yet: name a file or folder, or upload an archive.")
    if users:
        parse_selection(users)  # refused here, before anything is copied
    upload = not isinstance(source, str)
    given = Path(source.name if upload else source)
    name = name or given.name.split(".")[0] or "dataset"
    if not _NAME.fullmatch(name):
        raise SourceError(
            "The name cannot be used: write 1 to 80 letters, digits, spaces or . + - _, "
            "beginning with a letter or digit."
        )
    path = _copy(settings, source) if upload else given.expanduser()
    order = Order(kind, path, name, users or None, upload)
    if jobs.registry(settings).start(name, lambda told: _import(order, told)) is None:
        _remove(order)
        raise SourceError("Another import is running; start this one when it has ended.")
    st.rerun()


def _copy(settings: Settings, source: Any) -> Path:
    """The upload as a file of the data folder: an import reads it in a thread, after the page."""
    name = re.sub(r"[^\w.-]", "_", Path(source.name).name)[-80:]
    path = settings.data_dir / "uploads" / new_id() / name
    try:
        path.parent.mkdir(parents=True)
        with path.open("wb") as file:
            shutil.copyfileobj(source, file)
    except OSError as error:
        shutil.rmtree(path.parent, ignore_errors=True)
        reason = error.strerror or type(error).__name__
        raise SourceError(f"The upload could not be kept in the data folder: {reason}.") from None
    return path


def _import(order: Order, on_progress: OnProgress) -> ImportReport:
    from core.importing import import_source

    try:
        return import_source(
            order.path,
            kind=order.kind,
            name=order.name,
            store=wiring.store(),
            users=order.users,
            now=now,
            on_progress=on_progress,
        )
    finally:
        _remove(order)


def _remove(order: Order) -> None:
    if order.upload:
        shutil.rmtree(order.path.parent, ignore_errors=True)


# --- what becomes of it -----------------------------------------------------------------------


@st.fragment(run_every=1.0)
def watch(job_id: str) -> None:
    """Draw the progress of a running import; when it has ended, draw the page again."""
    job = jobs.registry(wiring.settings()).latest
    if job is None or job.id != job_id or not job.running:
        st.rerun()
    st.progress(_fraction(job), text=text.escape_md(_progress(job), one_line=True))


def _fraction(job: jobs.Job) -> float:
    return min(max(job.progress.fraction, 0.0), 1.0) if job.progress else 0.0


def _progress(job: jobs.Job) -> str:
    told = [f"Importing {job.label}"]
    if job.progress is not None:
        told.append(job.progress.phase)
        counted = {
            "persona": job.progress.personas,
            "scenario": job.progress.scenarios,
            "dialogue": job.progress.dialogues,
        }
        told += [text.plural(n, noun) for noun, n in counted.items() if n]
    return " · ".join([*told, text.duration(job.so_far)])


def _ended(job: jobs.Job) -> None:
    news, dismiss = st.columns([7, 1], vertical_alignment="center")
    if job.report is None:
        news.error(text.escape_md(f"{job.label}: {job.fault}"), icon=":material/error:")
    else:
        told = f"{job.report.dataset} is imported."
        news.success(text.escape_md(told), icon=":material/check_circle:")
    dismiss.button(
        "Dismiss",
        key="data.dismiss",
        type="tertiary",
        on_click=lambda: st.session_state.update({"data.dismissed": job.id}),
    )
    if job.report is not None:
        _link_to_dialogues(job.report)
        import_report.show(job.report)


def _link_to_dialogues(report: ImportReport) -> None:
    study = wiring.store().find_study(report.dataset) if report.dialogues else None
    if study is not None:
        st.page_link(
            frame.path("dialogues"),
            label="Read the dialogues",
            icon=":material/forum:",
            query_params={"study": study.id},
        )
