"""A rubric on a few dialogues, to see what it does: nothing is stored but the calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.assets import Rubric
from core.bench import Bench, Judging, judge_dialogue
from core.calls import Line
from core.clock import now
from core.errors import StudyError
from core.gate import Unlimited
from core.judging import scenario_of
from core.parties.lexicon import build_lexicon
from core.parties.make import SCRIPTED_JUDGE, check_scripted_name
from core.ports import ChatModel, DialogueFilter, Store
from core.types import Dialogue, Judgement, ModelSpec, StopReason

DIALOGUES = 3


@dataclass(frozen=True, slots=True)
class Tried:
    """One dialogue rated by a draft; `before` are stored ratings of the dimension by others."""

    dialogue: Dialogue
    judgements: tuple[Judgement, ...]
    before: tuple[Judgement, ...]


def pick_dialogues(store: Store, study_id: str | None = None) -> list[Dialogue]:
    """The newest dialogues that can be judged and belong to a dataset."""
    judged = frozenset(reason for reason in StopReason if reason.judged)
    where = DialogueFilter(study_id=study_id, stop_reasons=judged)
    found = [s for s in store.list_dialogues(where, limit=50) if s.dataset is not None]
    return [store.get_dialogue(summary.id) for summary in found[:DIALOGUES]]


def dry_run(
    rubric: Rubric, spec: ModelSpec, dialogues: Sequence[Dialogue], store: Store, model: ChatModel
) -> list[Tried]:
    """Rate `dialogues` by a rubric that need not be saved; the calls are kept and paid once.

    Raises `StudyError` when there is nothing to rate or the judge is unknown, and
    `ModelMisconfigured` when the judge cannot be used.
    """
    check_scripted_name(spec.model, (SCRIPTED_JUDGE,), "judge")
    if not dialogues:
        raise StudyError("There is no dialogue to try a rubric on; run the sample study first.")
    line = Line(model, Unlimited(), lambda c, e: store.add_calls([c], entries=[e]), now)
    found = []
    for dialogue in dialogues:
        name = dialogue.dataset or ""
        bench = Bench(store, name, build_lexicon(store.vocabulary(name)), line)
        scenario = scenario_of(dialogue, store) if rubric.needs_scenario else None
        made = judge_dialogue(dialogue, scenario, (Judging(spec, (rubric,)),), bench)
        before = [j for j in store.list_judgements(dialogue.id) if j.dimension == rubric.dimension]
        found.append(Tried(dialogue, made, tuple(before)))
    return found
