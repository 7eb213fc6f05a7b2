"""The strict prompts: what a model is told about one instance in one setting.

All settings ask about the same instances in the same words and differ in one thing: whose
earlier replies are shown, in which order, and whether more than the message that is answered is.
Nothing is shown that was not written before the target, and no score. People are called U1 (who
writes the reply), U2 and so on, messages M1, M2, earlier replies H1, H2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from core.assets import load_prompt
from core.personaconv.history import MOST, history, shuffled
from core.personaconv.leaks import Leak, Section, Span, TimeOf, audit, normal, repeats, without_gold
from core.personaconv.selection import DEAD_ZONE, is_visible, label_of
from core.personaconv.types import (
    POST,
    Comment,
    Instance,
    Pair,
    Setting,
    Task,
    Thread,
    is_gone,
)
from core.ports import ChatMessage
from core.types import digest

Tokens = Callable[[str], int]
NONE_GIVEN = "None are given."
PROMPTS = {task: f"conversation_{task}@1" for task in Task}


def about_tokens(text: str) -> int:
    """About how many tokens a text is: one for four bytes, for every model alike.

    All models are given the same prompt, so that none is compared on more than another.
    """
    return -(-len(text.encode("utf-8", "surrogatepass")) // 4)


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is shown. With `history_scores` or `scores` a run is an ablation and called so."""

    context_tokens: int = 6000
    history_tokens: int = 2000
    history_items: int = MOST
    history_scores: bool = False
    seed: int = 7
    dead_zone: int = DEAD_ZONE


