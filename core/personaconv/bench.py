"""Asking about one instance: what a unit of work needs where conversations are asked about.

One request, one answer. The prompt is made anew from the dataset each time, so that what was sent
is known by its hash, and a resumed unit finds its answer in the call log.
"""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from core.bench import Bench, How
from core.calls import Line
from core.clock import now
from core.errors import (
    Cancelled,
    ContextOverflow,
    ModelError,
    ModelMisconfigured,
    ModelRefused,
    NotFound,
)
from core.limits import BudgetReached
from core.parties.lexicon import build_lexicon
from core.parties.model_party import request_of
from core.personaconv.answers import Answer, Status, read_answer
from core.personaconv.baselines import Crowd, baseline_answer, know_crowd
from core.personaconv.history import MOST, history, others_history, pairs_of
from core.personaconv.prompting import Case, Limits, Prompt, strict_prompt
from core.personaconv.reference import Reference
from core.personaconv.selection import parent_text, split_by_time
from core.personaconv.study import PREFIX, limits_of
from core.personaconv.types import (
    Instance,
    Mode,
    Pair,
    Setting,
    Split,
    TargetRef,
    Task,
    Thread,
    parse_task_id,
)
from core.ports import ChatRequest, Reply, Store
from core.types import (
    Dialogue,
    Message,
    Persona,
    Role,
    Scenario,
    Situation,
    StopReason,
    TaskKind,
    WorkUnit,
    digest,
)
from core.types import Task as PersonaTask

if TYPE_CHECKING:
    from core.study_file import InstanceSelection, StudySpec

_MOST_MEMBERS = 256  # whose pasts are kept
MAX_TOKENS = 1024  # alike for all models and tasks, with room for reasons
TEMPERATURE = 0.0
SCHEMAS: dict[Task, dict[str, Any]] = {
    Task.SENTIMENT: {"label": {"type": "string", "enum": ["positive", "negative"]}},
    Task.IMPACT: {"score": {"type": "integer"}},
    Task.REPLY: {"text": {"type": "string"}},
}


@dataclass(frozen=True)
class Asked(Scenario):
    """An instance as a scenario that judges can be told about, with all it is made of."""

    case: Case = field(kw_only=True)


def open_bench(spec: StudySpec, store: Store, line: Line) -> Bench:
    """The bench that fits a study: for dialogues, or for conversations."""
    if spec.instances is None:
        return Bench.open(store, spec.dataset, line)
    return InstanceBench(store, spec.dataset, build_lexicon({}), line, selection=spec.instances)


