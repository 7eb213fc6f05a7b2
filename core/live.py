"""A dialogue that somebody watches while it is made.

It runs in a thread of its own, so that neither a click nor a closed tab disturbs it; whoever
watches looks at snapshots. What is finished or stopped is stored like any other dialogue.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from core.bench import Bench, How, Judging, judge_dialogue, make_dialogue
from core.calls import Line
from core.clock import new_id, now
from core.errors import AppError, Cancelled
from core.gate import Unlimited
from core.ledger import OpenCall
from core.parties.lexicon import Lexicon
from core.ports import ChatModel, Finished, Store, Study
from core.simulate import Watch, cut_stop
from core.types import (
    Arm,
    Dialogue,
    Message,
    ModelCall,
    ModelSpec,
    Role,
    Scenario,
    ScenarioRef,
    StopReason,
    StudyState,
    WorkUnit,
    digest,
)

log = logging.getLogger(__name__)


class LiveState(StrEnum):
    TALKING = "talking"
    JUDGING = "judging"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Launch:
    """What to make: a scenario, an arm, who plays the user, and who judges afterwards.

    `pace` is a pause in seconds after each message, so that scripted parties can be read.
    """

    scenario: Scenario
    arm: Arm
    user_agent: ModelSpec
    judging: tuple[Judging, ...] = ()
    author: str = ""
    pace: float = 0.0
    max_turns: int | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """How a live dialogue stands: what was said, who is speaking, and what came of it."""

    state: LiveState
    messages: tuple[Message, ...]
    speaking: Role | None = None
    piece: str = ""
    dialogue_id: str | None = None
    error: str = ""
    stop_reason: StopReason | None = None
    stop_detail: str = ""

    @property
    def shown_piece(self) -> str:
        """What has arrived of the message in the making, without a stop token."""
        return cut_stop(self.piece)[0]

    @property
    def over(self) -> bool:
        return self.state in (LiveState.DONE, LiveState.FAILED)


def without_kind(stop_detail: str) -> str:
    """A dialogue's stop detail as a sentence: without the error's class that leads it."""
    return re.sub(r"^[A-Z][A-Za-z]+: ", "", stop_detail)


def launched_study(store: Store, dataset: str) -> Study:
    """The study that holds what was launched by hand on a dataset, added when it is new."""
    name = f"Launched by hand · {dataset}"
    found = store.find_study(name)
    if found is None:
        study_id = digest("launched", dataset)
        found = Study(study_id, name, None, StudyState.DONE, now(), kind="launched")
        store.add_study(found)
    return found


class LiveDialogue:
    """One dialogue in the making. `start` returns at once; look at `snapshot`."""

    def __init__(self, launch: Launch, store: Store, model: ChatModel, lexicon: Lexicon) -> None:
        self.id = new_id()
        self.launch = launch
        self._store = store
        self._study = launched_study(store, launch.scenario.dataset)
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._now = Snapshot(LiveState.TALKING, ())
        line = Line(model, Unlimited(), self._keep_call, now, self._stop.is_set)
        self._bench = Bench(store, launch.scenario.dataset, lexicon, line)
        self._thread = threading.Thread(target=self._run, name=f"live-{self.id}", daemon=True)

    def start(self) -> LiveDialogue:
        self._thread.start()
        return self

    @property
    def stopping(self) -> bool:
        """Whether a person has asked it to end."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Ask it to end after what is being said; what was said is stored."""
        self._stop.set()

    def wait(self, timeout: float | None = None) -> Snapshot:
        self._thread.join(timeout)
        return self.snapshot()

    def snapshot(self) -> Snapshot:
        with self._lock:
            return self._now

    def _keep_call(self, call: ModelCall, entry: OpenCall | None) -> None:
        self._store.add_calls([call], entries=[entry])

    def _set(self, **changes: object) -> None:
        with self._lock:
            self._now = replace(self._now, **changes)  # type: ignore[arg-type]

    def _run(self) -> None:
        try:
            self._make()
        except AppError as error:
            self._set(state=LiveState.FAILED, error=str(error), speaking=None)
        except Exception as error:  # a thread's last line: whoever watches must hear of it
            log.exception("live dialogue failed")
            name = type(error).__name__
            self._set(state=LiveState.FAILED, error=f"Unforeseen fault: {name}.", speaking=None)

    def _make(self) -> None:
        launch = self.launch
        dialogue = replace(
            make_dialogue(self._unit(), launch.scenario, self._bench, self._how()),
            id=self.id,
            unit_id=None,
            author=launch.author,
        )
        if not dialogue.messages:
            why = without_kind(dialogue.stop_detail)
            raise AppError(f"Nothing was said, so that nothing is stored. {why}")
        self._store.add_finished([Finished(dialogue)])
        ended = {"stop_reason": dialogue.stop_reason, "stop_detail": dialogue.stop_detail}
        self._set(
            state=LiveState.JUDGING, speaking=None, piece="", dialogue_id=dialogue.id, **ended
        )
        if not self._stop.is_set():
            self._judge(dialogue, launch.judging)
        self._set(state=LiveState.DONE)

    def _judge(self, dialogue: Dialogue, judging: Sequence[Judging]) -> None:
        """Rubric by rubric, each stored as it comes, so that whoever watches sees them come."""
        for entry in judging:
            for rubric in entry.rubrics:
                one = (Judging(entry.spec, (rubric,)),)
                try:
                    rated = judge_dialogue(dialogue, self.launch.scenario, one, self._bench)
                except Cancelled:
                    return
                self._store.add_judgements(rated)

    def _unit(self) -> WorkUnit:
        scenario = self.launch.scenario
        task = scenario.task
        ref = ScenarioRef(scenario.dataset, scenario.persona.id, task.id, task.kind, task.domains)
        seed = int(self.id[:8], 16) % 2**31
        return WorkUnit(self._study.id, ref, self.launch.arm, 0, seed)

    def _how(self) -> How:
        watch = Watch(now, self._said, self._saying, self._stop.is_set)
        return How(self.launch.user_agent, self.launch.max_turns, watch=watch, scope=self.id)

    def _said(self, message: Message) -> None:
        self._set(messages=(*self._now.messages, message), speaking=None, piece="")
        if self.launch.pace:
            self._stop.wait(self.launch.pace)

    def _saying(self, role: Role, delta: str) -> None:
        """An empty piece says that a message starts, or starts again."""
        piece = self._now.piece + delta if delta else ""
        self._set(speaking=role, piece=piece)
