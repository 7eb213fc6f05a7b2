"""Kill what runs a study at random moments, go on, and count what was lost or paid twice.

    python -m benchmarks.kill [--rounds 50] [--only runner,worker,dask,connections]

Each round starts a small study against a provider on localhost and disturbs it once, or twice in
three rounds of ten: `kill -9` to the runner; to one of the two processes of `--workers 2`; to
all processes of one of two Dask workers; or the server ends all connections to the database.
What ends without being done is started again. Then every unit must have exactly one dialogue
and every judgement be there once, word for word those of a run that nobody disturbed (the
provider says the same to the same request), and the provider must have been asked nothing more
often than in that run, but for calls in flight at the moment of a kill: at most the concurrency.

The moments are drawn by `--seed`. Ctrl-C prints what was found so far. Exit code 1 when
anything is wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import random
import signal
import socket
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import yaml

from benchmarks.rig import (
    POSTGRES,
    LocalProvider,
    Process,
    Requests,
    cli,
    end_tidily,
    fresh,
    has_postgres,
    local_provider,
    run_sql,
    templates,
)

# kind and engine of ten rounds, then from the start
CYCLE = (
    ("runner", "SQLite"),
    ("worker", "PostgreSQL"),
    ("connections", "PostgreSQL"),
    ("runner", "PostgreSQL"),
    ("worker", "SQLite"),
    ("dask", "PostgreSQL"),
    ("runner", "SQLite"),
    ("connections", "PostgreSQL"),
    ("worker", "SQLite"),
    ("dask", "PostgreSQL"),
)
KINDS = tuple(sorted({kind for kind, _ in CYCLE}))
MOST_STARTS = 8
LONGEST = 180.0  # seconds for one process of a round
TWICE = 0.3  # share of rounds with two kills
EARLY = 0.15  # share of kills that hit while the process starts
STARTING = 4.0  # seconds within which an early kill comes
LAST = 0.95  # of the calls are made by the last moment that may be drawn

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Load:
    dialogues: int
    latency: float
    concurrency: int

    def study(self, url: str) -> dict[str, Any]:
        model = {"model": "openai/local", "api_base": url}
        judge = {"params": {"structured": True}, "rubrics": ["personalization", "task_completion"]}
        return {
            "name": "kill",
            "dataset": "sample",
            "scenarios": {"kind": "all", "limit": self.dialogues, "seed": 3},
            "user_agent": model,
            "arms": [{"name": "local", "context": "all", **model}],
            "judges": [model | judge],
            "limits": {"concurrency": self.concurrency},
        }


# --- what a run leaves behind -----------------------------------------------------------------


@dataclass
class Left:
    """What is stored, how often, and how often each request was made."""

    dialogues: Counter[Key] = field(default_factory=Counter)
    judgements: Counter[Key] = field(default_factory=Counter)
    words: dict[Key, object] = field(default_factory=dict)
    requests: Counter[str] = field(default_factory=Counter)


@dataclass
class Tally:
    """Counts of one round, or of many."""

    rounds: int = 0
    kills: int = 0
    starts: int = 0
    lost: int = 0
    duplicated: int = 0
    differing: int = 0
    repaid: int = 0
    allowed: int = 0
    excess: int = 0
    seconds: float = 0.0

    COLUMNS: ClassVar[tuple[str, ...]] = (
        *("rounds", "kills", "starts", "lost", "duplicated", "differing"),
        *("repaid", "allowed", "excess"),
    )

    @property
    def wrong(self) -> bool:
        return bool(self.lost or self.duplicated or self.differing or self.excess)

    def add(self, other: Tally) -> None:
        for name in (*self.COLUMNS, "seconds"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def words(self) -> str:
        counts = ((name, getattr(self, name)) for name in self.COLUMNS[1:])
        found = ", ".join(f"{name} {count}" for name, count in counts if count)
        return f"{found}; {self.seconds:.1f} s"

    def row(self) -> str:
        counts = (f"{getattr(self, name):,}" for name in self.COLUMNS)
        return f"{' | '.join(counts)} | {self.seconds / max(1, self.rounds):.1f}"


def left_behind(url: str, requests: Requests) -> Left:
    from storage.store import open_store

    left = Left(requests=Counter(requests.seen()))
    store = open_store(url)
    try:
        study = store.find_study("kill")
        if study is None:
            return left
        units: dict[str, Key] = {}
        for d in store.iter_dialogues(study.id):
            key = units[d.id] = (d.persona_id, d.task_id, d.arm.name, d.repetition)
            left.dialogues[key] += 1
            left.words[key] = d.stop_reason, [(m.role, m.content) for m in d.messages]
        for j in store.iter_judgements(study.id):
            key = (*units[j.dialogue_id], j.instrument.rubric, j.target, j.turn)
            left.judgements[key] += 1
            left.words[key] = j.status, j.value, j.rationale, j.evidence
    finally:
        store.close()
    return left


def compare(found: Left, reference: Left) -> Tally:
    """What is there too little, too often, or otherwise than in the reference."""
    there = found.dialogues + found.judgements
    due = reference.dialogues + reference.judgements
    unknown = set(found.requests) - set(reference.requests)
    return Tally(
        rounds=1,
        lost=(due - there).total(),
        duplicated=(there - due).total(),
        differing=len(unknown)
        + sum(reference.words[key] != words for key, words in found.words.items() if key in due),
        repaid=(found.requests - reference.requests).total(),
    )


# --- one round --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Moment:
    """So many seconds after so many calls of the round."""

    calls: int
    seconds: float


def moments(chance: random.Random, calls: int, latency: float) -> list[Moment]:
    drawn = []
    for _ in range(2 if chance.random() < TWICE else 1):
        if chance.random() < EARLY:
            drawn.append(Moment(0, chance.uniform(0, STARTING)))
        else:
            after = chance.randint(1, int(LAST * calls))
            drawn.append(Moment(after, chance.uniform(0, latency)))
    return sorted(drawn, key=lambda m: m.calls)


class Round:
    """A study that is started, disturbed at given moments, and started again until it is done."""

    def __init__(self, file: Path, world: dict[str, str], chance: random.Random) -> None:
        self._file, self._world, self._chance = file, world, chance
        self._processes = contextlib.ExitStack()
        self.url = world["RAPPORT_DATABASE_URL"]
        self.starts = self.kills = 0

    def __enter__(self) -> Round:
        return self

    def __exit__(self, *_: object) -> None:
        self._processes.close()

    def options(self) -> tuple[str, ...]:
        return ()

    def hit(self, process: Process) -> None:
        process.kill()

    def launch(self, *arguments: str) -> Process:
        """`cli.py` at work; whatever is left of it at the end of the round is killed."""
        process = cli(*arguments, world=self._world)
        self._processes.callback(process.end)
        return process

    def run(self, planned: list[Moment], requests: Requests) -> bool:
        """Whether the study was done in the end."""
        while self.starts < MOST_STARTS:
            self.starts += 1
            process = self.launch("run", str(self._file), *self.options(), "--json")
            until = time.monotonic() + LONGEST
            while planned and _reached(planned[0], process, requests, until):
                planned.pop(0)
                self.hit(process)
                self.kills += 1
            if process.finish(max(1.0, until - time.monotonic())).code == 0:
                return True
        return False


def _reached(moment: Moment, process: Process, requests: Requests, until: float) -> bool:
    """Wait for the moment; False when the process ended before it."""
    at: float | None = None
    while process.alive() and time.monotonic() < until:
        if at is None and len(requests.seen()) >= moment.calls:
            at = time.monotonic() + moment.seconds
        if at is not None and time.monotonic() >= at:
            return True
        time.sleep(0.003)
    return False


class WorkerRound(Round):
    """Two processes, one of which is killed: the one that was started, or its helper."""

    def options(self) -> tuple[str, ...]:
        return ("--workers", "2")

    def hit(self, process: Process) -> None:
        victim = self._chance.choice([process.pid, *_children(process.pid)])
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)


def _children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(child) for child in listed.split()]


class ConnectionRound(Round):
    """PostgreSQL ends every connection to the database."""

    def hit(self, process: Process) -> None:
        del process
        server, _, name = self.url.rpartition("/")
        run_sql(
            server,
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'",
        )


class DaskRound(Round):
    """Two workers of a cluster, one of which loses its power; a third stands in for it."""

    def __enter__(self) -> Round:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        self._address = f"tcp://127.0.0.1:{port}"
        dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard"]
        scheduler = Process([*dask, "--host", "127.0.0.1", "--port", port], self._world)
        self._processes.callback(scheduler.end)
        self._workers = [self._worker(), self._worker()]
        return self

    def options(self) -> tuple[str, ...]:
        return ("--cluster", self._address, "--workers", "2")

    def hit(self, process: Process) -> None:
        del process
        self._workers.pop(self._chance.randrange(2)).kill_all()
        self._workers.append(self._worker())

    def _worker(self) -> Process:
        return self.launch("worker", "--scheduler", self._address)


ROUNDS: dict[str, type[Round]] = {
    "runner": Round,
    "worker": WorkerRound,
    "connections": ConnectionRound,
    "dask": DaskRound,
}


@dataclass(frozen=True, slots=True)
class Trial:
    """What all rounds have in common."""

    load: Load
    provider: LocalProvider
    template: dict[str, str]
    seed: int

    def undisturbed(self) -> Left:
        with fresh(self.template["SQLite"]) as (url, world):
            requests, file = self.provider.requests(), self._file(world)
            ended = cli("run", str(file), "--json", world=world).finish(LONGEST).result
            if ended["owed"] or ended["failed"] or ended["unscored"]:
                raise RuntimeError(f"The undisturbed run did not end well: {ended}")
            return left_behind(url, requests)

    def disturbed(self, number: int, kind: str, engine: str, reference: Left) -> Tally:
        chance = random.Random(f"{self.seed}:{number}")
        began, calls = time.monotonic(), reference.requests.total()
        with fresh(self.template[engine]) as (url, world):
            planned, requests = moments(chance, calls, self.load.latency), self.provider.requests()
            with ROUNDS[kind](self._file(world), world, chance) as round_:
                done = round_.run(planned, requests)
            tally = compare(left_behind(url, requests), reference)
        tally.kills, tally.starts = round_.kills, round_.starts
        tally.lost += not done
        tally.allowed = round_.kills * self.load.concurrency
        tally.excess = max(0, tally.repaid - tally.allowed)
        tally.seconds = time.monotonic() - began
        return tally

    def _file(self, world: dict[str, str]) -> Path:
        file = Path(world["RAPPORT_DATA_DIR"]) / "study.yaml"
        file.write_text(yaml.safe_dump(self.load.study(self.provider.url)), encoding="utf-8")
        return file


# --- all rounds -------------------------------------------------------------------------------


def schedule(rounds: int, kinds: set[str], engines: set[str]) -> Iterator[tuple[int, str, str]]:
    able = [(k, e) for k, e in CYCLE if k in kinds and e in engines]
    if not able:
        raise SystemExit("None of these kinds of rounds can be run here.")
    for number in range(rounds):
        yield number, *able[number % len(able)]


def table(tallies: dict[tuple[str, str], Tally]) -> Tally:
    """Print what was found by kind and engine, and in all; returns the sum."""
    print("| killed | database | rounds | kills | starts | lost | duplicated | differing ", end="")
    print("| re-paid | in flight at most | re-paid beyond | seconds a round |")
    print(f"|{'---|' * 12}")
    total = Tally()
    for (kind, engine), tally in sorted(tallies.items()):
        print(f"| {kind} | {engine} | {tally.row()} |")
        total.add(tally)
    print(f"| total | | {total.row()} |", flush=True)
    return total


def main() -> None:
    end_tidily()
    given = _arguments()
    kinds = set(given.only.split(","))
    if importlib.util.find_spec("distributed") is None:
        kinds.discard("dask")
    engines = {"SQLite"} | ({"PostgreSQL"} if has_postgres(given.postgres) else set())
    load = Load(given.dialogues, given.latency, given.concurrency)
    tallies: dict[tuple[str, str], Tally] = defaultdict(Tally)
    with (
        contextlib.suppress(KeyboardInterrupt),
        templates(sorted(engines), given.postgres) as made,
        local_provider(load.latency, turns=3) as provider,
    ):
        trial = Trial(load, provider, made, given.seed)
        reference = trial.undisturbed()
        for number, kind, engine in schedule(given.rounds, kinds, engines):
            tally = trial.disturbed(number, kind, engine, reference)
            tallies[kind, engine].add(tally)
            words = "WRONG" if tally.wrong else "well"
            sys.stderr.write(f"round {number}, {kind}, {engine}: {words}; {tally.words()}\n")
    total = table(tallies)
    sys.exit(1 if total.wrong or not total.rounds else 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--only", default=",".join(KINDS), help="kinds, with commas between")
    parser.add_argument("--dialogues", type=int, default=12)
    parser.add_argument("--latency", type=float, default=0.05, help="seconds")
    parser.add_argument("--concurrency", type=int, default=8)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--postgres", default=POSTGRES, help="a server that lets us create")
    return parser.parse_args()


if __name__ == "__main__":
    main()
