"""Take the pictures of every page, light and dark: `make images`.

The pictures that are committed show the sample. With `--archive PATH --to FOLDER` the same
pages are taken on another dataset, for looking at and not for committing.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Browser

from core.clock import new_id, now
from core.ports import DialogueFilter
from core.review_designs import Wish, rubrics_of, store_draw
from core.review_queue import Given, Queue
from core.settings import Settings
from core.shelf import Draft, write_draft
from core.study_file import load_study
from storage.store import SqlStore, open_store
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
        design = _labelled(store, study.id)
    finally:
        store.close()
    (data / "author.txt").write_text("reviewer", encoding="utf-8")
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
        Shot("desk", "desk", {"design": design}, "Cannot judge"),
        Shot("agreement", "agreement", {"study": study.id}, "Judge and people"),
        Shot("adjudicate", "adjudicate", {"design": design}, "Reviewer A"),
        Shot("compare", "compare", {"study": study.id}, "Compare"),
        Shot("judges", "judges", {}, "Fit to use?"),
        Shot("report", "report", {}, "Present this finding"),
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


def _labelled(store: SqlStore, study_id: str) -> str:
    """Draw dialogues, and let two reviewers who waver say about what the judge says."""
    chance = random.Random(3)
    asked = Wish(
        "first look", study_id, rubrics_of(["personalization"]), 90, 11, "reviewer", overlap=0.35
    )
    design = store_draw(asked, store, now=now, new_id=new_id)
    for person, most in (("reviewer", 60), ("second reviewer", 50)):
        queue = Queue(design, person, store, now, new_id)
        for _ in range(most):
            at = queue.current()
            if at is None:
                break
            judge = queue.judged(at.dialogue_id)["personalization"].value or 1
            value = min(4, max(1, judge + chance.choice((-1, 0, 0, 0, 1))))
            given = Given(value, note="It asked for what it had been told.", marks=(1,))
            queue.rate(at, {"personalization": given}, chance.uniform(20, 70))
            queue.answer(at, {})
    return design.root_id


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
