"""What an annotator has before them, and every act of theirs on it.

First they rate blind; then, what they said being stored, the judge is shown and they keep or
change their mind. Each of these is a row. What the desk is given before that is a `DeskItem`,
which has no place for a judge's value, an arm or a model.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from core.errors import NotFound, StudyError
from core.labels import Label, standing
from core.review_designs import prn
from core.review_ports import ReviewingStore
from core.review_types import (
    Act,
    Annotation,
    Assignment,
    Reason,
    ReviewDesign,
    ReviewItem,
    Work,
)
from core.types import ContextSetting, Dialogue, Judgement, Message, Scenario

LONGEST_SECONDS = 900.0  # a longer look is a break, and no measure of pace
TYPICAL_SECONDS = 90.0  # for the pace of who has not labelled anything yet
QUICK_SECONDS = 4.0  # a decision faster than this is asked about, not refused


class After(StrEnum):
    """Why somebody agrees with the judge, or does not, once they see it."""

    AGREE = "agrees with the judge"
    KEEP = "sees it otherwise still"
    MISSED = "had missed something"
    JUDGE_RIGHT = "finds the judge's reason better"
    MISTAKE = "had pressed the wrong key"


@dataclass(frozen=True, slots=True)
class Given:
    """What somebody says of one dimension. Without a value, `cannot` says why not."""

    value: int | None
    cannot: str = ""
    note: str = ""
    marks: tuple[int, ...] = ()


NOTHING = Given(None)


@dataclass(frozen=True, slots=True)
class DeskItem:
    """A dialogue to rate, and what may be known of it beforehand."""

    root_id: str
    dialogue_id: str
    messages: tuple[Message, ...]
    scenario: Scenario | None
    knew: ContextSetting
    rubrics: Mapping[str, str]
    draft: Mapping[str, object]
    opened_at: datetime


@dataclass(frozen=True, slots=True)
class Standing:
    """How an annotator's part of a design stands. `share` is None where nobody was named."""

    done: int
    total: int
    mine: int
    share: int | None
    seconds: float  # a review of theirs takes, as a rule

    @property
    def left(self) -> int:
        open_ = self.total - self.done
        return open_ if self.share is None else min(open_, max(0, self.share - self.mine))

    @property
    def minutes_left(self) -> float:
        return self.left * self.seconds / 60


