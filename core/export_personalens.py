"""A study in the file layout of PersonaLens, so that the benchmark's own scripts can read it.

Dialogues as its generation writes them, evaluations as its gathering parses them (arXiv
2506.09902, commit e755f90 of its code). A repetition after the first has its own tree.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

from core.errors import AppError
from core.files import Folder, safe_name
from core.ports import Store, Study
from core.records import message_record
from core.types import Arm, Dialogue, Judgement, Part, Target, digest

_TAG = {Part.DEMOGRAPHICS: "_d", Part.INTERACTIONS: "_p", Part.SITUATION: "_s"}
_USER = re.compile(r"user(\d{1,9})")
_TASK = re.compile(r"(?:SD-[A-Za-z][\w &'-]{0,60}-task-\d{1,6}|MD-task-\d{1,6})")
# dimension here -> folder there, the word before "Score", the file's suffix
_DIMENSIONS = {
    "task_completion": ("task_completion", "", ""),
    "personalization": ("personalization", "Personalization", ""),
    "naturalness_user": ("naturalness", "Naturalness", "_user"),
    "naturalness_assistant": ("naturalness", "Naturalness", "_asst"),
    "coherence_user": ("coherence", "Coherence", "_user"),
    "coherence_assistant": ("coherence", "Coherence", "_asst"),
}

# The gathering script looks for these judge folders and for no others, whoever judged.
_GATHERED = {"task_completion": "claude-3-sonnet-v1"}
_GATHERED_OTHERWISE = "claude-3-5-sonnet-v2"
README = """\
Dialogues and evaluations in the file layout of the PersonaLens benchmark.

The benchmark's gathering script looks for evaluations in folders with fixed names: {named}.
So the first judge of each dimension stands in the folder of that name, whoever it was; each
evaluation names its real judge in its last line, and so does the list below. Further judges
stand in folders of their own names, which the script does not read.

