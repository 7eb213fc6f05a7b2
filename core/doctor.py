"""What works here and what does not: one check for each thing that Rapport leans on.

A check never prints a key or a password, never calls a model, and never loads what it can find
without loading.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from core.errors import AppError
from core.models.keys import key_presence
from core.ports import Store
from core.sample import SAMPLE_NAME
from core.settings import Settings, mask

OLDEST_PYTHON = (3, 11)
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at. `advice` says what to do, empty when there is nothing to do.

    Rapport does without what is not `needed`; `ok` then only says whether it is there.
    """

    name: str
    state: str
    advice: str
    ok: bool
    needed: bool


def examine(settings: Settings, store: Store) -> list[Check]:
    """Look at everything and return the checks, needed ones first."""
    return [
        _python(),
        _database(settings, store),
        _sample(store),
        _data_folder(settings),
        _litellm(),
        _keys(),
        _browser(),
    ]


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    ok = sys.version_info >= OLDEST_PYTHON
    oldest = ".".join(map(str, OLDEST_PYTHON))
    return Check("Python", version, "" if ok else f"Use Python {oldest} or newer.", ok, True)


def _database(settings: Settings, store: Store) -> Check:
    kind = "PostgreSQL" if settings.database_url.startswith("postgresql") else "SQLite"
    where = f"{kind} at {mask(settings.database_url)}"
    try:
        revision = store.revision()
    except AppError as error:
        return Check("Database", where, str(error), False, True)
    return Check("Database", f"{where}; answers, revision {revision}", "", True, True)


def _sample(store: Store) -> Check:
    try:
        dataset = store.find_dataset(SAMPLE_NAME)
    except AppError as error:
        return Check("Sample data", "not readable", str(error), False, True)
    if dataset is None:
        advice = "Start the web app or any command once; it puts the sample in."
        return Check("Sample data", "not there", advice, False, True)
    state = f"{dataset.personas:,} personas, {dataset.scenarios:,} scenarios"
    return Check("Sample data", state, "", True, True)


def _data_folder(settings: Settings) -> Check:
    folder = settings.data_dir
    if not folder.exists():
        # made when something is first written there
        folder = next(parent for parent in folder.parents if parent.exists())
    if os.access(folder, os.W_OK | os.X_OK):
        return Check("Data folder", f"{settings.data_dir}; can be written", "", True, True)
    advice = "Set RAPPORT_DATA_DIR to a folder that can be written."
    return Check("Data folder", f"{settings.data_dir}; cannot be written", advice, False, True)


def _litellm() -> Check:
    if importlib.util.find_spec("litellm") is not None:
        return Check("litellm", "installed", "", True, True)
    advice = "Install the requirements again: pip install -r requirements.txt."
    return Check("litellm", "not installed", advice, False, True)


def _keys() -> Check:
    found = [key.variable for key in key_presence() if key.present]
    if found:
        return Check("Keys of providers", f"set: {', '.join(found)}", "", True, False)
    advice = "Scripted parties need none; for a model, set its key, such as OPENAI_API_KEY."
    return Check("Keys of providers", "none set", advice, False, False)


def _browser() -> Check:
    found = next(_installed(), None)
    if found:
        return Check("Chromium", found, "", True, False)
    advice = "Only the browser tests and the pictures of the documentation need it."
    return Check("Chromium", "not found", advice, False, False)


def _installed() -> Iterator[str]:
    return (path for name in _BROWSERS if (path := shutil.which(name)))
