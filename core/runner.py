"""Works off a study: claims units, makes and judges their dialogues, keeps everything.

What is owed is what the database says is owed. A runner that is killed leaves nothing to mend:
its leases end, its unfinished dialogues are run again over their call log, and nothing that was
answered is paid twice.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import datetime

from core.bench import Bench, How, Judging, judge_dialogue, make_dialogue
from core.calls import Line
from core.clock import LEASE_SECONDS, now, owner_is_dead, process_owner
from core.errors import AlreadyDecided, AppError, Cancelled, ModelMisconfigured
from core.limits import BudgetReached, Caps, Limiter
from core.ports import ChatModel, Finished, Store, Study
from core.types import Scenario, StopReason, StudyProgress, StudyState, WorkUnit
from core.writer import GroupWriter

log = logging.getLogger(__name__)
HEARTBEAT_SECONDS = 5.0
_SCRIPTED_BATCH = 64
_MOST_UNWRITTEN = 200  # finished units that wait for the database before work waits too


OnProgress = Callable[[StudyProgress], None]


@dataclass
class _Stop:
    """Why work should end before all is done; set once, read everywhere."""

    event: threading.Event = field(default_factory=threading.Event)
    state: StudyState | None = None
    error: AppError | None = None

    def set(self, state: StudyState, error: AppError | None = None) -> None:
        if not self.event.is_set():
            self.state, self.error = state, error
            self.event.set()


class Runner:
    """One process at work on one study. Several may work on the same one."""

    def __init__(
        self,
        study: Study,
        store: Store,
        model: ChatModel,
        *,
        caps: Caps,
        clock: Callable[[], datetime] = now,
    ) -> None:
        assert study.spec is not None, "imported dialogues are not run"
        self.study, self.spec, self.store = study, study.spec, store
        self.owner = process_owner()
        self._caps, self._stop = caps, _Stop()
        self._writer = GroupWriter(store)
        self._unwritten: deque[Future[None]] = deque()
        line = Line(model, Limiter(caps), self._writer.call, clock, self._stop.event.is_set)
        self._bench = Bench.open(store, self.spec.dataset, line)
        self._judging = Judging.of(self.spec.judges)

    def stop(self) -> None:
        """Ask the runner to end soon and leave the rest owed (a signal handler may call it)."""
        self._stop.set(StudyState.PAUSED)

    def leave(self) -> None:
        """Ask the runner to end soon as `stop` does, but let the study go on with others."""
        self._stop.set(StudyState.RUNNING)

    def run(self, on_progress: OnProgress | None = None) -> StudyProgress:
        """Work until nothing is owed or somebody says stop; returns how the study stands.

        Raises `ModelMisconfigured` after pausing the study: nothing will come of going on.
        """
        self._take_over()
        self.store.set_study_state(self.study.id, StudyState.RUNNING)
        beat = threading.Thread(target=self._beat, args=(on_progress,), daemon=True)
        beat.start()
        try:
            self._work()
        finally:
            finished = not self._stop.event.is_set()
            self._stop.event.set()
            beat.join()
            self._writer.close()
            for written in self._unwritten:
                _settle(written)
            self.store.release_units(self.study.id, self.owner)
        self._leave(finished)
        if self._stop.error is not None:
            raise self._stop.error
        return self.store.progress(self.study.id)

    def _take_over(self) -> None:
        """End the leases of runners of this machine that are dead; others end by themselves."""
        for owner in self.store.lease_owners(self.study.id):
            if owner_is_dead(owner):
                self.store.release_units(self.study.id, owner)

    def _leave(self, finished: bool) -> None:
        state = self._stop.state
        if state is StudyState.RUNNING:
            return  # only this process leaves
        if state is None:
            done = finished and self.store.progress(self.study.id).owed == 0
            state = StudyState.DONE if done else StudyState.PAUSED
        if state is StudyState.PAUSED and self.store.lease_owners(self.study.id):
            return  # others are still at work on it
        message = str(self._stop.error or "")
        self.store.set_study_state(self.study.id, state, message=message)

    def _beat(self, on_progress: OnProgress | None) -> None:
        while not self._stop.event.wait(HEARTBEAT_SECONDS):
            try:
                wish = self.store.heartbeat(self.study.id, self.owner)
            except AppError as error:  # the next beat may get through; the lease outlives four
                log.warning("no heartbeat: %s", error)
                continue
            if wish in (StudyState.PAUSED, StudyState.CANCELLED):
                self._stop.set(wish)
            elif on_progress is not None:
                on_progress(self.store.progress(self.study.id))

    def _work(self) -> None:
        threads = self._caps.concurrency if self._calls_models() else 1
        with ThreadPoolExecutor(threads, thread_name_prefix="unit") as pool:
            running: set[Future[None]] = set()
            while not self._stop.event.is_set():
                running |= self._start_more(pool, threads - len(running))
                if not running and not self._others_at_work():
                    break
                ended, running = wait(running, timeout=1.0, return_when=FIRST_COMPLETED)
                for future in ended:
                    future.result()
            for future in running:
                future.result()

    def _others_at_work(self) -> bool:
        """Wait a moment for other runners of this study: one that dies leaves its units to us."""
        if not self.store.progress(self.study.id).owed:
            return False
        self._take_over()
        self._stop.event.wait(1.0)
        return True  # and what nobody holds by now, we claim

    def _calls_models(self) -> bool:
        """Scripted parties only compute: more threads would only get in each other's way."""
        return not self.spec.scripted

    def _start_more(self, pool: ThreadPoolExecutor, free: int) -> set[Future[None]]:
        """Claim as many units as there is room for; scripted ones in batches, to read few times."""
        if free <= 0:
            return set()
        limit = free if self._calls_models() else _SCRIPTED_BATCH
        claimed = self.store.claim_units(
            self.study.id, self.owner, limit=limit, lease_seconds=LEASE_SECONDS
        )
        scenarios = self._bench.prepare([unit for unit, _ in claimed]) if claimed else {}
        return {
            pool.submit(self._unit, unit, attempt, scenarios[unit.scenario.id])
            for unit, attempt in claimed
        }

    def _unit(self, unit: WorkUnit, attempt: int, scenario: Scenario) -> None:
        if self._stop.event.is_set():
            return
        try:
            self._finish(unit, attempt, scenario)
        except Cancelled:
            return
        except (ModelMisconfigured, BudgetReached) as error:
            self._stop.set(StudyState.PAUSED, error)
        except Exception:
            self._stop.set(StudyState.FAILED)
            raise

    def _finish(self, unit: WorkUnit, attempt: int, scenario: Scenario) -> None:
        dialogue = make_dialogue(unit, scenario, self._bench, How.of(self.spec, attempt))
        if dialogue.stop_reason is StopReason.BUDGET:
            raise BudgetReached(dialogue.stop_detail)
        if self._stop.event.is_set() and not dialogue.stop_reason.judged:
            return  # cut off by us: the unit stays owed and goes on over its call log
        judgements = judge_dialogue(dialogue, scenario, self._judging, self._bench)
        self._unwritten.append(self._writer.finish(Finished(dialogue, judgements)))
        if len(self._unwritten) > _MOST_UNWRITTEN:
            _settle(self._unwritten.popleft())


def _settle(written: Future[None]) -> None:
    try:
        written.result()
    except AlreadyDecided:
        log.warning("a unit was finished by another runner first; that one counts")
