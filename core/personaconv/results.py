"""What a study of conversations found: task × setting × model, by domain, beside baselines.

An instance that is still owed is in no figure; one whose model failed counts as unreadable. The
macro average over domains stands beside the figure over all answers, and what the readable
answers alone would give beside what counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from core.personaconv import embeddings
from core.personaconv.answers import Answer
from core.personaconv.baselines import BASELINES, baseline_answer
from core.personaconv.bench import InstanceBench, answer_of
from core.personaconv.metrics import BOOT, Figure, Paired, Scored, figures, paired
from core.personaconv.prompting import Case
from core.personaconv.selection import label_of
from core.personaconv.study import select_instances
from core.personaconv.types import Task
from core.ports import Store, Study
from core.types import Dialogue, StopReason

ALL = "all"
MACRO = "macro"
BASELINE = "baseline"
UNFINISHED = (StopReason.CANCELLED, StopReason.BUDGET)
METHOD = "bootstrap over users"
READABLE = "readable only"
PARSER = "parser@1"


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. `domain` is "all", "macro", or one of the ten.

    `model` and `setting` are empty for what is no model's. `leaks` counts prompts of this arm and
    task with a leak, and `leak_kinds` says which; both are about all domains.
    """

    arm: str
    task: Task
    setting: str
    model: str
    domain: str
    figure: Figure
    n: int
    n_members: int
    n_invalid: int
    leaks: int = 0
    leak_kinds: str = ""
    variant: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """An arm minus the study's first one of that task, over instances that both answered."""

    arm: str
    baseline: str
    task: Task
    paired: Paired


@dataclass(frozen=True, slots=True)
class Findings:
    """All rows of a study, and the differences between its arms."""

    rows: tuple[Row, ...]
    differences: tuple[Difference, ...]
    statuses: dict[tuple[str, Task], dict[str, int]]


@dataclass(frozen=True, slots=True)
class _Arm:
    """The answers of one arm to one task, in the order of the instances."""

    name: str
    setting: str
    model: str
    task: Task
    scored: tuple[Scored, ...]
    leaks: int = 0
    leak_kinds: str = ""


def find(study: Study, store: Store, *, boot: int = BOOT) -> Findings:
    """Every figure of a study of conversations. Raises `StudyError` when its dataset is gone."""
    spec = study.spec
    assert spec is not None
    assert spec.instances is not None, "only studies of conversations have these results"
    bench = InstanceBench.reading(store, spec.dataset, spec.instances)
    task_ids = [r.task_id for r in select_instances(spec.dataset, spec.instances, store)]
    cases = bench.cases(task_ids)
    answers = _answers(store.iter_dialogues(study.id))
    arms = [
        _arm(arm.name, arm.setting or "", arm.model, task, _of_task(task_ids, task), cases, found)
        for arm in spec.arms
        for task in spec.instances.tasks
        for found in [answers.get(arm.name, {})]
    ]
    based = [
        _baseline(name, task, _of_task(task_ids, task), cases, bench)
        for task in spec.instances.tasks
        for name in BASELINES[task]
    ]
    arms = [_with_meaning(a) for a in (*arms, *based) if a.scored]
    rows = tuple(row for arm in arms for row in _rows(arm, boot))
    differences = tuple(_differences([a for a in arms if a.model], boot))
    return Findings(rows, differences, {(a.name, a.task): _statuses(a) for a in arms})


def _of_task(task_ids: Sequence[str], task: Task) -> list[str]:
    return [i for i in task_ids if i.startswith(f"{task}:")]


def _answers(dialogues: Iterable[Dialogue]) -> dict[str, dict[str, Dialogue]]:
    """By arm and instance, the last attempt of the first repetition."""
    found: dict[str, dict[str, Dialogue]] = {}
    for dialogue in dialogues:
        if dialogue.repetition or dialogue.stop_reason in UNFINISHED:
            continue
        mine = found.setdefault(dialogue.arm.name, {})
        known = mine.get(dialogue.task_id)
        if known is None or known.attempt <= dialogue.attempt:
            mine[dialogue.task_id] = dialogue
    return found


def _arm(  # noqa: PLR0913 -- one arm, one task, and where its answers are
    name: str,
    setting: str,
    model: str,
    task: Task,
    task_ids: Sequence[str],
    cases: dict[str, Case],
    found: dict[str, Dialogue],
) -> _Arm:
    there = [i for i in task_ids if i in found]
    leaks = [kinds for i in there if (kinds := found[i].prompts.get("leaks", ""))]
    leaky = {kind for some in leaks for kind in some.split(",")}
    scored = tuple(scored_of(cases[i], answer_of(found[i])) for i in there)
    return _Arm(name, setting, model, task, scored, len(leaks), ",".join(sorted(leaky)))


def _baseline(
    name: str, task: Task, task_ids: Sequence[str], cases: dict[str, Case], bench: InstanceBench
) -> _Arm:
    scored = (scored_of(cases[i], baseline_answer(name, cases[i], bench.crowd)) for i in task_ids)
    return _Arm(f"{BASELINE}: {name}", "", "", task, tuple(scored))


