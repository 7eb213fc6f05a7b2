"""One door for every kind of source."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from core.errors import SourceError
from core.personaconv.importing import import_conversations
from core.ports import Store
from core.sources.dialogues import import_dialogues
from core.sources.personalens import import_personalens
from core.sources.progress import OnProgress
from core.types import ImportReport

KINDS = ("personalens", "personaconv", "dialogues")


def import_source(  # noqa: PLR0913 -- the options of one command
    path: Path,
    *,
    kind: str,
    name: str,
    store: Store,
    now: Callable[[], datetime],
    users: str | None = None,
    on_progress: OnProgress | None = None,
) -> ImportReport:
    """Import `path` as `kind` under `name`. Raises `SourceError`; then nothing is stored."""
    if kind == "personalens":
        return import_personalens(
            path, name=name, store=store, users=users, now=now, on_progress=on_progress
        )
    if kind == "personaconv":
        if users is not None:
            raise SourceError(
                "A selection of users fits PersonaLens; conversations are imported whole."
            )
        return import_conversations(path, name=name, store=store, now=now, on_progress=on_progress)
    if kind == "dialogues":
        if users is not None:
            raise SourceError("A selection of users fits datasets; dialogues are imported whole.")
        report = import_dialogues(path, name=name, store=store, now=now, on_progress=on_progress)
        store.add_import_report(report)
        return report
    raise SourceError(f"Nothing is known of the kind {kind}; there are {', '.join(KINDS)}.")
