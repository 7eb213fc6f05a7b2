"""Works off a study: claims units, makes and judges their dialogues, keeps everything.

What is owed is what the database says is owed. A runner that is killed leaves nothing to mend:
its leases end, its unfinished dialogues are run again over their call log, and nothing that was
answered is paid twice.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from core.bench import How, Judging, judge_dialogue
from core.calls import Line
from core.clock import LEASE_SECONDS, now, owner_is_dead, process_owner
from core.errors import (
    AlreadyDecided,
    AppError,
    Cancelled,
    ModelMisconfigured,
    RunFailed,
    StoreError,
)
from core.gate import LedgerGate
from core.halting import Halting
from core.judge import rated_by
from core.judging import MOST_HELPERS
from core.limits import BudgetReached, Caps
from core.patience import PATIENT, Patience
from core.personaconv.bench import open_bench
from core.ports import ChatModel, Finished, Store, Study
from core.types import Scenario, StopReason, StudyProgress, StudyState, WorkUnit
from core.writer import GroupWriter

log = logging.getLogger(__name__)
HEARTBEAT_SECONDS = 5.0
_SCRIPTED_BATCH = 64
_MOST_UNWRITTEN = 200  # finished units that wait for the database before work waits too
LEAVE_SECONDS = 20.0  # that calls which are out have to be answered when work should end
_MOST_MORE = 200  # dialogues open beyond the calls in flight: each holds a thread


OnProgress = Callable[[StudyProgress], None]


def open_at_once(concurrency: int, finished: int) -> int:
    """How many dialogues may be open when `finished` have ended already.

    Calls are what is limited, and a dialogue makes one after the other. Were no more dialogues
    open than calls may be in flight, the last ones would leave most places empty: 200 dialogues
    at 64 take the time of 256. So up to three times as many are open, served in turn, and end
    near each other. They are opened only as others end, so that a second runner, which starts
    some seconds later, does not find everything claimed.
    """
    return concurrency + min(finished, 2 * concurrency, _MOST_MORE)


@dataclass
class _Stop:
    """Why work should end before all is done; set once, read everywhere."""

    event: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    state: StudyState | None = None
    error: AppError | None = None
    since: float = 0.0

    def late(self) -> bool:
        """Whether even calls that are out, and paid for, are not waited for any more."""
        return self.event.is_set() and time.monotonic() - self.since > LEAVE_SECONDS

    def set(self, state: StudyState, error: AppError | None = None) -> None:
        with self.lock:
            if not self.event.is_set():
                self.state, self.error, self.since = state, error, time.monotonic()
                self.event.set()

    def note(self, error: Exception) -> None:
        """Stop because of an error: what a person can mend pauses the study, the rest fails it."""
        if isinstance(error, ModelMisconfigured | BudgetReached | StoreError):
            self.set(StudyState.PAUSED, error)
        elif isinstance(error, AppError):
            self.set(StudyState.FAILED, error)
        else:
            log.error("the runner failed", exc_info=error)
            failed = RunFailed(
                f"The runner met a fault that nobody foresaw ({type(error).__name__}); its log "
                "tells the whole of it, and `resume` goes on from what is stored."
            )
            failed.__cause__ = error
            self.set(StudyState.FAILED, failed)


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
        patience: Patience = PATIENT,
    ) -> None:
        assert study.spec is not None, "imported dialogues are not run"
        self.study, self.spec, self.store = study, study.spec, store
        self.owner = process_owner()
        self._caps, self._stop, self._patience = caps, _Stop(), patience
        self._writer = GroupWriter(store, patience)
        self._unwritten: deque[Future[None]] = deque()
        asked = Halting(model, self._stop.note)
        self._gate = LedgerGate(store, caps, owner=self.owner, patience=patience)
        line = Line(
            asked,
            self._gate,
            self._writer.call,
            clock,
            is_cancelled=self._stop.event.is_set,
            must_leave=self._stop.late,
            find_answer=store.find_answer if self.spec.limits.cache else None,
        )
        self._bench = open_bench(self.spec, store, line)
        self._bench.patience = patience
        self._judging = Judging.of(self.spec.judges)
        self._ended = 0

    def stop(self) -> None:
        """Ask the runner to end soon and leave the rest owed (a signal handler may call it)."""
        self._stop.set(StudyState.PAUSED)

    def leave(self) -> None:
        """Ask the runner to end soon as `stop` does, but let the study go on with others."""
        self._stop.set(StudyState.RUNNING)

    def run(self, on_progress: OnProgress | None = None) -> StudyProgress:
        """Work until nothing is owed or somebody says stop; returns how the study stands.

        Raises what stopped it, after saying so in the study: `ModelMisconfigured` and
        `BudgetReached` pause it, as does a database that stays away (`StoreError`); anything
        unforeseen fails it (`RunFailed`). In each case the rest stays owed.
        """
        self._take_over()
        self._patience(lambda: self.store.set_study_state(self.study.id, StudyState.RUNNING))
        beat = threading.Thread(target=self._beat, args=(on_progress,), daemon=True)
        beat.start()
        try:
            self._until_done(self._work)
            self._until_done(self._write_all)
        finally:
            finished = not self._stop.event.is_set()
            self._stop.event.set()
            beat.join()
            self._gate.close()
        self._leave(finished)
        if self._stop.error is not None:
            raise self._stop.error
        return self._patience(lambda: self.store.progress(self.study.id))

    def _until_done(self, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as error:  # whatever it is, the study must not stay "running"
            self._stop.note(error)

    def _write_all(self) -> None:
        try:
            self._writer.close()
        finally:
            self._settle_all()

    def _take_over(self) -> None:
        """End the leases of runners of this machine that are dead; others end by themselves."""
        for owner in self._patience(lambda: self.store.lease_owners(self.study.id)):
            if owner_is_dead(owner):
                self._patience(partial(self.store.release_units, self.study.id, owner))

    def _leave(self, finished: bool) -> None:
        """Give back what was not done, and say how the study stands now."""
        try:
            self._patience(lambda: self.store.release_units(self.study.id, self.owner))
            self._patience(lambda: self._say(finished))
        except StoreError as error:  # to others the study will look stalled, as it is
            log.warning("the state of the study could not be kept: %s", error)
            self._stop.error = self._stop.error or error

    def _say(self, finished: bool) -> None:
        state, message = self._stop.state, str(self._stop.error or "")
        if state is StudyState.RUNNING:
            return  # only this process leaves
        if state is None:
            done = finished and self.store.progress(self.study.id).owed == 0
            state = StudyState.DONE if done else StudyState.PAUSED
        others = self.store.lease_owners(self.study.id)
        if state in (StudyState.PAUSED, StudyState.FAILED) and others:
            return  # they are still at work on it
        self.store.set_study_state(self.study.id, state, message=message)

    # --- signs of life --------------------------------------------------------------------

    def _beat(self, on_progress: OnProgress | None) -> None:
        while not self._stop.event.wait(HEARTBEAT_SECONDS):
            try:
                self._listen(on_progress)
            except Exception as error:  # the next beat may get through; the lease outlives four
                log.warning("no heartbeat: %s", error)

    def _listen(self, on_progress: OnProgress | None) -> None:
        wish = self.store.heartbeat(self.study.id, self.owner)
        if wish in (StudyState.PAUSED, StudyState.CANCELLED):
            self._stop.set(wish)
        elif on_progress is not None:
            on_progress(self.store.progress(self.study.id))

    # --- work -----------------------------------------------------------------------------

    def _work(self) -> None:
        calls = self._caps.concurrency if self._calls_models() else 0
        with ExitStack() as stack:
            if calls:
                helpers = ThreadPoolExecutor(min(calls, MOST_HELPERS), thread_name_prefix="judge")
                self._bench.pool = stack.enter_context(helpers)
            threads = open_at_once(calls, 2 * calls) or 1
            pool = stack.enter_context(ThreadPoolExecutor(threads, thread_name_prefix="unit"))
            self._work_off(pool)

    def _work_off(self, pool: ThreadPoolExecutor) -> None:
        running: set[Future[None]] = set()
        while not self._stop.event.is_set():
            running |= self._start_more(pool, len(running))
            if not running and not self._is_owed():
                return
            ended, running = wait(running, timeout=1.0, return_when=FIRST_COMPLETED)
            self._ended += len(ended)

    def _is_owed(self) -> bool:
        """Whether something is left while we work at nothing; if so, wait a moment.

        Others may hold it: one that dies leaves its units to us. Or we do, unknowingly, because
        the word that a claim had succeeded was lost on its way.
        """
        self._settle_all()
        if not self._patience(lambda: self.store.progress(self.study.id)).owed:
            return False
        self._take_over()
        self._patience(lambda: self.store.release_units(self.study.id, self.owner))
        self._stop.event.wait(1.0)
        return True  # and what nobody holds by now, we claim

    def _calls_models(self) -> bool:
        """Scripted parties only compute: more threads would only get in each other's way."""
        return not self.spec.scripted

    def _room(self, running: int) -> int:
        """How many units to claim now: not each time that one ends, to claim few times."""
        if not self._calls_models():
            return 0 if running else _SCRIPTED_BATCH
        calls = self._caps.concurrency
        room = open_at_once(calls, self._ended) - running
        return room if running < calls or room > calls // 8 else 0

    def _start_more(self, pool: ThreadPoolExecutor, running: int) -> set[Future[None]]:
        """Claim as many units as there is room for, and read what they need in few queries."""
        room = self._room(running)
        if room <= 0:
            return set()
        claimed = self._patience(
            lambda: self.store.claim_units(
                self.study.id, self.owner, limit=room, lease_seconds=LEASE_SECONDS
            )
        )
        if len(claimed) < room:
            self._gate.last_lap()
        if not claimed:
            return set()
        scenarios = self._bench.prepare([unit for unit, _ in claimed])
        stored = self._patience(lambda: self.store.stored_dialogues(claimed))
        return {
            pool.submit(self._unit, unit, attempt, scenarios[unit.scenario.id], stored.get(unit.id))
            for unit, attempt in claimed
        }

    def _unit(
        self, unit: WorkUnit, attempt: int, scenario: Scenario, dialogue_id: str | None
    ) -> None:
        """Make and judge the dialogue of a unit, or judge on when it is stored already."""
        if self._stop.event.is_set():
            return
        try:
            if dialogue_id is None:
                finished = self._made(unit, attempt, scenario)
            else:
                finished = self._judged_again(dialogue_id, scenario)
            if finished is not None:
                self._keep(finished)
        except Cancelled:
            return
        except AlreadyDecided:
            log.warning("another runner has taken over a unit of ours, and goes on with it")
        except Exception as error:
            self._stop.note(error)

    def _made(self, unit: WorkUnit, attempt: int, scenario: Scenario) -> Finished | None:
        dialogue = self._bench.make(unit, scenario, How.of(self.spec, attempt))
        if dialogue.stop_reason is StopReason.BUDGET:
            raise BudgetReached(dialogue.stop_detail)
        if self._stop.event.is_set() and not dialogue.stop_reason.judged:
            return None  # cut off by us: the unit stays owed and goes on over its call log
        return Finished(dialogue, judge_dialogue(dialogue, scenario, self._judging, self._bench))

    def _judged_again(self, dialogue_id: str, scenario: Scenario) -> Finished:
        dialogue = self._patience(lambda: self.store.get_dialogue(dialogue_id))
        rated = rated_by(self._patience(lambda: self.store.list_judgements(dialogue_id)))
        judgements = judge_dialogue(dialogue, scenario, self._judging, self._bench, rated=rated)
        return Finished(dialogue, judgements, again=True)

    def _keep(self, finished: Finished) -> None:
        self._unwritten.append(self._writer.finish(finished))
        if len(self._unwritten) > _MOST_UNWRITTEN:
            _settle(self._unwritten.popleft())

    def _settle_all(self) -> None:
        while self._unwritten:
            _settle(self._unwritten.popleft())


def _settle(written: Future[None]) -> None:
    try:
        written.result()
    except AlreadyDecided:
        log.warning("a unit had its dialogue already; that one counts")