@dataclass(frozen=True, slots=True)
class Case:
    """All that the prompts of one instance are made of.

    `own` is everything its member ever answered, `others` the history of another member.
    """

    instance: Instance
    thread: Thread
    own: tuple[Pair, ...] = ()
    others: tuple[Pair, ...] = ()

    @property
    def target(self) -> Comment:
        return self.thread.comment(self.instance.number)


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is sent, the sections it was made of, and what is wrong with it."""

    messages: tuple[ChatMessage, ...]
    sections: tuple[Section, ...]
    leaks: tuple[Leak, ...]
    prompt_id: str
    truncated: int = 0  # messages of the thread that found no room

    @property
    def hash(self) -> str:
        return digest([(m.role, m.content) for m in self.messages])

    @property
    def leak_kinds(self) -> str:
        """The kinds of leak, sorted and joined; empty when there are none."""
        return ",".join(sorted({str(leak.kind) for leak in self.leaks}))


def strict_prompt(
    case: Case, setting: Setting, limits: Limits | None = None, tokens: Tokens = about_tokens
) -> Prompt:
    """Word for word what a model is told, audited."""
    builder = _Builder(case, setting, limits or Limits(), tokens)
    template = load_prompt(PROMPTS[case.instance.task])
    sections = builder.sections()
    messages = template.render("ask", **{s.name: s.text for s in sections})
    frame = _frame(template.parts["system"], template.parts["ask"])
    times = _PairTimes(case, case.others + case.own)
    leaks = audit((frame, *sections), case.thread, case.instance.number, case.instance.task, times)
    return Prompt(messages, (frame, *sections), leaks, template.id, builder.left_out)


def _frame(system: str, ask: str) -> Section:
    """Our own words: what to do, and in which form to answer."""
    question = ask.rpartition("</reply>")[2].strip()
    return Section("instructions", (Span(f"{system}\n\n{question}"),))


class _PairTimes(TimeOf):
    """When quoted pairs were written, without their threads."""

    def __init__(self, case: Case, pairs: Sequence[Pair]) -> None:
        super().__init__([case.thread])
        self._pairs = {(p.thread_id, p.number): p.at.timestamp() for p in pairs}

    def at(self, source: tuple[str, int]) -> float | None:
        return self._pairs.get(source, super().at(source))


@dataclass
class _Builder:
    case: Case
    setting: Setting
    limits: Limits
    tokens: Tokens
    left_out: int = 0
    _people: dict[str, str] = field(default_factory=dict)
    _gold: str = ""
    _normal_gold: str = ""

    def __post_init__(self) -> None:
        self._people[self.case.instance.member] = "U1"
        if self.case.instance.task is Task.REPLY:
            self._gold = self.case.target.text
        self._normal_gold = normal(self._gold)

    def sections(self) -> tuple[Section, ...]:
        shown = self._shown()
        labels = {n: f"M{rank}" for rank, n in enumerate((n for n in shown if n != POST), 1)}
        conversation = Section("conversation", tuple(self._lines(shown, labels)))
        reply = Section("reply", tuple(self._reply(labels)))
        past = Section("history", tuple(self._history()))
        return (Section("post", tuple(self._post(POST in shown))), past, conversation, reply)

    # --- the post ---------------------------------------------------------------------------

    def _post(self, whole: bool) -> Iterator[Span]:
        """The same facts in every setting; the text only where the conversation is shown."""
        thread = self.case.thread
        yield Span(f"Community: {thread.domain}\nStarted by: U1\nTitle: ")
        yield Span(self._safe(thread.title) or "(none)", (thread.id, POST))
        if whole and not is_gone(thread.content):
            yield Span("\nText: ")
            yield Span(self._safe(thread.content), (thread.id, POST))

    # --- the conversation -------------------------------------------------------------------

    def _shown(self) -> list[int]:
        """Numbers of the messages that are shown, in depth-first order."""
        thread, number = self.case.thread, self.case.instance.number
        path = thread.path(number)
        if not self.setting.has_context:
            return [path[-1]]
        kept = set(path)
        left = self.limits.context_tokens - sum(self._cost(n) for n in path)
        for other in self._newest_first(set(path)):
            cost = self._cost(other)
            if cost <= left:
                kept.add(other)
                left -= cost
            else:
                self.left_out += 1
        return sorted(kept)

    def _newest_first(self, path: set[int]) -> list[int]:
        """Visible messages beside the path: siblings of the target first, then other branches."""
        thread, target = self.case.thread, self.case.target
        found = [
            c
            for c in thread.comments
            if c.number != target.number and c.number not in path
            if not c.gone and is_visible(thread, c.number, target) and not self._gives_away(c.text)
        ]
        found.sort(key=lambda c: (c.parent == target.parent, c.at, c.number), reverse=True)
        return [c.number for c in found]

    def _cost(self, number: int) -> int:
        return self.tokens(self.case.thread.text_of(number)) + 12  # and the line above it

    def _lines(self, shown: Sequence[int], labels: dict[int, str]) -> Iterator[Span]:
        thread, first = self.case.thread, True
        for number in shown:
            if number == POST:
                continue
            comment = thread.comment(number)
            answers = labels.get(comment.parent)
            if comment.parent == POST:
                what = "answers the post"
            else:
                what = f"answers {answers}" if answers else "answers a message that is not shown"
            gap = "" if first else "\n"
            moment = f"{comment.at:%Y-%m-%d %H:%M}" if comment.at else "at an unknown time"
            yield Span(f"{gap}[{labels[number]}] {self._who(comment.author)}, {moment}, {what}:\n")
            yield Span(self._safe(comment.text), (thread.id, number))
            first = False
        if first:
            yield Span("Nothing but the post." if POST in shown else NONE_GIVEN)
        if self.left_out:
            yield Span("\n(Older messages are left out for want of room.)")

    def _who(self, author: str) -> str:
        return self._people.setdefault(author, f"U{len(self._people) + 1}")

    def _reply(self, labels: dict[int, str]) -> Iterator[Span]:
        target = self.case.target
        to = labels.get(target.parent, "the post")
        if self.case.instance.task is Task.REPLY:
            yield Span(f"U1 is about to answer {to}.")
            return
        yield Span(f"U1 answers {to}:\n")
        yield Span(target.text, (self.case.thread.id, target.number))

    # --- the history ------------------------------------------------------------------------

    def _history(self) -> Iterator[Span]:
        """Earlier replies, in the same words whoever wrote them."""
        pairs = self.pairs()
        for rank, pair in enumerate(pairs, 1):
            source = (pair.thread_id, pair.number)
            yield Span(f"{'' if rank == 1 else chr(10)}[H{rank}] Somebody wrote:\n")
            yield Span(pair.parent_text, source)
            yield Span("\nThe reply to it:\n")
            yield Span(pair.text, source)
            yield Span(self._outcome(pair))
        if not pairs:
            yield Span(NONE_GIVEN)

    def pairs(self) -> Sequence[Pair]:
        """The earlier replies that are shown, in their order."""
        case, setting, most = self.case, self.setting, self.limits.history_items
        if not setting.has_history:
            return ()
        if setting is Setting.NP_CONV:
            return self._fitting(case.others[:most])
        own = self._fitting(history(case.own, case.instance, most))
        if setting is Setting.P_CONV_SHUFFLED:
            return shuffled(own, case.instance, self.limits.seed)
        return own

    def _fitting(self, pairs: Sequence[Pair]) -> tuple[Pair, ...]:
        """Those that give nothing away, as many as there is room for."""
        room, kept = self.limits.history_tokens, []
        for pair in pairs:
            cost = self.tokens(pair.parent_text) + self.tokens(pair.text) + 16
            told = self._gives_away(pair.text) or self._gives_away(pair.parent_text)
            if not told and cost <= room:
                room -= cost
                kept.append(pair)
        return tuple(kept)

    def _outcome(self, pair: Pair) -> str:
        """How an earlier reply was received, where that is what is asked about."""
        if self.case.instance.task is Task.REPLY or pair.score is None:
            return ""
        if self.limits.history_scores and self.case.instance.task is Task.IMPACT:
            return f"\nIts final score: {int(pair.score)}"
        label = label_of(pair.score, self.limits.dead_zone)
        return f"\nHow it was received: {label or 'hardly noticed'}"

    # --- what must not be shown -------------------------------------------------------------

    def _safe(self, text: str) -> str:
        return without_gold(text, self._gold) if self._gold else text

    def _gives_away(self, text: str) -> bool:
        return bool(self._normal_gold) and repeats(normal(text), self._normal_gold)


def shown_history(case: Case, limits: Limits | None = None) -> tuple[Pair, ...]:
    """The member's own earlier replies as `P-Conv` shows them; baselines use the same."""
    return tuple(_Builder(case, Setting.P_CONV, limits or Limits(), about_tokens).pairs())
