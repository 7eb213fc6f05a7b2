"""Many annotators at one server at once: is a label lost or doubled, and how long does a key take?

    python -m benchmarks.annotators [--people 25] [--labels 40] [--only SQLite,PostgreSQL]

A study of made-up dialogues is drawn for that many annotators. Each is a session with the app of
its own, over its WebSocket, and rates what comes without a pause: a value, save, the reveal, go
on. Twice on the way the server is killed (`kill -9`) and started again; everybody comes back and
goes on. Then every label must be there once, and every rating that was half made at a kill must
have been found again.

`key` is from a value's key to the drawn page, `next` from the last key of a dialogue to the next
one, ready to be rated. Exit code 1 when a label is lost or doubled, or a half-made rating is.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.rig import POSTGRES, Process, cli, end_tidily, fresh, has_postgres, templates
from core.clock import new_id, now
from core.review_designs import store_draw
from core.review_types import Act, ReviewDesign, Work
from storage.store import open_store
from tests.support.reviewing import DIMENSION, fill_study, wish
from tests.support.session import Gone, Session
from tests.support.web import free_port

KILLS = 2
PATIENCE = 120.0


@dataclass
class Server:
    """The app, which can be killed and started again at the same address."""

    world: dict[str, str]
    port: int = field(default_factory=free_port)
    process: Process | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self.process = cli("serve", "--port", str(self.port), world=self.world)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(f"{self.address}/_stcore/health", timeout=1):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        raise RuntimeError("the app did not come up")

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill_all()
        self.process.end()


@dataclass
class Round:
    """One engine's work: what everybody shares."""

    server: Server
    design: ReviewDesign
    folder: Path
    store: Any
    wanted: int
    door: threading.Lock = field(default_factory=threading.Lock)
    lock: threading.Lock = field(default_factory=threading.Lock)
    keys: list[float] = field(default_factory=list)
    nexts: list[float] = field(default_factory=list)
    done: int = 0
    half: dict[str, tuple[str, int]] = field(default_factory=dict)
    half_made: int = 0
    half_lost: int = 0
    faults: list[str] = field(default_factory=list)

    def note(self, kind: list[float], seconds: float) -> None:
        with self.lock:
            kind.append(seconds)


@contextmanager
def seated(work: Round, person: str) -> Iterator[Session]:
    """A session in which the app knows who it is. On one machine it remembers the last name."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            with work.door:
                (work.folder / "author.txt").unlink(missing_ok=True)
                session = Session(
                    work.server.address, "desk", f"design={work.design.root_id}"
                ).__enter__()
                session.fill("desk.author", person)
            break
        except (Gone, OSError, TimeoutError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.3)
    try:
        yield session
    finally:
        session.__exit__(None, None, None)


def annotate(work: Round, person: str) -> None:
    """Rate until there is no more, coming back whenever the server has gone."""
    while True:
        try:
            with seated(work, person) as session:
                _find_half_made(work, person)
                while session.has("desk.save.") or session.has("desk.go."):
                    _one(work, session, person)
                return
        except (Gone, OSError):
            continue
        except Exception as error:  # the benchmark says what went wrong, and whose turn it was
            with work.lock:
                work.faults.append(f"{person}: {type(error).__name__} {error}")
            return


def _one(work: Round, session: Session, person: str) -> None:
    """Rate one dialogue, or go on from its reveal."""
    if session.has("desk.save."):
        dialogue = next(k for k in session.buttons if k.startswith("desk.save.")).split(".")[-1]
        value = 1 + int(dialogue[:4], 16) % 4
        began = time.monotonic()
        session.click(f"desk.value.{DIMENSION}.{value}.")
        work.note(work.keys, time.monotonic() - began)
        work.half[person] = dialogue, value
        session.click("desk.save.")
        session.until(lambda: session.has("desk.go."), PATIENCE)
        del work.half[person]
    began = time.monotonic()
    session.click("desk.go.")
    session.until(lambda: not session.has("desk.go."), PATIENCE)
    work.note(work.nexts, time.monotonic() - began)
    with work.lock:
        work.done += 1


def _find_half_made(work: Round, person: str) -> None:
    """After a kill: was what had been chosen, and not saved, kept?"""
    if person not in work.half:
        return
    dialogue, value = work.half.pop(person)
    mine = [
        a
        for a in work.store.list_assignments(work.design.root_id)
        if (a.annotator, a.dialogue_id) == (person, dialogue)
    ]
    if mine[0].work is not Work.OPEN:
        return  # it had been saved
    kept = dict(mine[0].draft).get("values") == {DIMENSION: value}
    with work.lock:
        work.half_made += kept
        work.half_lost += not kept


def run(template: str, engine: str, people: int, labels: int) -> bool:
    """One engine: work, kill, count. Prints its row; returns whether all was well."""
    names = [f"annotator {n}" for n in range(1, people + 1)]
    with fresh(template) as (url, world):
        store = open_store(url)
        fill_study(store, (people * labels + 1) // 2, dataset="mine")
        asked = wish(people * labels, annotators=tuple(names))
        design = store_draw(asked, store, now=now, new_id=new_id)
        work = Round(Server(world), design, Path(world["RAPPORT_DATA_DIR"]), store, people * labels)
        work.server.start()
        began = time.monotonic()
        threads = [threading.Thread(target=annotate, args=(work, name)) for name in names]
        for thread in threads:
            thread.start()
        for kill in range(1, KILLS + 1):
            while work.done < work.wanted * kill / (KILLS + 1) and any(
                t.is_alive() for t in threads
            ):
                time.sleep(0.05)
            work.server.kill()
            work.server.start()
        for thread in threads:
            thread.join()
        seconds = time.monotonic() - began
        work.server.kill()
        rated = Counter(
            (row.dialogue_id, row.annotator)
            for row in store.list_annotations(root_id=design.root_id)
            if row.act is Act.RATED
        )
        store.close()
    lost, doubled = work.wanted - len(rated), sum(n - 1 for n in rated.values())
    key, then = _p95(work.keys), _p95(work.nexts)
    sys.stdout.write(
        f"| {engine} | {people} | {work.wanted:,} | {lost} | {doubled} | {work.half_made} "
        f"| {work.half_lost} | {statistics.median(work.keys) * 1000:.0f} | {key * 1000:.0f} "
        f"| {statistics.median(work.nexts) * 1000:.0f} | {then * 1000:.0f} | {seconds:.0f} |\n"
    )
    sys.stdout.flush()
    for fault in work.faults:
        sys.stdout.write(f"{fault}\n")
    return not (lost or doubled or work.half_lost or work.faults)


def _p95(seconds: list[float]) -> float:
    return sorted(seconds)[int(0.95 * (len(seconds) - 1))]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--people", type=int, default=25)
    parser.add_argument("--labels", type=int, default=40, help="of each")
    parser.add_argument("--only", default="SQLite,PostgreSQL")
    given = parser.parse_args()
    end_tidily()
    engines = [e for e in given.only.split(",") if e == "SQLite" or has_postgres(POSTGRES)]
    sys.stdout.write(
        "| database | people | labels | lost | doubled | half made, found | half made, lost "
        "| key, ms | key p95 | next, ms | next p95 | seconds |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|\n"
    )
    with templates(engines) as made:
        well = [run(made[engine], engine, given.people, given.labels) for engine in engines]
    sys.exit(0 if all(well) else 1)


if __name__ == "__main__":
    main()
