"""The prompts of the released code, section by section, with what is wrong in them.

They serve to compare with the published table and to show what each defect does. Most of them
leak, and the auditor says so: later messages and final scores stay visible, and where the target
and the demonstration stand in one tree the answer itself is shown. The words are our own. Known
departures: people have pseudonyms, links are masks, and draws are seeded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.assets import load_prompt
from core.personaconv.leaks import Leak, LeakKind, Section, Span, TimeOf, audit
from core.personaconv.prompting import Prompt
from core.personaconv.selection import Chosen, reference_choice
from core.personaconv.types import POST, Comment, Setting, Task, Thread

OFFSET = 200  # how far away the released code takes an unrelated post
PROMPT = "conversation_reference@1"
SETTINGS = (Setting.P_CONV, Setting.P_NONCONV, Setting.NP_CONV)
_SUFFIX = {Setting.P_CONV: "conv", Setting.P_NONCONV: "nonconv", Setting.NP_CONV: "np"}
_TOKEN = re.compile(r"@@(\d+)@@")
_DEFAULTS = {  # where a post has no second reply
    Task.SENTIMENT: ("positive", "A made-up example: an answer that people agreed with."),
    Task.IMPACT: ("25", "A made-up example: an answer that people agreed with."),
    Task.REPLY: ("", "Thank you all for the answers."),
}


@dataclass(frozen=True, slots=True)
class Switches:
    """What the released code does, each of which may be turned off."""

    sign_hint: bool = True


@dataclass
class Reference:
    """The instances of one task by the released rules, and their prompts."""

    task: Task
    chosen: Sequence[Chosen]
    switches: Switches = field(default_factory=Switches)

    @classmethod
    def of(cls, threads: Sequence[Thread], task: Task) -> Reference:
        return cls(task, reference_choice(threads, task))

    def prompt(self, index: int, setting: Setting) -> Prompt:
        """The prompt of one instance, audited against it."""
        chosen = self.chosen[index]
        other = self.chosen[(index + OFFSET) % len(self.chosen)]
        part = f"{self.task}_{_SUFFIX[setting]}"
        template = load_prompt(PROMPT)
        wanted = template.placeholders_of(part)
        sections = tuple(s for s in self._sections(chosen, other, setting) if s.name in wanted)
        values = {s.name: s.text for s in sections}
        messages = template.render(part, **values)[1:]
        times = TimeOf([chosen.thread, other.thread])
        leaks = audit(sections, chosen.thread, chosen.target.number, self.task, times)
        if any(s.name == "hint" and s.text for s in sections):
            leaks = (*leaks, Leak(LeakKind.GOLD, "hint", "the sign of the score"))
        return Prompt(messages, sections, leaks, template.id)

    def _sections(self, chosen: Chosen, other: Chosen, setting: Setting) -> Iterator[Section]:
        if self.task is Task.REPLY:
            yield from _reply_sections(chosen, other, setting)
            return
        foreign = setting is Setting.NP_CONV
        source = other if foreign else chosen
        demo = source.target if foreign else source.demo
        yield from _demo_sections(self.task, source.thread, demo)
        thread, target = chosen.thread, chosen.target
        cut = {Task.SENTIMENT: 150, Task.IMPACT: 300}[self.task] if foreign else 500
        bare = setting is Setting.P_NONCONV
        yield Section("post", tuple(_card(thread, cut, with_score=not bare)))
        yield Section("parent", tuple(_parent(thread, target, None if foreign else 100)))
        yield Section("reply", tuple(_reply(thread, target, with_time=not bare)))
        yield Section("hint", (Span(self._hint(target)),))

    def _hint(self, target: Comment) -> str:
        if not self.switches.sign_hint:
            return ""
        sign = "positive" if (target.score or 0) > 0 else "negative"
        return f"(The score is expected to be {sign}.)"


def _whole(score: float | None) -> str:
    return "N/A" if score is None else f"{score:g}"


def _card(thread: Thread, cut: int, *, with_score: bool) -> Iterator[Span]:
    yield Span(f"Post {thread.id}\n- r/{thread.domain}\n- u/{thread.author}\n")
    if with_score:
        moment = f"{thread.at:%Y-%m-%dT%H:%M:%SZ}" if thread.at else "N/A"
        yield Span(f"- score: {_whole(thread.score)}\n- time: {moment}\n")
    yield Span("- title: ")
    yield Span(thread.title, (thread.id, POST))
    yield Span("\n- content: ")
    more = "..." if len(thread.content) > cut else ""
    yield Span(thread.content[:cut] + more, (thread.id, POST))


def _parent(thread: Thread, reply: Comment, cut: int | None) -> Iterator[Span]:
    number = reply.parent
    text = thread.text_of(number)
    author = thread.author_of(number)
    yield Span(f"It answers u/{author} ({thread.comment_id(number)}): ")
    yield Span(text if cut is None else f"{text[:cut]}...", (thread.id, number))


def _reply(thread: Thread, reply: Comment, *, with_time: bool) -> Iterator[Span]:
    moment = f" at {reply.at:%Y-%m-%dT%H:%M:%SZ}" if with_time and reply.at else ""
    yield Span(f"The answer {thread.comment_id(reply.number)}{moment}: ")
    yield Span(reply.text, (thread.id, reply.number))


def _demo_sections(task: Task, thread: Thread, demo: Comment | None) -> Iterator[Section]:
    answer, text = _DEFAULTS[task]
    if demo is None:
        yield Section("demo_post", (Span("A made-up post about rules for machines."),))
        yield Section("demo_parent", (Span("It answers a question."),))
        yield Section("demo_reply", (Span(text),))
        yield Section("demo_answer", (Span(answer),))
        return
    yield Section("demo_post", tuple(_card(thread, 500, with_score=True)))
    yield Section("demo_parent", tuple(_parent(thread, demo, 100)))
    yield Section("demo_reply", tuple(_reply(thread, demo, with_time=True)))
    if task is Task.SENTIMENT:
        answer = "positive" if (demo.score or 0) > 0 else "negative"
    else:
        answer = _whole(demo.score)
    yield Section("demo_answer", (Span(answer),))


# --- the third task: whole trees ----------------------------------------------------------------


def _reply_sections(chosen: Chosen, other: Chosen, setting: Setting) -> Iterator[Section]:
    foreign = setting is Setting.NP_CONV
    source = other if foreign else chosen
    demo = source.demo
    assert demo is not None, "the third task chooses posts with two replies"
    yield Section("demo_post", tuple(_demo_tree(source.thread, demo)))
    yield Section("demo_parent", tuple(_parent(source.thread, demo, None)))
    yield Section("demo_reply", (Span(demo.text, (source.thread.id, demo.number)),))
    if foreign:
        shown = _json(source.thread, POST, frozenset())
    elif setting is Setting.P_CONV:
        shown = _json(chosen.thread, POST, chosen.thread.below(chosen.target.number))
    else:
        shown = _json(chosen.thread, POST, frozenset(c.number for c in chosen.thread.comments))
    yield Section("post", tuple(shown))
    yield Section("parent", tuple(_parent(chosen.thread, chosen.target, None)))


def _demo_tree(thread: Thread, demo: Comment) -> Iterator[Span]:
    """The demonstration's tree without it and its later siblings; other branches stay whole."""
    siblings = sorted(thread.children[demo.parent], key=lambda n: _moment(thread, n))
    dropped = siblings[siblings.index(demo.number) :] if demo.parent != POST else []
    gone = frozenset(n for sibling in dropped for n in thread.below(sibling))
    return _json(thread, thread.top_of(demo.number), gone)


