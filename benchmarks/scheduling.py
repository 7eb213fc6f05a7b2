"""How much of what latency allows the order of calls leaves over.

A model that sleeps answers in this process, so that nothing but the runner is measured:
`python -m benchmarks.scheduling --dialogues 200 --concurrency 64 --latency 0.5`.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
import threading
import time
from pathlib import Path

from core.clock import now
from core.limits import Caps
from core.parties import STOP_TOKEN
from core.ports import Again, ChatRequest, IsCancelled, OnDelta, Reply
from core.runner import Runner
from core.study import plan
from core.study_file import ArmEntry, JudgeEntry, ModelEntry, StudySpec
from core.types import Part
from storage.store import open_store
from tests.builders import fill_dataset, make_persona

RUBRICS = (
    *("personalization", "task_completion", "naturalness_user"),
    *("naturalness_assistant", "coherence_user", "coherence_assistant"),
)


class Sleeper:
    """A `ChatModel` that plays all sides after `latency` seconds; its users write 2 to 4 times."""

    def __init__(self, latency: float) -> None:
        self.latency, self.calls = latency, 0
        self._lock = threading.Lock()

    def reply(
        self,
        request: ChatRequest,
        *,
        on_delta: OnDelta | None = None,
        is_cancelled: IsCancelled | None = None,
        again: Again | None = None,
    ) -> Reply:
        del on_delta, is_cancelled, again
        time.sleep(self.latency)
        with self._lock:
            self.calls += 1
        return Reply(self._text(request), tokens_in=1, tokens_out=1, cost_usd=0.0)

    def worst_cost(self, request: ChatRequest) -> float | None:
        del request
        return 0.0

    def _text(self, request: ChatRequest) -> str:
        last = request.messages[-1].content
        if request.schema is not None:
            value = '"yes"' if "'yes'" in str(request.schema) else "3"
            return f'{{"evidence": [1], "rationale": "It fits.", "value": {value}}}'
        if STOP_TOKEN not in last:
            return "I can do that. Shall I?"
        who = [line for line in last.splitlines() if "years old" in line]
        wanted = 2 + hashlib.sha256(str(who).encode()).digest()[0] % 3
        done = last.count("I can do that") >= wanted
        return f"Yes, thanks. {STOP_TOKEN}" if done else "Could you help me?"


def measure(dialogues: int, concurrency: int, latency: float, folder: Path) -> None:
    """Run a study in a new SQLite file in `folder`, and print what share of the ideal it took."""
    store = open_store(f"sqlite:///{folder / 'rapport.db'}")
    people = [make_persona(f"user{i}", age=f"{i} years old") for i in range(dialogues)]
    fill_dataset(store, personas=people)
    spec = StudySpec(
        name="scheduling",
        dataset="sample",
        user_agent=ModelEntry(model="fake/user"),
        arms=(ArmEntry(name="fake", model="fake/assistant", context=tuple(Part)),),
        judges=(JudgeEntry(model="fake/judge", rubrics=RUBRICS),),
    )
    model = Sleeper(latency)
    runner = Runner(plan(spec, store, now).study, store, model, caps=Caps(concurrency))
    wall, processor = time.monotonic(), time.process_time()
    progress = runner.run()
    wall, processor = time.monotonic() - wall, time.process_time() - processor
    store.close()
    ideal = model.calls * latency / concurrency
    print("dialogues  calls  at once  latency  seconds  ideal  share  processor ms per call")
    print(
        f"{progress.done:9,}  {model.calls:5,}  {concurrency:7}  {latency:7}  {wall:7.1f}  "
        f"{ideal:5.1f}  {ideal / wall:5.3f}  {1000 * processor / model.calls:21.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dialogues", type=int, default=200)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--latency", type=float, default=0.5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(given.dialogues, given.concurrency, given.latency, Path(folder))


if __name__ == "__main__":
    main()
