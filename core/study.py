"""From a study file to the work it asks for: checking, expanding, and resuming by name."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from core.assets import load_prompt, load_rubric
from core.errors import AssetError, SourceError, StudyError
from core.parties.make import SCRIPTED_JUDGE, SCRIPTED_USER, check_scripted_name
from core.parties.scripted import SCRIPTED_ASSISTANTS
from core.personaconv.study import check_instances, select_instances
from core.personaconv.types import KIND
from core.ports import ScenarioFilter, Store, Study
from core.sources.selection import select_users
from core.study_file import ScenarioSelection, StudySpec
from core.types import ModelSpec, ScenarioRef, StudyState, TaskKind, WorkUnit, digest

CheckModel = Callable[[ModelSpec], str | None]
"""Says in one sentence why a model cannot be used, or None."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A study and the work it asks for."""

    study: Study
    units: tuple[WorkUnit, ...]


def check_study(spec: StudySpec, store: Store, check_model: CheckModel) -> None:
    """Refuse a study that cannot run. Raises `StudyError` with one sentence."""
    if store.find_dataset(spec.dataset) is None:
        known = ", ".join(d.name for d in store.list_datasets()) or "none yet"
        raise StudyError(f"There is no dataset called {spec.dataset}; there are: {known}.")
    if spec.instances is not None:
        return check_instances(spec, store, check_model)
    _refuse_conversations(spec, store)
    _check_domains(spec, store)
    _check_assets(spec)
    check_scripted_name(spec.user_agent.model, (SCRIPTED_USER,), "user agent")
    for arm in spec.arms:
        check_scripted_name(arm.model, tuple(SCRIPTED_ASSISTANTS), "assistant")
    for judge in spec.judges:
        check_scripted_name(judge.model, (SCRIPTED_JUDGE,), "judge")
    for entry in (spec.user_agent, *spec.arms, *spec.judges):
        if not entry.spec.scripted and (complaint := check_model(entry.spec)):
            raise StudyError(complaint)


def _refuse_conversations(spec: StudySpec, store: Store) -> None:
    dataset = store.find_dataset(spec.dataset)
    if dataset is not None and dataset.kind == KIND:
        raise StudyError(
            f"{spec.dataset} holds conversations by real people; say under `instances` what is "
            "asked about them."
        )


def _check_domains(spec: StudySpec, store: Store) -> None:
    known = {d for task in store.list_tasks(spec.dataset) for d in task.domains}
    for domain in spec.scenarios.domains:
        if domain not in known:
            raise StudyError(
                f"The dataset {spec.dataset} has no domain called {domain}; it has "
                f"{', '.join(sorted(known))}."
            )


def _check_assets(spec: StudySpec) -> None:
    try:
        for arm in spec.arms:
            load_prompt(arm.prompt)
        dimensions = {load_rubric(r).dimension for j in spec.judges for r in j.rubrics}
    except AssetError as error:
        raise StudyError(str(error)) from None
    if spec.judges and spec.primary not in dimensions:
        raise StudyError(
            f"The primary dimension {spec.primary} is rated by no judge of the study; rated are "
            f"{', '.join(sorted(dimensions))}."
        )


def expand(study: Study, store: Store) -> tuple[WorkUnit, ...]:
    """Every unit a study asks for, in a stable order: by scenario, then arm, then repetition.

    All arms get the same seed for the same scenario and repetition, so that they are compared
    on the same draw.
    """
    if study.spec is None:
        return ()
    spec = study.spec
    return tuple(
        WorkUnit(study.id, ref, arm.arm, repetition, _seed(spec, ref, repetition))
        for ref in study_scenarios(spec, store)
        for repetition in range(spec.repetitions)
        for arm in spec.arms
    )


def study_scenarios(spec: StudySpec, store: Store) -> list[ScenarioRef]:
    """What a study asks about: scenarios, or instances of conversations."""
    if spec.instances is not None:
        return select_instances(spec.dataset, spec.instances, store)
    return select_scenarios(spec.dataset, spec.scenarios, store)


def _seed(spec: StudySpec, ref: ScenarioRef, repetition: int) -> int:
    return int(digest(spec.scenarios.seed, ref.id, repetition)[:8], 16) % 2**31


def select_scenarios(dataset: str, selection: ScenarioSelection, store: Store) -> list[ScenarioRef]:
    """The scenarios that a selection names, drawn where it limits them, in the store's order.

    Raises `StudyError` when nothing is left.
    """
    refs = store.list_scenarios(dataset, _filter(dataset, selection, store))
    for kind, limit in (
        (TaskKind.SINGLE, selection.limit_single),
        (TaskKind.MULTI, selection.limit_multi),
    ):
        if limit is not None:
            refs = _draw(refs, [r for r in refs if r.kind is kind], limit, selection.seed)
    if selection.limit is not None:
        refs = _draw(refs, refs, selection.limit, selection.seed)
    if not refs:
        raise StudyError(f"No scenario of the dataset {dataset} fits the study's selection.")
    return refs


def _filter(dataset: str, selection: ScenarioSelection, store: Store) -> ScenarioFilter:
    people: frozenset[str] = frozenset()
    if selection.users is not None:
        ids = [p.id for p in store.list_personas(dataset)]
        try:
            people = frozenset(select_users(selection.users, ids, few_are_all=True))
        except SourceError as error:
            raise StudyError(str(error)) from None
    return ScenarioFilter(
        kind=None if selection.kind == "all" else TaskKind(selection.kind),
        domains=frozenset(selection.domains),
        persona_ids=people,
    )


def _draw(
    refs: list[ScenarioRef], among: Sequence[ScenarioRef], limit: int, seed: int
) -> list[ScenarioRef]:
    """Keep a simple random draw of `limit` of `among`, and all others, in the order of `refs`."""
    if limit >= len(among):
        return refs
    dropped = {r.id for r in random.Random(seed).sample(list(among), len(among) - limit)}
    return [r for r in refs if r.id not in dropped]


def open_study(spec: StudySpec, store: Store, now: Callable[[], datetime]) -> Study:
    """The stored study of this file, added when it is new.

    The same file may be run again and goes on where it was. Limits may differ: they do not
    change what is measured. Raises `StudyError` when the name belongs to another study.
    """
    found = store.find_study(spec.name)
    if found is None:
        study = Study(digest("study", spec.name), spec.name, spec, StudyState.DEFINED, now())
        store.add_study(study)
        return study
    if found.spec is None or _measured(found.spec) != _measured(spec):
        raise StudyError(
            f"A study called {spec.name} exists and is not the same; give this one another name."
        )
    return found


def _measured(spec: StudySpec) -> object:
    """What a study measures: everything but its question and the limits on its running."""
    rest = spec.model_dump(mode="json", exclude={"limits", "question"})
    return rest | {"max_turns": spec.limits.max_turns}


def plan(spec: StudySpec, store: Store, now: Callable[[], datetime]) -> Plan:
    """Add what is new of a checked study: the study itself and its units."""
    study = open_study(spec, store, now)
    units = expand(study, store)
    store.add_units(units)
    return Plan(study, units)
