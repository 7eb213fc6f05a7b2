"""Runners on the workers of a Dask cluster: the only module that knows Dask.

Dask carries processes to machines and nothing else. The task that a worker gets starts the
same runner that `--workers` starts, as a process of its own, and waits for its end.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import IO

from distributed import Client, Future, Worker

from core.errors import AppError
from core.scale_out import Ended, Order

ROOT = Path(__file__).resolve().parents[1]
log = logging.getLogger(__name__)
logging.getLogger("distributed").setLevel(logging.WARNING)
CONNECT_SECONDS = 30
CHILD_SECONDS = 20.0  # that a runner has to keep what is in flight when its worker is told to go

_children: set[subprocess.Popen[str]] = set()


class ClusterError(AppError):
    """The scheduler cannot be reached, or is gone."""


# --- on a worker ------------------------------------------------------------------------------


def lend(scheduler: str) -> None:
    """Work for the scheduler at this address until it is gone or a signal comes.

    Raises `ClusterError` when it cannot be reached.
    """
    try:
        asyncio.run(_lend(scheduler))
    except (OSError, TimeoutError, ValueError) as error:
        raise _unreachable(scheduler) from error


async def _lend(scheduler: str) -> None:
    worker = Worker(scheduler, nthreads=1, memory_limit=0, death_timeout=CONNECT_SECONDS)
    loop, told = asyncio.get_running_loop(), asyncio.Event()
    for sign in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(sign, told.set)
    async with worker:
        log.info("lent to %s as %s", scheduler, worker.address)
        ends = [asyncio.create_task(worker.finished()), asyncio.create_task(told.wait())]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.to_thread(_end_children)
    for end in ends:
        end.cancel()


def _end_children() -> None:
    for child in list(_children):
        if child.stdin is not None:
            child.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(CHILD_SECONDS)


def carry_out(order: str) -> tuple[int, str]:
    """Run the runner that `order` asks for, to its end; its exit code and last line.

    It holds the other end of the runner's standard input: if this process dies, however
    suddenly, the runner notices and ends too.
    """
    name = Order.parse(order).study
    command = [sys.executable, str(ROOT / "cli.py"), "resume", name, "--carried", order]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
    ) as child:
        _children.add(child)
        try:
            assert child.stderr is not None
            words = _pass_on(child.stderr)
            return child.wait(), words
        finally:
            _children.discard(child)


def _pass_on(lines: IO[str]) -> str:
    """Repeat every line on our own standard error; return the last one."""
    last = ""
    for line in lines:
        sys.stderr.write(line)
        last = line.strip() or last
    return last


# --- on the client ----------------------------------------------------------------------------


class DaskWorkers:
    """`core.scale_out.Workers` of a running Dask scheduler."""

    def __init__(self, scheduler: str) -> None:
        self._scheduler = scheduler
        self._futures: dict[str, Future] = {}
        try:
            self._client = Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise _unreachable(scheduler) from error

    def present(self) -> set[str]:
        try:
            if self._client.status == "running":
                return set(self._client.nthreads())
        except (OSError, TimeoutError):
            pass
        raise ClusterError(
            f"The scheduler at {self._scheduler} is gone; what is finished is kept, and `resume` "
            "goes on from there."
        )

    def send(self, worker: str, order: Order) -> None:
        self._futures[worker] = self._client.submit(
            _errand(),
            order.to_text(),
            key=f"rapport-{uuid.uuid4().hex}",
            workers=[worker],
            allow_other_workers=False,
            pure=False,
        )

    def ended(self) -> dict[str, Ended]:
        done = [worker for worker, future in self._futures.items() if future.done()]
        return {worker: _end_of(self._futures.pop(worker)) for worker in done}

    def forget(self, worker: str) -> None:
        future = self._futures.pop(worker, None)
        if future is not None:
            future.cancel()

    def close(self) -> None:
        self._client.close()


def _errand() -> Callable[[str], tuple[int, str]]:
    """`carry_out`, in a shape that travels whole: a scheduler need not have Rapport."""

    def errand(order: str) -> tuple[int, str]:
        from core.cluster import carry_out

        return carry_out(order)

    return errand


def _end_of(future: Future) -> Ended:
    if future.status == "finished":
        return Ended(*future.result())
    if future.status == "error":
        return Ended(1, " ".join(str(future.exception()).split()))
    return Ended(-signal.SIGKILL, "")  # cancelled or lost: with its worker


def _unreachable(scheduler: str) -> ClusterError:
    return ClusterError(
        f"There is no Dask scheduler at {scheduler}; start one with `dask scheduler` and give "
        "its address, such as tcp://10.0.0.1:8786."
    )
