"""Holes that the outside fills: what answers, what speaks, what remembers.

`core` owns these small interfaces; adapters and fakes satisfy them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from core.errors import ModelError
from core.monitor import ArmProgress, LeaseHolder, Past
from core.personaconv.ports import ConversationStore
from core.types import (
    Dataset,
    Dialogue,
    DialogueSummary,
    FailureKind,
    ImportReport,
    Judgement,
    Message,
    ModelCall,
    ModelSpec,
    Override,
    Persona,
    PersonaSummary,
    Scenario,
    ScenarioRef,
    Situation,
    StopReason,
    StudyProgress,
    StudyState,
    Task,
    TaskKind,
    Vocabulary,
    WorkUnit,
    digest,
)

if TYPE_CHECKING:
    import pandas as pd

    from core.ledger import Caps, OpenCall, Verdict
    from core.study_file import StudySpec


@dataclass(frozen=True, slots=True)
class ChatMessage:
    role: str  # "system", "user" or "assistant"
    content: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """Exactly what goes to a model. Its hash is the key of the call log and of replay.

    `schema` is a JSON schema that the answer should satisfy, or None; providers that cannot
    enforce one are asked in words by the prompt, so that the schema is an aid and no contract.
    """

    spec: ModelSpec
    messages: tuple[ChatMessage, ...]
    temperature: float | None
    max_tokens: int | None
    seed: int | None = None
    schema: Mapping[str, Any] | None = None

    @property
    def hash(self) -> str:
        return digest(
            self.spec.to_dict(),
            [(m.role, m.content) for m in self.messages],
            self.temperature,
            self.max_tokens,
            self.seed,
            self.schema,
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer. Tokens and cost are None where they are not known, never 0."""

    text: str
    finish_reason: str = "stop"
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None
    seconds: float = 0.0
    attempts: int = 1


OnDelta = Callable[[str], None]
"""Receives pieces of a reply while it streams; a retry starts again after `on_delta("")`."""

IsCancelled = Callable[[], bool]
Again = Callable[[ModelError], AbstractContextManager[None]]  # around each pause


class ChatModel(Protocol):
    """Something that answers one request, or raises a `ModelError` of the right kind.

    Retries of what may succeed later are the adapter's own, within its limit of time; each pause
    is spent inside `again`, which may raise. With `on_delta` the reply streams. `is_cancelled`
    is asked between attempts and pieces; when true, `Cancelled` is raised.
    """

    def reply(
        self,
        request: ChatRequest,
        *,
        on_delta: OnDelta | None = None,
        is_cancelled: IsCancelled | None = None,
        again: Again | None = None,
    ) -> Reply: ...

    def worst_cost(self, request: ChatRequest) -> float | None:
        """The most that this request can cost in dollars, or None when its price is unknown."""
        ...


class Calls(Protocol):
    """The call log of one scope: answers from the record, or calls and records."""

    def reply(
        self, party: str, request: ChatRequest, *, on_delta: OnDelta | None = None
    ) -> Reply: ...


# --- parties ----------------------------------------------------------------------------------


class Party(Protocol):
    """A speaker in a dialogue. It sees its briefing (fixed at making) and the history.

    `speak` returns the raw next message of its side; a user party ends the dialogue by
    ending its text with `core.simulate.STOP_TOKEN`.
    """

    @property
    def prompt_id(self) -> str: ...

    def speak(self, history: Sequence[Message], *, on_delta: OnDelta | None = None) -> str: ...


# --- memory -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ScenarioFilter:
    """Which scenarios of a dataset; empty fields mean all. `persona_ids` keep no order."""

    kind: TaskKind | None = None
    domains: frozenset[str] = frozenset()
    persona_ids: frozenset[str] = frozenset()
    task_ids: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class DialogueFilter:
    """Which dialogues; empty fields mean all. `text` matches intents, ids and messages."""

    study_id: str | None = None
    dataset: str | None = None
    arms: frozenset[str] = frozenset()
    personas: frozenset[str] = frozenset()
    domains: frozenset[str] = frozenset()
    stop_reasons: frozenset[StopReason] = frozenset()
    kind: TaskKind | None = None
    text: str = ""
    overridden: bool | None = None
    min_value: tuple[str, int] | None = None  # dimension, value: judged at least so
    max_value: tuple[str, int] | None = None
    differ: tuple[str, int] | None = None  # dimension or "", points between judge and a person


