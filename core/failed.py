"""Trying again what failed, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from core.assets import load_rubric
from core.judge import instrument_of
from core.ports import Store, Study


@dataclass(frozen=True, slots=True)
class Reopened:
    """What is owed again: dialogues to be made anew, and dialogues to be judged only."""

    dialogues: int
    judged: int


def retry_failed(study: Study, store: Store) -> Reopened:
    """Owe again what failed in a study, for the next runner.

    A dialogue that ended badly is made anew, beside the one that is stored. One that stands
    while a judge of the study could not be reached is not made again: only the judgements that
    it lacks are. What another judge rated later, by `judge_study`, is repeated by that.
    """
    if study.spec is None:
        return Reopened(0, 0)
    instruments = {
        instrument_of(entry.spec, load_rubric(rubric)).id
        for entry in study.spec.judges
        for rubric in entry.rubrics
    }
    return Reopened(store.reopen_failed(study.id), store.reopen_unjudged(study.id, instruments))
