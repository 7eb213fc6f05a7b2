"""Which replies are asked about: by the strict rules, or by those of the released code.

The specification behind this is PersonaConvBench (arXiv 2505.14106) with its code's rules; the
strict ones take every reply of whoever started the thread, and choose none by how it came out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from core.personaconv.cleaning import is_person
from core.personaconv.types import (
    GONE,
    POST,
    Comment,
    Instance,
    Split,
    TargetRef,
    Task,
    Thread,
    is_gone,
)
from core.types import digest

DEAD_ZONE = 2  # a score below this in size says neither yes nor no
TRAIN, DEV = 0.7, 0.8  # where the first two parts of a domain end
_MOST_REMOVED = 0.33
NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Rules:
    """How instances are chosen. `split` None takes all; `limit` draws so many of each task."""

    split: Split | None = Split.TEST
    by_user: bool = False
    domains: frozenset[str] = frozenset()
    limit: int | None = None
    seed: int = 7
    dead_zone: int = DEAD_ZONE


def is_visible(thread: Thread, number: int, to: Comment) -> bool:
    """Whether a message had been written when `to` was; of one moment, what stands before.

    A message whose time nobody knows is not visible; a post without one is, since all that
    stands below it came later.
    """
    if number == POST:
        return thread.at is None or to.at is None or thread.at <= to.at
    at = thread.comment(number).at
    if at is None or to.at is None:
        return False
    return at < to.at or (at == to.at and number < to.number)


def targets_of(thread: Thread) -> list[TargetRef]:
    """Every reply of a thread that may be asked about without showing anything later.

    It is by whoever started the thread and has a text and a time; what it answers has a text;
    and everything on the path to it had been written.
    """
    if not is_person(thread.author):
        return []
    return list(_targets(thread))


def _targets(thread: Thread) -> Iterator[TargetRef]:
    """In one pass: of each message is kept when the newest on the path to it was written."""
    newest: list[datetime | None] = [thread.at or NEVER]
    for c in thread.comments:
        above = newest[c.parent]
        written = above is not None and c.at is not None
        newest.append(max(above, c.at) if above is not None and c.at is not None else None)
        if not written or c.author != thread.author or c.gone:
            continue
        if newest[-1] == c.at and c.at and not is_gone(parent_text(thread, c.parent)):
            place = thread.comment_id(c.number)
            yield TargetRef(thread.id, place, c.number, c.author, thread.domain, c.at, c.score)


def parent_text(thread: Thread, number: int) -> str:
    """What a reply answers; of a post that only links, its title."""
    text = thread.text_of(number)
    return thread.title if number == POST and is_gone(text) else text


def label_of(score: float | None, dead_zone: int = DEAD_ZONE) -> str | None:
    """`positive` or `negative`; None for a score that says neither."""
    if score is None or abs(score) < dead_zone:
        return None
    return "positive" if score > 0 else "negative"


def can_ask(task: Task, score: float | None, dead_zone: int = DEAD_ZONE) -> bool:
    if task is Task.REPLY:
        return True
    if task is Task.IMPACT:
        return score is not None
    return score != 0 and label_of(score, dead_zone) is not None


# --- strict -------------------------------------------------------------------------------------


def strict_instances(
    targets: Sequence[TargetRef], dataset_hash: str, task: Task, rules: Rules
) -> list[Instance]:
    """The instances of one task, in one stable order: by domain, time and place.

    The draw of a limit is stratified by domain, and asks the different tasks about the same
    replies where they can be asked.
    """
    splits = split_by_user(targets) if rules.by_user else split_by_time(targets)
    found = [
        t
        for t in sorted(targets, key=_place)
        if (not rules.domains or t.domain in rules.domains)
        and (rules.split is None or splits[t.thread_id, t.number] is rules.split)
        and can_ask(task, t.score, rules.dead_zone)
    ]
    return [
        Instance(
            dataset_hash,
            t.thread_id,
            t.comment_id,
            t.number,
            t.member,
            t.domain,
            t.at,
            splits[t.thread_id, t.number],
            task,
        )
        for t in draw(found, rules.limit, rules.seed)
    ]


def _place(target: TargetRef) -> tuple[str, datetime, str, int]:
    return target.domain, target.at, target.thread_id, target.number


def split_by_time(targets: Iterable[TargetRef]) -> dict[tuple[str, int], Split]:
    """Of each domain the first 70 % in time are for training, the last 20 % for testing."""
    return _cut(sorted(targets, key=_place))


def split_by_user(targets: Iterable[TargetRef]) -> dict[tuple[str, int], Split]:
    """Of each domain's members 20 % are for testing: none of their replies is seen before."""
    everyone = list(targets)
    members = sorted({(t.domain, t.member) for t in everyone}, key=lambda m: (m[0], digest(m)))
    part = {m: s for group in _groups(members) for m, s in _shares(group)}
    return {(t.thread_id, t.number): part[t.domain, t.member] for t in everyone}


