"""An OpenAI-compatible chat-completions server on localhost that can misbehave to order.

    with Provider(latency=0.02) as provider:
        provider.script("picky", [Fault.RATE_LIMIT, "second time lucky"])
        ... call http://127.0.0.1:PORT/v1 (provider.url) ...
        assert provider.served == 2

Without a script it plays user agent, assistant and judge (see `roles.py`). What it does is a
function of its seed and of the bodies it is sent, never of the order in which they arrive.
Also a program: `python -m tests.support.provider --port 8000 --latency 0.3-0.7`; then
`GET /summary` says what it served, from when to when, and what it cost.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from tests.support.answers import (
    STREAM_END,
    Answer,
    Fault,
    Received,
    body_hash,
    completion,
    error_for,
    head,
    stream_events,
)
from tests.support.roles import Markers, play

Latency = float | tuple[float, float] | Callable[[random.Random], float]
Scripted = Answer | Fault | str
Rule = Callable[[Received], Scripted | None]

STALL_SECONDS = 3600.0
SLOW_SECONDS = 0.5  # for a whole answer that dribbles in, whether it is streamed or not


def _as_answer(value: Scripted) -> Answer:
    if isinstance(value, Fault):
        return Answer(fault=value)
    return value if isinstance(value, Answer) else Answer(text=value)


@dataclass
class Provider:
    """The server. Every setting may be changed while it runs.

    `faults` maps a fault to its share of requests (0 to 1), drawn by `seed`, body and how
    often that body came. `rule` is asked first, then the model's script, then the mix.
    `keys` and `models`, when given, are all that is accepted. `log_path` receives a JSON line
    per request as it arrives, so that it may be counted after processes were killed.
    """

    latency: Latency = 0.0
    faults: Mapping[Fault, float] = field(default_factory=dict)
    seed: int = 0
    rule: Rule | None = None
    markers: Markers = Markers()
    keys: frozenset[str] | None = None
    models: frozenset[str] | None = None
    log_path: Path | None = None
    port: int = 0
    piece: int = 12
    piece_seconds: float = 0.0

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: list[Received] = []
        self._counts: Counter[str] = Counter()
        self._scripts: dict[str, deque[Scripted]] = {}
        self._in_flight = 0
        self.peak = 0
        self.accepted = 0  # connections
        self.hung_up = 0  # clients that left before their answer was complete
        self.first_at = self.last_at = 0.0  # the first request, the last complete answer
        self._connections: set[asyncio.Task[None]] = set()
        self._ready = threading.Event()
        self._log: TextIO | None = None

    # --- what a test asks -----------------------------------------------------------------

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def requests(self) -> list[Received]:
        with self._lock:
            return list(self._requests)

    @property
    def served(self) -> int:
        with self._lock:
            return len(self._requests)

    @property
    def counts(self) -> dict[str, int]:
        """Requests per identical body."""
        with self._lock:
            return dict(self._counts)

    def summary(self) -> dict[str, float]:
        """What was served so far; times are of the wall clock, `processor` of this process."""
        with self._lock:
            return {
                "served": len(self._requests),
                "distinct": len(self._counts),
                "peak": self.peak,
                "first_at": self.first_at,
                "last_at": self.last_at,
                "processor": time.process_time(),
            }

    def script(self, model: str, answers: Iterable[Scripted]) -> None:
        """Let `model` give these answers, one per request; after them it plays its role."""
        with self._lock:
            self._scripts[model] = deque(answers)

    def forget(self) -> None:
        with self._lock:
            self._requests.clear()
            self._counts.clear()
            self._scripts.clear()
            self.peak = self.hung_up = 0
            self.first_at = self.last_at = 0.0

    # --- life -----------------------------------------------------------------------------

    def __enter__(self) -> Provider:
        self._log = self.log_path.open("a", encoding="utf-8") if self.log_path else None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        if not self._ready.wait(10):
            raise RuntimeError("the provider did not start within 10 seconds")
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)
        if self._log:
            self._log.close()

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", self.port, backlog=1024)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    # --- one connection -------------------------------------------------------------------

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        self.accepted += 1
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._connections.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; False when the connection is to be closed."""
        line, headers = _parse_head(await reader.readuntil(b"\r\n\r\n"))
        raw = await reader.readexactly(int(headers.get("content-length", "0")))
        if line.startswith("GET /summary"):
            return await _send(writer, 200, self.summary())
        if not line.startswith("POST") or "/chat/completions" not in line:
            return await _send(writer, 200, {"object": "list", "data": []})
        received = self._receive(json.loads(raw), headers)
        answer = self._decide(received)
        self._note(received, answer)
        try:
            goes_on = await self._answer(writer, received, answer)
            self.last_at = time.time()
            return goes_on
        except ConnectionError:
            self.hung_up += 1
            raise
        finally:
            self._in_flight -= 1

    def _receive(self, body: dict[str, Any], headers: Mapping[str, str]) -> Received:
        digest = body_hash(body)
        with self._lock:
            self._counts[digest] += 1
            self._in_flight += 1
            self.peak = max(self.peak, self._in_flight)
            self.first_at = self.first_at or time.time()
            key = headers.get("authorization", "").removeprefix("Bearer ")
            return Received(body, digest, self._counts[digest], key)

    def _decide(self, received: Received) -> Answer:
        if self.keys is not None and received.key not in self.keys:
            return Answer(fault=Fault.BAD_KEY)
        if self.models is not None and received.model not in self.models:
            return Answer(fault=Fault.UNKNOWN_MODEL)
        ruled = self.rule(received) if self.rule else None
        if ruled is None:
            with self._lock:
                script = self._scripts.get(received.model)
                ruled = script.popleft() if script else None
        answer = _as_answer(self._draw(received) if ruled is None else ruled)
        return answer.with_text(lambda: play(received, self.markers))

    def _draw(self, received: Received) -> Fault:
        roll = self._random(received, "fault").random()
        for fault, share in self.faults.items():
            roll -= share
            if roll < 0:
                return fault
        return Fault.NONE

    def _random(self, received: Received, what: str) -> random.Random:
        return random.Random(f"{self.seed}:{what}:{received.hash}:{received.occurrence}")

    def _note(self, received: Received, answer: Answer) -> None:
        received.fault = answer.fault
        with self._lock:
            self._requests.append(received)
            if self._log:
                row = {
                    "hash": received.hash,
                    "model": received.model,
                    "occurrence": received.occurrence,
                    "fault": answer.fault,
                }
                self._log.write(json.dumps(row) + "\n")
                self._log.flush()

    def _seconds(self, received: Received, answer: Answer) -> float:
        if answer.latency is not None:
            return answer.latency
        if isinstance(self.latency, float | int):
            return float(self.latency)
        chance = self._random(received, "latency")
        if isinstance(self.latency, tuple):
            return chance.uniform(*self.latency)
        return self.latency(chance)

    async def _answer(
        self, writer: asyncio.StreamWriter, received: Received, answer: Answer
    ) -> bool:
        if answer.fault is Fault.STALL:
            await asyncio.sleep(STALL_SECONDS)
        await asyncio.sleep(self._seconds(received, answer))
        if answer.fault is Fault.RESET:
            writer.transport.abort()
            return False
        if error := error_for(received, answer):
            return await _send(writer, *error)
        if received.body.get("stream") and not answer.fault.breaks_body:
            return await self._stream(writer, received, answer)
        return await _send_body(writer, completion(received, answer), answer.fault)

    async def _stream(
        self, writer: asyncio.StreamWriter, received: Received, answer: Answer
    ) -> bool:
        writer.write(head(200, {"content-type": "text/event-stream", "connection": "close"}))
        pause = self.piece_seconds if answer.piece_seconds is None else answer.piece_seconds
        events = list(stream_events(received, answer, self.piece))
        if answer.fault is Fault.SLOW:
            pause = SLOW_SECONDS / len(events)
        for number, event in enumerate(events):
            if answer.fault is Fault.CUT_STREAM and number >= len(events) // 2:
                writer.transport.abort()
                return False
            if answer.fault is Fault.STALL_STREAM and number >= len(events) // 2:
                await asyncio.sleep(STALL_SECONDS)
            writer.write(b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\n\n")
            await writer.drain()
            await asyncio.sleep(pause)
        writer.write(STREAM_END)
        await writer.drain()
        return False


def _parse_head(raw: bytes) -> tuple[str, dict[str, str]]:
    line, *rest = raw.decode("latin-1").split("\r\n")
    pairs = (header.partition(":") for header in rest if header)
    return line, {name.strip().lower(): value.strip() for name, _, value in pairs}


async def _send(
    writer: asyncio.StreamWriter,
    status: int,
    body: Mapping[str, Any],
    headers: Mapping[str, str] | None = None,
) -> bool:
    raw = json.dumps(body, ensure_ascii=False).encode()
    extra = {"content-type": "application/json", "content-length": str(len(raw))}
    writer.write(head(status, extra | dict(headers or {})) + raw)
    await writer.drain()
    return True


async def _send_body(writer: asyncio.StreamWriter, body: Mapping[str, Any], fault: Fault) -> bool:
    if not fault.breaks_body and fault is not Fault.SLOW:
        return await _send(writer, 200, body)
    raw = json.dumps(body).encode()
    if fault is Fault.INVALID_JSON:
        raw = raw.replace(b'"choices"', b"'choices'")
    # Said, so that no client sends its next request down a line that is being hung up.
    headers = {
        "content-type": "application/json",
        "content-length": str(len(raw)),
        "connection": "close",
    }
    sent = raw[: len(raw) // 2] if fault is Fault.TRUNCATED else raw
    writer.write(head(200, headers))
    size = len(sent) // 10 + 1 if fault is Fault.SLOW else len(sent)
    for start in range(0, len(sent), size):
        writer.write(sent[start : start + size])
        await writer.drain()
        if fault is Fault.SLOW:
            await asyncio.sleep(SLOW_SECONDS / 10)
    return False


def latency_of(text: str) -> Latency:
    """`0.5`, `0.3-0.7` (uniform) or `~0.5` (log-normal, median 0.5 s, a long tail)."""
    if text.startswith("~"):
        median = float(text[1:])
        return lambda chance: median * chance.lognormvariate(0, 0.5)
    low, _, high = text.partition("-")
    return (float(low), float(high)) if high else float(low)


def faults_of(text: str) -> dict[Fault, float]:
    """`rate_limit=0.05,server_error=0.02` as a fault mix."""
    pairs = (part.partition("=") for part in text.split(",") if part)
    return {Fault(name.strip()): float(share) for name, _, share in pairs}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.support.provider")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=latency_of, default=0.0, help="0.5, 0.3-0.7 or ~0.5")
    parser.add_argument("--faults", type=faults_of, default={}, help="rate_limit=0.05,reset=0.01")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", type=Path, help="append a JSON line per request to this file")
    parser.add_argument("--turns", type=int, help="messages that each user writes; else 2 to 4")
    parser.add_argument("--piece-seconds", type=float, default=0.0, help="between stream pieces")
    given = parser.parse_args(arguments)
    provider = Provider(
        latency=given.latency,
        faults=given.faults,
        seed=given.seed,
        markers=Markers(turns=(given.turns,) * 2) if given.turns else Markers(),
        log_path=given.log,
        port=given.port,
        piece_seconds=given.piece_seconds,
    )
    with provider, contextlib.suppress(KeyboardInterrupt):
        sys.stdout.write(f"{provider.url}\n")
        sys.stdout.flush()
        threading.Event().wait()


if __name__ == "__main__":
    main()
