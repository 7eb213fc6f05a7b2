"""Judging what is stored already: another judge or rubric adds instruments, replaces none."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from core.assets import Rubric, load_rubric
from core.bench import Bench, Judging, judge_dialogue
from core.calls import Line
from core.clock import now
from core.errors import NotFound, StudyError
from core.judge import instrument_of
from core.limits import Caps, Limiter
from core.parties.lexicon import build_lexicon
from core.parties.make import SCRIPTED_JUDGE, check_scripted_name
from core.ports import ChatModel, Store, Study
from core.types import Dialogue, Judgement, ModelSpec, Scenario
from core.writer import GroupWriter


def judge_study(
    study: Study,
    rubrics: Sequence[str],
    spec: ModelSpec,
    store: Store,
    model: ChatModel,
    *,
    concurrency: int = 32,
) -> tuple[int, int]:
    """Rate every judgeable dialogue that this instrument has not rated yet.

    Returns how many judgements were added and how many of them have no value. What a kill
    interrupts is gone on with by the same call. Raises `StudyError`, `AssetError`, and
    `ModelMisconfigured` when the judge cannot be used at all.
    """
    check_scripted_name(spec.model, (SCRIPTED_JUDGE,), "judge")
    loaded = [load_rubric(r) for r in rubrics]
    writer = GroupWriter(store)
    try:
        line = Line(model, Limiter(Caps(concurrency)), writer.call, now)
        tally = [0, 0]
        with ThreadPoolExecutor(1 if spec.scripted else concurrency) as pool:
            for rubric in loaded:
                work = _Work(study, rubric, spec, store, line, writer)
                owed = store.dialogues_without(
                    study.id, instrument_of(spec, rubric).id, rubric.dimension
                )
                for judgements in pool.map(work.judge, owed):
                    tally[0] += len(judgements)
                    tally[1] += sum(j.value is None for j in judgements)
    finally:
        writer.close()
    return tally[0], tally[1]


class _Work:
    """One rubric's pass over a study."""

    def __init__(
        self,
        study: Study,
        rubric: Rubric,
        spec: ModelSpec,
        store: Store,
        line: Line,
        writer: GroupWriter,
    ) -> None:
        self._rubric, self._store, self._writer = rubric, store, writer
        self._judging = (Judging(spec, (rubric,)),)
        self._line, self._study = line, study
        self._benches: dict[str, Bench] = {}

    def judge(self, dialogue_id: str) -> tuple[Judgement, ...]:
        dialogue = self._store.get_dialogue(dialogue_id)
        bench = self._bench(dialogue.dataset)
        # Imported dialogues may have no dataset here; some rubrics need the dialogue alone.
        needs = self._rubric.needs_scenario
        scenario = scenario_of(dialogue, self._store) if needs else None
        judgements = judge_dialogue(dialogue, scenario, self._judging, bench)
        for judgement in judgements:
            self._writer.finish(judgement)
        return judgements

    def _bench(self, dataset: str | None) -> Bench:
        name = dataset or ""
        if name not in self._benches:
            known = self._store.find_dataset(name) is not None
            self._benches[name] = (
                Bench.open(self._store, name, self._line)
                if known
                else Bench(self._store, name, build_lexicon({}), self._line)
            )
        return self._benches[name]


def scenario_of(dialogue: Dialogue, store: Store) -> Scenario:
    """The scenario of a stored dialogue. Raises `StudyError` when its dataset is not here."""
    if dialogue.dataset is not None:
        try:
            return store.get_scenario(dialogue.dataset, dialogue.persona_id, dialogue.task_id)
        except NotFound:
            pass
    raise StudyError(
        f"The dialogue {dialogue.id} belongs to no dataset here, so a judge cannot be told what "
        "the person wanted; import its dataset first."
    )
