"""What human review asks of the store. Implemented by the same object as `ports.Store`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from core.ports import Store
from core.review_types import (
    Annotation,
    Assignment,
    Decision,
    Event,
    Fault,
    ReviewDesign,
    ReviewItem,
    Work,
)


@dataclass(frozen=True, slots=True)
class Eligible:
    """A dialogue that could be drawn, and what strata and draws may know of it.

    `values` holds the judge's value of each dimension, None where it gave none.
    """

    dialogue_id: str
    persona_id: str
    task_id: str
    repetition: int
    arm: str
    domain: str
    values: Mapping[str, float | None]

    @property
    def scenario(self) -> str:
        """What dialogues of different arms are paired by."""
        return f"{self.persona_id}:{self.task_id}:{self.repetition}"


class ReviewStore(Protocol):
    """Designs, assignments and labels. Raises `StoreError` when the database refuses."""

    def eligible(
        self, study_id: str, arms: Sequence[str], dimensions: Sequence[str]
    ) -> list[Eligible]:
        """Dialogues of a study that can be judged, in the order in which they were stored."""
        ...

    def add_design(self, design: ReviewDesign, items: Sequence[ReviewItem]) -> None:
        """Store a draw whole. Raises `AlreadyDecided` when its parent has been extended."""
        ...

    def list_designs(self, study_id: str | None = None) -> list[ReviewDesign]:
        """Newest first; of a design and its extensions all."""
        ...

    def get_design(self, design_id: str) -> ReviewDesign: ...
    def list_items(self, design_id: str, *, selected: bool = False) -> list[ReviewItem]:
        """Every row of the frame, or the drawn ones, by their random numbers."""
        ...

    def reserve(self, assignment: Assignment) -> bool:
        """Take a slot; False when somebody has it, or this person has the dialogue already."""
        ...

    def list_assignments(self, root_id: str) -> list[Assignment]:
        """By the time at which they were opened."""
        ...

    def keep_draft(
        self, root_id: str, dialogue_id: str, annotator: str, draft: Mapping[str, object]
    ) -> None:
        """Keep a rating in the making. Nothing happens once the assignment is not open."""
        ...

    def add_annotations(
        self,
        rows: Sequence[Annotation],
        *,
        then: Work | None = None,
        later: bool = False,
    ) -> None:
        """Append rows of one person and dialogue, and put the assignment `then`; all or none.

        `later` puts it behind everything else. Raises `AlreadyDecided` when a row supersedes
        one that another has superseded, or the assignment has moved on in another window.
        """
        ...

    def list_annotations(
        self, *, root_id: str | None = None, dialogue_id: str | None = None
    ) -> list[Annotation]:
        """As they were stored."""
        ...

    def recent_seconds(self, root_id: str, annotator: str, *, limit: int) -> list[float]:
        """How long somebody's latest ratings took, the newest first."""
        ...

    def study_annotations(self, study_id: str) -> list[Annotation]: ...
    def add_decision(self, decision: Decision) -> None: ...
    def list_decisions(self, root_id: str) -> list[Decision]: ...
    def add_fault(self, fault: Fault) -> None: ...
    def list_faults(self, study_id: str) -> list[Fault]: ...
    def list_events(
        self, *, author: str | None = None, since: datetime | None = None, limit: int = 500
    ) -> list[Event]:
        """Who did what, newest first: read from what was stored, kept nowhere else."""
        ...

    def role_of(self, person: str) -> str | None:
        """The role that this person was given last, or None."""
        ...

    def list_roles(self) -> dict[str, str]:
        """Everybody who was given a role, and the one that holds."""
        ...

    def give_role(self, person: str, role: str, author: str, at: datetime) -> None: ...


class ReviewingStore(Store, ReviewStore, Protocol):
    """The whole store, for what needs dialogues and labels."""