@dataclass
class InstanceBench(Bench):
    """Cases, prompts and answers of the instances of one dataset."""

    selection: InstanceSelection = field(kw_only=True)
    _targets: list[TargetRef] = field(default_factory=list)
    _by_domain: dict[str, list[str]] = field(default_factory=dict)
    _pasts: OrderedDict[str, list[Pair]] = field(default_factory=OrderedDict)
    _references: dict[Task, Reference] = field(default_factory=dict)
    _crowd: Crowd | None = None
    _hash: str = ""
    _reading: threading.RLock = field(default_factory=threading.RLock)

    @classmethod
    def reading(cls, store: Store, dataset: str, selection: InstanceSelection) -> InstanceBench:
        """A bench that makes cases and prompts, and can call nobody."""
        return cls(store, dataset, build_lexicon({}), _no_line(), selection=selection)

    # --- cases ------------------------------------------------------------------------------

    def _learn(self) -> None:
        """What is known of the whole dataset: read once."""
        with self._reading:
            if self._hash:
                return
            self._targets = self.store.list_targets(self.dataset)
            members: dict[str, set[str]] = {}
            for target in self._targets:
                members.setdefault(target.domain, set()).add(target.member)
            self._by_domain = {d: sorted(found) for d, found in members.items()}
            splits = split_by_time(self._targets)
            train = (t for t in self._targets if splits[t.thread_id, t.number] is Split.TRAIN)
            self._crowd = know_crowd(train, self.selection.dead_zone)
            self._hash = self.store.get_conversations(self.dataset).hash

    @property
    def crowd(self) -> Crowd:
        """What baselines know of how replies are received."""
        self._learn()
        assert self._crowd is not None
        return self._crowd

    def prepare(self, units: Sequence[WorkUnit]) -> dict[str, Scenario]:
        """Everything that the units' prompts are made of, by the scenario's id."""
        refs = {u.scenario.id: u.scenario for u in units}
        cases = self.cases([ref.task_id for ref in refs.values()])
        return {i: as_scenario(cases[ref.task_id], self.dataset) for i, ref in refs.items()}

    def cases(self, task_ids: Sequence[str]) -> dict[str, Case]:
        """The cases of some instances, read in few queries."""
        return self.patience(lambda: self._cases(task_ids))

    def _cases(self, task_ids: Sequence[str]) -> dict[str, Case]:
        self._learn()
        places = {i: parse_task_id(i) for i in task_ids}
        known = {i: place for i, place in places.items() if place is not None}
        ids = [thread_id for _, thread_id, _ in known.values()]
        threads = self.store.get_threads(self.dataset, ids)
        self._read_pasts({t.author for t in threads.values()})
        return {
            i: self._case(threads[thread_id], number, task)
            for i, (task, thread_id, number) in known.items()
        }

    def _case(self, thread: Thread, number: int, task: Task) -> Case:
        instance = instance_at(thread, number, task, self._hash)
        everybody = self._by_domain.get(thread.domain, [])
        most = self.selection.history_items or MOST
        others = others_history(everybody, self._past, instance, self.selection.seed, most)
        return Case(instance, thread, tuple(self._past(thread.author)), others)

    def _past(self, member: str) -> list[Pair]:
        with self._reading:
            if member not in self._pasts:
                self._read_pasts({member})
            return self._pasts[member]

    def _read_pasts(self, members: set[str]) -> None:
        with self._reading:
            missing = sorted(members - self._pasts.keys())
            found = self.store.threads_of_members(self.dataset, missing)
            for member, threads in found.items():
                self._pasts[member] = pairs_of(threads, member)
            while len(self._pasts) > max(_MOST_MEMBERS, len(members)):
                self._pasts.popitem(last=False)

    # --- prompts ----------------------------------------------------------------------------

    def prompt(self, case: Case, setting: Setting) -> Prompt:
        """Word for word what a model is told about a case in a setting, audited."""
        if self.selection.mode is Mode.STRICT:
            return strict_prompt(case, setting, self.limits)
        reference = self._reference(case.instance.task)
        index = next(
            k for k, c in enumerate(reference.chosen) if c.thread.id == case.instance.thread_id
        )
        return reference.prompt(index, setting)

    @property
    def limits(self) -> Limits:
        return limits_of(self.selection)

    def _reference(self, task: Task) -> Reference:
        with self._reading:
            if task not in self._references:
                threads = list(self.store.iter_threads(self.dataset))
                self._references[task] = Reference.of(threads, task)
            return self._references[task]

    # --- answers ----------------------------------------------------------------------------

    def make(self, unit: WorkUnit, scenario: Scenario, how: How) -> Dialogue:
        """Ask one unit's question. Raises only what `make_dialogue` does."""
        assert isinstance(scenario, Asked)
        case, started, tick = scenario.case, self.line.now(), time.monotonic()
        prompt = self.patience(lambda: self.prompt(case, Setting(unit.arm.setting)))
        said = self._said(unit, case, prompt, how)
        return Dialogue(
            id=digest(unit.id, how.attempt),
            study_id=unit.study_id,
            unit_id=unit.id,
            attempt=how.attempt,
            dataset=self.dataset,
            persona_id=scenario.persona.id,
            task_id=scenario.task.id,
            kind=scenario.task.kind,
            domains=scenario.task.domains,
            intent=scenario.task.description,
            arm=unit.arm,
            user_agent=how.user_agent,
            repetition=unit.repetition,
            seed=unit.seed,
            messages=_messages(case, said),
            stop_reason=said.stop_reason,
            stop_detail=said.detail,
            prompts={
                "assistant": prompt.prompt_id,
                "request": prompt.hash,
                "leaks": prompt.leak_kinds,
                "parse": str(said.answer.status),
            },
            created_at=started,
            seconds=time.monotonic() - tick,
        )

    def _said(self, unit: WorkUnit, case: Case, prompt: Prompt, how: How) -> _Said:
        spec, task = unit.arm.assistant, case.instance.task
        if spec.scripted:
            answer = baseline_answer(spec.model.removeprefix(PREFIX), case, self.crowd)
            return _Said(as_json(task, answer), answer)
        scope = how.scope or f"{unit.id}:{how.attempt}"
        calls = self.calls(scope, unit.study_id, (spec,), unit.repetition)
        request = self._request(unit, task, prompt)
        return _heard(task, lambda: calls.reply(Role.ASSISTANT, request))

    def _request(self, unit: WorkUnit, task: Task, prompt: Prompt) -> ChatRequest:
        request = request_of(unit.arm.assistant, prompt.messages, TEMPERATURE, unit.seed)
        if "max_tokens" not in unit.arm.assistant.params:
            request = replace(request, max_tokens=MAX_TOKENS)
        if self.selection.mode is Mode.REFERENCE:
            return request
        fields = SCHEMAS[task]
        schema = {
            "type": "object",
            "properties": fields,
            "required": list(fields),
            "additionalProperties": False,
        }
        return replace(request, schema=schema)


def _no_line() -> Line:
    """A line to nobody: whoever reads has no calls to make."""

    def refuse(*_: object, **__: object) -> Any:
        raise AssertionError("a bench for reading was asked to call a model")

    nobody: Any = refuse
    return Line(nobody, nobody, refuse, now)