@dataclass(frozen=True, slots=True)
class Study:
    """A stored study. `spec` is None for a collection of imported dialogues."""

    id: str
    name: str
    spec: StudySpec | None
    state: StudyState
    created_at: datetime
    kind: str = "study"  # "study", "imported" or "launched"


@dataclass(frozen=True, slots=True)
class Finished:
    """A finished unit, stored in one transaction; `again`: only its judgements are new."""

    dialogue: Dialogue
    judgements: tuple[Judgement, ...] = field(default=())
    again: bool = False


class DatasetWriter(Protocol):
    """Adds to one dataset inside one transaction; what is there already is left as it is.

    Adding a persona, task or scenario whose key exists with other content raises
    `SourceError`; with the same content it adds nothing. The counts returned are rows added.
    """

    def add_personas(self, personas: Sequence[Persona]) -> int: ...
    def add_tasks(self, tasks: Sequence[Task]) -> int: ...
    def add_scenarios(self, scenarios: Sequence[tuple[ScenarioRef, Situation]]) -> int: ...
    def finish(self, report: ImportReport, vocabulary: Vocabulary) -> None: ...


class Store(ConversationStore, Protocol):
    """Everything that is remembered. `get_*` raise `NotFound`, `find_*` return None.

    Dialogues, model calls, judgements and overrides are appended and never changed.
    """

    def revision(self) -> str:
        """A text that changes with each append; caches are keyed by it."""
        ...

    # datasets
    def write_dataset(
        self, name: str, kind: str, *, sample: bool = False
    ) -> AbstractContextManager[DatasetWriter]: ...
    def list_datasets(self) -> list[Dataset]: ...
    def find_dataset(self, name: str) -> Dataset | None: ...
    def list_import_reports(self, dataset: str | None = None) -> list[ImportReport]: ...
    def add_import_report(self, report: ImportReport) -> None:
        """Keep the report of an import that wrote no dataset: of dialogues."""
        ...

    def vocabulary(self, dataset: str) -> Vocabulary: ...
    def list_personas(self, dataset: str) -> list[PersonaSummary]: ...
    def get_persona(self, dataset: str, persona_id: str) -> Persona: ...
    def get_personas(self, dataset: str, persona_ids: Iterable[str]) -> dict[str, Persona]: ...
    def search_personas(self, dataset: str, text: str) -> list[str]:
        """Ids of personas whose demographics, affinities or summaries contain `text`."""
        ...

    def list_tasks(self, dataset: str) -> list[Task]: ...
    def get_task(self, dataset: str, task_id: str) -> Task: ...
    def list_scenarios(self, dataset: str, where: ScenarioFilter) -> list[ScenarioRef]:
        """Ordered by persona number, then task kind, domain and number: stable."""
        ...

    def count_scenarios(self, dataset: str, where: ScenarioFilter) -> int: ...
    def get_scenario(self, dataset: str, persona_id: str, task_id: str) -> Scenario: ...
    def get_situations(
        self, dataset: str, keys: Sequence[tuple[str, str]]
    ) -> dict[tuple[str, str], Situation]: ...

    # studies
    def add_study(self, study: Study) -> None: ...
    def list_studies(self) -> list[Study]: ...
    def find_study(self, name_or_id: str) -> Study | None: ...
    def get_study(self, name_or_id: str) -> Study: ...
    def set_study_state(self, study_id: str, state: StudyState, *, message: str = "") -> None: ...
    def heartbeat(self, study_id: str, owner: str) -> StudyState:
        """Say that `owner` is alive, renew its leases, and learn the state people wish."""
        ...

    def add_units(self, units: Sequence[WorkUnit]) -> int:
        """Add units that are not there yet; returns how many were added."""
        ...

    def claim_units(
        self, study_id: str, owner: str, *, limit: int, lease_seconds: float
    ) -> list[tuple[WorkUnit, int]]:
        """Owed units, now leased to `owner`, with the attempt to make; none twice at once."""
        ...

    def lease_owners(self, study_id: str) -> list[str]:
        """Owners that hold at least one lease of this study, dead ones included."""
        ...

    def release_units(self, study_id: str, owner: str) -> None: ...
    def reopen_failed(self, study_id: str) -> int:
        """Make units whose last dialogue failed owed again; returns how many."""
        ...

    def reopen_unjudged(self, study_id: str, instrument_ids: Collection[str]) -> int:
        """Make units owed again whose dialogue stands and whose judge could not be reached.

        They keep their attempt, and with it their dialogue. Returns how many.
        """
        ...

    def stored_dialogues(self, claimed: Sequence[tuple[WorkUnit, int]]) -> dict[str, str]:
        """For those units whose attempt has its dialogue already, its id by the unit's."""
        ...

    def failure_kinds(self, study_id: str) -> list[FailureKind]:
        """What stands failed by kind, most frequent first, and `retried` last.

        A failure that was tried again is not counted, whatever came of it.
        """
        ...

    def progress(self, study_id: str) -> StudyProgress: ...
    def list_progress(self) -> list[StudyProgress]: ...
    def arm_progress(self, study_id: str) -> list[ArmProgress]: ...
    def lease_holders(self, study_id: str) -> list[LeaseHolder]: ...
    def count_finished_since(self, study_id: str, since: datetime) -> int: ...
    def judgement_statuses(self, study_id: str) -> dict[str, int]: ...
    def past(self, dataset: str) -> Past:
        """What dialogues and calls of earlier studies on a dataset took."""
        ...

    # the ledger of calls that are out
    def admit_calls(
        self, calls: Sequence[OpenCall], caps: Caps, *, again: bool = False
    ) -> list[Verdict]:
        """Decide by `core.ledger.decide` which may go out; write those down (perhaps `again`)."""
        ...

    def end_calls(self, calls: Sequence[OpenCall], *, lost: bool) -> None:
        """Strike out calls without an answer: never sent, or `lost` and counted as paid."""
        ...

    def renew_calls(self, owner: str) -> None:
        """Say that `owner` is alive; forget what no limit asks for any more."""
        ...

    def call_owners(self) -> list[str]:
        """Owners of calls that are out, dead ones included."""
        ...

    def lose_calls(self, owner: str) -> None:
        """Note that nobody will ever know what became of the open calls of `owner`."""
        ...

    # dialogues and calls
    def add_finished(self, finished: Sequence[Finished]) -> None: ...
    def get_dialogue(self, dialogue_id: str) -> Dialogue: ...
    def find_dialogue_of_unit(self, unit_id: str) -> Dialogue | None: ...
    def list_dialogues(
        self,
        where: DialogueFilter,
        *,
        order: str = "newest",
        limit: int = 200,
        offset: int = 0,
    ) -> list[DialogueSummary]:
        """`order`: newest, oldest, turns, persona, task, or arm."""
        ...

    def count_dialogues(self, where: DialogueFilter) -> int: ...
    def iter_dialogues(self, study_id: str) -> Iterable[Dialogue]: ...
    def add_calls(
        self, calls: Sequence[ModelCall], *, entries: Sequence[OpenCall | None] = ()
    ) -> None:
        """Append to the call log, and strike out their `entries` in the ledger with them."""
        ...

    def find_answer(self, key: str) -> ModelCall | None:
        """The answer that studies share under this key (see `core.calls`), or None."""
        ...

    def list_calls(self, scope: str) -> list[ModelCall]: ...
    def list_judge_calls(self, dialogue_id: str) -> list[ModelCall]:
        """The calls of everybody who judged a dialogue."""
        ...

    # judgements
    def add_judgements(self, judgements: Sequence[Judgement]) -> None: ...
    def get_judgement(self, judgement_id: str) -> Judgement: ...
    def list_judgements(self, dialogue_id: str) -> list[Judgement]: ...
    def iter_judgements(self, study_id: str) -> Iterable[Judgement]: ...
    def dialogues_without(self, study_id: str, instrument_id: str, dimension: str) -> list[str]:
        """Ids of judgeable dialogues of a study that this instrument has not rated yet."""
        ...

    def list_arms(self, study_id: str) -> list[str]:
        """Names of the arms that a study's dialogues are of, in alphabetical order."""
        ...

    def rated_dimensions(self, study_id: str) -> list[str]:
        """What the judgements of a study rate, in alphabetical order."""
        ...

    def ratings(self, study_id: str, *, dimension: str | None = None) -> pd.DataFrame:
        """One row per judgement, for comparisons; of one dimension, or of all.

        Columns: dialogue_id, persona_id, task_id, kind, domains (joined by "|"), arm,
        repetition, turns, dimension, target, turn, status, value (float, NaN when there is
        none), instrument (label), instrument_id, stop_reason.
        """
        ...

    def add_override(self, override: Override) -> None:
        """Raises `AlreadyDecided` when `supersedes` is not the latest of that judgement."""
        ...

    def list_overrides(self, dialogue_id: str) -> list[Override]: ...
    def list_all_overrides(self, study_id: str | None = None) -> list[Override]: ...
    def close(self) -> None: ...
