"""What benchmarks set up and take down: databases, a provider, processes and what they cost."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
POSTGRES = "postgresql+psycopg://postgres@127.0.0.1:5432"
ENGINES = ("SQLite", "PostgreSQL")
LONGEST = 3600.0  # seconds after which a process counts as hung


@dataclass(frozen=True, slots=True)
class Ran:
    """How a process ended. `processor` and `peak_mb` are of it and of all that it started."""

    code: int
    began_at: float
    ended_at: float
    processor: float
    peak_mb: float
    out: str
    err: str

    @property
    def wall(self) -> float:
        return self.ended_at - self.began_at

    @property
    def result(self) -> dict[str, Any]:
        """The JSON object that `cli.py … --json` printed. Raises `RuntimeError` without one."""
        try:
            value: dict[str, Any] = json.loads(self.out)
        except ValueError:
            raise RuntimeError(f"It ended with {self.code}: {self.err[-2000:]}") from None
        return value


class Process:
    """A program that runs in a session of its own, so that all of it can be ended."""

    def __init__(self, command: Sequence[str], world: Mapping[str, str] | None = None) -> None:
        self._out = tempfile.TemporaryFile()  # noqa: SIM115 -- closed by `finish`
        self._err = tempfile.TemporaryFile()  # noqa: SIM115
        self.began_at = time.time()
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=_keyless() | dict(world or {}),
            stdin=subprocess.DEVNULL,
            stdout=self._out,
            stderr=self._err,
            start_new_session=True,
        )
        self.pid = self._process.pid

    def alive(self) -> bool:
        """Whether it still runs; it stays a zombie until `finish`, so that its cost is known."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def kill(self) -> None:
        """`kill -9` to the process alone: what it started lives on."""
        os.kill(self.pid, signal.SIGKILL)

    def kill_all(self) -> None:
        """`kill -9` to it and all that it started, as when a machine loses its power."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def end(self) -> None:
        """Leave nothing of it behind, whatever state it is in."""
        self.kill_all()
        if self._process.returncode is None:
            self.finish()

    def finish(self, limit: float = LONGEST) -> Ran:
        """Wait for its end, at most `limit` seconds, and take stock."""
        alarm = threading.Timer(limit, self.kill_all)
        alarm.start()
        try:
            _, status, cost = os.wait4(self.pid, 0)
        except BaseException:  # Ctrl-C, which does not reach a session of its own
            self.kill_all()
            raise
        finally:
            alarm.cancel()
        ended_at = time.time()
        code = self._process.returncode = os.waitstatus_to_exitcode(status)
        processor, peak = cost.ru_utime + cost.ru_stime, cost.ru_maxrss / 1024
        out, err = (_read(file) for file in (self._out, self._err))
        return Ran(code, self.began_at, ended_at, processor, peak, out, err)


def _read(file: Any) -> str:
    with file:
        file.seek(0)
        text: str = file.read().decode("utf-8", "replace")
    return text


def _keyless() -> dict[str, str]:
    """The environment without anybody's keys: a benchmark has no use for them."""
    return {n: v for n, v in os.environ.items() if not n.endswith("_API_KEY")}


def cli(*arguments: str, world: Mapping[str, str]) -> Process:
    """`python cli.py …`, at work."""
    return Process([sys.executable, "cli.py", *arguments], world)


def end_tidily() -> None:
    """Let a termination end a benchmark as Ctrl-C does: with nothing left behind."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


# --- the provider -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Served:
    """What the provider saw: requests, most at once, and seconds from the first to the last."""

    calls: int
    peak: int
    first_at: float
    last_at: float
    processor: float

    @property
    def span(self) -> float:
        return max(self.last_at - self.first_at, 1e-9)


@dataclass
class LocalProvider:
    """The test provider as a process of its own: what it costs is not the runner's."""

    url: str
    log: Path
    process: subprocess.Popen[str] = field(repr=False)

    def served(self) -> Served:
        address = self.url.removesuffix("/v1") + "/summary"
        with urllib.request.urlopen(address, timeout=30) as response:
            found = json.load(response)
        times = found["first_at"], found["last_at"], found["processor"]
        return Served(found["served"], found["peak"], *times)

    def requests(self) -> Requests:
        """Those that come from now on."""
        return Requests(self.log)


