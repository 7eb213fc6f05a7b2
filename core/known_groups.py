"""Is a judge fit to use? Scripted assistants of known quality say what it must see.

The assistants talk to the scripted user, which costs nothing; only the judge is asked. One that
does not rate `scripted/attentive` above `scripted/forgetful`, or rewards the inventions of
`scripted/inventive`, is not fit, and neither is one that always says the same. Probes change a
dialogue in a way that must not matter: longer words, the person's words repeated, the same facts
in another order.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from core.assets import Rubric, load_rubric
from core.bench import Bench, How, Judging, judge_dialogue, make_dialogue
from core.calls import Line
from core.clock import now
from core.errors import StudyError
from core.gate import Unlimited
from core.judge import instrument_of
from core.known_groups_words import Check, differences, spread, unscored_check
from core.parties.make import SCRIPTED_JUDGE, SCRIPTED_USER, check_scripted_name
from core.ports import ChatModel, ScenarioFilter, Store
from core.sample import SAMPLE_NAME
from core.stats.types import FloatArray
from core.types import (
    Arm,
    ContextSetting,
    Dialogue,
    Instrument,
    Message,
    ModelSpec,
    Part,
    Role,
    Scenario,
    ScenarioRef,
    TaskKind,
    WorkUnit,
)

STUDY = "known-groups"
CONTROLS = ("attentive", "forgetful", "inventive")
PROBES = ("length", "restating", "order")
DIMENSION = "personalization"
PERSONAS = 12
_THREADS = 8
_FILLER = (
    " I hope that this is clear and helpful so far. Please take all the time that you need, and"
    " do let me know whenever there is anything else that you would like me to look at or explain."
)

Progress = Callable[[int, int], object]


@dataclass(frozen=True, slots=True)
class JudgeCheck:
    """What came of the controls for one judge by one rubric.

    `values` holds the judge's value of each persona for every control and probe, NaN where it
    gave none; `counts` how often each value was given.
    """

    instrument: Instrument
    low: int
    high: int
    personas: tuple[str, ...]
    values: Mapping[str, FloatArray]
    counts: Mapping[int, int]
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)

    @property
    def n_unscored(self) -> int:
        return int(sum(np.isnan(found).sum() for found in self.values.values()))


def check_judge(  # noqa: PLR0913 - the judge, what it reads, and who watches
    spec: ModelSpec,
    store: Store,
    model: ChatModel,
    *,
    rubric: str = DIMENSION,
    personas: int = PERSONAS,
    probes: bool = False,
    seed: int = 7,
    on_progress: Progress | None = None,
) -> JudgeCheck:
    """Let a judge rate the controls and say what it sees. Its calls are kept and paid once.

    Raises `StudyError` for a judge or number of personas that cannot be, `AssetError` for an
    unknown rubric, and `ModelMisconfigured` when the judge cannot be used.
    """
    check_scripted_name(spec.model, (SCRIPTED_JUDGE,), "judge")
    used = load_rubric(rubric)
    if used.dimension != DIMENSION:
        raise StudyError(
            f"The controls are of known quality in {DIMENSION} only; {used.ref} rates "
            f"{used.dimension}."
        )
    line = Line(model, Unlimited(), lambda c, e: store.add_calls([c], entries=[e]), now)
    bench = Bench.open(store, SAMPLE_NAME, line)
    refs = _scenarios(store, personas, seed)
    scenarios = bench.prepare([_unit(ref, CONTROLS[0], seed) for ref in refs])
    asked = [
        (name, ref.persona_id, dialogue, scenario)
        for ref in refs
        for name, dialogue, scenario in _material(ref, scenarios[ref.id], bench, seed, probes)
    ]
    values = _rate(asked, Judging(spec, (used,)), bench, on_progress)
    return _result(instrument_of(spec, used), used, refs, values)


def _result(
    instrument: Instrument,
    rubric: Rubric,
    refs: Sequence[ScenarioRef],
    values: Mapping[str, FloatArray],
) -> JudgeCheck:
    people = tuple(ref.persona_id for ref in refs)
    every = np.concatenate(list(values.values()))
    counts = Counter(int(v) for v in every if not np.isnan(v))
    scale = (rubric.scale.low, rubric.scale.high)
    return JudgeCheck(
        instrument=instrument,
        low=scale[0],
        high=scale[1],
        personas=people,
        values=values,
        counts=dict(sorted(counts.items())),
        checks=(
            *differences(values, people),
            spread(counts, len(every)),
            unscored_check(values, scale),
        ),
    )


# --- material ---------------------------------------------------------------------------------


def _scenarios(store: Store, personas: int, seed: int) -> list[ScenarioRef]:
    """One task of one domain for each of so many personas of the sample."""
    by_persona: dict[str, list[ScenarioRef]] = {}
    for ref in store.list_scenarios(SAMPLE_NAME, ScenarioFilter(kind=TaskKind.SINGLE)):
        by_persona.setdefault(ref.persona_id, []).append(ref)
    if not 2 <= personas <= len(by_persona):
        raise StudyError(
            f"The sample has {len(by_persona)} personas; ask for 2 to {len(by_persona)}."
        )
    rng = random.Random(seed)
    chosen = sorted(rng.sample(sorted(by_persona), personas))
    return [rng.choice(by_persona[person]) for person in chosen]


def _unit(ref: ScenarioRef, control: str, seed: int) -> WorkUnit:
    arm = Arm(control, ModelSpec(f"scripted/{control}"), ContextSetting.of(*Part))
    return WorkUnit(STUDY, ref, arm, 0, seed)


def _material(
    ref: ScenarioRef, scenario: Scenario, bench: Bench, seed: int, probes: bool
) -> list[tuple[str, Dialogue, Scenario]]:
    how = How(ModelSpec(SCRIPTED_USER))
    made = {c: make_dialogue(_unit(ref, c, seed), scenario, bench, how) for c in CONTROLS}
    found = [(control, dialogue, scenario) for control, dialogue in made.items()]
    if probes:
        # The middle one: a judge that gives the best one the highest value cannot give it more.
        plain = made["forgetful"]
        found += [
            ("length", _changed(plain, "length", lengthened), scenario),
            ("restating", _changed(plain, "restating", restated), scenario),
            ("order", replace(plain, id=f"{plain.id}:order"), turned_round(scenario)),
        ]
    return found


def _changed(
    dialogue: Dialogue, name: str, change: Callable[[Sequence[Message]], tuple[Message, ...]]
) -> Dialogue:
    return replace(dialogue, id=f"{dialogue.id}:{name}", messages=change(dialogue.messages))


def lengthened(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The same, with words that say nothing after everything the assistant says."""
    return tuple(
        replace(m, content=m.content + _FILLER) if m.role is Role.ASSISTANT else m for m in messages
    )