@dataclass(frozen=True, slots=True)
class Queue:
    """One annotator at one design, as it was last extended."""

    design: ReviewDesign
    annotator: str
    store: ReviewingStore
    now: Callable[[], datetime]
    new_id: Callable[[], str]
    drawn: Sequence[ReviewItem] | None = None  # read already: they never change

    def __post_init__(self) -> None:
        named = self.design.annotators
        if named and self.annotator not in named:
            raise StudyError(f"{self.annotator} is not among the annotators of {self.design.name}.")

    @property
    def root_id(self) -> str:
        return self.design.root_id

    @property
    def items(self) -> Sequence[ReviewItem]:
        """What was drawn."""
        if self.drawn is not None:
            return self.drawn
        return self.store.list_items(self.design.id, selected=True)

    # --- what is before them ------------------------------------------------------------------

    def current(self) -> Assignment | None:
        """What they have before them, or the next that nobody has; None when all is done.

        Whoever comes back finds the dialogue that they left. What they skipped comes last.
        """
        assignments = self.store.list_assignments(self.root_id)
        mine = [a for a in assignments if a.annotator == self.annotator]
        left = [a for a in mine if a.work is not Work.DONE]
        at_hand = [a for a in left if a.later == 0 or a.work is Work.REVEALED]
        if at_hand:
            return min(at_hand, key=lambda a: (a.work is not Work.REVEALED, a.opened_at))
        if new := self._reserve(self.items, assignments):
            return new
        return min(left, key=lambda a: a.later) if left else None

    def _reserve(
        self, items: Sequence[ReviewItem], assignments: Sequence[Assignment]
    ) -> Assignment | None:
        """Take the first free dialogue in this person's own random order."""
        free = self._free(items, assignments)
        for dialogue_id in sorted(free, key=self._place):
            mine = Assignment(
                self.root_id,
                dialogue_id,
                free[dialogue_id],
                self.annotator,
                Work.OPEN,
                0,
                self.now(),
            )
            if self.store.reserve(mine):
                return mine
        return None

    def _free(
        self, items: Sequence[ReviewItem], assignments: Sequence[Assignment]
    ) -> dict[str, int]:
        """Dialogues that this person may take, with the slot that they would have."""
        if self.design.annotators:
            shares = _shares(self.design, items, assignments)
            return {name: slot for (name, slot), who in shares.items() if who == self.annotator}
        taken = Counter(a.dialogue_id for a in assignments)
        had = {a.dialogue_id for a in assignments if a.annotator == self.annotator}
        return {
            item.dialogue_id: taken[item.dialogue_id]
            for item in items
            if item.dialogue_id not in had and taken[item.dialogue_id] <= int(item.doubled)
        }

    def _place(self, dialogue_id: str) -> float:
        return prn(self.design.seed, f"{self.annotator}:{dialogue_id}")

    def desk(self, assignment: Assignment) -> DeskItem:
        """The dialogue of an assignment, without anything that would sway who rates it."""
        dialogue = self.store.get_dialogue(assignment.dialogue_id)
        return DeskItem(
            root_id=self.root_id,
            dialogue_id=dialogue.id,
            messages=dialogue.messages,
            scenario=self._scenario(dialogue),
            knew=dialogue.arm.context,
            rubrics=self.design.rubrics,
            draft=assignment.draft,
            opened_at=assignment.opened_at,
        )

    def _scenario(self, dialogue: Dialogue) -> Scenario | None:
        """Person and task, where the dataset of the dialogue is here."""
        try:
            return self.store.get_scenario(
                dialogue.dataset or "", dialogue.persona_id, dialogue.task_id
            )
        except NotFound:
            return None

    def standing(self) -> Standing:
        """How far this person and all of them are."""
        items = self.items
        assignments = self.store.list_assignments(self.root_id)
        done = [a for a in assignments if a.work is not Work.OPEN]
        mine = sum(a.annotator == self.annotator for a in done)
        begun = sum(a.annotator == self.annotator for a in assignments)
        named = bool(self.design.annotators)
        share = begun + len(self._free(items, assignments)) if named else None
        return Standing(len(done), _slots(items), mine, share, self._pace())

    def _pace(self) -> float:
        seconds = self.store.recent_seconds(self.root_id, self.annotator, limit=40)
        usual = [s for s in seconds if 0 < s < LONGEST_SECONDS]
        return statistics.median(usual) if usual else TYPICAL_SECONDS

    def labels(self) -> list[Label]:
        """Their own labels in this design that stand, oldest first."""
        rows = self.store.list_annotations(root_id=self.root_id)
        return [label for label in standing(rows) if label.annotator == self.annotator]

    # --- acts ---------------------------------------------------------------------------------

    def rate(
        self, assignment: Assignment, given: Mapping[str, Given], active_seconds: float
    ) -> bool:
        """Store what they say blind, and show the judge; False where no judge has a value.

        Every dimension of the design must be given. Whoever has seen the judge on this dialogue
        before rates it all the same, and the row says so.
        """
        self._check(given)
        seen = self._has_seen(assignment.dialogue_id)
        judged = self.judged(assignment.dialogue_id)
        rows = []
        for dimension, said in given.items():
            row = self._row(assignment, dimension, Act.RATED, said, seen=seen)
            rows.append(replace(row, active_seconds=active_seconds))
            if dimension in judged:
                shown = self._row(assignment, dimension, Act.REVEALED, seen=True)
                what = judged[dimension].id
                rows.append(replace(shown, supersedes=row.id, judgement_id=what))
        self.store.add_annotations(rows, then=Work.REVEALED if judged else Work.DONE)
        return bool(judged)

    def _check(self, given: Mapping[str, Given]) -> None:
        missing = [name for name in self.design.dimensions if name not in given]
        if missing:
            raise StudyError(f"Nothing is saved yet: {', '.join(missing)} has no value.")
        for said in given.values():
            if (said.value is None) != bool(said.cannot.strip()):
                raise StudyError("Give a value, or say why it cannot be judged.")

    def judged(self, dialogue_id: str) -> dict[str, Judgement]:
        """The newest judgement with a value of each dimension of the design."""
        found = {}
        for judgement in self.store.list_judgements(dialogue_id):
            wanted = judgement.dimension in self.design.rubrics and judgement.turn is None
            if wanted and judgement.value is not None:
                found[judgement.dimension] = judgement
        return {name: found[name] for name in self.design.dimensions if name in found}

    def _has_seen(self, dialogue_id: str) -> bool:
        """Whether a judge was shown to them on this dialogue, in whatever design."""
        rows = self.store.list_annotations(dialogue_id=dialogue_id)
        if any(r.annotator == self.annotator and r.act is Act.REVEALED for r in rows):
            return True
        overrides = self.store.list_overrides(dialogue_id)
        return any(override.author == self.annotator for override in overrides)

    def answer(self, assignment: Assignment, values: Mapping[str, tuple[Given, After]]) -> None:
        """Store what they say with the judge in sight, beside what they said blind.

        What is not given stands as it was said.
        """
        rows = []
        for label in self.of(assignment.dialogue_id):
            stays = Given(label.value, label.cannot), After.KEEP
            said, why = values.get(label.dimension, stays)
            row = self._row(assignment, label.dimension, Act.AFTER, said, seen=True)
            rows.append(replace(row, supersedes=label.id, why=str(why)))
        self.store.add_annotations(rows, then=Work.DONE)

    def undo(self, assignment: Assignment) -> None:
        """Take the ratings of a dialogue back; it is before them again, as what it was."""
        rows = [
            replace(
                self._row(assignment, label.dimension, Act.UNDONE, seen=True), supersedes=label.id
            )
            for label in self.of(assignment.dialogue_id)
        ]
        if not rows:
            raise StudyError("There is nothing to take back.")
        self.store.add_annotations(rows, then=Work.OPEN)

    def skip(self, assignment: Assignment, note: str = "") -> None:
        """Put a dialogue behind everything else; it stays theirs, and owed."""
        row = self._row(assignment, "", Act.SKIPPED, Given(None, note=note), seen=False)
        self.store.add_annotations([row], then=Work.OPEN, later=True)

    def flag(self, assignment: Assignment, note: str) -> None:
        """Mark a dialogue for others to look at. It is labelled all the same."""
        row = self._row(assignment, "", Act.FLAGGED, Given(None, note=note), seen=False)
        self.store.add_annotations([row])

    def keep(self, assignment: Assignment, draft: Mapping[str, object]) -> None:
        """Keep a rating in the making."""
        self.store.keep_draft(self.root_id, assignment.dialogue_id, self.annotator, draft)

    def last(self) -> Assignment | None:
        """What they rated last, to be looked at again or taken back."""
        labels = self.labels()
        if not labels:
            return None
        newest = max(labels, key=lambda label: label.submitted_at).dialogue_id
        mine = (a for a in self.store.list_assignments(self.root_id))
        return next(a for a in mine if a.dialogue_id == newest and a.annotator == self.annotator)

    def of(self, dialogue_id: str) -> list[Label]:
        """Their own labels of one dialogue in this design that stand."""
        rows = self.store.list_annotations(root_id=self.root_id, dialogue_id=dialogue_id)
        return [label for label in standing(rows) if label.annotator == self.annotator]

    def _row(
        self,
        assignment: Assignment,
        dimension: str,
        act: Act,
        said: Given = NOTHING,
        *,
        seen: bool,
    ) -> Annotation:
        return Annotation(
            id=self.new_id(),
            root_id=self.root_id,
            dialogue_id=assignment.dialogue_id,
            dimension=dimension,
            annotator=self.annotator,
            act=act,
            reason=Reason.OVERLAP if assignment.slot else Reason.DESIGN,
            value=said.value,
            judge_visible_before=seen,
            rubric=self.design.rubrics.get(dimension, ""),
            opened_at=assignment.opened_at,
            submitted_at=self.now(),
            active_seconds=0.0,
            cannot=said.cannot.strip(),
            note=said.note.strip(),
            marks=said.marks,
        )


