"""Judging one stored dialogue again, while somebody waits: another judge or another rubric."""

from __future__ import annotations

from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from core.assets import Rubric
from core.bench import Bench, Judging, judge_dialogue
from core.calls import Line
from core.clock import now
from core.errors import StudyError
from core.judge import Rated, keys, rated_by
from core.judging import scenario_of
from core.limits import Caps, Limiter
from core.parties.lexicon import Lexicon
from core.parties.make import SCRIPTED_JUDGE, check_scripted_name
from core.ports import ChatModel, Store
from core.side_by_side import side_by_side
from core.types import Dialogue, Judgement

_THREADS = 8


def judge_again(
    dialogue: Dialogue, judging: Judging, store: Store, model: ChatModel, lexicon: Lexicon
) -> tuple[Judgement, ...]:
    """Rate `dialogue` and store what comes of it; returns the judgements that were added.

    What the same instrument rated before is left out, but for a judge that could not be
    reached. The rubrics are applied side by side, and each is stored as it is done. Raises
    `StudyError` when the dialogue cannot be judged or there is nothing left to rate, and
    `ModelMisconfigured` when the judge cannot be used.
    """
    check_scripted_name(judging.spec.model, (SCRIPTED_JUDGE,), "judge")
    if not dialogue.stop_reason.judged:
        raise StudyError("A dialogue that was broken off is not judged; simulate it again.")
    scenario = scenario_of(dialogue, store)
    rated = rated_by(store.list_judgements(dialogue.id))
    line = Line(model, Limiter(Caps(_THREADS)), lambda call: store.add_calls([call]), now)

    def rate(rubric: Rubric) -> tuple[Judgement, ...]:
        one = (Judging(judging.spec, (rubric,)),)
        added = judge_dialogue(dialogue, scenario, one, bench, rated=rated)
        store.add_judgements(added)
        return added

    with ThreadPoolExecutor(_THREADS) as pool:
        bench = Bench(store, dialogue.dataset or "", lexicon, line, pool=pool)
        tasks = [partial(rate, rubric) for rubric in _left(dialogue, judging, rated)]
        return tuple(j for added in side_by_side(tasks, pool) for j in added)


def _left(dialogue: Dialogue, judging: Judging, rated: Collection[Rated]) -> list[Rubric]:
    left = [
        rubric
        for rubric in judging.rubrics
        if any(key not in rated for key in keys(dialogue, rubric, judging.spec))
    ]
    if not left:
        raise StudyError(
            f"{judging.spec.model} has rated this dialogue by these rubrics already, and would "
            "only be asked the same again; choose another judge or rubric."
        )
    return left
