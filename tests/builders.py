"""A small language for test values: every argument has a sane default, none is random.

    make_persona("user7", age="25-34", affinities={"Books": {"Genre": ["crime", "travel"]}})
    make_task("MD-task-3", domains=("Flights", "Hotels"))
    make_scenario(persona=..., task=...)
    make_arm("attentive", context="all")
    make_dialogue("user: hi", "assistant: hello", stop="turn_limit", arm=...)
    make_judgement(dialogue, value=3)
    make_study_spec(arms=["scripted/attentive", "scripted/forgetful"])

Ids that are not given follow from the other arguments: equal arguments, equal id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from core.ports import Study
from core.review_types import Act, Annotation, Reason
from core.study_file import ArmEntry, ModelEntry, StudySpec
from core.types import (
    SITUATION_FIELDS,
    Affinity,
    AffinityRef,
    Arm,
    ContextSetting,
    Dialogue,
    ImportReport,
    Instrument,
    Irregularity,
    Judgement,
    JudgementStatus,
    Message,
    ModelCall,
    ModelSpec,
    Override,
    OverrideReason,
    Part,
    Persona,
    Role,
    Scenario,
    ScenarioRef,
    Situation,
    StopReason,
    StudyState,
    Target,
    Task,
    TaskKind,
    Vocabulary,
    WorkUnit,
    digest,
)

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
WEIRD = 'é 😀 $5 *x* <b> % _ \\ " \u202eRTL \x00 end'
"""Text that has broken something somewhere; it must come back as it went in."""

AFFINITIES: Mapping[str, Mapping[str, str | Sequence[str]]] = {
    "Books": {"Genre": ["crime", "travel"], "Reading Frequency": "daily"},
    "Flights": {"Seat Preference": "window", "Preferred Airline": ["Northwind", "Alta"]},
    "Hotels": {"Amenity Preference": ["pool", "quiet room"]},
}


def later(seconds: float = 1) -> datetime:
    """`seconds` after the moment at which every built value was made."""
    return NOW + timedelta(seconds=seconds)


# --- personas, tasks, scenarios ----------------------------------------------------------------


def make_affinities(by_domain: Mapping[str, Mapping[str, str | Sequence[str]]]) -> tuple[Any, ...]:
    """`{"Books": {"Genre": ["crime"], "Format": "ebook"}}` as affinities; a list stays a list."""
    return tuple(
        Affinity(domain, name, (value,), listed=False)
        if isinstance(value, str)
        else Affinity(domain, name, tuple(value), listed=True)
        for domain, named in by_domain.items()
        for name, value in named.items()
    )


def make_persona(
    persona_id: str = "user0",
    *,
    affinities: Mapping[str, Mapping[str, str | Sequence[str]]] = AFFINITIES,
    interests: Iterable[str] | None = None,
    interactions: Mapping[str, str] | None = None,
    **demographics: str,
) -> Persona:
    facts = {"user_id": persona_id, "age": "25-34 years old", "reside_country": "Portugal"}
    summaries = {d: f"The person asked the assistant about {d.lower()} twice." for d in affinities}
    return Persona(
        id=persona_id,
        demographics=facts | demographics,
        interests=frozenset(affinities if interests is None else interests),
        affinities=make_affinities(affinities),
        interactions=summaries if interactions is None else interactions,
    )


def make_task(
    task_id: str = "SD-Books-task-0",
    *,
    domains: tuple[str, ...] = ("Books",),
    relevant: Iterable[tuple[str, str]] = (("Books", "Genre"),),
    intent: str = "You want something to read on a train.",
    goal: str = "A book is chosen that fits the person's taste.",
) -> Task:
    return Task(
        id=task_id,
        kind=TaskKind.MULTI if len(domains) > 1 else TaskKind.SINGLE,
        domains=domains,
        description=f"Find something in {' and '.join(domains)}.",
        intent=intent,
        goal=goal,
        relevant=tuple(AffinityRef(domain, name) for domain, name in relevant),
    )


def make_situation(location: str = "kitchen", device: str = "phone", **fields: str) -> Situation:
    values = (location, device, "morning", "Friday", "quiet")
    return Situation(dict(zip(SITUATION_FIELDS, values, strict=True)) | fields)


def make_scenario(
    *,
    persona: Persona | None = None,
    task: Task | None = None,
    situation: Situation | None = None,
    dataset: str = "sample",
) -> Scenario:
    return Scenario(
        dataset, persona or make_persona(), task or make_task(), situation or make_situation()
    )


def make_ref(
    persona_id: str = "user0", task: Task | None = None, *, dataset: str = "sample"
) -> ScenarioRef:
    task = task or make_task()
    return ScenarioRef(dataset, persona_id, task.id, task.kind, task.domains)


def make_report(dataset: str = "sample", **changes: Any) -> ImportReport:
    report = ImportReport(
        dataset=dataset,
        kind="personalens",
        source="sample.tar.xz",
        personas=1,
        tasks=1,
        scenarios=1,
        dialogues=0,
        added=3,
        irregularities=(Irregularity("spelling", 2, True, "Favorite read as Favourite", ("x",)),),
        seconds=0.5,
        at=NOW,
    )
    return replace(report, **changes)


def make_vocabulary(*personas: Persona) -> Vocabulary:
    """How many of `personas` hold each value."""
    counts: dict[str, dict[str, dict[str, int]]] = {}
    for affinity in (a for p in personas for a in p.affinities):
        held = counts.setdefault(affinity.domain, {}).setdefault(affinity.name, {})
        for value in affinity.values:
            held[value] = held.get(value, 0) + 1
    return counts


def fill_dataset(
    store: Any,
    name: str = "sample",
    *,
    personas: Sequence[Persona] = (),
    tasks: Sequence[Task] = (),
) -> list[ScenarioRef]:
    """Store a dataset in which every persona has every task; returns its scenarios."""
    personas = personas or (make_persona("user0"), make_persona("user1"))
    tasks = tasks or (make_task(),)
    refs = [make_ref(p.id, t, dataset=name) for p in personas for t in tasks]
    with store.write_dataset(name, "personalens") as writer:
        writer.add_personas(personas)
        writer.add_tasks(tasks)
        writer.add_scenarios([(ref, make_situation()) for ref in refs])
        writer.finish(make_report(name), make_vocabulary(*personas))
    return refs


# --- arms, studies, units ----------------------------------------------------------------------


def make_arm(
    name: str = "attentive",
    *,
    model: str | None = None,
    context: str | Iterable[str] = (),
    prompt: str = "assistant@1",
    **params: Any,
) -> Arm:
    """`context` is "all", "none" or the parts; the model defaults to `scripted/<name>`."""
    words: dict[Any, Iterable[str]] = {"all": tuple(Part), "none": ()}
    parts = words[context] if isinstance(context, str) else context
    spec = ModelSpec(model or f"scripted/{name}", None, params)
    return Arm(name, spec, ContextSetting.of(*parts), prompt)


def make_study_spec(
    name: str = "pilot", *, arms: Sequence[str | ArmEntry] = ("scripted/attentive",), **fields: Any
) -> StudySpec:
    """An arm may be a model string, which then also names it."""
    entries = tuple(
        ArmEntry(name=a.split("/")[-1], model=a) if isinstance(a, str) else a for a in arms
    )
    values: dict[str, Any] = {"dataset": "sample", "user_agent": ModelEntry(model="scripted/user")}
    return StudySpec(name=name, arms=entries, **(values | fields))


def make_study(
    study_id: str = "s1",
    *,
    name: str = "pilot",
    spec: StudySpec | None = None,
    kind: str = "study",
    state: StudyState = StudyState.DEFINED,
) -> Study:
    if kind == "study" and spec is None:
        spec = make_study_spec(name)
    return Study(study_id, name, spec, state, NOW, kind)


def make_unit(
    ref: ScenarioRef | None = None,
    *,
    study_id: str = "s1",
    arm: Arm | None = None,
    repetition: int = 0,
    seed: int = 7,
) -> WorkUnit:
    return WorkUnit(study_id, ref or make_ref(), arm or make_arm(), repetition, seed)


# --- dialogues, calls, judgements, overrides ---------------------------------------------------


def make_messages(*lines: str) -> tuple[Message, ...]:
    """`"user: hi"`, `"assistant: hello"`: the role, a colon and a blank, then the raw text."""
    return tuple(
        Message(Role(role), content)
        for role, _, content in (line.partition(": ") for line in lines)
    )


def make_dialogue(
    *lines: str,
    stop: StopReason | str = StopReason.USER_DONE,
    arm: Arm | None = None,
    task: Task | None = None,
    **fields: Any,
) -> Dialogue:
    """A dialogue of `lines`; other fields of `Dialogue` by name, `id` included."""
    task = task or make_task()
    messages = make_messages(*(lines or ("user: hi", "assistant: hello")))
    values: dict[str, Any] = {
        "study_id": "s1",
        "unit_id": None,
        "attempt": 1,
        "dataset": "sample",
        "persona_id": "user0",
        "repetition": 0,
        "seed": 7,
        "stop_detail": "",
        "prompts": {"assistant": "assistant@1:0123abcd"},
        "created_at": NOW,
        "seconds": 1.5,
    } | fields
    arm = arm or make_arm()
    values.setdefault("id", digest(task.id, arm.to_dict(), lines, stop, _plain(values)))
    return Dialogue(
        task_id=task.id,
        kind=task.kind,
        domains=task.domains,
        intent=task.intent,
        arm=arm,
        user_agent=ModelSpec("scripted/user"),
        messages=messages,
        stop_reason=StopReason(stop),
        **values,
    )


def make_dialogue_of(unit: WorkUnit, *lines: str, task: Task | None = None, **f: Any) -> Dialogue:
    """The dialogue that `unit` owes."""
    fields: dict[str, Any] = {
        "study_id": unit.study_id,
        "unit_id": unit.id,
        "dataset": unit.scenario.dataset,
        "persona_id": unit.scenario.persona_id,
        "repetition": unit.repetition,
        "seed": unit.seed,
    } | f
    task = task or make_task(unit.scenario.task_id, domains=unit.scenario.domains)
    return make_dialogue(*lines, arm=unit.arm, task=task, **fields)


def make_instrument(
    rubric: str = "personalization@1", *, judge: str = "scripted/judge", **params: Any
) -> Instrument:
    return Instrument(judge, rubric, "personalization@1:89abcdef", params)


def make_judgement(
    dialogue: Dialogue | None = None,
    *,
    value: int | None = 3,
    dimension: str = "personalization",
    status: JudgementStatus | str | None = None,
    instrument: Instrument | None = None,
    turn: int | None = None,
    **fields: Any,
) -> Judgement:
    """A judgement of `dialogue`; without a value it is unparsable unless `status` says else."""
    dialogue = dialogue or make_dialogue()
    instrument = instrument or make_instrument(f"{dimension}@1")
    fallback = JudgementStatus.UNPARSABLE if value is None else JudgementStatus.OK
    target = fields.pop("target", Target.DIALOGUE if turn is None else Target.TURN)
    values: dict[str, Any] = {
        "id": digest(dialogue.id, instrument.id, dimension, target, turn),
        "rationale": "It used what it knew.",
        "evidence": (1,),
        "raw": '{"value": 3}',
        "created_at": NOW,
    } | fields
    return Judgement(
        dialogue_id=dialogue.id,
        study_id=dialogue.study_id,
        dimension=dimension,
        target=Target(target),
        turn=turn,
        status=JudgementStatus(status) if status else fallback,
        value=value,
        instrument=instrument,
        **values,
    )


def make_override(
    judgement: Judgement, *, value: int | None = 2, supersedes: str | None = None, **fields: Any
) -> Override:
    values: dict[str, Any] = {
        "id": digest("override", judgement.id, value, supersedes, _plain(fields)),
        "reason_kind": OverrideReason.MISREAD,
        "reason": "The assistant was told this in turn 1.",
        "author": "Ana",
        "created_at": NOW,
    } | fields
    return Override(
        judgement_id=judgement.id,
        dialogue_id=judgement.dialogue_id,
        value=value,
        supersedes=supersedes,
        **values,
    )


def make_annotation(dialogue_id: str, *, value: int | None = 3, **fields: Any) -> Annotation:
    """A rating of personalisation by Ana that nothing drew; other fields by name."""
    values: dict[str, Any] = {
        "id": digest("annotation", dialogue_id, value, _plain(fields)),
        "root_id": "",
        "dimension": "personalization",
        "annotator": "Ana",
        "act": Act.RATED,
        "reason": Reason.SELF_SELECTED,
        "judge_visible_before": False,
        "rubric": "personalization@1",
        "opened_at": NOW,
        "submitted_at": later(40),
        "active_seconds": 40.0,
        "cannot": "the dialogue breaks off" if value is None else "",
    } | fields
    return Annotation(dialogue_id=dialogue_id, value=value, **values)


def make_call(scope: str = "u1", party: str = "assistant", seq: int = 0, **f: Any) -> ModelCall:
    values: dict[str, Any] = {
        "request_hash": digest(scope, party, seq),
        "model": "openai/gpt-4o-mini",
        "reply": "Hello.",
        "finish_reason": "stop",
        "tokens_in": 10,
        "tokens_out": 3,
        "cost_usd": 0.25,
        "seconds": 0.4,
        "attempts": 1,
        "at": NOW,
        "study_id": "s1",
    } | f
    return ModelCall(scope=scope, party=party, seq=seq, **values)


def _plain(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    return sorted((k, str(v)) for k, v in values.items())