def _slots(items: Sequence[ReviewItem]) -> int:
    """How many reviews a draw asks for."""
    return sum(1 + item.doubled for item in items if item.selected)


def _shares(
    design: ReviewDesign, items: Sequence[ReviewItem], assignments: Sequence[Assignment]
) -> dict[tuple[str, int], str]:
    """Which named annotator is to have which free slot, so that all have about as many.

    What two people label comes first: it leaves the least choice. The next always goes to who
    has the least so far, whatever was taken already.
    """
    load = Counter(a.annotator for a in assignments)
    had: dict[str, set[str]] = {}
    taken = set()
    for a in assignments:
        had.setdefault(a.dialogue_id, set()).add(a.annotator)
        taken.add((a.dialogue_id, a.slot))
    rank = {name: n for n, name in enumerate(design.annotators)}
    found: dict[tuple[str, int], str] = {}
    for item in sorted(items, key=lambda item: (not item.doubled, item.prn)):
        people = had.setdefault(item.dialogue_id, set())
        turn = int(item.prn * 2**32)  # who comes first among equals is drawn, too
        for slot in range(1 + item.doubled):
            free = [name for name in design.annotators if name not in people]
            if (item.dialogue_id, slot) in taken or not free:
                continue
            name = min(free, key=lambda n: (load[n], (rank[n] + turn) % len(rank)))
            people.add(name)
            load[name] += 1
            found[item.dialogue_id, slot] = name
    return found
