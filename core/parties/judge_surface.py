"""Naturalness and coherence by what can be counted on the surface of one side's messages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from core.context import Briefing
from core.parties.judge_evidence import collect, turns_of
from core.parties.lexicon import Lexicon, tokens_of
from core.parties.reading import Sign, asked, has, read
from core.parties.scripted_user import agenda_of
from core.types import Message, Role

_LONG = {Role.USER: 60, Role.ASSISTANT: 150}  # words
_MARKUP = re.compile(
    r"</?[a-zA-Z][^>]{0,200}>|^#{1,6} |\*\*|^[ \t]*[-*] .*\n[ \t]*[-*] |```|^\|[^|\n]*\|", re.M
)
_PLACEHOLDER = re.compile(r"\[[A-Za-z][\w /]{2,40}\]|\{\w+\}|\$[A-Za-z_]\w*|\bundefined\b|\bNone,")
_READ = 20_000


@dataclass(slots=True)
class Faults:
    """What was found: a description, the turns, and how many points it costs."""

    side: Role
    found: list[tuple[str, list[int], int]] = field(default_factory=list)

    def add(self, what: str, turns: Sequence[int], cost: int = 1) -> None:
        if turns:
            self.found.append((what, list(turns), cost))

    @property
    def points(self) -> int:
        return sum(cost for _, _, cost in self.found)

    def turns(self) -> tuple[int, ...]:
        return tuple(sorted({t for _, turns, _ in self.found for t in turns}))

    def text(self) -> str:
        who = "user" if self.side is Role.USER else "assistant"
        if not self.found:
            return f"No fault found on the {who}'s side."
        notes = "; ".join(
            f"{what} (turn{'s' if len(turns) > 1 else ''} {', '.join(map(str, turns[:4]))})"
            for what, turns, _ in self.found
        )
        return f"On the {who}'s side: {notes}."


def naturalness(
    messages: Sequence[Message], side: Role, briefing: Briefing, lexicon: Lexicon
) -> Faults:
    """Repetition, empty or very long messages, markup, left-over placeholders, wrong role."""
    del briefing, lexicon
    texts = _texts(messages, side)
    faults = Faults(side)
    if not texts:
        faults.add("nothing was said", [1], cost=4)
        return faults
    repeated = _repeated(texts)
    faults.add("the same words again", repeated, cost=2 if len(repeated) > 2 else 1)
    faults.add("hardly a word", [n for n, t in texts if len(tokens_of(t)) < 2])
    faults.add("very long", [n for n, t in texts if _length(t) > _LONG[side]])
    faults.add("markup", [n for n, t in texts if _MARKUP.search(t[:_READ])])
    faults.add("a placeholder", [n for n, t in texts if _PLACEHOLDER.search(t[:_READ])], cost=2)
    faults.add("speaks in the wrong role", _wrong_role(texts, side), cost=2)
    return faults


def coherence(
    messages: Sequence[Message], side: Role, briefing: Briefing, lexicon: Lexicon
) -> Faults:
    """Whether a side takes up what the other said, without going round in circles."""
    texts = _texts(messages, side)
    faults = Faults(side)
    if not texts:
        faults.add("nothing was said", [1], cost=4)
        return faults
    faults.add("an empty message", [n for n, t in texts if not tokens_of(t)], cost=2)
    repeated = _repeated(texts)
    faults.add("goes round in circles", repeated if len(repeated) > 1 else [])
    faults.add("speaks in the wrong role", _wrong_role(texts, side), cost=2)
    ignored = _unanswered if side is Role.USER else _asked_again
    turns = ignored(messages, briefing, lexicon)
    what = "a question is not answered" if side is Role.USER else "asks for what it was told"
    faults.add(what, turns, cost=2 if len(turns) > 2 else 1)
    return faults


def _texts(messages: Sequence[Message], side: Role) -> list[tuple[int, str]]:
    number = 0
    texts: list[tuple[int, str]] = []
    for message in messages:
        number += message.role is Role.USER
        if message.role is side:
            texts.append((max(1, number), message.content))
    return texts


def _length(text: str) -> int:
    return text.count(" ") + 1 if len(text) > _READ else len(text.split())


def _repeated(texts: Sequence[tuple[int, str]]) -> list[int]:
    """Turns whose message was said before, or shares nine of ten words with one said before."""
    seen: list[frozenset[str]] = []
    again: list[int] = []
    for number, text in texts:
        words = frozenset(token.word for token in tokens_of(text))
        if len(words) > 3 and any(_alike(words, before) for before in seen):
            again.append(number)
        seen.append(words)
    return again


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= 0.9 * max(len(one), len(other), 1)


def _wrong_role(texts: Sequence[tuple[int, str]], side: Role) -> list[int]:
    sign = Sign.ASSISTANT_ROLE if side is Role.USER else Sign.USER_ROLE
    return [number for number, text in texts if has(text, sign)]


def _unanswered(messages: Sequence[Message], briefing: Briefing, lexicon: Lexicon) -> list[int]:
    """Turns in which the user neither names a value, nor says yes or no, nor asks back."""
    agenda = agenda_of(briefing, lexicon)
    turns = turns_of(messages)
    unanswered: list[int] = []
    for before, turn in zip(turns, turns[1:], strict=False):
        wanted = asked(before.assistant, agenda.scope, lexicon, agenda.relevant)
        if wanted and not _answers(turn.user, lexicon, agenda.scope.domains):
            unanswered.append(turn.number)
    return unanswered


def _answers(text: str, lexicon: Lexicon, domains: Sequence[str]) -> bool:
    if any(lexicon.find(domain, text) for domain in domains):
        return True
    quick = {Sign.INDIFFERENCE, Sign.AGREEMENT, Sign.QUESTION, Sign.PREFERENCE}
    return any(s.signs & quick for s in read(text)) or len(tokens_of(text)) > 12


def _asked_again(messages: Sequence[Message], briefing: Briefing, lexicon: Lexicon) -> list[int]:
    """Turns in which the assistant asks for what the user has said before."""
    return sorted(set(collect(messages, briefing, lexicon).asked_again.values()))
