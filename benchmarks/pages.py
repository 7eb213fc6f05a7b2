"""How long the server takes to draw each page, by the number of dialogues in the database.

    python -m benchmarks.pages [1000 10000 100000]
    python -m benchmarks.pages --database sqlite:////kept/scale.db

A database is filled with dialogues of the sample's scenarios and seven judgements each, or one
is taken as it is (such as `scripted_scale.py --keep` leaves it); its largest study is shown. Then
every page is drawn under Streamlit's own test runner: cold (the first time in the process, with
that database) and warm (again, nothing having changed).
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from core.clock import now
from core.ports import DialogueFilter, Finished, ScenarioFilter, Store, Study
from core.study_file import ArmEntry, StudySpec
from core.types import (
    Dialogue,
    Instrument,
    Judgement,
    JudgementStatus,
    Message,
    ModelSpec,
    Role,
    ScenarioRef,
    StopReason,
    StudyState,
    Target,
    WorkUnit,
    digest,
)

ROOT = Path(__file__).resolve().parent.parent
ARMS = ("attentive", "forgetful", "inventive", "pushy")
DIMENSIONS = {
    "task_completion": (0, 1),
    "personalization": (1, 4),
    "naturalness_user": (1, 5),
    "naturalness_assistant": (1, 5),
    "coherence_user": (1, 5),
    "coherence_assistant": (1, 5),
    "grounding": (1, 5),
}
SAID = "I would like something that suits the evening, and not too far from where I live. " * 2
BATCH = 1_000
ONE = {"dialogue", "study"}  # what makes a page that of one thing


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sizes", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    parser.add_argument("--database", help="URL of a database that is there already")
    given = parser.parse_args()
    print("| dialogues | page | cold, ms | warm, ms |\n|---|---|---|---|")
    if given.database:
        with tempfile.TemporaryDirectory() as folder:
            report(folder, given.database, *largest(given.database))
        return
    for size in given.sizes:
        with tempfile.TemporaryDirectory() as folder:
            url = f"sqlite:///{folder}/rapport.db"
            report(folder, url, size, *fill(url, size))


def report(folder: str, url: str, size: int, study: Study, example: str) -> None:
    """Print a row for every page."""
    os.environ |= {"RAPPORT_DATA_DIR": folder, "RAPPORT_DATABASE_URL": url}
    for page, query in pages(study, example):
        cold, warm = draw(page, query)
        label = f"{page}{' (one)' if ONE & query.keys() else ''}"
        print(f"| {size:,} | {label} | {cold:.0f} | {warm:.0f} |", flush=True)


def largest(url: str) -> tuple[int, Study, str]:
    """How many dialogues a database holds, the study that has most, and one dialogue of it."""
    from storage.store import open_store

    store = open_store(url)
    try:
        progress = max(store.list_progress(), key=lambda p: p.done, default=None)
        if progress is None or not progress.done:
            raise SystemExit(f"There is no dialogue in {url}.")
        study = store.get_study(progress.study_id)
        example = next(iter(store.iter_dialogues(study.id))).id
        return store.count_dialogues(DialogueFilter()), study, example
    finally:
        store.close()


def pages(study: Study, example: str) -> Iterator[tuple[str, dict[str, str]]]:
    yield "home", {}
    yield "personas", {}
    yield "launch", {}
    yield "studies", {}
    yield "studies", {"study": study.id}
    yield "dialogues", {}
    arm = study.spec.arms[-1].name if study.spec else "forgetful"
    yield "dialogues", {"study": study.id, "arm": arm, "domain": "Books"}
    yield "dialogues", {"dialogue": example}
    yield "compare", {"study": study.id}
    yield "data", {}
    yield "settings", {}


def draw(page: str, query: dict[str, str]) -> tuple[float, float]:
    """Milliseconds of the first run of a page and the median of five more."""
    import streamlit as st
    from streamlit.testing.v1 import AppTest

    st.cache_data.clear()
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    app.run()
    app.switch_page(f"pages/{page}.py")
    for name, value in query.items():
        app.query_params[name] = value

    def timed() -> float:
        start = time.perf_counter()
        app.run()
        assert not app.exception, app.exception
        return 1000 * (time.perf_counter() - start)

    return timed(), statistics.median(timed() for _ in range(5))


def fill(url: str, size: int) -> tuple[Study, str]:
    from core.sample import ensure_sample
    from storage.store import open_store

    store = open_store(url)
    try:
        ensure_sample(store)
        spec = StudySpec(
            name="large",
            dataset="sample",
            arms=tuple(ArmEntry(name=a, model=f"scripted/{a}", context="all") for a in ARMS),
        )
        study = Study(digest("large"), "large", spec, StudyState.DONE, now())
        store.add_study(study)
        return study, _fill(store, study, size)
    finally:
        store.close()


def _fill(store: Store, study: Study, size: int) -> str:
    chance = random.Random(7)
    refs = store.list_scenarios("sample", ScenarioFilter())
    batch: list[Finished] = []
    for number in range(size):
        batch.append(_finished(study, refs, number, chance))
        if len(batch) == BATCH:
            _add(store, study, batch)
            batch = []
    _add(store, study, batch)
    return digest("dialogue", 0)


def _add(store: Store, study: Study, batch: list[Finished]) -> None:
    """Dialogues with the units that they finish."""
    dialogues = [finished.dialogue for finished in batch]
    store.add_units([_unit(study, _ref(d), d.seed) for d in dialogues])
    store.add_finished(batch)


def _ref(dialogue: Dialogue) -> ScenarioRef:
    assert dialogue.dataset is not None
    return ScenarioRef(
        dialogue.dataset, dialogue.persona_id, dialogue.task_id, dialogue.kind, dialogue.domains
    )


def _unit(study: Study, ref: ScenarioRef, number: int) -> WorkUnit:
    """The unit of the dialogue with that number; the repetition makes each another one."""
    assert study.spec is not None
    return WorkUnit(study.id, ref, study.spec.arms[number % len(ARMS)].arm, number, number)


def _finished(
    study: Study, refs: list[ScenarioRef], number: int, chance: random.Random
) -> Finished:
    assert study.spec is not None
    arm = study.spec.arms[number % len(ARMS)].arm
    scenario = number // len(ARMS)
    ref = refs[scenario % len(refs)]
    # More people than the sample has, so that clusters grow with the data.
    ref = replace(ref, persona_id=f"user{scenario % 1500}")
    turns = chance.randint(2, 9)
    dialogue = Dialogue(
        id=digest("dialogue", number),
        study_id=study.id,
        unit_id=_unit(study, ref, number).id,
        attempt=1,
        dataset="sample",
        persona_id=ref.persona_id,
        task_id=ref.task_id,
        kind=ref.kind,
        domains=ref.domains,
        intent="Find something that suits the evening.",
        arm=arm,
        user_agent=ModelSpec("scripted/user"),
        repetition=number,
        seed=number,
        messages=tuple(
            Message(role, f"{SAID}{number}", now())
            for _ in range(turns)
            for role in (Role.USER, Role.ASSISTANT)
        ),
        stop_reason=StopReason.USER_DONE,
        stop_detail="",
        prompts={},
        created_at=now(),
        seconds=1.0,
    )
    return Finished(dialogue, tuple(_judgements(dialogue, chance)))


def _judgements(dialogue: Dialogue, chance: random.Random) -> Iterator[Judgement]:
    for dimension, (low, high) in DIMENSIONS.items():
        blank = chance.random() < 0.02
        yield Judgement(
            id=digest(dialogue.id, dimension),
            dialogue_id=dialogue.id,
            study_id=dialogue.study_id,
            dimension=dimension,
            target=Target.DIALOGUE,
            turn=None,
            status=JudgementStatus.UNPARSABLE if blank else JudgementStatus.OK,
            value=None if blank else chance.randint(low, high),
            rationale="It used what it knew, and asked for the rest.",
            evidence=(1,),
            raw="",
            instrument=Instrument("scripted/judge", f"{dimension}@1", "rule@1"),
            created_at=dialogue.created_at,
        )


if __name__ == "__main__":
    main()
