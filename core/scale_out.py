"""One study on several machines: who is at work, who died, and what a worker is told.

Only the database is durable: units, leases, call log. Everything here may be lost at any
moment, and a second start of the same command finds the way from what the database says.
What knows Dask is `core.cluster`; here stands what would be the same with anything else.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Protocol, TextIO

from core.errors import SettingsError
from core.limits import Caps, caps_of
from core.ports import ChatModel, Store, Study
from core.runner import OnProgress, Runner
from core.settings import Settings
from core.study import CheckModel, check_study
from core.types import StudyProgress, StudyState

log = logging.getLogger(__name__)
LOOK_SECONDS = 1.0
REPORT_SECONDS = 5.0
FAREWELL_SECONDS = 30.0  # for runners to hear that it is over: they look every five seconds
MOST_CRASHES = 3  # or failures of runners of one worker, which itself goes on
_BAD_INPUT = 2  # the exit code of what no second try will mend: no key, another database
_OVER = (StudyState.PAUSED, StudyState.CANCELLED)


def require_shared(settings: Settings) -> None:
    """Refuse what several machines cannot work with. Raises `SettingsError`."""
    if not settings.database_url.startswith("postgresql"):
        raise SettingsError(
            "Several machines need one database that all of them reach: set RAPPORT_DATABASE_URL "
            "to a PostgreSQL database (`copy` moves what an SQLite file holds)."
        )
    if importlib.util.find_spec("distributed") is None:
        raise SettingsError(
            "Several machines need Dask, which is not installed: "
            "pip install -r requirements-cluster.txt."
        )


@dataclass(frozen=True, slots=True)
class Order:
    """What a worker is told: which study, under which limits. Nothing of it is secret.

    The database, and the keys of models, are those of the worker's own environment;
    `created_at` tells a study from one of the same name in another database.
    """

    study: str
    created_at: str
    caps: Caps

    @classmethod
    def of(cls, study: Study, caps: Caps) -> Order:
        return cls(study.name, study.created_at.isoformat(), caps)

    @classmethod
    def parse(cls, text: str) -> Order:
        """Read what `to_text` wrote."""
        value = json.loads(text)
        return cls(value["study"], value["created_at"], Caps(**value["caps"]))

    def to_text(self) -> str:
        return json.dumps(asdict(self))


# --- on the side of a worker ------------------------------------------------------------------


def share_runner(order: Order, store: Store, model: ChatModel, check: CheckModel) -> Runner:
    """The runner that an order asks for.

    Raises `SettingsError` when this machine's database is another one, and `StudyError` when
    the study cannot run here, such as for want of a key.
    """
    study = store.find_study(order.study)
    if study is None or study.spec is None or study.created_at.isoformat() != order.created_at:
        raise SettingsError(
            f"The study {order.study} is not in the database of this worker: set "
            "RAPPORT_DATABASE_URL here to the database that it was started in."
        )
    check_study(study.spec, store, check)
    return Runner(study, store, model, caps=order.caps)


def when_parent_ends(act: Callable[[], None], stream: TextIO | None = None) -> None:
    """Call `act` when standard input ends, as it does when whoever started us dies."""
    source = stream or sys.stdin

    def listen() -> None:
        source.read()
        act()

    threading.Thread(target=listen, name="parent", daemon=True).start()


# --- on the side of the client ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ended:
    """How a worker's runner ended: its exit code, negative for a signal, and its last line."""

    code: int
    words: str


class Workers(Protocol):
    """Machines that were lent to us, known by address; each takes one order at a time."""

    def present(self) -> set[str]: ...
    def send(self, worker: str, order: Order) -> None: ...
    def ended(self) -> dict[str, Ended]:
        """Runners that have ended since this was last asked."""
        ...

    def forget(self, worker: str) -> None:
        """Drop what was sent to a worker that is gone."""
        ...