def scored_of(case: Case, answer: Answer) -> Scored:
    """An answer beside what happened."""
    target, instance = case.target, case.instance
    label = label_of(target.score, 1) if instance.task is Task.SENTIMENT else None
    return Scored(
        instance.id, instance.member, instance.domain, answer, label, target.score, target.text
    )


def _with_meaning(arm: _Arm) -> _Arm:
    """With the extra for embeddings, how near each generated reply is in meaning."""
    scored = arm.scored
    if arm.task is not Task.REPLY or not embeddings.available():
        return arm
    found = embeddings.similarities(
        [s.text or "" for s in scored], [s.answer.text or "" for s in scored]
    )
    assert found is not None
    near = (replace(s, sbert=float(v)) for s, v in zip(scored, found, strict=True))
    return replace(arm, scored=tuple(near))


def _statuses(arm: _Arm) -> dict[str, int]:
    counts: dict[str, int] = {}
    for scored in arm.scored:
        counts[scored.answer.status] = counts.get(scored.answer.status, 0) + 1
    return counts


# --- rows -------------------------------------------------------------------------------------


def _rows(arm: _Arm, boot: int) -> Iterable[Row]:
    def row(domain: str, figure: Figure, scored: Sequence[Scored], variant: str = "") -> Row:
        return Row(
            arm=arm.name,
            task=arm.task,
            setting=arm.setting,
            model=arm.model,
            domain=domain,
            figure=figure,
            n=len(scored),
            n_members=len({s.member for s in scored}),
            n_invalid=sum(not s.answer.status.valid for s in scored),
            leaks=arm.leaks,
            leak_kinds=arm.leak_kinds,
            variant=variant,
        )

    for figure in figures(arm.task, arm.scored, boot=boot):
        yield row(ALL, figure, arm.scored)
    by_domain = {d: [s for s in arm.scored if s.domain == d] for d in _domains(arm.scored)}
    means: dict[str, list[Figure]] = {}
    for domain, scored in by_domain.items():
        for figure in figures(arm.task, scored, boot=boot, library=False):
            means.setdefault(figure.metric, []).append(figure)
            yield row(domain, figure, scored)
    for metric, found in means.items():
        mean = sum(f.value or 0.0 for f in found) / len(found)
        yield row(MACRO, Figure(metric, mean, None, None, found[0].better), arm.scored)
    readable = [s for s in arm.scored if s.answer.status.valid]
    if len(readable) < len(arm.scored):
        for figure in figures(arm.task, readable, boot=boot):
            yield row(ALL, figure, readable, READABLE)


def _domains(scored: Sequence[Scored]) -> list[str]:
    return sorted({s.domain for s in scored})


def _differences(arms: Sequence[_Arm], boot: int) -> Iterable[Difference]:
    first: dict[Task, _Arm] = {}
    for arm in arms:
        base = first.setdefault(arm.task, arm)
        if base is arm:
            continue
        ours, theirs = _shared(arm.scored, base.scored)
        for found in paired(arm.task, ours, theirs, boot=boot):
            yield Difference(arm.name, base.name, arm.task, found)


def _shared(ours: Sequence[Scored], theirs: Sequence[Scored]) -> tuple[list[Scored], list[Scored]]:
    """What both arms of one study have answered so far; their lists are one list."""
    both = {s.instance_id for s in ours} & {s.instance_id for s in theirs}
    first, second = ([s for s in side if s.instance_id in both] for side in (ours, theirs))
    return first, second


# --- as JSON ----------------------------------------------------------------------------------


def findings_object(name: str, findings: Findings) -> dict[str, Any]:
    """The object of `results --json`, with keys of its own beside those of every study."""
    return {
        "study": name,
        "results": [_row_object(row) for row in findings.rows],
        "differences": [_difference_object(d) for d in findings.differences],
        "answers": [
            {"arm": arm, "task": str(task), **counts}
            for (arm, task), counts in findings.statuses.items()
        ],
    }


def _row_object(row: Row) -> dict[str, Any]:
    figure = row.figure
    return {
        "arm": row.arm,
        "dimension": f"{row.task}.{figure.metric}",
        "estimate": _finite(figure.value),
        "lo": figure.lo,
        "hi": figure.hi,
        "n": row.n,
        "n_personas": row.n_members,
        "n_unscored": row.n_invalid,
        "method": METHOD if figure.lo is not None else "no interval",
        "instrument": PARSER,
        "task": str(row.task),
        "metric": figure.metric,
        "better": figure.better,
        "setting": row.setting,
        "model": row.model,
        "domain": row.domain,
        "variant": row.variant,
        "leaks": row.leaks,
        "leak_kinds": row.leak_kinds,
    }


def _difference_object(difference: Difference) -> dict[str, Any]:
    found = difference.paired
    return {
        "arm": difference.arm,
        "baseline": difference.baseline,
        "dimension": f"{difference.task}.{found.metric}",
        "estimate": found.difference,
        "lo": found.lo,
        "hi": found.hi,
        "p": None,
        "n": found.n,
        "n_personas": found.n_members,
        "better": found.better,
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
