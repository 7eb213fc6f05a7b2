"""A study on a real Dask cluster of two machines, which are two processes here."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from core.ports import Study
from core.types import StudyState
from storage.store import SqlStore, open_store
from tests.support.provider import Provider
from tests.support.web import ROOT

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(
        importlib.util.find_spec("distributed") is None
        and os.environ.get("RAPPORT_REQUIRE_CLUSTER") != "1",
        reason="Dask is not installed (requirements-cluster.txt)",
    ),
]
CONCURRENCY = 4


class Cluster:
    """A scheduler and its workers as processes; everything is ended at the end."""

    def __init__(self, folder: Path, database_url: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{port}"
        self._folder = folder
        self._world = os.environ | {"RAPPORT_DATABASE_URL": database_url}
        self._processes: list[subprocess.Popen[bytes]] = []
        dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard"]
        self.start("scheduler", *dask, "--host", "127.0.0.1", "--port", str(port))

    def start(self, name: str, *command: str, **world: str) -> subprocess.Popen[bytes]:
        """A process with a session of its own, as if on a machine of its own."""
        with (self._folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=self._world | world,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._processes.append(process)
        return process

    def worker(self, name: str, **world: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "cli.py", "worker", "--scheduler", self.address]
        return self.start(name, *command, **world)

    def run(self, file: Path, *options: str, **world: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "cli.py", "run", str(file), "--cluster", self.address, *options]
        return self.start("client", *command, **world)

    def log(self, name: str) -> str:
        file = self._folder / f"{name}.log"
        return file.read_text(encoding="utf-8") if file.exists() else ""

    def logs(self) -> str:
        return "\n".join(f"--- {p.name}\n{p.read_text()}" for p in self._folder.glob("*.log"))

    def end(self) -> None:
        for process in self._processes:
            kill_machine(process)
            process.wait()


def kill_machine(process: subprocess.Popen[bytes]) -> None:
    """`kill -9` to a process and all that it started, as when a machine loses its power."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture
def store(postgres_url: str) -> Iterator[SqlStore]:
    opened = open_store(postgres_url)
    yield opened
    opened.close()


@pytest.fixture
def cluster(tmp_path: Path, postgres_url: str) -> Iterator[Cluster]:
    made = Cluster(tmp_path, postgres_url)
    yield made
    made.end()


def study_file(folder: Path, **changes: Any) -> Path:
    study = {
        "name": "far",
        "dataset": "sample",
        "scenarios": {"kind": "all", "users": "0-9", "limit": 60, "seed": 7},
        "arms": [
            {"name": "attentive", "model": "scripted/attentive", "context": "all"},
            {"name": "forgetful", "model": "scripted/forgetful", "context": "all"},
        ],
        "judges": [{"model": "scripted/judge", "rubrics": ["personalization"]}],
    }
    file = folder / "study.yaml"
    file.write_text(yaml.safe_dump(study | changes), encoding="utf-8")
    return file


def wait_until(true: Callable[[], bool], cluster: Cluster, seconds: float = 180) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, cluster.logs()[-4000:]
        time.sleep(0.02)


def study_of(store: SqlStore) -> Study:
    return store.get_study("far")


def units_of(store: SqlStore) -> Counter[str | None]:
    return Counter(d.unit_id for d in store.iter_dialogues(study_of(store).id))


@pytest.mark.slow
def test_study_is_complete_and_each_dialogue_there_once_though_a_machine_dies(
    cluster: Cluster, store: SqlStore, tmp_path: Path
) -> None:
    machines = {m.pid: m for m in (cluster.worker("one"), cluster.worker("two"))}
    client = cluster.run(study_file(tmp_path, repetitions=9))

    def at_work() -> list[int]:
        """Process ids of runners that hold units."""
        study = store.find_study("far")
        owners = store.lease_owners(study.id) if study else []
        return [int(owner.split(":")[1]) for owner in owners]

    wait_until(lambda: bool(at_work()), cluster)
    kill_machine(machines[os.getsid(at_work()[0])])
    assert client.wait(240) == 0, cluster.logs()[-4000:]
    assert "is gone" in cluster.log("client")
    progress = store.progress(study_of(store).id)
    assert (progress.done, progress.owed, progress.state) == (1080, 0, StudyState.DONE)
    assert progress.judgements == 1080
    units = units_of(store)
    assert (len(units), max(units.values())) == (1080, 1)


@pytest.mark.slow
def test_machine_that_dies_in_the_middle_costs_only_its_calls_in_flight(
    cluster: Cluster, store: SqlStore, tmp_path: Path
) -> None:
    """Two machines share the limits; one loses its power, and a third stands in for it."""
    with Provider(latency=0.05) as provider:
        base = {"api_base": provider.url}
        file = study_file(
            tmp_path,
            scenarios={"kind": "all", "limit": 40, "seed": 3},
            user_agent={"model": "openai/user", **base},
            arms=[{"name": "local", "model": "openai/local", "context": "all", **base}],
            judges=[],
            limits={"concurrency": CONCURRENCY},
        )
        one = cluster.worker("one")
        cluster.worker("two")
        client = cluster.run(file, "--workers", "2")
        wait_until(lambda: provider.served > 60, cluster)
        kill_machine(one)
        cluster.worker("three")
        assert client.wait(240) == 0, cluster.logs()[-4000:]
        counts, peak = Counter(provider.counts), provider.peak

    progress = store.progress(study_of(store).id)
    assert (progress.done, progress.failed, progress.owed) == (40, 0, 0)
    assert progress.state is StudyState.DONE
    units = units_of(store)
    assert (len(units), max(units.values())) == (40, 1)
    assert sum(n - 1 for n in counts.values()) <= CONCURRENCY
    assert peak <= CONCURRENCY + CONCURRENCY // 2  # the dead machine's calls still ring out
    assert len(re.findall("begins", cluster.log("client"))) == 3


@pytest.mark.slow
def test_keys_do_not_travel_and_a_worker_that_lacks_one_says_so(
    cluster: Cluster, store: SqlStore, tmp_path: Path
) -> None:
    cluster.worker("keyless")
    arm = {"name": "far away", "model": "openai/gpt-4o-mini"}
    client = cluster.run(study_file(tmp_path, arms=[arm]), OPENAI_API_KEY="sk-very-secret")
    assert client.wait(240) == 1, cluster.logs()[-4000:]
    progress = store.progress(study_of(store).id)
    assert (progress.state, progress.failed) == (StudyState.PAUSED, 0)
    assert "OPENAI_API_KEY" in progress.message
    assert "OPENAI_API_KEY" in cluster.log("keyless")
    assert "sk-very-secret" not in cluster.logs()