def _moment(thread: Thread, number: int) -> float:
    at = thread.at_of(number)
    return at.timestamp() if at else 0.0


def _json(thread: Thread, number: int, gone: frozenset[int]) -> Iterator[Span]:
    """A tree as indented JSON, in which each text keeps its source."""
    texts: list[tuple[str, int]] = []

    def quoted(text: str, source: int) -> str:
        texts.append((text, source))
        return f"@@{len(texts) - 1}@@"

    value = json.dumps(_node(thread, number, gone, quoted), indent=2, ensure_ascii=False)
    pieces = _TOKEN.split(value)
    for index, piece in enumerate(pieces):
        if index % 2:
            text, source = texts[int(piece)]
            yield Span(json.dumps(text, ensure_ascii=False)[1:-1], (thread.id, source))
        else:
            yield Span(piece)


def _node(thread: Thread, number: int, gone: frozenset[int], quoted: Any) -> dict[str, Any]:
    below = [
        _node(thread, n, gone, quoted)
        for n in sorted(thread.children[number], key=lambda n: _moment(thread, n))
        if n not in gone
    ]
    at = thread.at_of(number)
    common = {
        "id": thread.comment_id(number),
        "author": thread.author_of(number),
        "timestamp": f"{at:%Y-%m-%dT%H:%M:%SZ}" if at else None,
    }
    if number == POST:
        texts = {"title": quoted(thread.title, POST), "content": quoted(thread.content, POST)}
        score = {"score": thread.score, "__sub__": thread.domain}
        return {**common, **texts, **score, **({"comments": below} if below else {})}
    comment = thread.comment(number)
    return {
        **common,
        "body": quoted(comment.text, number),
        "score": comment.score,
        "replies": below,
    }
