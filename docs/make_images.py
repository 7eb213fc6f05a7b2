"""Take the pictures of every page, light and dark: `make images`.

The pictures that are committed show the sample. With `--archive PATH --to FOLDER` the same
pages are taken on another dataset, for looking at and not for committing.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Browser

from core.ports import DialogueFilter
from core.settings import Settings
from core.shelf import Draft, write_draft
from core.study_file import load_study
from storage.store import open_store
from tests.support.web import ROOT, chromium, served_app

IMAGES = Path(__file__).parent / "images"
SCHEMES = ("light", "dark")


@dataclass(frozen=True, slots=True)
class Shot:
    """A picture: its name, the page, what the address says, and a text that must be there."""

    name: str
    page: str
    params: dict[str, str]
    wait_for: str


def main() -> None:
    options = _options()
    options.to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        shots = _prepare(data, options.archive)
        with served_app(data) as address, chromium() as browser:
            for path in _take(browser, address, shots, options.to):
                sys.stdout.write(f"{path}\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--archive", type=Path, help="a PersonaLens archive instead of the sample")
    parser.add_argument("--to", type=Path, default=IMAGES)
    return parser.parse_args()


def _prepare(data: Path, archive: Path | None) -> list[Shot]:
    """Fill a database with a dataset and a study on it; say what there is to see."""
    study_file = ROOT / "assets" / "sample" / "study.yaml"
    dataset = "sample"
    if archive is not None:
        dataset = "personalens"
        _cli(data, "import", str(archive), "--name", dataset)
        spec = load_study(study_file).model_copy(update={"dataset": dataset, "name": "real"})
        study_file = data / "study.yaml"
        study_file.write_text(spec.to_yaml(), encoding="utf-8")
    _cli(data, "run", str(study_file))
    store = open_store(f"sqlite:///{data / 'rapport.db'}")
    try:
        study = store.list_studies()[0]
        longest = store.list_dialogues(DialogueFilter(study_id=study.id), order="turns", limit=1)[0]
        persona = longest.persona_id
    finally:
        store.close()
    return [
        Shot("home", "", {}, "Home"),
        Shot("personas", "personas", {"dataset": dataset}, "Personas"),
        Shot("persona", "personas", {"dataset": dataset, "persona": persona}, persona),
        Shot(
            "launch",
            "launch",
            {"dataset": dataset, "persona": persona, "task": longest.task_id},
            "Launch",
        ),
        Shot("studies", "studies", {}, "New study"),
        Shot("study", "studies", {"study": study.name}, "At work"),
        Shot("define", "studies", {"draft": _draft(data)}, "Save and launch"),
        Shot("dialogues", "dialogues", {"study": study.id}, "Dialogues"),
        Shot("dialogue", "dialogues", {"dialogue": longest.id}, persona),
        Shot("compare", "compare", {"study": study.id}, "Compare"),
        Shot("data", "data", {"dataset": dataset}, "Data"),
        Shot("settings", "settings", {}, "Settings"),
    ]


def _draft(data: Path) -> str:
    """A draft of the sample study, to have its form drawn."""
    settings = Settings.from_env().model_copy(update={"data_dir": data})
    text = (ROOT / "assets" / "sample" / "study.yaml").read_text(encoding="utf-8")
    draft = Draft("5a3b1e00", text.replace("sample-study", "my-study"))
    write_draft(draft, settings)
    return draft.id


def _cli(data: Path, *args: str) -> None:
    world = os.environ | {
        "RAPPORT_DATA_DIR": str(data),
        "RAPPORT_DATABASE_URL": f"sqlite:///{data / 'rapport.db'}",
    }
    subprocess.run(
        [sys.executable, "cli.py", *args],
        cwd=ROOT,
        env=world,
        check=True,
        stdout=subprocess.DEVNULL,
    )


def _take(browser: Browser, address: str, shots: list[Shot], to: Path) -> Iterator[Path]:
    for scheme in SCHEMES:
        context = browser.new_context(
            viewport={"width": 1280, "height": 800},
            color_scheme="dark" if scheme == "dark" else "light",
        )
        page = context.new_page()
        for shot in shots:
            query = f"?{urlencode(shot.params)}" if shot.params else ""
            page.goto(f"{address}/{shot.page}{query}")
            page.get_by_text(shot.wait_for).first.wait_for(timeout=30_000)
            page.wait_for_function(
                "() => !document.querySelector("
                "'[data-testid=stStatusWidget], [data-testid=stSkeleton]')",
                timeout=30_000,
            )
            page.wait_for_timeout(1500)
            path = to / f"{shot.name}-{scheme}.png"
            page.screenshot(path=path)
            yield path
        context.close()


if __name__ == "__main__":
    main()