def restated(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The same, with the person's last words before everything the assistant says."""
    found, said = [], ""
    for message in messages:
        if message.role is Role.USER:
            said = message.content
            found.append(message)
        else:
            found.append(replace(message, content=f'You said: "{said}" {message.content}'))
    return tuple(found)


def turned_round(scenario: Scenario) -> Scenario:
    """The same facts about the person, last first."""
    persona = scenario.persona
    turned = replace(
        persona,
        demographics=dict(reversed(list(persona.demographics.items()))),
        affinities=tuple(reversed(persona.affinities)),
    )
    return replace(scenario, persona=turned)


# --- rating -----------------------------------------------------------------------------------


def _rate(
    asked: Sequence[tuple[str, str, Dialogue, Scenario]],
    judging: Judging,
    bench: Bench,
    on_progress: Progress | None,
) -> dict[str, FloatArray]:
    """The values in the order of the personas, for each control and probe."""

    def rate(item: tuple[str, str, Dialogue, Scenario]) -> float:
        judgements = judge_dialogue(item[2], item[3], (judging,), bench)
        value = judgements[0].value if judgements else None
        return float("nan") if value is None else float(value)

    found: dict[str, list[float]] = {}
    threads = 1 if judging.spec.scripted else _THREADS
    with ThreadPoolExecutor(threads) as pool:
        for done, (item, value) in enumerate(zip(asked, pool.map(rate, asked), strict=True), 1):
            found.setdefault(item[0], []).append(value)
            if on_progress is not None:
                on_progress(done, len(asked))
    return {name: np.array(values) for name, values in found.items()}
