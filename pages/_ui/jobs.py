"""Work in the background of the web app: at most one import at a time, seen by every session.

A job runs in a thread that never draws; pages look at what it says of itself. What it made is
in the database, so that a restart loses nothing but the news of it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import streamlit as st

from core.clock import new_id
from core.errors import AppError
from core.settings import Settings
from core.sources.progress import ImportProgress, OnProgress
from core.types import ImportReport

log = logging.getLogger(__name__)

Work = Callable[[OnProgress], ImportReport]


@dataclass
class Job:
    """One import. `report` or `fault` is set once, before `thread` ends."""

    label: str
    id: str = field(default_factory=new_id)
    began: float = field(default_factory=time.monotonic)
    progress: ImportProgress | None = None
    report: ImportReport | None = None
    fault: str = ""
    seconds: float = 0.0
    thread: threading.Thread | None = None

    @property
    def running(self) -> bool:
        return self.report is None and not self.fault

    @property
    def so_far(self) -> float:
        """Seconds it has worked, or had worked when it ended."""
        return time.monotonic() - self.began if self.running else self.seconds


class Jobs:
    """The newest job. Safe to ask from any session."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._latest: Job | None = None

    @property
    def latest(self) -> Job | None:
        return self._latest

    def start(self, label: str, work: Work) -> Job | None:
        """Run `work` in a thread; None when another job is still at it."""
        with self._lock:
            if self._latest is not None and self._latest.running:
                return None
            job = self._latest = Job(label)
            job.thread = threading.Thread(target=_run, args=(job, work), daemon=True)
            job.thread.start()
            return job


def _run(job: Job, work: Work) -> None:
    def on_progress(progress: ImportProgress) -> None:
        job.progress = progress

    report, fault = None, ""
    try:
        report = work(on_progress)
    except AppError as error:
        fault = str(error)
    except Exception as error:
        log.error("fault %s", job.id, exc_info=error)
        fault = f"Something unforeseen went wrong; the log names it as fault {job.id[:8]}."
    job.seconds = time.monotonic() - job.began
    job.report, job.fault = report, fault


@st.cache_resource(show_spinner=False)
def registry(settings: Settings) -> Jobs:
    """The jobs of the process that works with these settings."""
    del settings  # the key alone: each database has jobs of its own
    return Jobs()
