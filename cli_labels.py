"""`python cli.py labels export|import`: labels to files and back."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from core.clock import now
from core.errors import NotFound, SourceError
from core.review_ports import ReviewingStore
from core.review_types import ReviewDesign

Opened: TypeAlias = Callable[[], AbstractContextManager[ReviewingStore]]
Put: TypeAlias = Callable[[dict[str, Any], bool, Callable[[dict[str, Any]], str]], None]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
_FORMS = "csv, jsonl, parquet, label-studio or argilla"


def commands(opened: Opened, put: Put) -> typer.Typer:
    """The commands, over a store that `opened` opens, saying what they did through `put`."""
    labels = typer.Typer(no_args_is_help=True, help="Labels to files and back.")

    @labels.command("export")
    def export(
        study: Annotated[str, typer.Argument(help="A study's name.")],
        to: Annotated[Path, typer.Option("--to", help="A folder; made when it is not there.")],
        form: Annotated[str, typer.Option("--as", help=f"{_FORMS}.")] = "csv",
        design: Annotated[str | None, typer.Option(help="Of this design only: name or id.")] = None,
        blank: Annotated[
            bool, typer.Option("--blank", help="Dialogues without labels, to be labelled blind.")
        ] = False,
        as_json: Json = False,
    ) -> None:
        """Write the labels of a study to files, or its drawn dialogues for another tool."""
        from core.label_files import FORMS, export_labels

        if form not in FORMS:
            raise SourceError(f"{form!r} is no form of labels: choose {_FORMS}.")
        with opened() as store:
            found = store.get_study(study)
            one = _design(store, found.id, design) if design is not None else None
            files = export_labels(store, found, to=to, form=form, design=one, blank=blank)
        value = {"study": study, "to": str(to), "form": form, "files": len(files)}
        put(value, as_json, lambda v: f"{v['files']:,} files written to {to}.")

    @labels.command("import")
    def import_(
        file: Annotated[Path, typer.Argument(help="A file that holds labels.")],
        form: Annotated[str | None, typer.Option("--as", help=f"{_FORMS}; else guessed.")] = None,
        person: Annotated[
            list[str] | None,
            typer.Option(help="ID=NAME of an annotator, as the file has the id; repeatable."),
        ] = None,
        at: Annotated[
            str | None, typer.Option(help="When answers were given that tell no time.")
        ] = None,
        as_json: Json = False,
    ) -> None:
        """Bring labels in, each with author and time; the same file twice adds nothing."""
        from core.label_files import import_label_file

        people, moment = _people(person or []), _moment(at)
        with opened() as store:
            came = import_label_file(file, store, now=now, form=form, people=people, at=moment)
        value = {
            "labels": came.labels,
            "added": came.added,
            "drawn": came.drawn,
            "here_already": came.here_already,
            "not_drawn": dict(came.not_drawn),
            "left_out": dict(came.left_out),
        }
        put(value, as_json, _words)

    return labels


def _design(store: ReviewingStore, study_id: str, name: str) -> ReviewDesign:
    """The last extension of a design of this name or id."""
    designs = store.list_designs(study_id)  # newest first
    roots = {d.root_id for d in designs if name in (d.id, d.root_id, d.name)}
    if len(roots) > 1:
        raise SourceError(f"{len(roots)} designs are called {name}; name one by its id.")
    found = next((d for d in designs if d.root_id in roots), None)
    if found is None:
        raise NotFound(f"This study has no review design {name!r}.")
    return found


def _people(pairs: list[str]) -> dict[str, str]:
    people = {}
    for pair in pairs:
        known, sign, name = pair.rpartition("=")
        if not sign or not known.strip() or not name.strip():
            raise SourceError(f"--person takes ID=NAME, and {pair!r} is not that.")
        people[known.strip()] = name.strip()
    return people


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    moment: datetime | None = None
    with suppress(ValueError):
        moment = datetime.fromisoformat(text)
    if moment is None or moment.tzinfo is None:
        raise SourceError("--at takes a time with its zone, such as 2026-03-01T12:00Z.")
    return moment


def _words(value: dict[str, Any]) -> str:
    drawn = f"{value['drawn']:,} of them drawn by a design of this database"
    lines = [f"{value['added']:,} of {value['labels']:,} labels added, {drawn}."]
    if value["here_already"]:
        lines.append(f"{value['here_already']:,} were here already.")
    for title, counts in (("Not drawn", value["not_drawn"]), ("Left out", value["left_out"])):
        lines += [f"{title}: {n:,}, {why}." for why, n in counts.items()]
    return "\n".join(lines)
