"""Small sources in PersonaConvBench's raw layout, and the threads that are made of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from core.personaconv.cleaning import Names
from core.personaconv.history import others_history, pairs_of
from core.personaconv.prompting import Case
from core.personaconv.raw import Reader
from core.personaconv.selection import Rules, strict_instances, targets_of
from core.personaconv.streaming import RawPost
from core.personaconv.types import Instance, Task, Thread

KEY = b"a key for tests"
DAY = "2023-01-01T"


def make_comment(
    author: str, body: Any, at: Any = "10:00", score: Any = 1, *replies: Any
) -> dict[str, Any]:
    """A raw comment; a time of day is one of the first of January 2023."""
    stamp = f"{DAY}{at}:00Z" if isinstance(at, str) and len(at) == 5 else at
    return {
        "author": author,
        "body": body,
        "score": score,
        "timestamp": stamp,
        "replies": list(replies),
    }


def make_post(author: str, *comments: Any, **fields: Any) -> dict[str, Any]:
    """A raw post of one of the ten domains."""
    return {
        "title": "A title",
        "content": "What the post says.",
        "url": "https://example.org/a",
        "__sub__": "books",
        "author": author,
        "score": 100,
        "timestamp": f"{DAY}00:00:00Z",
        "comments": list(comments),
        **fields,
    }


def fixture_post(author: str, sign: int, number: int) -> dict[str, Any]:
    """One post of fixture A (specification 9.5): its texts tell who wrote what."""
    tag = f"{author} {number}"
    demo = make_comment(author, f"D1 of {tag}, the demonstration.", "03:00", sign * 20)
    below = make_comment("D", f"D on {tag}, written after the target.", "05:00", 1)
    target = make_comment(
        author, f"T of {tag}: the gold text, which nobody may see.", "04:00", sign * 77, below
    )
    child_b = make_comment("B", f"B on {tag}.", "02:00", 4, demo)
    child_c = make_comment("C", f"C on {tag}.", "02:30", 3, target)
    first = make_comment("A", f"A opens {tag}.", "01:00", 5, child_b, child_c)
    own = make_comment(author, f"D2 of {tag}.", "02:10", sign * 2)
    late = make_comment("F", f"F comes a day late to {tag}.", "2023-01-02T02:00:00Z", 1)
    second = make_comment("E", f"E opens {tag}.", "01:30", 2, own, late)
    return make_post(author, first, second, title=f"Post {tag}")


def fixture_a() -> dict[str, list[dict[str, Any]]]:
    """Two users with two posts each; the second of u1 is received badly."""
    return {
        user: [fixture_post(user, -1 if (user, n) == ("u1", 2) else 1, n) for n in (1, 2)]
        for user in ("u1", "u2")
    }


def read_threads(posts: Iterable[dict[str, Any]], key: bytes = KEY) -> list[Thread]:
    """The threads of flat posts."""
    reader = Reader(Names(key))
    found = (reader.thread(RawPost(None, post)) for post in posts)
    return [thread for thread in found if thread is not None]


def fixture_threads() -> list[Thread]:
    return read_threads(post for posts in fixture_a().values() for post in posts)


def write_json(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def make_instances(
    threads: Iterable[Thread], task: Task, rules: Rules | None = None
) -> list[Instance]:
    """The strict instances of some threads, of all splits unless told otherwise."""
    targets = [t for thread in threads for t in targets_of(thread)]
    return strict_instances(targets, "hash", task, rules or Rules(split=None))


def make_cases(threads: list[Thread], task: Task, rules: Rules | None = None) -> list[Case]:
    """Instances with everything that their prompts are made of."""
    by_id = {t.id: t for t in threads}
    instances = make_instances(threads, task, rules)
    members = sorted({(i.domain, i.member) for i in instances})
    pairs = {m: pairs_of(threads, m) for _, m in members}
    found = []
    for instance in instances:
        domain = [m for d, m in members if d == instance.domain]
        others = others_history(domain, pairs.__getitem__, instance, 7)
        own = tuple(pairs[instance.member])
        found.append(Case(instance, by_id[instance.thread_id], own, others))
    return found
