"""A study's report as a file, in the form that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from core.clock import now
from core.errors import StudyError
from core.files import Folder
from core.findings import arms_of
from core.ports import Study
from core.report import Report, make_report
from core.review_ports import ReviewingStore
from core.settings import Settings
from pages._ui.report_html import report_html
from pages._ui.report_paper import report_latex, report_markdown

if TYPE_CHECKING:
    import pandas as pd

FORMS = ("html", "markdown", "latex")
SUFFIXES: Mapping[str, str] = {"html": "html", "markdown": "md", "latex": "tex"}


def document(report: Report, form: str, settings: Settings) -> str:
    """The report in one of `FORMS`. Raises `StudyError` for another."""
    writers: Mapping[str, Callable[[], str]] = {
        "html": lambda: report_html(report, app=f"http://{settings.address}:{settings.port}"),
        "markdown": lambda: report_markdown(report),
        "latex": lambda: report_latex(report),
    }
    if form not in writers:
        raise StudyError(f"Nothing is known of the form {form}; there are {', '.join(FORMS)}.")
    return writers[form]()


def write_report(  # noqa: PLR0913 - what, from where, to where, and how
    study: Study,
    store: ReviewingStore,
    settings: Settings,
    to: Path,
    form: str,
    baseline: str | None = None,
    annotations: pd.DataFrame | None = None,
) -> Report:
    """Write a report; the file appears whole or not at all.

    Raises `StudyError` for a form or baseline that is not known and where nothing was judged,
    `AppError` where the file cannot be written.
    """
    if form not in FORMS:
        raise StudyError(f"Nothing is known of the form {form}; there are {', '.join(FORMS)}.")
    arms = arms_of(study, store.list_arms(study.id))
    if baseline is not None and baseline not in arms:
        raise StudyError(f"{study.name} has no arm {baseline}; there are {', '.join(arms)}.")
    if to.is_dir():
        raise StudyError(
            f"{to} is a folder; name a file, such as {to / 'report'}.{SUFFIXES[form]}."
        )
    made = make_report(study, store, now=now(), baseline=baseline, annotations=annotations)
    Folder(to.absolute().parent).write_text(to.name, document(made, form, settings))
    return made
