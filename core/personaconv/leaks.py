"""What a prompt must not hold: the answer, anything later, a score, a name nobody explains.

Texts are compared normalised: case, punctuation and spaces do not count. A text repeats another
where they share a run of 40 characters, or 80 % of it where it is short. Of a text under twelve
characters ("thanks!") nothing can be told, and only its place keeps it out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from functools import cached_property

from core.personaconv.selection import is_visible
from core.personaconv.types import POST, Task, Thread

RUN = 40
SHARE = 0.8
LEAST = 12
HIDDEN = "[hidden]"
_NOT_WORD = re.compile(r"\W+")
_WORD = re.compile(r"\w+")
_LABEL = re.compile(r"\b[MUH]\d+\b")
_MOMENT = re.compile(r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?")
_NUMBER = re.compile(r"(?<![\w.])[-\u2212]?\d+(?![\w.]*\d)")
_SAID_SCORE = re.compile(r"""["']?\bscore["']?\s*[:=]\s*["']?(-?\d+)""", re.IGNORECASE)
_RAW_ID = re.compile(r"\bu\d+p\d+(?:-c?\d+)*\b")
_PSEUDONYM = re.compile(r"\bm-[a-z2-7]{16}\b")
_PLACEHOLDER = re.compile(r"\{\w+\}|\$\{?[a-z_]+\}?")


class LeakKind(StrEnum):
    GOLD = "gold"
    LATER = "later"
    SCORE = "score"
    ID = "id"


@dataclass(frozen=True, slots=True)
class Leak:
    """One thing that a prompt should not hold, and in which section."""

    kind: LeakKind
    section: str
    what: str


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a prompt. `source` is the message that it quotes; without one, we wrote it."""

    text: str
    source: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a prompt with a name, for showing and for auditing."""

    name: str
    spans: tuple[Span, ...]

    @property
    def text(self) -> str:
        return "".join(span.text for span in self.spans)


def normal(text: str) -> str:
    """Words in lower case with single spaces."""
    return _NOT_WORD.sub(" ", text.casefold()).strip()


def needed_run(gold: str) -> int | None:
    """How long a common run with this normalised text gives it away; None for a short one."""
    if len(gold) < LEAST:
        return None
    return min(RUN, -(-len(gold) * 8 // 10))


def repeats(text: str, gold: str) -> bool:
    """Whether normalised `text` gives normalised `gold` away."""
    need = needed_run(gold)
    if need is None or len(text) < need:
        return False
    text, gold = f" {text} ", f" {gold} "  # ends of texts are ends of words, as inside
    block = need // 2  # a run that long holds one whole block, wherever it starts
    for start in range(0, len(gold) - block + 1, block):
        piece = gold[start : start + block]
        at = text.find(piece)
        while at >= 0:
            if _run(text, gold, at, start, block) >= need:
                return True
            at = text.find(piece, at + 1)
    return False


def _run(text: str, gold: str, at: int, start: int, length: int) -> int:
    """How long the common run around a common piece is."""
    left = 0
    while left < min(at, start) and text[at - left - 1] == gold[start - left - 1]:
        left += 1
    end, gold_end = at + length, start + length
    right = 0
    most = min(len(text) - end, len(gold) - gold_end)
    while right < most and text[end + right] == gold[gold_end + right]:
        right += 1
    return left + length + right


def without_gold(text: str, gold: str) -> str:
    """The text with what it shares with the answer hidden: somebody quoted it, or it quotes."""
    if not repeats(normal(text), normal(gold)):
        return text
    words = list(_WORD.finditer(text))
    ours = [w[0].casefold() for w in words]
    theirs = [w[0].casefold() for w in _WORD.finditer(gold)]
    blocks = SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks()
    kept = text
    for block in sorted(blocks, key=lambda b: -b.a):
        if block.size >= 2:
            first, last = words[block.a], words[block.a + block.size - 1]
            kept = f"{kept[: first.start()]}{HIDDEN}{kept[last.end() :]}"
    return HIDDEN if repeats(normal(kept), normal(gold)) else kept


# --- the auditor --------------------------------------------------------------------------------


def audit(
    sections: Iterable[Section], thread: Thread, number: int, task: Task, at_of: TimeOf
) -> tuple[Leak, ...]:
    """Everything in a prompt that should not be there, each kind once a section.

    `at_of` tells when a quoted message of any thread was written.
    """
    auditor = _Auditor(thread, number, task, at_of)
    found: dict[tuple[LeakKind, str], Leak] = {}
    listed = list(sections)
    defined = frozenset(_defined(listed))
    for section in listed:
        for leak in auditor.look(section, defined):
            found.setdefault((leak.kind, leak.section), leak)
    return tuple(found.values())


class TimeOf:
    """When messages were written, by thread and number; from the threads that a prompt quotes."""

    def __init__(self, threads: Iterable[Thread]) -> None:
        self._threads = {t.id: t for t in threads}

    def at(self, source: tuple[str, int]) -> float | None:
        thread = self._threads.get(source[0])
        at = thread.at_of(source[1]) if thread else None
        return at.timestamp() if at else None


def _defined(sections: Iterable[Section]) -> Iterable[str]:
    """Labels that stand in brackets where their message is shown."""
    for section in sections:
        for span in section.spans:
            if span.source is None:
                yield from re.findall(r"\[([MH]\d+)\]", span.text)


class _Auditor:
    def __init__(self, thread: Thread, number: int, task: Task, at_of: TimeOf) -> None:
        self._thread, self._number, self._task, self._at_of = thread, number, task, at_of
        self._target = thread.comment(number)
        self._at = self._target.at.timestamp() if self._target.at else 0.0
        self._gold = normal(self._target.text)
        self._below = thread.below(number)
        self._scores = {_digits(c.score) for c in thread.comments if c.score is not None}
        self._scores.add(_digits(thread.score))
        self._later = list(self._hidden())

    def _hidden(self) -> Iterable[str]:
        """Texts that were not written yet and are long enough to be known again."""
        for comment in self._thread.comments:
            if comment.number == self._number:
                continue
            if not is_visible(self._thread, comment.number, self._target):
                text = normal(comment.text)
                if needed_run(text) is not None:
                    yield text

    @cached_property
    def _known(self) -> str:
        """What could be shown: a later text that only repeats some of it gives nothing away."""
        thread, target = self._thread, self._target
        seen = [thread.title, thread.content]
        seen += [c.text for c in thread.comments if is_visible(thread, c.number, target)]
        if self._task is not Task.REPLY:
            seen.append(target.text)
        return normal(" \n".join(seen))

    def look(self, section: Section, defined: frozenset[str]) -> Iterable[Leak]:
        # No run goes from one message into our own words about the next.
        text = " \0 ".join(normal(span.text) for span in section.spans)
        if self._task is Task.REPLY and repeats(text, self._gold):
            yield Leak(LeakKind.GOLD, section.name, "the text of the reply")
        for span in section.spans:
            if span.source is None:
                yield from self._look_for_later(section.name, normal(span.text))
                yield from self._look_at_frame(section.name, span.text, defined)
            else:
                yield from self._look_at_quote(section.name, span.source)

    def _look_for_later(self, name: str, text: str) -> Iterable[Leak]:
        """Later messages in what names no source; where there is one, its time is looked at.

        People do repeat what was said in other threads, so that words alone prove nothing.
        """
        for hidden in self._later:
            if repeats(text, hidden) and not repeats(self._known, hidden):
                yield Leak(LeakKind.LATER, name, f"“{hidden[:60]}”")

    def _look_at_quote(self, name: str, source: tuple[str, int]) -> Iterable[Leak]:
        thread_id, number = source
        if thread_id == self._thread.id:
            if number == self._number:
                if self._task is Task.REPLY:
                    yield Leak(LeakKind.GOLD, name, "the reply itself")
                return
            if number in self._below or not is_visible(self._thread, number, self._target):
                yield Leak(LeakKind.LATER, name, "a message of the thread written later")
            return
        at = self._at_of.at(source)
        if number != POST and (at is None or at >= self._at):
            yield Leak(LeakKind.LATER, name, "a message of another thread written later")

    def _look_at_frame(self, name: str, text: str, defined: frozenset[str]) -> Iterable[Leak]:
        for said in _SAID_SCORE.finditer(text):
            if said[1] in self._scores:
                yield Leak(LeakKind.SCORE, name, f"a score of {said[1]}")
        yield from self._numbers(name, _MOMENT.sub(" ", _LABEL.sub(" ", _RAW_ID.sub(" ", text))))
        for found in re.finditer(r"\b[MH]\d+\b", text):
            if found[0] not in defined:
                yield Leak(LeakKind.ID, name, f"{found[0]}, which is shown nowhere")
        for pattern in (_RAW_ID, _PSEUDONYM, _PLACEHOLDER):
            if raw := pattern.search(text):
                yield Leak(LeakKind.ID, name, raw[0])

    def _numbers(self, name: str, bare: str) -> Iterable[Leak]:
        """Numbers of our own that are somebody's score; the target's own is what is asked."""
        for found in _NUMBER.finditer(bare):
            if (number := found[0].replace("\u2212", "-")) in self._scores:
                asked = number == _digits(self._target.score) and self._task is Task.IMPACT
                yield Leak(LeakKind.GOLD if asked else LeakKind.SCORE, name, f"the number {number}")


def _digits(score: float | None) -> str:
    if score is None:
        return ""
    return str(int(score)) if score == int(score) else str(score)
