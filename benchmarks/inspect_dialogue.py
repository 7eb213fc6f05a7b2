"""The dialogues of `throughput.py` as an Inspect AI task; run by an interpreter that has it.

    python inspect_dialogue.py SAMPLES.jsonl BASE_URL CONNECTIONS LOG_FOLDER

Each line of SAMPLES holds the texts that user, assistant and judges are told, with a place for
the dialogue. Both parties talk in one solver, the judges rate side by side in one scorer, and
all of them share one model, whose connections are limited. Prints one JSON object.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ResponseSchema,
    get_model,
)
from inspect_ai.scorer import Score, Target, mean, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import JSONSchema, collect

PLACE, MAX_TURNS = "{{dialogue}}", 20


async def ask(model: Model, told: list[str], dialogue: str, **config: Any) -> str:
    system, user = told
    asked = ChatMessageUser(content=user.replace(PLACE, dialogue))
    messages = [ChatMessageSystem(content=system), asked]
    output = await model.generate(messages, config=GenerateConfig(**config))
    return output.completion


def as_text(said: list[tuple[str, str]]) -> str:
    return "\n".join(f"{role}: {text}" for role, text in said)


def numbered(said: list[tuple[str, str]]) -> str:
    return "\n".join(f"{n // 2 + 1} {role[0]}: {text}" for n, (role, text) in enumerate(said))


@solver
def two_parties() -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate
        model, told = get_model(), state.metadata
        said: list[tuple[str, str]] = []

        async def speak(texts: list[str], temperature: float) -> str:
            return await ask(model, texts, as_text(said), temperature=temperature, max_tokens=800)

        said.append(("User", await speak(told["opening"], 0.5)))
        for _ in range(MAX_TURNS):
            said.append(("Assistant", await speak(told["assistant"], 0.0)))
            text = await speak(told["user"], 0.5)
            said.append(("User", text.removesuffix(told["stop_token"]).strip()))
            if text.endswith(told["stop_token"]):
                said.append(("Assistant", await speak(told["assistant"], 0.0)))
                break
        state.metadata["said"] = said
        return state

    return solve


@scorer(metrics={"*": [mean()]})
def judges() -> Any:
    async def score(state: TaskState, target: Target) -> Score:
        del target
        model, text = get_model(), numbered(state.metadata["said"])

        async def rate(rubric: str) -> Any:
            schema = JSONSchema.model_validate(state.metadata["schemas"][rubric])
            answer = await ask(
                model,
                state.metadata["judges"][rubric],
                text,
                temperature=0.0,
                max_tokens=4000,
                response_schema=ResponseSchema(name="answer", json_schema=schema, strict=True),
            )
            return json.loads(answer)["value"]

        rubrics = list(state.metadata["judges"])
        values = await collect(*(rate(rubric) for rubric in rubrics))
        return Score(value=dict(zip(rubrics, values, strict=True)))

    return score


def main() -> None:
    file, url, connections, folder = sys.argv[1:]
    rows = [json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()]
    samples = [Sample(input="a dialogue", metadata=row) for row in rows]
    task = Task(dataset=MemoryDataset(samples), solver=two_parties(), scorer=judges())
    (log,) = eval(
        task,
        model=get_model("openai-api/local/local", base_url=url, api_key="no-key-needed"),
        max_connections=int(connections),
        adaptive_connections=False,
        max_samples=len(samples),
        log_dir=folder,
    )
    done = [s for s in log.samples or [] if s.scores]
    values = [v for s in done for v in s.scores["judges"].value.values()]
    counts = {"dialogues": len(done), "judgements": len(values)}
    counts["unscored"] = len(rows) * len(rows[0]["judges"]) - len(values)
    sys.stdout.write(json.dumps({"status": log.status, **counts}) + "\n")


if __name__ == "__main__":
    main()
