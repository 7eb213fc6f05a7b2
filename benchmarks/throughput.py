"""How much of what latency and concurrency allow the runner makes of a study of model calls.

    python -m benchmarks.throughput [--only sqlite,postgresql,workers,sequential,inspect]

A provider on localhost, a process of its own, plays user, assistant and judge: every answer
takes `--latency` seconds. A dialogue is eight calls (four of each party) and six more by judges.
The ideal is calls x latency / concurrency: as many calls in flight as are allowed, all the time.

Rows: a study on SQLite, and on PostgreSQL; one process and two at `--short-latency`; a few
dialogues one call after another, as scripts do that loop over dialogues; and the same dialogues,
prompt by prompt, in Inspect AI, which the benchmark installs in an environment of its own.

The span runs from the first request at the provider to its last answer. Start-up is what passed
before it; wall is the whole process. Processor time is user and system time of the runner and
of what it started, start-up included. Of several rounds the median counts.
Exit code 1 when the runner makes less of the ideal than 90 %, or two processes less than 1.7
times of one.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from benchmarks.rig import (
    POSTGRES,
    Process,
    Ran,
    Served,
    cli,
    end_tidily,
    fresh,
    has_postgres,
    local_provider,
    templates,
)

ROWS = ("sqlite", "postgresql", "workers", "sequential", "inspect")
RUBRICS = (
    "task_completion",
    "personalization",
    "naturalness_user",
    "naturalness_assistant",
    "coherence_user",
    "coherence_assistant",
)
TURNS = 3  # messages of a user before the one that says goodbye
CALLS = 2 * (TURNS + 1) + len(RUBRICS)  # of one dialogue
LEAST_SHARE, LEAST_GAIN = 0.9, 1.7
INSPECT = ("inspect-ai==0.3.285", "openai==3.57.0")
HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Load:
    """What is asked of a runner."""

    dialogues: int
    latency: float
    concurrency: int

    @property
    def scenarios(self) -> tuple[int, int]:
        """How many scenarios of the sample, and how often each."""
        repetitions = math.ceil(self.dialogues / 500)
        return self.dialogues // repetitions, repetitions


@dataclass(frozen=True, slots=True)
class Measured:
    """One run of one row."""

    load: Load
    ran: Ran
    served: Served

    @property
    def ideal(self) -> float:
        return self.served.calls * self.load.latency / self.load.concurrency

    @property
    def share(self) -> float:
        return self.ideal / self.served.span

    @property
    def rate(self) -> float:
        return self.served.calls / self.served.span

    @property
    def processor_ms(self) -> float:
        return 1000 * self.ran.processor / self.served.calls


def study(load: Load, url: str) -> dict[str, Any]:
    limit, repetitions = load.scenarios
    model = {"model": "openai/local", "api_base": url}
    return {
        "name": "throughput",
        "dataset": "sample",
        "scenarios": {"kind": "all", "limit": limit, "seed": 7},
        "user_agent": model,
        "arms": [{"name": "local", "context": "all", **model}],
        "repetitions": repetitions,
        "judges": [{"rubrics": list(RUBRICS), "params": {"structured": True}, **model}],
        "limits": {"concurrency": load.concurrency},
    }


def ours(template: str, load: Load, workers: int = 1) -> Measured:
    """One run of `cli.py run` on a new database."""
    with fresh(template) as (_, world), local_provider(load.latency, TURNS) as provider:
        file = Path(world["RAPPORT_DATA_DIR"]) / "study.yaml"
        file.write_text(yaml.safe_dump(study(load, provider.url)), encoding="utf-8")
        ran = cli("run", str(file), "--workers", str(workers), "--json", world=world).finish()
        ended, served = ran.result, provider.served()
    if ran.code or ended["owed"] or ended["failed"] or ended["unscored"]:
        raise RuntimeError(f"The study did not end well: {ended}")
    return Measured(load, ran, served)


# --- Inspect AI -------------------------------------------------------------------------------


def inspect_python(cache: Path) -> Path:
    """The interpreter of an environment that holds the pinned Inspect AI, made when needed."""
    folder = cache / f"rapport-{INSPECT[0].replace('==', '-')}"
    interpreter = folder / "bin" / "python"
    if not (folder / "complete").exists():
        sys.stderr.write(f"installing {' and '.join(INSPECT)} into {folder}\n")
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        pip = [str(interpreter), "-m", "pip", "install", "-qq", *INSPECT]
        subprocess.run(pip, check=True, stdout=sys.stderr)
        (folder / "complete").touch()
    return interpreter


def inspect_ai(interpreter: Path, samples: Path, load: Load) -> Measured:
    """One run of `inspect_dialogue.py` by the interpreter of its environment."""
    with tempfile.TemporaryDirectory() as folder, local_provider(load.latency, TURNS) as provider:
        script = str(HERE / "inspect_dialogue.py")
        command = [str(interpreter), script, str(samples), provider.url, str(load.concurrency)]
        ran = Process([*command, folder], {"INSPECT_DISPLAY": "none"}).finish()
        served = provider.served()
    if ran.code or ran.result["unscored"] or ran.result["dialogues"] != load.dialogues:
        raise RuntimeError(f"Inspect AI did not end well: {ran.out[-500:]} {ran.err[-2000:]}")
    return Measured(load, ran, served)


def write_samples(template: str, load: Load, file: Path) -> None:
    """The very texts that our parties and judges are given, with a place for the dialogue."""
    from core.study import select_scenarios
    from core.study_file import parse_study
    from storage.store import open_store

    limit, repetitions = load.scenarios
    spec = parse_study(study(load, "http://127.0.0.1/v1"), source="benchmark")
    store = open_store(template)
    try:
        refs = select_scenarios("sample", spec.scenarios, store)
        scenarios = [store.get_scenario("sample", r.persona_id, r.task_id) for r in refs]
    finally:
        store.close()
    rows = [_sample(s, spec.arms[0].arm) for s in scenarios] * repetitions
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _sample(scenario: Any, arm: Any) -> dict[str, Any]:
    from core.assets import dialogue_text, load_prompt, load_rubric, sections_text
    from core.clock import now
    from core.context import assistant_briefing, user_briefing
    from core.judge import prompt_for
    from core.judge_call import answer_schema
    from core.parties import STOP_TOKEN
    from core.types import Message, Role

    said = "{{dialogue}}"
    stand_in = [Message(Role.USER, said, now())]
    person = sections_text(user_briefing(scenario).sections())
    known = sections_text(assistant_briefing(scenario, arm.context).sections())
    user, assistant = load_prompt("user_agent@1"), load_prompt("assistant@1")
    told = {
        "opening": user.render("opening", briefing=person, stop_token=STOP_TOKEN),
        "user": user.render("turn", briefing=person, dialogue=said, stop_token=STOP_TOKEN),
        "assistant": assistant.render("reply", context=known, dialogue=said),
    }
    judges = {
        name: prompt_for(stand_in, scenario, load_rubric(name), context=arm.context)
        for name in RUBRICS
    }
    line = dialogue_text(stand_in, numbered=True)
    return {
        "stop_token": STOP_TOKEN,
        **{name: [m.content for m in texts] for name, texts in told.items()},
        "judges": {
            name: [m.content.replace(line, said) for m in texts] for name, texts in judges.items()
        },
        "schemas": {name: answer_schema(load_rubric(name).scale) for name in RUBRICS},
    }


# --- the table --------------------------------------------------------------------------------

HEADS = (
    "what",
    "dialogues",
    "calls",
    "most at once",
    "start-up, s",
    "span, s",
    "wall, s",
    "ideal, s",
    "share of the ideal",
    "calls/s",
    "processor, ms a call",
)


def put(label: str, runs: Sequence[Measured]) -> None:
    """Print one row: medians, and the range where there are several rounds."""
    first = runs[0]
    cells = [
        label,
        f"{first.load.dialogues:,}",
        f"{first.served.calls:,}",
        f"{max(r.served.peak for r in runs)}",
        _median(runs, lambda r: r.served.first_at - r.ran.began_at, ".1f"),
        _median(runs, lambda r: r.served.span, ".1f"),
        _median(runs, lambda r: r.ran.wall, ".1f"),
        f"{first.ideal:.1f}",
        _median(runs, lambda r: 100 * r.share, ".1f") + " %",
        _median(runs, lambda r: r.rate, ".1f"),
        _median(runs, lambda r: r.processor_ms, ".1f"),
    ]
    print(f"| {' | '.join(cells)} |", flush=True)


def _median(runs: Sequence[Measured], value: Callable[[Measured], float], form: str) -> str:
    values = sorted(value(r) for r in runs)
    middle = format(statistics.median(values), form)
    if len(values) == 1:
        return middle
    return f"{middle} ({format(values[0], form)}–{format(values[-1], form)})"


@dataclass(frozen=True, slots=True)
class Plan:
    """What the command line asked for."""

    load: Load
    short: Load
    few: Load
    rounds: int
    cache: Path
    template: dict[str, str]

    def repeat(self, run: Callable[[], Measured]) -> list[Measured]:
        return [run() for _ in range(self.rounds)]


def study_row(plan: Plan, engine: str) -> Iterator[str]:
    """The runner at the usual latency. Yields what was missed."""
    runs = plan.repeat(lambda: ours(plan.template[engine], plan.load))
    put(f"Rapport, {engine}, {_at(plan.load)}", runs)
    share = statistics.median(r.share for r in runs)
    if share < LEAST_SHARE:
        yield f"{engine}: {100 * share:.1f} % of the ideal, and {100 * LEAST_SHARE:.0f} % are due"


def workers_rows(plan: Plan) -> Iterator[str]:
    """One process against two. Yields what was missed."""
    rates = []
    for workers in (1, 2):
        runs = plan.repeat(lambda n=workers: ours(plan.template["SQLite"], plan.short, n))  # type: ignore[misc]
        rates.append(statistics.median(r.rate for r in runs))
        put(f"Rapport, SQLite, {workers} process{'es'[: 2 * workers - 2]}, {_at(plan.short)}", runs)
    gain = rates[1] / rates[0]
    print(f"| two processes against one | | | | | | | | {gain:.2f} times the calls/s | | |")
    if gain < LEAST_GAIN:
        yield f"two processes: {gain:.2f} times of one, and {LEAST_GAIN} are due"


def sequential_row(plan: Plan) -> Iterator[str]:
    """Few dialogues with one call at a time, and what all of them would take."""
    runs = plan.repeat(lambda: ours(plan.template["SQLite"], plan.few))
    put("one call after another (Rapport, concurrency 1)", runs)
    span = statistics.median(r.served.span for r in runs) / plan.few.dialogues
    total = span * plan.load.dialogues
    print(
        f"| the same, extrapolated: {span:.1f} s a dialogue | {plan.load.dialogues:,} | | | "
        f"| {total:,.0f} | | | | | |"
    )
    yield from ()


def inspect_row(plan: Plan) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        samples = Path(folder) / "samples.jsonl"
        write_samples(plan.template["SQLite"], plan.load, samples)
        interpreter = inspect_python(plan.cache)
        runs = plan.repeat(lambda: inspect_ai(interpreter, samples, plan.load))
    put(f"Inspect AI {INSPECT[0].split('==')[1]}, {_at(plan.load)}", runs)
    yield from ()


def _at(load: Load) -> str:
    return f"{1000 * load.latency:.0f} ms × {load.concurrency}"


NOTES = """
Rapport keeps every answer in the database before it acts on it, and goes on after a kill from
the last answer; Inspect AI logs whole samples, and repeats a sample that was cut off. Inspect AI
asks its judges side by side. Both send the same prompts, one system text and one user message
each, and both run in one process with one model name; the provider plays the roles in both.
""".strip()


def main() -> None:
    end_tidily()
    given = _arguments()
    only = [row for row in ROWS if row in given.only.split(",")]
    if "postgresql" in only and not has_postgres(given.postgres):
        only.remove("postgresql")
    engines = ["SQLite", *(["PostgreSQL"] if "postgresql" in only else [])]
    load = Load(given.dialogues, given.latency, given.concurrency)
    short = Load(given.short_dialogues, given.short_latency, given.concurrency)
    few = Load(given.sequential_dialogues, given.latency, 1)
    with templates(engines, given.postgres) as made:
        plan = Plan(load, short, few, given.rounds, given.cache, made)
        rows: dict[str, Callable[[], Iterator[str]]] = {
            "sqlite": lambda: study_row(plan, "SQLite"),
            "postgresql": lambda: study_row(plan, "PostgreSQL"),
            "workers": lambda: workers_rows(plan),
            "sequential": lambda: sequential_row(plan),
            "inspect": lambda: inspect_row(plan),
        }
        print(f"| {' | '.join(HEADS)} |\n|{'---|' * len(HEADS)}", flush=True)
        missed = [words for row in only for words in rows[row]()]
    print(f"\n{NOTES}" if "inspect" in only else "")
    print("\n".join(missed) or "Everything that is due was reached.")
    sys.exit(1 if missed else 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=",".join(ROWS), help="rows, with commas between")
    parser.add_argument("--dialogues", type=int, default=200)
    parser.add_argument("--latency", type=float, default=0.5, help="seconds")
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--short-dialogues", type=int, default=600, help="of the rows on workers")
    parser.add_argument("--short-latency", type=float, default=0.05, help="seconds")
    parser.add_argument("--sequential-dialogues", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=1, help="of each row")
    parser.add_argument("--postgres", default=POSTGRES, help="a server that lets us create")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()))
    return parser.parse_args()


if __name__ == "__main__":
    main()
