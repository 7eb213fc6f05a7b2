"""A new version of a rubric: which labels of people still count, and which ratings flip.

People read the question, the criteria and the anchors; where one of these changed, labels made by
the old version answer another question and are stale. Notes, examples and what the judge is given
are the judge's alone: labels stand, and only the judge is asked again. It is asked about the
labelled dialogues first, and only those whose rating flipped are worth a person's look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from core.assets import Rubric
from core.bench import Judging
from core.errors import StudyError
from core.judge import instrument_of, keys, prompt_for, rated_by
from core.judging import scenario_of
from core.parties.lexicon import build_lexicon
from core.ports import ChatModel, Store
from core.rejudge import judge_again
from core.types import Dialogue, Judgement, ModelSpec, Target

LETTERS_PER_TOKEN = 4
ANSWER_TOKENS = 200
"""What an answer is taken to be long, before one has been seen."""

Price = Callable[[ModelSpec], tuple[float, float] | None]
Progress = Callable[[int, int], object]


@dataclass(frozen=True, slots=True)
class Change:
    """What differs between two versions: what people read too, and what only judges read."""

    old: str
    new: str
    people: tuple[str, ...]
    judge: tuple[str, ...]

    @property
    def stale(self) -> bool:
        """Whether labels that people gave by the old version no longer count."""
        return bool(self.people)


def what_changed(old: Rubric, new: Rubric) -> Change:
    """Name the parts that differ. Raises `StudyError` for rubrics of two dimensions."""
    if old.dimension != new.dimension:
        raise StudyError(f"{old.ref} and {new.ref} rate two dimensions; they are no versions.")
    people = [name for name in ("question", "target", "reads") if _differ(old, new, name)]
    before = {c.name: c.text for c in old.criteria}
    after = {c.name: c.text for c in new.criteria}
    people += [
        f"criterion {name}"
        for name in dict.fromkeys((*before, *after))
        if before.get(name) != after.get(name)
    ]
    anchors = {a.value: (a.label, a.text) for a in old.scale.anchors}
    people += [
        f"anchor {a.value}" for a in new.scale.anchors if anchors.get(a.value) != (a.label, a.text)
    ]
    ours = ("notes", "examples", "inputs", "given_to_assistant", "title")
    judge = [name.replace("_", " ") for name in ours if _differ(old, new, name)]
    return Change(old.ref, new.ref, tuple(people), tuple(judge))


def _differ(old: Rubric, new: Rubric, name: str) -> bool:
    return bool(getattr(old, name) != getattr(new, name))


def change_words(change: Change) -> str:
    """What the new version does to people's labels, in a sentence; plain text."""
    if change.stale:
        return (
            f"People's labels by {change.old} are stale for {change.new}, because what they read "
            f"changed: {', '.join(change.people)}. Label a bridge set of 40 by both."
        )
    if change.judge:
        return (
            f"People's labels by {change.old} still count for {change.new}: only what judges read "
            f"changed ({', '.join(change.judge)})."
        )
    return f"{change.new} says the same as {change.old}."


# --- asking the judge again -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Plan:
    """What replaying will ask. `cost_usd` is None where the price is not known."""

    dialogues: tuple[str, ...]
    calls: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class Flip:
    """A target that the two versions rate differently; None where one gave no value."""

    dialogue_id: str
    turn: int | None
    old: int | None
    new: int | None


@dataclass(frozen=True, slots=True)
class Replay:
    """What came of it: `flips` are to be looked at, the other `same` targets are not."""

    asked: int
    same: int
    missing: int
    flips: tuple[Flip, ...]


def plan_replay(
    labelled: Iterable[str], new: Rubric, spec: ModelSpec, store: Store, price: Price
) -> Plan:
    """The labelled dialogues that this judge has not rated by the new version, and the cost."""
    owed, calls, letters = [], 0, 0
    for dialogue_id in sorted(set(labelled)):
        dialogue = store.get_dialogue(dialogue_id)
        left = _left(dialogue, new, spec, store)
        if not left:
            continue
        owed.append(dialogue_id)
        calls += len(left)
        if not spec.scripted:
            letters += len(left) * _prompt_letters(dialogue, new, store)
    known = (0.0, 0.0) if spec.scripted else price(spec)
    cost = None
    if known is not None:
        cost = letters / LETTERS_PER_TOKEN * known[0] + calls * ANSWER_TOKENS * known[1]
    return Plan(tuple(owed), calls, cost)


def _left(dialogue: Dialogue, rubric: Rubric, spec: ModelSpec, store: Store) -> list[object]:
    if not dialogue.stop_reason.judged:
        return []
    rated = rated_by(store.list_judgements(dialogue.id))
    return [key for key in keys(dialogue, rubric, spec) if key not in rated]


def _prompt_letters(dialogue: Dialogue, rubric: Rubric, store: Store) -> int:
    scenario = scenario_of(dialogue, store) if rubric.needs_scenario else None
    turn = 1 if rubric.target is Target.TURN else None
    asked = prompt_for(dialogue.messages, scenario, rubric, context=dialogue.arm.context, turn=turn)
    return sum(len(message.content) for message in asked)


def replay(  # noqa: PLR0913 - two versions, a judge, and where it happens
    labelled: Sequence[str],
    old: Rubric,
    new: Rubric,
    spec: ModelSpec,
    store: Store,
    model: ChatModel,
    *,
    on_progress: Progress | None = None,
) -> Replay:
    """Rate the labelled dialogues by the new version and say which ratings flipped.

    What is rated already is not asked again; judgements are added, none is replaced. Raises
    what `judge_again` raises.
    """
    what_changed(old, new)
    asked, ids = 0, sorted(set(labelled))
    for done, dialogue_id in enumerate(ids, 1):
        dialogue = store.get_dialogue(dialogue_id)
        if _left(dialogue, new, spec, store):
            lexicon = build_lexicon(store.vocabulary(dialogue.dataset or ""))
            asked += len(judge_again(dialogue, Judging(spec, (new,)), store, model, lexicon))
        if on_progress is not None:
            on_progress(done, len(ids))
    return _flips(ids, instrument_of(spec, old).id, instrument_of(spec, new).id, store, asked)


def _flips(ids: Sequence[str], old: str, new: str, store: Store, asked: int) -> Replay:
    flips: list[Flip] = []
    same = missing = 0
    for dialogue_id in ids:
        judgements = store.list_judgements(dialogue_id)
        before, after = _by_turn(judgements, old), _by_turn(judgements, new)
        for turn in sorted(before.keys() | after.keys(), key=lambda t: t or 0):
            if turn not in before or turn not in after:
                missing += 1
            elif before[turn] == after[turn]:
                same += 1
            else:
                flips.append(Flip(dialogue_id, turn, before[turn], after[turn]))
    return Replay(asked, same, missing, tuple(flips))


def _by_turn(judgements: Iterable[Judgement], instrument_id: str) -> dict[int | None, int | None]:
    return {j.turn: j.value for j in judgements if j.instrument.id == instrument_id}
