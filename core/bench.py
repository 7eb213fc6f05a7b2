"""Making and judging one dialogue: what a unit of work needs beside itself."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field

from core.assets import Rubric, load_rubric
from core.calls import CallLog, Line, NoCalls
from core.context import assistant_briefing, user_briefing
from core.judge import Question, Rated, questions
from core.parties.lexicon import Lexicon, build_lexicon
from core.parties.make import make_assistant, make_user
from core.patience import Patience
from core.personaconv.types import is_rated
from core.ports import Calls, Store
from core.side_by_side import side_by_side
from core.simulate import TURN_LIMIT, Watch, simulate
from core.study_file import JudgeEntry, StudySpec
from core.types import Dialogue, Judgement, ModelSpec, Persona, Scenario, Task, WorkUnit, digest

_MOST_PERSONAS = 256  # kept parsed; units come in the order of personas


@dataclass(frozen=True, slots=True)
class Judging:
    """One judge with the rubrics it applies, each once."""

    spec: ModelSpec
    rubrics: tuple[Rubric, ...]

    @classmethod
    def of(cls, entries: Sequence[JudgeEntry]) -> tuple[Judging, ...]:
        by_judge: dict[str, Judging] = {}
        for entry in entries:
            key = digest(entry.spec.to_dict())
            before = by_judge[key].rubrics if key in by_judge else ()
            rubrics = dict.fromkeys((*before, *map(load_rubric, entry.rubrics)))
            by_judge[key] = cls(entry.spec, tuple(rubrics))
        return tuple(by_judge.values())


@dataclass
class Bench:
    """What making one dialogue needs beside the unit: people, words and a line to models.

    Judges use that line too, unless they have their own. `pool` lends threads to their
    questions; without it they are put one by one. `patience` is what it has with a database
    that does not answer.
    """

    store: Store
    dataset: str
    lexicon: Lexicon
    line: Line
    pool: Executor | None = None
    patience: Patience = Patience(seconds=0)
    _personas: OrderedDict[str, Persona] = field(default_factory=OrderedDict)
    _known_tasks: dict[str, Task] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def open(cls, store: Store, dataset: str, line: Line) -> Bench:
        return cls(store, dataset, build_lexicon(store.vocabulary(dataset)), line)

    def make(self, unit: WorkUnit, scenario: Scenario, how: How) -> Dialogue:
        """The dialogue of one unit."""
        return make_dialogue(unit, scenario, self, how)

    def prepare(self, units: Sequence[WorkUnit]) -> dict[str, Scenario]:
        """The scenarios of `units` by id, read in few queries."""
        return self.patience(lambda: self._scenarios(units))

    def _scenarios(self, units: Sequence[WorkUnit]) -> dict[str, Scenario]:
        refs = {u.scenario.id: u.scenario for u in units}
        people = self._people({r.persona_id for r in refs.values()})
        tasks = self._tasks({r.task_id for r in refs.values()})
        keys = [(r.persona_id, r.task_id) for r in refs.values()]
        situations = self.store.get_situations(self.dataset, keys)
        return {
            ref.id: Scenario(
                self.dataset,
                people[ref.persona_id],
                tasks[ref.task_id],
                situations[ref.persona_id, ref.task_id],
            )
            for ref in refs.values()
        }

    def _tasks(self, ids: set[str]) -> dict[str, Task]:
        """Tasks by id, read once: there are hundreds, and each claim asks for some."""
        if not ids <= self._known_tasks.keys():
            self._known_tasks = {t.id: t for t in self.store.list_tasks(self.dataset)}
        return self._known_tasks

    def calls(
        self, scope: str, study_id: str, specs: Sequence[ModelSpec], repetition: int
    ) -> Calls:
        """The call log of a scope; scripted parties need none."""
        return self.logs(scope, study_id, specs, repetition)()

    def logs(
        self, scope: str, study_id: str, specs: Sequence[ModelSpec], repetition: int
    ) -> Callable[[], Calls]:
        """Makes call logs of one scope that each count for themselves, reading it once."""
        if all(spec.scripted for spec in specs):
            return NoCalls
        recorded = self.patience(lambda: self.store.list_calls(scope))
        return lambda: CallLog(scope, study_id, self.line, recorded, repetition=repetition)

    def _people(self, ids: set[str]) -> dict[str, Persona]:
        with self._lock:
            missing = ids - self._personas.keys()
            self._personas.update(self.store.get_personas(self.dataset, missing))
            found = {i: self._personas[i] for i in ids}
            for persona_id in ids:
                self._personas.move_to_end(persona_id)
            while len(self._personas) > max(_MOST_PERSONAS, len(ids)):
                self._personas.popitem(last=False)
        return found


@dataclass(frozen=True, slots=True)
class How:
    """How a dialogue is made: who plays the user, how long it may get, and who watches.

    `scope` names the call log when it is not the unit's own.
    """

    user_agent: ModelSpec
    max_turns: int | None = None
    attempt: int = 1
    watch: Watch | None = None
    scope: str = ""

    @classmethod
    def of(cls, spec: StudySpec, attempt: int) -> How:
        return cls(spec.user_agent.spec, spec.limits.max_turns, attempt)


def make_dialogue(unit: WorkUnit, scenario: Scenario, bench: Bench, how: How) -> Dialogue:
    """Simulate one unit. Raises only `ModelMisconfigured`, and what the store raises."""
    started, tick = bench.line.now(), time.monotonic()
    scope = how.scope or f"{unit.id}:{how.attempt}"
    calls = bench.calls(scope, unit.study_id, (how.user_agent, unit.arm.assistant), unit.repetition)
    words, seed = bench.lexicon, unit.seed
    briefing = user_briefing(scenario)
    user = make_user(how.user_agent, briefing, calls=calls, lexicon=words, seed=seed)
    given = assistant_briefing(scenario, unit.arm.context)
    assistant = make_assistant(unit.arm, given, calls=calls, lexicon=words, seed=seed)
    exchange = simulate(
        user,
        assistant,
        max_turns=how.max_turns or TURN_LIMIT[scenario.task.kind],
        watch=how.watch or Watch(bench.line.now, is_cancelled=bench.line.is_cancelled),
    )
    return Dialogue(
        id=digest(unit.id, how.attempt),
        study_id=unit.study_id,
        unit_id=unit.id,
        attempt=how.attempt,
        dataset=bench.dataset,
        persona_id=scenario.persona.id,
        task_id=scenario.task.id,
        kind=scenario.task.kind,
        domains=scenario.task.domains,
        intent=scenario.task.intent,
        arm=unit.arm,
        user_agent=how.user_agent,
        repetition=unit.repetition,
        seed=unit.seed,
        messages=exchange.messages,
        stop_reason=exchange.stop_reason,
        stop_detail=exchange.stop_detail,
        prompts={"user": user.prompt_id, "assistant": assistant.prompt_id},
        created_at=started,
        seconds=time.monotonic() - tick,
    )


def judge_dialogue(
    dialogue: Dialogue,
    scenario: Scenario | None,
    judging: Sequence[Judging],
    bench: Bench,
    *,
    rated: Collection[Rated] = (),
) -> tuple[Judgement, ...]:
    """Every judgement of one dialogue but those `rated`, scripted judges' first.

    All questions to models are put side by side; scripted judges only compute, and do so here.
    None when the dialogue may not be judged. Without a scenario only rubrics that need the
    dialogue alone can be applied; the others raise `StudyError`.
    """
    if not dialogue.stop_reason.judged or not is_rated(dialogue.task_id):
        return ()
    computed: list[Question] = []
    asked: list[Question] = []
    for entry in judging:
        found = [q for q in _questions(dialogue, scenario, entry, bench) if q.key not in rated]
        (computed if entry.spec.scripted else asked).extend(found)
    answers = [q.put() for q in computed] + side_by_side([q.put for q in asked], bench.pool)
    return tuple(answers)


def _questions(
    dialogue: Dialogue, scenario: Scenario | None, entry: Judging, bench: Bench
) -> Iterator[Question]:
    """The questions of one judge.

    Each rubric counts its calls for itself, so that their numbers do not depend on which of two
    versions of one rubric is answered first.
    """
    scope = f"{dialogue.id}:{digest(entry.spec.to_dict())[:8]}"
    logs = bench.logs(scope, dialogue.study_id, [entry.spec], dialogue.repetition)
    for rubric in entry.rubrics:
        yield from questions(
            dialogue,
            scenario,
            rubric,
            spec=entry.spec,
            calls=logs(),
            lexicon=bench.lexicon,
            now=bench.line.now,
        )
