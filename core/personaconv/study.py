"""From a study of conversations to the replies that it asks about."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from core.assets import load_rubric
from core.errors import AssetError, NotFound, StudyError
from core.personaconv.baselines import BASELINES
from core.personaconv.ports import ConversationStore
from core.personaconv.prompting import Limits
from core.personaconv.reference import SETTINGS
from core.personaconv.selection import Rules, reference_instances, strict_instances
from core.personaconv.types import Instance, Mode, Split, Task, task_id_of
from core.types import ModelSpec, ScenarioRef, TaskKind

if TYPE_CHECKING:
    from core.study_file import InstanceSelection, StudySpec

PREFIX = "scripted/"
SCRIPTED_JUDGE = "scripted/judge"


def rules_of(selection: InstanceSelection) -> Rules:
    return Rules(
        split=None if selection.split == "all" else Split(selection.split),
        by_user=selection.split_by == "user",
        domains=frozenset(selection.domains),
        limit=selection.limit,
        seed=selection.seed,
        dead_zone=selection.dead_zone,
    )


def limits_of(selection: InstanceSelection) -> Limits:
    return Limits(
        context_tokens=selection.context_tokens,
        history_tokens=selection.history_tokens,
        history_items=selection.history_items,
        history_scores=selection.history_scores,
        seed=selection.seed,
        dead_zone=selection.dead_zone,
    )


def instances_of(
    dataset: str, selection: InstanceSelection, store: ConversationStore
) -> list[Instance]:
    """Every instance that a study asks about, task by task. Raises `NotFound`.

    All arms get this list, in this order. A limit takes the first of the released code's list,
    which it draws in no way; its order is by label, so that a limit there is for a look only.
    """
    conversations = store.get_conversations(dataset)
    found: list[Instance] = []
    targets = [] if selection.released else store.list_targets(dataset)
    for task in selection.tasks:
        if selection.released:
            threads = store.iter_threads(dataset)
            chosen = reference_instances(threads, conversations.hash, task)
            wanted = [i for i in chosen if not selection.domains or i.domain in selection.domains]
            found += wanted[: selection.limit]
        else:
            found += strict_instances(targets, conversations.hash, task, rules_of(selection))
    return found


def ref_of(instance: Instance, dataset: str) -> ScenarioRef:
    """An instance as a unit of work names it."""
    task_id = task_id_of(instance.task, instance.comment_id)
    return ScenarioRef(dataset, instance.member, task_id, TaskKind.SINGLE, (instance.domain,))


def select_instances(
    dataset: str, selection: InstanceSelection, store: ConversationStore
) -> list[ScenarioRef]:
    """The instances of a study as scenarios. Raises `StudyError` when there are none."""
    try:
        found = [ref_of(i, dataset) for i in instances_of(dataset, selection, store)]
    except NotFound:
        raise StudyError(f"The dataset {dataset} holds no conversations.") from None
    if not found:
        raise StudyError(f"No reply of the dataset {dataset} fits the study's selection.")
    return found


def check_instances(
    spec: StudySpec, store: ConversationStore, check_model: Callable[[ModelSpec], str | None]
) -> None:
    """Refuse a study of conversations that cannot run. Raises `StudyError`."""
    assert spec.instances is not None
    try:
        counts = store.get_conversations(spec.dataset)
    except NotFound:
        raise StudyError(
            f"The dataset {spec.dataset} holds no conversations; leave `instances` out."
        ) from None
    known = {d.domain for d in counts.by_domain}
    for domain in spec.instances.domains:
        if domain not in known:
            raise StudyError(
                f"The dataset {spec.dataset} has no domain called {domain}; it has "
                f"{', '.join(sorted(known))}."
            )
    for arm in spec.arms:
        _check_arm(arm.model, arm.setting or "", spec.instances)
    _check_judges(spec)
    for entry in (*spec.arms, *spec.judges):
        if not entry.spec.scripted and (complaint := check_model(entry.spec)):
            raise StudyError(complaint)


def _check_arm(model: str, setting: str, selection: InstanceSelection) -> None:
    if selection.mode is Mode.REFERENCE and setting not in SETTINGS:
        raise StudyError(
            f"The released code has no setting {setting}; it has {', '.join(SETTINGS)}."
        )
    if not model.startswith(PREFIX):
        return
    for task in selection.tasks:
        if model.removeprefix(PREFIX) not in BASELINES[task]:
            known = ", ".join(f"{PREFIX}{name}" for name in BASELINES[task])
            raise StudyError(f"{model} has no answer to the task {task}; there are {known}.")


def _check_judges(spec: StudySpec) -> None:
    for judge in spec.judges:
        if judge.spec.scripted:
            raise StudyError("No scripted judge reads replies; name a model, or leave judges out.")
        for name in judge.rubrics:
            try:
                load_rubric(name)
            except AssetError as error:
                raise StudyError(str(error)) from None
    if spec.judges and spec.instances and Task.REPLY not in spec.instances.tasks:
        raise StudyError("Judges read generated replies, and the task reply is not asked.")