def _groups(members: Sequence[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for member in members:
        found.setdefault(member[0], []).append(member)
    return list(found.values())


T = TypeVar("T")


def _shares(items: Sequence[T]) -> Iterator[tuple[T, Split]]:
    for rank, item in enumerate(items):
        share = rank / len(items)
        yield item, Split.TRAIN if share < TRAIN else Split.DEV if share < DEV else Split.TEST


def _cut(ordered: Sequence[TargetRef]) -> dict[tuple[str, int], Split]:
    by_domain: dict[str, list[TargetRef]] = {}
    for target in ordered:
        by_domain.setdefault(target.domain, []).append(target)
    return {
        (t.thread_id, t.number): split
        for group in by_domain.values()
        for t, split in _shares(group)
    }


def draw(targets: Sequence[TargetRef], limit: int | None, seed: int) -> list[TargetRef]:
    """At most `limit` targets, as many of each domain as it holds, in the order given."""
    if limit is None or limit >= len(targets):
        return list(targets)
    by_domain: dict[str, list[TargetRef]] = {}
    for target in targets:
        by_domain.setdefault(target.domain, []).append(target)
    kept: set[tuple[str, int]] = set()
    for domain, count in _allotted({d: len(g) for d, g in by_domain.items()}, limit).items():
        ranked = sorted(by_domain[domain], key=lambda t: digest(seed, t.thread_id, t.number))
        kept.update((t.thread_id, t.number) for t in ranked[:count])
    return [t for t in targets if (t.thread_id, t.number) in kept]


def _allotted(sizes: dict[str, int], limit: int) -> dict[str, int]:
    """Shares of `limit` by size, whole, with the largest remainders rounded up."""
    total = sum(sizes.values())
    exact = {name: limit * size / total for name, size in sizes.items()}
    found = {name: int(share) for name, share in exact.items()}
    rest = sorted(exact, key=lambda n: (found[n] - exact[n], n))
    for name in rest[: limit - sum(found.values())]:
        found[name] += 1
    return found


# --- reference ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Chosen:
    """A reply that the released code would choose, and the one it would show before."""

    thread: Thread
    target: Comment
    demo: Comment | None


def reference_choice(threads: Iterable[Thread], task: Task) -> list[Chosen]:
    """What the released prompt makers choose, in their order; at most one reply a thread."""
    if task is Task.REPLY:
        return [c for thread in threads if (c := _latest(thread)) is not None]
    found = [c for thread in threads if (c := _loudest(thread, task)) is not None]
    negative = [c for c in found if _score(c) < 0]
    positive = sorted((c for c in found if _score(c) > 0), key=lambda c: abs(_score(c)))
    return negative + positive[len(positive) // 2 :]


def reference_instances(threads: Iterable[Thread], dataset_hash: str, task: Task) -> list[Instance]:
    return [
        Instance(
            dataset_hash,
            c.thread.id,
            c.thread.comment_id(c.target.number),
            c.target.number,
            c.thread.author,
            c.thread.domain,
            c.target.at or NEVER,
            Split.TEST,
            task,
            c.demo.number if c.demo else None,
        )
        for c in reference_choice(threads, task)
    ]


def _score(chosen: Chosen) -> float:
    return chosen.target.score or 0.0


def _loudest(thread: Thread, task: Task) -> Chosen | None:
    """The reply with the largest score in size, for the first two tasks."""
    own = [c for c in thread.own() if not c.gone]
    if len(thread.participants) < 4 or len(own) < 3:
        return None
    ranked = sorted(
        (c for c in own if c.score is not None and c.at and not is_gone(thread.text_of(c.parent))),
        key=lambda c: (abs(c.score or 0), c.at),
        reverse=True,
    )
    if not ranked or abs(ranked[0].score or 0) <= 3:
        return None
    demo = ranked[1] if len(ranked) > 1 else None
    if demo is not None and task is Task.SENTIMENT and not demo.score:
        demo = None
    return Chosen(thread, ranked[0], demo)


def _latest(thread: Thread) -> Chosen | None:
    """The last reply of all, for the third task."""
    ranked = [c for c in thread.own() if not c.null and c.at]
    ranked.sort(key=lambda c: c.at or NEVER, reverse=True)
    if len(ranked) < 2 or ranked[0].text in GONE:
        return None
    if sum(_qualifies(thread, top) for top in thread.children[POST]) < 2:
        return None
    if removed_share(thread, thread.top_of(ranked[0].number)) > _MOST_REMOVED:
        return None
    return Chosen(thread, ranked[0], ranked[1])


def _qualifies(thread: Thread, top: int) -> bool:
    """Whether a dialogue tree has an answer, and a word of whoever started the thread."""
    if not thread.children[top]:
        return False
    return any(thread.author_of(n) == thread.author for n in thread.below(top))


def removed_share(thread: Thread, top: int) -> float:
    """Which part of a dialogue tree was deleted or removed."""
    tree = thread.below(top)
    return sum(thread.text_of(n) in GONE for n in tree) / len(tree)


def qualifying_trees(thread: Thread) -> int:
    """How many dialogue trees have an answer and the author's word; in one pass."""
    tops, found = [POST] * (len(thread.comments) + 1), set()
    for comment in thread.comments:
        tops[comment.number] = tops[comment.parent] or comment.number
        if comment.author == thread.author:
            found.add(tops[comment.number])
    return sum(1 for top in found if thread.children[top])
