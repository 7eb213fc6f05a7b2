"""Human review: what was drawn, who rates it, and every act of theirs.

Nothing here is changed once it is stored. A reveal, a second thought and an undo are rows of
their own, so that what somebody said blind can always be told from what they said after.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class Method(StrEnum):
    """How dialogues are drawn from a frame."""

    RANDOM = "random"  # every dialogue with the same probability
    STRATIFIED = "stratified"  # the same, within strata
    ACTIVE = "active"  # more often where the judge is likely to be wrong, none below a floor
    PAIRS = "pairs"  # whole scenarios, with every arm


class Stratum(StrEnum):
    """What strata are made of: all of it is known before anybody labels."""

    NONE = "none"
    ARM = "arm"
    DOMAIN = "domain"
    JUDGE = "judge"


class Reason(StrEnum):
    """Why somebody labelled a dialogue. Only `DESIGN` and `OVERLAP` make it evidence."""

    DESIGN = "design"
    OVERLAP = "overlap"
    SELF_SELECTED = "self_selected"
    FLAGGED = "flagged"
    TRAINING = "training"
    IMPORTED = "imported"


class Act(StrEnum):
    """What an annotator did. A rating counts until an `UNDONE` supersedes it."""

    RATED = "rated"
    REVEALED = "revealed"  # the judge's value was shown
    AFTER = "after"  # what the annotator says with the judge in sight
    UNDONE = "undone"
    SKIPPED = "skipped"
    FLAGGED = "flagged"


class Party(StrEnum):
    """Who was at fault in a dialogue."""

    ASSISTANT = "assistant"
    USER = "user"  # the simulated one
    TASK = "task"
    JUDGE = "judge"
    INFRASTRUCTURE = "infrastructure"
    NOBODY = "nobody"


class Work(StrEnum):
    """How an assignment stands."""

    OPEN = "open"
    REVEALED = "revealed"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class ReviewDesign:
    """A random draw of dialogues to label, and all that one must know of it.

    A design that extends another has the same `root_id` and its `parent_id`; no probability of
    an earlier draw is ever lowered. `rubrics` fixes the version of each dimension. `overlap` is
    the share of drawn dialogues that two people label. `budget` counts dialogues, and with
    `PAIRS` still dialogues. Without `annotators` anybody may take part.
    """

    id: str
    root_id: str
    name: str
    study_id: str
    arms: tuple[str, ...]
    rubrics: Mapping[str, str]  # dimension -> rubric@version
    method: Method
    by: Stratum
    budget: int
    overlap: float
    floor: float
    seed: int
    annotators: tuple[str, ...]
    frame_hash: str
    created_at: datetime
    author: str
    parent_id: str | None = None

    @property
    def dimensions(self) -> tuple[str, ...]:
        return tuple(self.rubrics)


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """One dialogue of a frame, drawn or not. `prn` is its permanent random number in [0, 1).

    `doubled`: two people label it, if it is drawn.
    """

    dialogue_id: str
    stratum: str
    pi: float
    prn: float
    selected: bool
    doubled: bool


@dataclass(frozen=True, slots=True)
class Assignment:
    """A dialogue that somebody has before them, or has labelled.

    `slot` is 0 for whoever came first, 1 for the second of a doubled one. `draft` is a rating
    in the making: kept, and never evidence. `later` puts what was skipped behind the rest.
    """

    root_id: str
    dialogue_id: str
    slot: int
    annotator: str
    work: Work
    later: int
    opened_at: datetime
    draft: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Annotation:
    """One act of an annotator on one dimension of one dialogue.

    `value` is None where the annotator cannot judge, and says why in `cannot`. `why` is the
    kind of reason given after a reveal. `marks` are the turns that show it. `active_seconds`
    is the time that the dialogue was before them.
    """

    id: str
    root_id: str  # of its design; empty where nothing was drawn
    dialogue_id: str
    dimension: str
    annotator: str
    act: Act
    reason: Reason
    value: int | None
    judge_visible_before: bool
    rubric: str
    opened_at: datetime
    submitted_at: datetime
    active_seconds: float
    turn: int | None = None
    cannot: str = ""
    why: str = ""
    note: str = ""
    marks: tuple[int, ...] = ()
    judgement_id: str | None = None  # what was revealed
    supersedes: str | None = None
    source: str = ""  # where it was imported from


@dataclass(frozen=True, slots=True)
class Decision:
    """An adjudicator's value where annotators differ, and the rows that it settles."""

    id: str
    root_id: str
    dialogue_id: str
    dimension: str
    value: int | None
    reason_kind: str
    reason: str
    author: str
    created_at: datetime
    settles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """Who is held to be at fault in a dialogue.

    `confirmed` by a person; what a model proposes (`author` is its name) never is. The latest
    confirmed row of a dialogue holds.
    """

    id: str
    dialogue_id: str
    party: Party
    turn: int | None
    note: str
    author: str
    confirmed: bool
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the audit: who did what to what."""

    at: datetime
    author: str
    act: str
    subject: str
    detail: str = ""
