"""Bringing labels back: each with its author and its time, and as evidence only if it was drawn.

A label counts as drawn when the design and the item that it names are stored here and belong to
its dialogue, its annotator was asked, its rubric is the design's, the judge was not in sight,
and a place of that item is free. Every other label is kept as imported: it can be read, and no
estimate takes it in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache

from core.assets import Rubric, list_rubrics, load_rubric
from core.errors import AlreadyDecided, AssetError, NotFound, SourceError
from core.label_rows import ReadLabel, item_id, key_of
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
from core.types import Dialogue, Target, digest


@dataclass(frozen=True, slots=True)
class ImportedLabels:
    """What came of an import. `not_drawn` counts labels kept without being evidence, by why.

    `left_out` counts labels that are not stored at all.
    """

    labels: int
    added: int
    drawn: int
    here_already: int
    not_drawn: Mapping[str, int]
    left_out: Mapping[str, int]


UNKNOWN = "its dialogue is not here"


def import_labels(
    labels: Sequence[ReadLabel],
    source: str,
    store: ReviewingStore,
    *,
    now: Callable[[], datetime],
    left_out: Mapping[str, int] | None = None,
) -> ImportedLabels:
    """Store labels of a file; what is here already is left as it is.

    All are checked first. Raises `SourceError` that names the row for a dimension, rubric, value
    or turn that there is not, or a time that is still to come; then nothing is stored.
    `left_out` is what the reader of the file has left out already.
    """
    work = _Import(store, source, now)
    work.left_out.update(left_out or {})
    for label in labels:
        work.check(label)
    for together in work.by_person_and_dialogue():
        work.add(*together)
    return ImportedLabels(
        labels=len(labels),
        added=work.added,
        drawn=work.drawn,
        here_already=work.here,
        not_drawn=dict(sorted(work.not_drawn.items())),
        left_out=dict(sorted(work.left_out.items())),
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """A drawn item, and the design under whose last extension it is drawn."""

    design: ReviewDesign
    item: ReviewItem


@dataclass(slots=True)
class _Import:
    store: ReviewingStore
    source: str
    now: Callable[[], datetime]
    added: int = 0
    drawn: int = 0
    here: int = 0
    not_drawn: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    _groups: dict[tuple[str, str], list[ReadLabel]] = field(default_factory=dict)
    _dialogues: dict[str, Dialogue | None] = field(default_factory=dict)
    _places: dict[str, Mapping[str, _Place]] = field(default_factory=dict)
    _held: dict[str, dict[tuple[str, str], Assignment]] = field(default_factory=dict)

    # --- checking -----------------------------------------------------------------------------

    def check(self, label: ReadLabel) -> None:
        """Put a label to those of the same person and dialogue, or leave it out."""
        dialogue_id = label.dialogue_id
        if not dialogue_id and (place := self._place(label)):
            dialogue_id = place.item.dialogue_id
        dialogue = self._dialogue(dialogue_id)
        _check_rated(label, dialogue)
        if max(label.submitted_at, label.answered_at or label.submitted_at) > self.now():
            raise SourceError(f"{label.where}: its time is still to come; look at its time zone.")
        if dialogue is None:
            self.left_out[UNKNOWN] += 1
            return
        self._groups.setdefault((label.annotator, dialogue_id), []).append(label)

    def _dialogue(self, dialogue_id: str) -> Dialogue | None:
        if dialogue_id not in self._dialogues:
            try:
                self._dialogues[dialogue_id] = self.store.get_dialogue(dialogue_id)
            except NotFound:
                self._dialogues[dialogue_id] = None
        return self._dialogues[dialogue_id]

    def _place(self, label: ReadLabel) -> _Place | None:
        """The drawn item that a label names, if there is one."""
        if not label.design_id or not label.item_id:
            return None
        if label.design_id not in self._places:
            self._places[label.design_id] = _places(label.design_id, self.store)
        place = self._places[label.design_id].get(label.item_id)
        if place is None or label.dialogue_id not in ("", place.item.dialogue_id):
            return None
        return place

    def by_person_and_dialogue(self) -> Iterable[tuple[str, str, list[ReadLabel]]]:
        """What one person said of one dialogue, in the order of the file."""
        return ((person, dialogue, rows) for (person, dialogue), rows in self._groups.items())

    # --- storing ------------------------------------------------------------------------------

    def add(self, person: str, dialogue_id: str, labels: Sequence[ReadLabel]) -> None:
        """Store what one person said of one dialogue, in one transaction or two."""
        stored = self.store.list_annotations(dialogue_id=dialogue_id)
        known = {key_of(row) for row in stored if row.act is Act.RATED}
        new = {label.key: label for label in labels if label.key not in known}
        fresh = sorted(new.values(), key=lambda label: label.submitted_at)
        self.here += len(labels) - len(fresh)
        seen = self._has_seen(person, dialogue_id, stored)
        fitting: dict[str, list[ReadLabel]] = {}
        others: list[ReadLabel] = []
        for label in fresh:
            place = self._place(label)
            why = _unfit(label, place, seen)
            of_design = fitting.setdefault(place.design.root_id if place else "", [])
            if not why and label.dimension in {first.dimension for first in of_design}:
                why = "labelled again"
            if why:
                self.not_drawn[why] += 1
                others.append(label)
            else:
                of_design.append(label)
        for of_design in filter(None, fitting.values()):
            if not self._add_drawn(person, of_design):
                left = self._still_new(dialogue_id, of_design)
                if left:
                    self.not_drawn["no place of its item was free"] += len(left)
                others += left
        if others and not self._store(others, dialogue_id, "", Reason.IMPORTED, None):
            left = self._still_new(dialogue_id, others)
            self.left_out["somebody else brought it in just now; try again"] += len(left)

    def _still_new(self, dialogue_id: str, labels: Sequence[ReadLabel]) -> list[ReadLabel]:
        """Those that another import of the same has not stored in the meantime."""
        stored = self.store.list_annotations(dialogue_id=dialogue_id)
        known = {key_of(row) for row in stored if row.act is Act.RATED}
        left = [label for label in labels if label.key not in known]
        self.here += len(labels) - len(left)
        return left

    def _add_drawn(self, person: str, labels: Sequence[ReadLabel]) -> bool:
        """Store labels in the place that the design has for them; False when none is free."""
        place = self._place(labels[0])
        assert place is not None
        slot = self._slot(person, place, labels)
        if slot is None:
            return False
        reason = Reason.OVERLAP if slot else Reason.DESIGN
        root, dialogue_id = place.design.root_id, place.item.dialogue_id
        if not self._store(labels, dialogue_id, root, reason, Work.DONE):
            return False
        self.drawn += len(labels)
        return True

    def _slot(self, person: str, place: _Place, labels: Sequence[ReadLabel]) -> int | None:
        """The place that this person has open on the dialogue, or one that is free."""
        root, dialogue_id = place.design.root_id, place.item.dialogue_id
        mine = self._held_by(person, root, dialogue_id)
        opened = min(_opened(label) for label in labels)
        for slot in () if mine else range(1 + int(place.item.doubled)):
            wish = Assignment(root, dialogue_id, slot, person, Work.OPEN, 0, opened)
            if self.store.reserve(wish):
                return slot
        if mine is None:  # perhaps it is this person who came between, by another import
            del self._held[root]
            mine = self._held_by(person, root, dialogue_id)
        return mine.slot if mine and mine.work is Work.OPEN else None

    def _held_by(self, person: str, root: str, dialogue_id: str) -> Assignment | None:
        if root not in self._held:
            held = self.store.list_assignments(root)
            self._held[root] = {(a.dialogue_id, a.annotator): a for a in held}
        return self._held[root].get((dialogue_id, person))

    def _has_seen(self, person: str, dialogue_id: str, stored: Sequence[Annotation]) -> bool:
        """Whether a judge was shown to this person on this dialogue here."""
        if any(row.annotator == person and row.act is Act.REVEALED for row in stored):
            return True
        overrides = self.store.list_overrides(dialogue_id)
        return any(override.author == person for override in overrides)

    def _store(
        self,
        labels: Sequence[ReadLabel],
        dialogue_id: str,
        root_id: str,
        reason: Reason,
        then: Work | None,
    ) -> bool:
        """Store them whole; False when some of it has come in by another way."""
        rows = [
            row
            for label in labels
            for row in _acts(label, dialogue_id, root_id, reason, self.source)
        ]
        try:
            self.store.add_annotations(rows, then=then)
        except AlreadyDecided:
            return False
        self.added += len(labels)
        return True


def _places(design_id: str, store: ReviewingStore) -> Mapping[str, _Place]:
    """The drawn items of a design, in its last extension, by their names outside."""
    try:
        named = store.get_design(design_id)
    except NotFound:
        return {}
    family = [d for d in store.list_designs(named.study_id) if d.root_id == named.root_id]
    last = family[0]  # newest first
    items = store.list_items(last.id, selected=True)
    return {item_id(last.root_id, item.dialogue_id): _Place(last, item) for item in items}


def _unfit(label: ReadLabel, place: _Place | None, seen: bool) -> str:
    """Why a label is not one that a design asked for; empty when it is."""
    if not label.design_id and not label.item_id:
        return "no design and item come with it"
    if place is None:
        return "its design and item do not match what was drawn here"
    if label.turn is not None or label.dimension not in place.design.rubrics:
        return "the design does not ask for its dimension"
    if label.rubric not in ("", place.design.rubrics[label.dimension]):
        return "another rubric version"
    if place.design.annotators and label.annotator not in place.design.annotators:
        return "its annotator is not of the design"
    if seen or label.judge_visible_before is not False:
        return "the judge was, or may have been, in sight"
    return ""


# --- one label ----------------------------------------------------------------------------------


def _check_rated(label: ReadLabel, dialogue: Dialogue | None) -> None:
    """Raise `SourceError` unless the values are of the rubric's scale, and the turn exists."""
    rubric = _rubric(label)
    for value in (label.value_before_reveal, label.value_after_reveal):
        if value is not None and value not in rubric.scale.values:
            low, high = rubric.scale.low, rubric.scale.high
            raise SourceError(
                f"{label.where}: {value} is no value of {rubric.ref}, which goes from {low} to "
                f"{high}."
            )
    if (rubric.target is Target.TURN) != (label.turn is not None):
        much = "each turn" if rubric.target is Target.TURN else "a whole dialogue"
        raise SourceError(f"{label.where}: {rubric.dimension} is rated for {much}; see `turn`.")
    if label.turn is not None and dialogue is not None and label.turn > dialogue.turns:
        raise SourceError(f"{label.where}: its dialogue has {dialogue.turns} turns only.")


