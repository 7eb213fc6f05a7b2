"""Small sources in the PersonaLens layout, as files by name, and the archives made of them."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.sources.catalogue import default_catalogue
from core.sources.profiles import DEMOGRAPHICS

Files = dict[str, bytes]
SITUATION = {
    "Location": "Porto, Portugal",
    "Device": "Laptop",
    "Time of Day": "Evening",
    "Day of the Week": "Friday",
    "Environment": "Quiet",
}
BOOKS = {
    "Task Number": 1,
    "Task Description": "The user looks for something to read.",
    "User Intent": "Find a book for a long train ride.",
    "Task Goal": "A book is chosen.",
    "Relevant Affinity Types": ["Genre", "Favorite Authors"],
}
TRIP = {
    "Task Number": 4,
    "Task Description": "The user plans days away.",
    "User Intent": "Plan three days away.",
    "Task Goal": "Bed and table are reserved.",
    "Relevant Affinity Types": ["Cuisine Preference", "Amenity Preference", "Price Range"],
    "Relevant Domains": ["Hotels", "Restaurants", "Events"],
}


def make_profile(user: str) -> dict[str, Any]:
    """A whole profile; every affinity holds the first value of its vocabulary, or `tea`."""
    affinities: dict[str, dict[str, Any]] = {}
    for domain, names in default_catalogue().items():
        affinities[domain] = {}
        for name, kind in names.items():
            value = kind.values[0] if kind.values else "tea"
            affinities[domain][name] = [value] if kind.listed else value
    return {
        "demographics": dict.fromkeys(DEMOGRAPHICS, "known") | {"user_id": user},
        "affinities": affinities,
        "interests": dict.fromkeys(affinities, 1),
        "interactions": {domain: f"The user spoke of {domain}." for domain in affinities},
    }


def make_item(definition: Mapping[str, Any], task_id: str) -> dict[str, Any]:
    """A user's copy of a task, in a situation."""
    item = {k: v for k, v in definition.items() if k != "Task Number"}
    domain = task_id.split("-")[1]
    item.setdefault("Relevant Domains", [domain])
    return item | {"task_id": task_id, "situations": dict(SITUATION)}


def make_files(*users: str, prefix: str = "") -> Files:
    """A source with one task of each kind per user (user0 and user7 unless named)."""
    documents: dict[str, Any] = {}
    for user in users or ("user0", "user7"):
        documents[f"data/profile/{user}/profile.json"] = make_profile(user)
        documents[f"data/profile/{user}/tasks.json"] = {
            "Task 1": make_item(BOOKS, "SD-Books-task-1")
        }
        documents[f"data/profile/{user}/tasks_md.json"] = {"Task 1": make_item(TRIP, "MD-task-4")}
    documents["data/task/Books/task.jsonl"] = BOOKS
    documents["data/task/Multi-Domain/task.jsonl"] = TRIP
    return {prefix + name: json.dumps(value).encode() for name, value in documents.items()}


def changed(files: Files, name: str, value: Any, *keys: Any) -> Files:
    """The files with one JSON value set; `...` removes it."""
    document = json.loads(files[name])
    inner = document
    for key in keys[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[keys[-1]]
    else:
        inner[keys[-1]] = value
    return files | {name: json.dumps(document).encode()}


def write_files(folder: Path, files: Files) -> Path:
    """The files in a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def pack(path: Path, files: Mapping[str, bytes]) -> Path:
    """The files in an archive whose kind is what the name of `path` ends with."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        return path
    mode = {".xz": "w:xz", ".gz": "w:gz", ".tgz": "w:gz", ".tar": "w"}[path.suffix]
    options = {"preset": 0} if mode == "w:xz" else {}
    with tarfile.open(path, mode, **options) as tar:  # type: ignore[call-overload]
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path
