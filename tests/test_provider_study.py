"""A whole study through litellm against a server of our own: killed, and with nasty text."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from core.clock import now
from core.export import export_study
from core.importing import import_source
from core.limits import Caps
from core.models.litellm_model import LitellmModel
from core.ports import DialogueFilter
from core.runner import Runner
from core.sample import ensure_sample
from core.settings import Settings
from core.study import check_study, plan
from core.study_file import load_study
from core.types import StudyState
from storage.store import open_store
from tests.builders import NOW
from tests.support.answers import WEIRD_TEXT, Received
from tests.support.provider import Provider
from tests.support.web import ROOT

CONCURRENCY = 6


def study_file(folder: Path, provider: Provider, *, limit: int, judged: bool = True) -> Path:
    model = {"model": "openai/local", "api_base": provider.url}
    study: dict[str, Any] = {
        "name": "through-litellm",
        "dataset": "sample",
        "scenarios": {"kind": "all", "limit": limit, "seed": 3},
        "user_agent": {"model": "openai/user", "api_base": provider.url},
        "arms": [{"name": "local all", "context": "all", **model}],
        "judges": [
            {
                "model": "openai/judge",
                "api_base": provider.url,
                "params": {"structured": True},
                "rubrics": ["personalization", "task_completion"],
            }
        ]
        if judged
        else [],
        "limits": {"concurrency": CONCURRENCY},
    }
    file = folder / "study.yaml"
    file.write_text(yaml.safe_dump(study), encoding="utf-8")
    return file


def start(folder: Path, file: Path) -> subprocess.Popen[bytes]:
    world = os.environ | {
        "RAPPORT_DATA_DIR": str(folder),
        "RAPPORT_DATABASE_URL": f"sqlite:///{folder / 'rapport.db'}",
    }
    command = [sys.executable, "cli.py", "run", str(file), "--json"]
    with (folder / "run.log").open("ab") as log:
        return subprocess.Popen(command, cwd=ROOT, env=world, stdout=subprocess.PIPE, stderr=log)


def stalled(folder: Path, *, seconds: float) -> bool:
    """Whether the study will be called stalled so many seconds from now."""
    later = now() + timedelta(seconds=seconds)
    store = open_store(f"sqlite:///{folder / 'rapport.db'}", now=lambda: later)
    try:
        progress = store.progress(store.get_study("through-litellm").id)
        assert progress.state is StudyState.RUNNING
        return progress.stalled
    finally:
        store.close()


@pytest.mark.slow
def test_killed_run_goes_on_and_pays_for_no_answered_call_again(tmp_path: Path) -> None:
    """`kill -9` twice on the way; what was in flight may be asked twice, nothing else."""
    with Provider(latency=0.03) as provider:
        file = study_file(tmp_path, provider, limit=24)
        in_flight = 0
        for served in (25, 90):
            process = start(tmp_path, file)
            deadline = time.monotonic() + 90
            while provider.served < served and process.poll() is None:
                assert time.monotonic() < deadline
                time.sleep(0.005)
            process.send_signal(signal.SIGKILL)
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
            in_flight += CONCURRENCY
            assert stalled(tmp_path, seconds=31)
        process = start(tmp_path, file)
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 0, (tmp_path / "run.log").read_text(encoding="utf-8")[-2000:]
        counts = Counter(provider.counts)

    ended = json.loads(out)
    assert (ended["units"], ended["done"], ended["failed"], ended["owed"]) == (24, 24, 0, 0)
    assert (ended["judgements"], ended["unscored"]) == (48, 0)
    # Personas and tasks differ, so that no two calls of the study have the same body.
    assert sum(n - 1 for n in counts.values()) <= in_flight

    store = open_store(f"sqlite:///{tmp_path / 'rapport.db'}")
    try:
        study = store.get_study("through-litellm")
        dialogues = list(store.iter_dialogues(study.id))
        assert len({d.unit_id for d in dialogues}) == len(dialogues) == 24
        asked = sum(len(d.messages) for d in dialogues) + 48
        # A dialogue that ends with the token alone has asked once more than it has messages.
        assert asked <= len(counts) <= asked + 24
    finally:
        store.close()


def test_nasty_text_is_stored_raw_and_exported_unchanged(tmp_path: Path, sqlite_store: Any) -> None:
    def nasty(received: Received) -> str | None:
        return WEIRD_TEXT if received.model == "local" else None

    ensure_sample(sqlite_store)
    with Provider(rule=nasty) as provider:
        spec = load_study(study_file(tmp_path, provider, limit=3, judged=False))
        model = LitellmModel(Settings.from_env())
        check_study(spec, sqlite_store, model.check)
        study = plan(spec, sqlite_store, now).study
        Runner(study, sqlite_store, model, caps=Caps(concurrency=3)).run()

    stored = list(sqlite_store.iter_dialogues(study.id))
    said = [m.content for d in stored for m in d.messages if m.role == "assistant"]
    assert said
    assert set(said) == {WEIRD_TEXT}

    export_study(sqlite_store, study, to=tmp_path / "jsonl", form="jsonl")
    text = (tmp_path / "jsonl" / "dialogues.jsonl").read_text(encoding="utf-8")
    read = [json.loads(line) for line in text.split("\n") if line]
    got = [m["content"] for d in read for m in d["messages"] if m["role"] == "assistant"]
    assert got == said

    export_study(sqlite_store, study, to=tmp_path / "pl", form="personalens")
    import_source(
        tmp_path / "pl", kind="dialogues", name="back", store=sqlite_store, now=lambda: NOW
    )
    back = sqlite_store.get_study("back")
    assert sorted(
        [m.content for m in d.messages] for d in sqlite_store.iter_dialogues(back.id)
    ) == sorted([m.content for m in d.messages] for d in stored)
    assert sqlite_store.count_dialogues(DialogueFilter(study_id=back.id)) == 3