def _rubric(label: ReadLabel) -> Rubric:
    found = _rubric_of(label.rubric, label.dimension)
    if found is None:
        what = label.rubric or label.dimension
        raise SourceError(f"{label.where}: there is no rubric {what!r} for {label.dimension!r}.")
    return found


@lru_cache(maxsize=64)
def _rubric_of(ref: str, dimension: str) -> Rubric | None:
    if ref:
        try:
            named = load_rubric(ref)
        except AssetError:
            return None
        return named if named.dimension == dimension else None
    of_dimension = [rubric for rubric in list_rubrics() if rubric.dimension == dimension]
    return of_dimension[-1] if of_dimension else None


def _acts(
    label: ReadLabel, dialogue_id: str, root_id: str, reason: Reason, source: str
) -> list[Annotation]:
    """The rows that a label is stored as: what was said blind, and after the reveal."""
    rated = Annotation(
        id=digest("imported label", dialogue_id, root_id, *label.key),
        root_id=root_id,
        dialogue_id=dialogue_id,
        dimension=label.dimension,
        annotator=label.annotator,
        act=Act.RATED,
        reason=reason,
        value=label.value_before_reveal,
        judge_visible_before=label.judge_visible_before is not False,
        rubric=_rubric(label).ref,
        opened_at=_opened(label),
        submitted_at=label.submitted_at,
        active_seconds=label.active_seconds,
        turn=label.turn,
        cannot=label.cannot.strip(),
        note=label.note,
        marks=label.marks,
        source=source,
    )
    return [rated, *_after(label, rated)]


