"""A small judged study: some personas, two tasks each, and a value for every arm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from core.ports import Finished, Study
from core.types import Dialogue, Judgement
from tests.builders import (
    WEIRD,
    make_arm,
    make_dialogue,
    make_instrument,
    make_judgement,
    make_study,
    make_study_spec,
    make_task,
)

ARMS: Mapping[str, int] = {"attentive": 4, "forgetful": 2, "pushy": 3}
DIMENSIONS = ("personalization", "naturalness_assistant")


def judged(
    *,
    personas: int = 10,
    arms: Mapping[str, int] = ARMS,
    dimensions: Sequence[str] = DIMENSIONS,
    changed: tuple[str, str, str] | None = None,
    words: str = WEIRD,
) -> tuple[Study, list[Finished]]:
    """A study and its finished dialogues. `changed` names persona, arm and dimension of one
    judgement that comes out one lower.
    """
    names = [name for name in arms if name.isascii()]
    spec = make_study_spec(arms=[f"scripted/{n}" for n in names], question=f"Which? {words}")
    study = make_study(spec=spec)
    found = []
    for p in range(personas):
        for task in (make_task("SD-Books-task-0"), make_task("SD-Books-task-1")):
            for name, value in arms.items():
                dialogue = make_dialogue(
                    f"user: hi {words}",
                    f"assistant: hello </script><script>alert(1)</script> {words}",
                    arm=make_arm(name),
                    task=task,
                    study_id=study.id,
                    persona_id=f"user{p}",
                )
                rated = [_rate(dialogue, d, value, p, name, changed) for d in dimensions]
                found.append(Finished(dialogue, tuple(rated)))
    return study, found


def _rate(
    dialogue: Dialogue, dimension: str, value: int, p: int, arm: str, changed: Any
) -> Judgement:
    lower = (p % 3 == 0 and value > 1) + (
        changed == (f"user{p}", arm, dimension) and dialogue.task_id.endswith("0")
    )
    made = make_judgement(
        dialogue,
        value=max(1, value - lower),
        dimension=dimension,
        instrument=make_instrument(f"{dimension}@1"),
        rationale=f"It used <b>what</b> it knew $x$ {WEIRD}",
    )
    return replace(made, study_id=dialogue.study_id)


def store_judged(store: Any, **how: Any) -> Study:
    """Put such a study into a store."""
    study, finished = judged(**how)
    store.add_study(study)
    store.add_finished(finished)
    return study