{judges}
"""


def write_personalens(store: Store, study: Study, folder: Folder) -> dict[str, Any]:
    """Write dialogues and evaluations; returns counts of what is in and what is left out.

    Left out, because the layout has no word for them: dialogues that ended in a fault,
    branches, attempts that a later one replaced, judgements without a value, and dimensions
    that PersonaLens does not have. Raises `AppError` for personas or tasks of another dataset.
    """
    writing = _Writing(folder)
    for dialogue in store.iter_dialogues(study.id):
        writing.add_dialogue(dialogue)
    for judgement in store.iter_judgements(study.id):
        writing.add_judgement(judgement)
    folder.write_text("README.txt", writing.readme())
    return writing.counts()


class _Names:
    """Folder names for untrusted keys: safe everywhere, and no two alike."""

    def __init__(self) -> None:
        self._of_key: dict[str, str] = {}
        self._taken: set[str] = set()

    def name(self, key: str, stem: str, suffix: str = "") -> str:
        """The name of `key`, made of `stem` and `suffix` when it is asked for first."""
        if key not in self._of_key:
            name = f"{safe_name(stem)}{suffix}"
            if name.casefold() in self._taken:
                name = f"{safe_name(stem)}-{digest(key)[:8]}{suffix}"
            self._taken.add(name.casefold())
            self._of_key[key] = name
        return self._of_key[key]


class _Writing:
    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._arms = _Names()
        self._judges: dict[str, _Names] = {}  # one set of names per folder of a dimension
        self._who: dict[str, str] = {}  # dimension and judge folder -> who judged
        self._places: dict[str, tuple[str, str, str, str]] = {}  # dialogue -> tree, user, arm, task
        self._attempts: dict[tuple[str, ...], tuple[int, str]] = {}
        self._rated: dict[str, str] = {}  # file -> when its judgement was made
        self._left_out: Counter[str] = Counter()

    # dialogues

    def add_dialogue(self, dialogue: Dialogue) -> None:
        """Write a dialogue, or count why it is left out."""
        reason = _unfit(dialogue)
        if reason:
            self._left_out[reason] += 1
            return
        user, task = _checked(dialogue)
        tree = f"repetition_{dialogue.repetition}/output" if dialogue.repetition else "output"
        place = (tree, user, self._arm(dialogue.arm), task)
        if not self._is_latest(place, dialogue):
            return
        self._places[dialogue.id] = place
        name = "/".join((tree, "dialogue", user, place[2], f"{task}_dialogue.json"))
        text = json.dumps(_record(dialogue, int(user[4:])), ensure_ascii=False, indent=4)
        self._folder.write_text(name, text)

    def _is_latest(self, place: tuple[str, ...], dialogue: Dialogue) -> bool:
        attempt, replaced = self._attempts.get(place, (0, ""))
        if attempt:
            self._left_out["earlier attempt"] += 1
        if dialogue.attempt < attempt:
            return False
        self._places.pop(replaced, None)
        self._attempts[place] = (dialogue.attempt, dialogue.id)
        return True

    def _arm(self, arm: Arm) -> str:
        tags = "".join(_TAG[p] for p in Part if p in arm.context)
        return self._arms.name(arm.name, arm.assistant.model, tags)

    # evaluations

    def add_judgement(self, judgement: Judgement) -> None:
        """Write a judgement of a dialogue that is written, or count why it is left out."""
        place = self._places.get(judgement.dialogue_id)
        if place is None:
            self._left_out["judgement of a dialogue that is left out"] += 1
        elif judgement.dimension not in _DIMENSIONS or judgement.target is Target.TURN:
            self._left_out[f"judgement on {judgement.dimension}"] += 1
        elif judgement.value is None:
            self._left_out[f"judgement {judgement.status}"] += 1
        else:
            self._write_evaluation(judgement, judgement.value, place)

    def _write_evaluation(
        self, judgement: Judgement, value: int, place: tuple[str, str, str, str]
    ) -> None:
        tree, user, arm, task = place
        dimension, word, suffix = _DIMENSIONS[judgement.dimension]
        judge = self._judge(judgement)
        name = "/".join((tree, "evaluation", user, arm, dimension, judge, f"{task}{suffix}.txt"))
        made = judgement.created_at.isoformat()
        if name in self._rated:
            self._left_out["judgement made again"] += 1
            if made < self._rated[name]:
                return
        self._rated[name] = made
        who = judgement.instrument.label
        self._folder.write_text(name, evaluation_text(word, value, judgement.rationale, who))

    def _judge(self, judgement: Judgement) -> str:
        """The folder of an instrument: the one that is looked for, then one of its own name."""
        folder = _DIMENSIONS[judgement.dimension][0]
        stem = _GATHERED.get(folder, _GATHERED_OTHERWISE)
        first = judgement.dimension not in self._judges
        names = self._judges.setdefault(judgement.dimension, _Names())
        name = names.name(judgement.instrument.id, stem if first else judgement.instrument.judge)
        self._who[f"{judgement.dimension} in {name}"] = judgement.instrument.label
        return name

    def readme(self) -> str:
        """Which judge is behind which folder."""
        judges = "\n".join(f"{where}: {who}" for where, who in sorted(self._who.items()))
        named = f"{_GATHERED['task_completion']} for task completion, {_GATHERED_OTHERWISE} else"
        return README.format(named=named, judges=judges or "Nothing is evaluated yet.")

    def counts(self) -> dict[str, Any]:
        """How much is written, and what is left out for which reason."""
        return {
            "dialogues": len(self._attempts),
            "judgements": len(self._rated),
            "left_out": dict(sorted(self._left_out.items())),
        }


def _unfit(dialogue: Dialogue) -> str:
    """Why a dialogue is left out, or nothing. A fault would look like a normal ending there."""
    if dialogue.parent_id is not None:
        return "branch"
    return "" if dialogue.stop_reason.judged else f"dialogue {dialogue.stop_reason}"


def _checked(dialogue: Dialogue) -> tuple[str, str]:
    user, task = dialogue.persona_id, dialogue.task_id
    if not _USER.fullmatch(user) or not _TASK.fullmatch(task):
        raise AppError(
            f"{user[:40]!r} with {task[:60]!r} is no scenario of PersonaLens, so this study does "
            "not fit its layout: export it as jsonl."
        )
    return user, task


def _record(dialogue: Dialogue, user_number: int) -> dict[str, Any]:
    """The benchmark's keys first, then what it leaves unsaid."""
    return {
        "user_id": user_number,
        "task_id": dialogue.task_id,
        "task_description": dialogue.intent,
        "user_model": dialogue.user_agent.model,
        "assistant_model": dialogue.arm.assistant.model,
        "dialogue": [
            {k: v for k, v in message_record(m).items() if k in ("role", "content")}
            for m in dialogue.messages
        ],
        "stop_reason": str(dialogue.stop_reason),
        "stop_detail": dialogue.stop_detail,
        "arm": dialogue.arm.name,
        "context": dialogue.arm.context.to_list(),
        "repetition": dialogue.repetition,
        "seed": dialogue.seed,
        "dataset": dialogue.dataset,
        "prompts": dict(dialogue.prompts),
        "dialogue_id": dialogue.id,
    }


def evaluation_text(word: str, value: int, rationale: str, who: str) -> str:
    """Return one evaluation as the benchmark's gathering script parses it.

    The first line holds the only thing that it reads; the rationale has no blank lines, at
    which it would be cut. Without `word` the value is a verdict. `who` really judged.
    """
    first = f"{word} Score: {value}" if word else f"VERDICT: {bool(value)}"
    justification = "\n".join(line for line in rationale.splitlines() if line.strip())
    return f"{first}\nJustification: {justification}\n\nJudge: {' '.join(who.split())}\n"