def _after(label: ReadLabel, rated: Annotation) -> list[Annotation]:
    after = label.value_after_reveal
    if after is None and not label.judgement_id:
        return []
    rows = [_follows(rated, Act.REVEALED, None, label.submitted_at, label.judgement_id)]
    if label.why or label.answered_at or after != label.value_before_reveal:
        at = label.answered_at or label.submitted_at
        rows.append(_follows(rated, Act.AFTER, after, at, None, why=label.why))
    return rows


def _follows(
    rated: Annotation,
    act: Act,
    value: int | None,
    at: datetime,
    judgement_id: str | None,
    *,
    why: str = "",
) -> Annotation:
    return Annotation(
        id=digest(rated.id, act),
        root_id=rated.root_id,
        dialogue_id=rated.dialogue_id,
        dimension=rated.dimension,
        annotator=rated.annotator,
        act=act,
        reason=rated.reason,
        value=value,
        judge_visible_before=True,
        rubric=rated.rubric,
        opened_at=rated.opened_at,
        submitted_at=at,
        active_seconds=0.0,
        turn=rated.turn,
        why=why,
        judgement_id=judgement_id,
        supersedes=rated.id,
        source=rated.source,
    )


def _opened(label: ReadLabel) -> datetime:
    return label.opened_at or label.submitted_at
