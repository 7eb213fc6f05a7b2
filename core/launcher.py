"""Start a study in a process of its own, which outlives the browser, the page and the app.

The process is `cli.py run` or `cli.py resume`, the same that a person would start; how it
comes along is read from the database.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from core.errors import StudyError
from core.files import safe_name
from core.settings import Settings, variable
from core.types import digest

ROOT = Path(__file__).resolve().parents[1]
_TAIL_BYTES = 4_096


def start_run(study_file: Path, settings: Settings, options: Sequence[str] = ()) -> int:
    """Run a study file in a detached process with these settings; returns its process id.

    `options` are those of `cli.py run`. What the process says goes to `log_path`. Raises
    `StudyError` when it cannot be started.
    """
    return _start(["run", str(study_file.resolve()), *options], study_file, settings)


def start_resume(name: str, settings: Settings, options: Sequence[str] = ()) -> int:
    """Go on with a stored study as `start_run` does; its log is that of its file."""
    return _start(["resume", name, *options], study_path(name, settings), settings)


def study_path(name: str, settings: Settings) -> Path:
    """Where the web app keeps the file of a study; no two names share one."""
    plain = safe_name(name)
    unlike = "" if plain == name else f"-{digest(name)[:6]}"
    return settings.data_dir / "studies" / f"{plain}{unlike}.yaml"


def run_options(*, workers: int = 1, cluster: str = "") -> list[str]:
    """The options of `cli.py run` for so many processes, or for a cluster at an address."""
    found = ["--workers", str(workers)] if workers > 1 else []
    return [*found, "--cluster", cluster] if cluster else found


def _start(arguments: Sequence[str], study_file: Path, settings: Settings) -> int:
    command = [sys.executable, str(ROOT / "cli.py"), *arguments]
    log = log_path(study_file, settings)
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as out:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=os.environ | _environment(settings),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise StudyError(f"The study could not be started: {reason} ({log}).") from None
    # Whoever started a process has to take note of its end, or it stays in the system's table.
    threading.Thread(target=process.wait, name=f"run-{process.pid}", daemon=True).start()
    return process.pid


def is_running(pid: int) -> bool:
    """Tell whether a process that `start_run` started in this process still works."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return False  # the number belongs to somebody else's process by now
    return True


def log_path(study_file: Path, settings: Settings) -> Path:
    """Return the file that takes what a run of `study_file` says."""
    name = re.sub(r"[^\w.-]", "_", f"{study_file.parent.name}-{study_file.stem}")
    return settings.data_dir / "logs" / f"{name}.log"


def last_words(study_file: Path, settings: Settings) -> str:
    """Return the last line of the run's log, which tells why it ended; empty without one."""
    try:
        with log_path(study_file, settings).open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - _TAIL_BYTES))
            lines = file.read().decode("utf-8", "replace").split("\n")
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _environment(settings: Settings) -> dict[str, str]:
    fields = type(settings).model_fields
    values = {name: getattr(settings, name) for name in fields}
    return {variable(name): str(value) for name, value in values.items() if value is not None}