class Requests:
    """Hashes of the requests that a provider has received, in the order of their arrival."""

    def __init__(self, log: Path) -> None:
        self._log, self._read = log, log.stat().st_size
        self._hashes: list[str] = []

    def seen(self) -> list[str]:
        with self._log.open("rb") as file:
            file.seek(self._read)
            whole = file.read().rpartition(b"\n")
        self._read += len(whole[0]) + len(whole[1])
        self._hashes += [json.loads(line)["hash"] for line in whole[0].splitlines()]
        return self._hashes


@contextlib.contextmanager
def local_provider(latency: float, turns: int) -> Iterator[LocalProvider]:
    """A provider whose users write `turns` messages each, and answer after `latency` seconds."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "requests.jsonl"
        options = ["--latency", str(latency), "--turns", str(turns), "--log", str(log)]
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.provider", *options],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # the Ctrl-C of a terminal is for the benchmark to handle
        )
        assert process.stdout is not None
        try:
            yield LocalProvider(process.stdout.readline().strip(), log, process)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


# --- databases --------------------------------------------------------------------------------


@contextlib.contextmanager
def templates(engines: Sequence[str], server: str = POSTGRES) -> Iterator[dict[str, str]]:
    """For each engine the URL of a migrated database that holds the sample, to be copied."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        made = {}
        for engine in engines:
            if engine == "SQLite":
                made[engine] = f"sqlite:///{folder}/template.db"
            else:
                made[engine] = stack.enter_context(_new_database(server))
            _fill_with_sample(made[engine])
        yield made


@contextlib.contextmanager
def fresh(template: str) -> Iterator[tuple[str, dict[str, str]]]:
    """A copy of a template: its URL, and the environment in which `cli.py` uses it."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        if template.startswith("sqlite:///"):
            url = f"sqlite:///{folder}/rapport.db"
            shutil.copyfile(template.removeprefix("sqlite:///"), f"{folder}/rapport.db")
        else:
            server, _, name = template.rpartition("/")
            url = stack.enter_context(_new_database(server, f" TEMPLATE {name}"))
        yield url, world_of(url, Path(folder))


def world_of(url: str, folder: Path) -> dict[str, str]:
    return {
        "RAPPORT_DATA_DIR": str(folder),
        "RAPPORT_DATABASE_URL": url,
        "RAPPORT_LOG_LEVEL": "WARNING",
    }


def _fill_with_sample(url: str) -> None:
    from core.sample import ensure_sample
    from storage.store import open_store

    store = open_store(url)
    ensure_sample(store)
    store.close()


@contextlib.contextmanager
def _new_database(server: str, options: str = "") -> Iterator[str]:
    name = f"rapport_bench_{os.getpid()}_{uuid.uuid4().hex[:6]}"
    run_sql(server, f"CREATE DATABASE {name}{options}")
    try:
        yield f"{server}/{name}"
    finally:
        run_sql(server, f"DROP DATABASE {name} WITH (FORCE)")


def run_sql(server: str, statement: str) -> None:
    """Execute one statement in the server's own database `postgres`."""
    import sqlalchemy as sa

    engine = sa.create_engine(
        f"{server}/postgres", isolation_level="AUTOCOMMIT", poolclass=sa.NullPool
    )
    with engine.connect() as connection:
        connection.exec_driver_sql(statement)
    engine.dispose()


def has_postgres(server: str) -> bool:
    try:
        run_sql(server, "SELECT 1")
    except Exception as error:  # whatever is wrong with it, it is not there for us
        sys.stderr.write(f"PostgreSQL at {server} does not let us in: {type(error).__name__}\n")
        return False
    return True
