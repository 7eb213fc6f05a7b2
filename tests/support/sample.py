"""A database with the sample in it, made once and copied by tests that need it."""

from __future__ import annotations

from pathlib import Path

from core.sample import ensure_sample


def sample_database(folder: Path) -> Path:
    """A closed SQLite database in `folder` that holds the sample; its file."""
    from storage.store import open_store

    file = folder / "rapport.db"
    store = open_store(f"sqlite:///{file}")
    ensure_sample(store)
    store.close()
    return file