@dataclass
class Crew:
    """Keeps every worker at work on one study until nothing is owed.

    Whoever joins works at once: the limits, `caps`, hold over all of them together.
    """

    study: Study
    store: Store
    workers: Workers
    caps: Caps
    stop: threading.Event = field(default_factory=threading.Event)
    at_work: set[str] = field(default_factory=set)
    refused: dict[str, str] = field(default_factory=dict)
    crashes: Counter[str] = field(default_factory=Counter)

    def run(self, on_progress: OnProgress | None = None) -> StudyProgress:
        """Work until nothing is owed, nobody can go on, or somebody says stop."""
        self.store.set_study_state(self.study.id, StudyState.RUNNING)
        reported = time.monotonic()
        while not self._is_over(self._progress()):
            self._look()
            self.stop.wait(LOOK_SECONDS)
            if on_progress is not None and time.monotonic() - reported >= REPORT_SECONDS:
                on_progress(self._progress())
                reported = time.monotonic()
        if self.stop.is_set():
            self.store.set_study_state(self.study.id, StudyState.PAUSED)
        self._await_all()
        self._leave()
        return self._progress()

    def _progress(self) -> StudyProgress:
        return self.store.progress(self.study.id)

    def _is_over(self, progress: StudyProgress) -> bool:
        """Whether there is nothing left to do, or nobody left who could do it."""
        if self.stop.is_set() or not progress.owed or progress.state in _OVER:
            return True
        return bool(self.refused) and not self.at_work and not self._free()

    def _free(self) -> list[str]:
        """Workers that could take an order now."""
        return sorted(self.workers.present() - self.at_work - self.refused.keys())

    def _look(self) -> None:
        self._note_the_dead()
        for worker, ended in self.workers.ended().items():
            self._note_end(worker, ended)
        for worker in self._free():
            log.info("%s begins", worker)
            self.workers.send(worker, Order.of(self.study, self.caps))
            self.at_work.add(worker)

    def _note_the_dead(self) -> None:
        for worker in self.at_work - self.workers.present():
            log.warning("%s is gone; its leases end and others take over", worker)
            self.workers.forget(worker)
            self.at_work.discard(worker)

    def _note_end(self, worker: str, ended: Ended) -> None:
        if worker not in self.at_work:
            return
        self.at_work.discard(worker)
        if ended.code == 0:
            return
        self.crashes[worker] += 1
        if ended.code == _BAD_INPUT or self.crashes[worker] >= MOST_CRASHES:
            self.refused[worker] = ended.words
            log.warning("%s has stopped: %s", worker, ended.words)

    def _await_all(self) -> None:
        """Wait for runners to hear that it is over, so that no process is left behind."""
        until = time.monotonic() + FAREWELL_SECONDS
        while self.at_work and time.monotonic() < until:
            self.at_work -= self.workers.ended().keys()
            self.at_work &= self.workers.present()
            time.sleep(0.1 if self.at_work else 0.0)

    def _leave(self) -> None:
        """Say what nobody else has said: the last runner may have died before its last word."""
        progress = self._progress()
        if not progress.owed and progress.state is not StudyState.DONE:
            self.store.set_study_state(self.study.id, StudyState.DONE)
        elif progress.owed and progress.state is StudyState.RUNNING:
            why = next(iter(self.refused.values()), "Every worker of the cluster is gone.")
            self.store.set_study_state(self.study.id, StudyState.PAUSED, message=why)


def form_crew(
    study: Study,
    store: Store,
    workers: Workers,
    *,
    concurrency: int | None = None,
    budget_usd: float | None = None,
) -> Crew:
    """A crew whose members work under the study's limits. Waits for the first worker."""
    assert study.spec is not None
    while not workers.present():
        log.info("waiting for the first worker")
        time.sleep(REPORT_SECONDS)
    caps = caps_of(study.spec.limits, concurrency=concurrency, budget_usd=budget_usd)
    return Crew(study, store, workers, caps)
