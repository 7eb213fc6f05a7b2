"""Judging one stored dialogue again, while somebody waits: another judge or another rubric."""

from __future__ import annotations

from core.bench import Bench, Judging, judge_dialogue
from core.calls import Line
from core.clock import now
from core.errors import StudyError
from core.judge import instrument_of
from core.judging import scenario_of
from core.limits import Caps, Limiter
from core.parties.lexicon import Lexicon
from core.parties.make import SCRIPTED_JUDGE, check_scripted_name
from core.ports import ChatModel, Store
from core.types import Dialogue, Judgement


def judge_again(
    dialogue: Dialogue, judging: Judging, store: Store, model: ChatModel, lexicon: Lexicon
) -> tuple[Judgement, ...]:
    """Rate `dialogue` and store what comes of it; returns the judgements that were added.

    What the same instrument rated before is left out. Each rubric is stored as it is done.
    Raises `StudyError` when the dialogue cannot be judged or there is nothing left to rate,
    and `ModelMisconfigured` when the judge cannot be used.
    """
    check_scripted_name(judging.spec.model, (SCRIPTED_JUDGE,), "judge")
    if not dialogue.stop_reason.judged:
        raise StudyError("A dialogue that was broken off is not judged; simulate it again.")
    scenario = scenario_of(dialogue, store)
    line = Line(model, Limiter(Caps()), lambda call: store.add_calls([call]), now)
    bench = Bench(store, dialogue.dataset or "", lexicon, line)
    added: list[Judgement] = []
    for one in _left(dialogue, judging, store):
        rated = judge_dialogue(dialogue, scenario, (one,), bench)
        store.add_judgements(rated)
        added.extend(rated)
    return tuple(added)


def _left(dialogue: Dialogue, judging: Judging, store: Store) -> list[Judging]:
    done = {(j.instrument.id, j.dimension) for j in store.list_judgements(dialogue.id)}
    left = [
        Judging(judging.spec, (rubric,))
        for rubric in judging.rubrics
        if (instrument_of(judging.spec, rubric).id, rubric.dimension) not in done
    ]
    if not left:
        raise StudyError(
            f"{judging.spec.model} has rated this dialogue by these rubrics already, and would "
            "only be asked the same again; choose another judge or rubric."
        )
    return left
