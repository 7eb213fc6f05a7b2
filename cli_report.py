"""The command `report`: a study in one file, and whether a file still holds."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Any

import typer

from core.errors import StudyError
from core.review_ports import ReviewingStore
from core.settings import Settings

Put = Callable[[dict[str, Any], bool, Callable[[dict[str, Any]], str]], None]


def add_report(
    app: typer.Typer,
    opened: Callable[[], AbstractContextManager[ReviewingStore]],
    settings: Callable[[], Settings],
    put: Put,
) -> None:
    """Add the command to the terminal."""

    @app.command()
    def report(
        study: Annotated[str | None, typer.Argument(help="A study's name.")] = None,
        to: Annotated[Path | None, typer.Option("--to", help="The file to write.")] = None,
        form: Annotated[str, typer.Option("--as", help="html, markdown or latex.")] = "html",
        baseline: Annotated[
            str | None, typer.Option(help="Arm that others are held against.")
        ] = None,
        check: Annotated[Path | None, typer.Option("--check", help="A report in HTML.")] = None,
        as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    ) -> None:
        """Write a study's report, or say which claims of one the stored rows still support."""
        from core.report_check import checked_words, read_report
        from pages._ui.report_files import write_report

        if check is not None:
            with opened() as store:
                found = read_report(check, store)
            put(found.to_dict(), as_json, lambda _: checked_words(found))
            raise typer.Exit(0 if found.ok else 1)
        if study is None or to is None:
            raise StudyError(
                "Name a study and a file: `python cli.py report STUDY --to FILE.html`."
            )
        with opened() as store:
            made = write_report(store.get_study(study), store, settings(), to, form, baseline)
        value = {"study": study, "to": str(to), "form": form, "claims": len(made.claims)}
        put(value, as_json, lambda v: f"{v['claims']:,} claims written to {to}.")
