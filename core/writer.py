"""Group commit: many threads hand in rows, one thread writes them in few transactions.

A database commits perhaps a thousand times a second; a study finishes more rows than that.
`call` returns only when its row is durable, so that an answer that was paid for is never acted
on before it is kept. `finish` does not wait; `close` does, and raises what went wrong. A database
that does not answer for a while is waited for.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from core.errors import AlreadyDecided, StoreError
from core.ledger import OpenCall
from core.patience import PATIENT, Patience
from core.ports import Finished, Store
from core.types import Judgement, ModelCall


@dataclass(frozen=True, slots=True)
class Logged:
    """A model call, and its entry in the ledger of calls that are out, if it has one."""

    call: ModelCall
    entry: OpenCall | None = None


Item = Logged | Finished | Judgement
MOST_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class _Job:
    item: Item
    done: Future[None]


class GroupWriter:
    """Writes calls, finished units and judgements to a store from one thread of its own."""

    def __init__(self, store: Store, patience: Patience = PATIENT) -> None:
        self._store, self._patience = store, patience
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._fault: Exception | None = None
        self._thread = threading.Thread(target=self._work, name="group-writer", daemon=True)
        self._thread.start()

    def call(self, call: ModelCall, entry: OpenCall | None = None) -> None:
        """Store a model call and strike out its entry; return when both are durable."""
        self._put(Logged(call, entry)).result()

    def finish(self, item: Finished | Judgement) -> Future[None]:
        """Hand in a finished unit or a judgement. The future ends when it is durable."""
        return self._put(item)

    def close(self) -> None:
        """Write what is left. Raises the first fault that no caller has seen."""
        self._jobs.put(None)
        self._thread.join()
        if self._fault is not None:
            raise self._fault

    def _put(self, item: Item) -> Future[None]:
        if self._fault is not None:
            raise StoreError(f"The database refused to store results: {self._fault}")
        job = _Job(item, Future())
        self._jobs.put(job)
        return job.done

    def _work(self) -> None:
        more = True
        while more:
            batch, more = self._take()
            if batch:
                self._write(batch)

    def _take(self) -> tuple[list[_Job], bool]:
        batch: list[_Job] = []
        job = self._jobs.get()
        while job is not None:
            batch.append(job)
            if len(batch) == MOST_AT_ONCE or self._jobs.empty():
                return batch, True
            job = self._jobs.get()
        return batch, False

    def _write(self, batch: list[_Job]) -> None:
        for store, kind in self._ways():
            jobs = [job for job in batch if isinstance(job.item, kind)]
            if jobs and not self._try(store, jobs) and len(jobs) > 1:
                # One row of the batch is there already: find which, and store the others.
                for job in jobs:
                    self._try(store, [job])

    def _ways(self) -> tuple[tuple[Callable[[Any], None], type[Item]], ...]:
        return (
            (self._add_calls, Logged),
            (self._store.add_finished, Finished),
            (self._store.add_judgements, Judgement),
        )

    def _add_calls(self, logged: Sequence[Logged]) -> None:
        self._store.add_calls([job.call for job in logged], entries=[job.entry for job in logged])

    def _try(self, store: Callable[[Any], None], jobs: list[_Job]) -> bool:
        """Store the jobs' items in one transaction; False when they should be tried singly."""
        try:
            self._patience(lambda: store([job.item for job in jobs]))
        except AlreadyDecided as error:
            if len(jobs) > 1:
                return False
            if self._is_stored(jobs[0].item):
                jobs[0].done.set_result(None)
            else:
                jobs[0].done.set_exception(error)
        except Exception as error:  # a thread's last line: every waiter must hear of it
            self._fault = error
            for job in jobs:
                job.done.set_exception(error)
        else:
            for job in jobs:
                job.done.set_result(None)
        return True

    def _is_stored(self, item: Item) -> bool:
        """Whether this very call was kept before the connection broke, and only the word lost."""
        if not isinstance(item, Logged):
            return False
        return item.call in self._patience(lambda: self._store.list_calls(item.call.scope))
