"""A study started from the app goes on without it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from core import launcher
from core.errors import StudyError
from core.launcher import (
    is_running,
    last_words,
    log_path,
    start_resume,
    start_run,
    study_path,
)
from core.settings import Settings

Fake = Callable[[str], None]


@pytest.fixture
def fake_cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """Put a script in the place of the command line."""

    def write(body: str) -> None:
        (tmp_path / "cli.py").write_text(f"import os, sys, time\n{body}\n", encoding="utf-8")

    monkeypatch.setattr(launcher, "ROOT", tmp_path)
    return write


def wait_for_end(pid: int) -> None:
    until = time.monotonic() + 20
    while is_running(pid) and time.monotonic() < until:
        time.sleep(0.02)
    assert not is_running(pid)


def test_the_process_gets_the_file_and_these_settings(fake_cli: Fake, tmp_path: Path) -> None:
    fake_cli("print(sys.argv[1:], os.environ['RAPPORT_DATABASE_URL'], os.environ['RAPPORT_PORT'])")
    settings = Settings.from_env().model_copy(update={"port": 8765})
    study = tmp_path / "study; rm -rf x.yaml"
    wait_for_end(start_run(study, settings))
    assert last_words(study, settings) == f"{['run', str(study)]} {settings.database_url} 8765"


def test_a_study_is_resumed_by_name_and_speaks_into_the_log_of_its_file(fake_cli: Fake) -> None:
    fake_cli("print(sys.argv[1:])")
    settings = Settings.from_env()
    wait_for_end(start_resume("pilot", settings, ["--failed"]))
    said = last_words(study_path("pilot", settings), settings)
    assert said == f"{['resume', 'pilot', '--failed']}"


def test_the_process_leads_a_session_of_its_own(fake_cli: Fake, tmp_path: Path) -> None:
    fake_cli("print(os.getpid() == os.getsid(0), os.getsid(0))")
    settings = Settings.from_env()
    pid = start_run(tmp_path / "study.yaml", settings)
    assert pid != os.getpid()
    wait_for_end(pid)
    assert last_words(tmp_path / "study.yaml", settings) == f"True {pid}"


def test_last_words_tell_why_a_run_ended(fake_cli: Fake, tmp_path: Path) -> None:
    fake_cli("print('first', flush=True); print('x' * 9000); sys.exit('There is no dataset é.\\n')")
    settings = Settings.from_env()
    study = tmp_path / "study.yaml"
    wait_for_end(start_run(study, settings))
    assert last_words(study, settings) == "There is no dataset é."


def test_a_running_process_is_running(fake_cli: Fake, tmp_path: Path) -> None:
    fake_cli("time.sleep(60)")
    pid = start_run(tmp_path / "study.yaml", Settings.from_env())
    assert is_running(pid)
    os.kill(pid, 9)
    wait_for_end(pid)


def test_there_are_no_last_words_without_a_run(tmp_path: Path) -> None:
    assert last_words(tmp_path / "study.yaml", Settings.from_env()) == ""


def test_two_studies_of_one_name_in_two_folders_have_two_logs(tmp_path: Path) -> None:
    settings = Settings.from_env()
    one, other = (log_path(tmp_path / d / "study.yaml", settings) for d in ("a", "b"))
    assert one != other
    assert one.parent == settings.data_dir / "logs"


def test_one_sentence_says_why_it_cannot_start(fake_cli: Fake, tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file where the folder should be", encoding="utf-8")
    with pytest.raises(StudyError, match=r"^The study could not be started: .*\.$"):
        start_run(tmp_path / "study.yaml", Settings.from_env())
