"""Judging what is stored already: another judge or rubric adds instruments, replaces none."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field

from core.assets import Rubric, load_rubric
from core.bench import Bench, Judging, judge_dialogue
from core.calls import Line
from core.clock import now
from core.errors import ModelMisconfigured, NotFound, StudyError
from core.gate import LedgerGate
from core.halting import Halting
from core.judge import instrument_of, rated_by
from core.limits import Caps, caps_of
from core.parties.lexicon import build_lexicon
from core.parties.make import SCRIPTED_JUDGE, check_scripted_name
from core.personaconv.bench import instance_scenario
from core.ports import ChatModel, Store, Study
from core.types import Dialogue, ModelSpec, Scenario
from core.writer import GroupWriter

MOST_HELPERS = 64
"""Threads that put questions beside the one of each dialogue; see `side_by_side`."""


def judge_study(
    study: Study,
    rubrics: Sequence[str],
    spec: ModelSpec,
    store: Store,
    model: ChatModel,
    *,
    caps: Caps | None = None,
) -> tuple[int, int]:
    """Rate every judgeable dialogue that this instrument has not rated yet, all rubrics at once.

    Returns how many judgements were added and how many of them have no value. What a kill
    interrupts is gone on with by the same call. `caps` are the study's own limits unless given;
    what it costs is spent by the study. Raises `StudyError`, `AssetError`, `BudgetReached`, and
    `ModelMisconfigured` when the judge cannot be used at all.
    """
    caps = caps or own_caps(study)
    check_scripted_name(spec.model, (SCRIPTED_JUDGE,), "judge")
    owed = _owed(study, list(dict.fromkeys(map(load_rubric, rubrics))), spec, store)
    writer, halt = GroupWriter(store), _Halt()
    gate = LedgerGate(store, caps)
    line = Line(
        Halting(model, halt.set),
        gate,
        writer.call,
        now,
        is_cancelled=halt.event.is_set,
        find_answer=store.find_answer if study.spec and study.spec.limits.cache else None,
    )
    tally = [0, 0]
    try:
        with ExitStack() as stack:
            threads, helpers = (1, 0) if spec.scripted else (caps.concurrency, _helpers(caps))
            pool = stack.enter_context(ThreadPoolExecutor(threads))
            helping = stack.enter_context(ThreadPoolExecutor(helpers)) if helpers else None
            work = _Work(study, spec, store, line, writer, helping)
            for added, unscored in pool.map(work.judge, owed, owed.values()):
                tally[0] += added
                tally[1] += unscored
    except Exception:
        if halt.error is not None:
            raise halt.error from None  # and not that others were cancelled because of it
        raise
    finally:
        gate.close()
        writer.close()
    return tally[0], tally[1]


def own_caps(study: Study) -> Caps:
    """The limits of a study; those that are usual for one that states none."""
    return caps_of(study.spec.limits) if study.spec is not None else Caps()


def _helpers(caps: Caps) -> int:
    return min(caps.concurrency, MOST_HELPERS)


def _owed(
    study: Study, rubrics: Sequence[Rubric], spec: ModelSpec, store: Store
) -> dict[str, list[Rubric]]:
    """The rubrics that each dialogue is still to be rated by."""
    owed: dict[str, list[Rubric]] = {}
    for rubric in rubrics:
        instrument = instrument_of(spec, rubric).id
        for dialogue_id in store.dialogues_without(study.id, instrument, rubric.dimension):
            owed.setdefault(dialogue_id, []).append(rubric)
    return owed


@dataclass
class _Halt:
    """Why nothing more should be asked."""

    event: threading.Event = field(default_factory=threading.Event)
    error: ModelMisconfigured | None = None

    def set(self, error: ModelMisconfigured) -> None:
        self.error = self.error or error
        self.event.set()


@dataclass
class _Work:
    """A judge's pass over a study."""

    study: Study
    spec: ModelSpec
    store: Store
    line: Line
    writer: GroupWriter
    helping: ThreadPoolExecutor | None
    _benches: dict[str, Bench] = field(default_factory=dict)

    def judge(self, dialogue_id: str, rubrics: Sequence[Rubric]) -> tuple[int, int]:
        """Rate one dialogue; returns how many judgements that added, and without a value."""
        dialogue = self.store.get_dialogue(dialogue_id)
        bench = self._bench(dialogue.dataset)
        # Imported dialogues may have no dataset here; some rubrics need the dialogue alone.
        needs = any(rubric.needs_scenario for rubric in rubrics)
        scenario = scenario_of(dialogue, self.store) if needs else None
        judging = (Judging(self.spec, tuple(rubrics)),)
        rated = rated_by(self.store.list_judgements(dialogue_id))
        judgements = judge_dialogue(dialogue, scenario, judging, bench, rated=rated)
        for judgement in judgements:
            self.writer.finish(judgement)
        return len(judgements), sum(j.value is None for j in judgements)

    def _bench(self, dataset: str | None) -> Bench:
        name = dataset or ""
        if name not in self._benches:
            known = self.store.find_dataset(name) is not None
            self._benches[name] = (
                Bench.open(self.store, name, self.line)
                if known
                else Bench(self.store, name, build_lexicon({}), self.line)
            )
            self._benches[name].pool = self.helping
        return self._benches[name]


def scenario_of(dialogue: Dialogue, store: Store) -> Scenario:
    """The scenario of a stored dialogue. Raises `StudyError` when its dataset is not here."""
    if dialogue.dataset is not None:
        try:
            return store.get_scenario(dialogue.dataset, dialogue.persona_id, dialogue.task_id)
        except NotFound:
            pass
        if (found := instance_scenario(dialogue, store)) is not None:
            return found
    raise StudyError(
        f"The dialogue {dialogue.id} belongs to no dataset here, so a judge cannot be told what "
        "the person wanted; import its dataset first."
    )