@dataclass(frozen=True, slots=True)
class _Said:
    raw: str
    answer: Answer
    stop_reason: StopReason = StopReason.USER_DONE
    detail: str = ""


def _heard(task: Task, ask: Callable[[], Reply]) -> _Said:
    """Ask, and tell every fault that is an outcome by its stop reason."""
    failed = Answer(Status.ERROR)
    try:
        reply = ask()
    except ModelMisconfigured:
        raise
    except ModelRefused as error:
        return _Said("", Answer(Status.REFUSED), StopReason.REFUSED, str(error))
    except ContextOverflow as error:
        return _Said("", failed, StopReason.CONTEXT_OVERFLOW, str(error))
    except ModelError as error:
        return _Said("", failed, StopReason.MODEL_ERROR, f"{type(error).__name__}: {error}")
    except BudgetReached as error:
        return _Said("", failed, StopReason.BUDGET, str(error))
    except Cancelled as error:
        return _Said("", failed, StopReason.CANCELLED, str(error))
    return _Said(reply.text, read_answer(task, reply.text, reply.finish_reason))


def as_json(task: Task, answer: Answer) -> str:
    """An answer in the form that is asked for."""
    value = {Task.SENTIMENT: answer.label, Task.REPLY: answer.text}.get(task)
    if task is Task.IMPACT and answer.score is not None:
        value = int(answer.score)  # type: ignore[assignment]
    key = next(iter(SCHEMAS[task]))
    return json.dumps({key: value}, ensure_ascii=False)


def _messages(case: Case, said: _Said) -> tuple[Message, ...]:
    """The question in short, and the answer: a generated reply as its text, all else as it came.

    What was sent and what came back to the letter are in the call log.
    """
    parent = parent_text(case.thread, case.target.parent)
    question = parent if case.instance.task is Task.REPLY else f"{parent}\n\n{case.target.text}"
    asked = Message(Role.USER, question)
    if said.stop_reason is not StopReason.USER_DONE:
        return (asked,)
    text = said.answer.text if said.answer.text is not None else said.raw
    return (asked, Message(Role.ASSISTANT, text))


def answer_of(dialogue: Dialogue) -> Answer:
    """What a stored dialogue answered."""
    place = parse_task_id(dialogue.task_id)
    status = Status(dialogue.prompts.get("parse", Status.ERROR))
    if place is None or not status.valid or len(dialogue.messages) < 2:
        return Answer(Status.ERROR if status.valid else status)
    raw = dialogue.messages[1].content
    if place[0] is Task.REPLY:
        return Answer(status, text=raw)
    return replace(read_answer(place[0], raw), status=status)


# --- for judges ---------------------------------------------------------------------------------


def instance_at(thread: Thread, number: int, task: Task, dataset_hash: str) -> Instance:
    """The instance about one reply; which part it belongs to does not matter here."""
    target = thread.comment(number)
    assert target.at is not None, "a reply without a time is never a target"
    comment_id = thread.comment_id(number)
    return Instance(
        dataset_hash,
        thread.id,
        comment_id,
        number,
        thread.author,
        thread.domain,
        target.at,
        Split.TEST,
        task,
    )


def as_scenario(case: Case, dataset: str) -> Asked:
    """A case as judges of generated replies read it: who answers, to what, and the real reply."""
    instance, thread = case.instance, case.thread
    past = history(case.own, instance, MOST)
    shown = "\n".join(f"To “{p.parent_text}”: “{p.text}”" for p in past) or "None are known."
    reply = instance.task is Task.REPLY
    title = thread.title or thread.content or "a post without words"
    return Asked(
        dataset=dataset,
        persona=Persona(instance.member, {}, frozenset({thread.domain}), (), {}),
        task=PersonaTask(
            id=f"{instance.task}:{instance.comment_id}",
            kind=TaskKind.SINGLE,
            domains=(thread.domain,),
            description=f"{instance.task.capitalize()} of a reply under “{title[:120]}”",
            intent=parent_text(thread, case.target.parent),
            goal=case.target.text if reply else "",
            relevant=(),
        ),
        situation=Situation(
            {"Community": thread.domain, "Title of the post": title, "Earlier replies": shown}
        ),
        case=case,
    )


def instance_scenario(dialogue: Dialogue, store: Store) -> Scenario | None:
    """The scenario of a stored answer about conversations; None for any other dialogue."""
    place = parse_task_id(dialogue.task_id)
    if place is None or dialogue.dataset is None:
        return None
    task, thread_id, number = place
    try:
        counts = store.get_conversations(dialogue.dataset)
        thread = store.get_threads(dialogue.dataset, [thread_id])[thread_id]
    except (NotFound, KeyError):
        return None
    found = store.threads_of_members(dialogue.dataset, [thread.author])[thread.author]
    instance = instance_at(thread, number, task, counts.hash)
    case = Case(instance, thread, tuple(pairs_of(found, thread.author)))
    return as_scenario(case, dialogue.dataset)
