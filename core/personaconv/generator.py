"""Made-up threads in the raw layout of PersonaConvBench, for tests, benchmarks and the sample.

The benchmark's own data may not be passed on and its demonstration file is missing. These texts
are put together from lines written for Rapport. How a community receives a reply depends on the
voice of who wrote it, so that a history tells something and a model could make use of it.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from core.assets import ASSETS
from core.personaconv.types import DOMAINS

SAMPLE = ASSETS / "conversations" / "sample.json"
_PHRASES = ASSETS / "conversations" / "phrases.v1.yaml"
_NEAR = 12  # users who may meet, so that a crowd of a million costs no more than a dozen
_START = datetime(2023, 1, 2, 8, 0, tzinfo=UTC)
_FORMATS = (
    lambda t: t.strftime("%Y-%m-%dT%H:%M:%SZ"),
    lambda t: t.astimezone(None).astimezone(UTC).isoformat(),
    lambda t: t.strftime("%Y-%m-%dT%H:%M:%S"),
    lambda t: t.strftime("%Y-%m-%dT%H:%M:%S.250Z"),
    lambda t: t.strftime("%Y-%m-%d %H:%M:%S"),
)


@dataclass(frozen=True, slots=True)
class Size:
    """How much to make. `comments` is the least and the most under one post."""

    users: int = 6
    posts: int = 4
    comments: tuple[int, int] = (8, 14)
    domains: tuple[str, ...] = DOMAINS


@lru_cache(maxsize=1)
def _phrases() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(_PHRASES.read_text(encoding="utf-8"))
    return found


def _ended(line: str) -> str:
    return line if line.endswith((".", "?", "!")) else f"{line}."


@dataclass
class _Thread:
    """One thread in the making."""

    rng: random.Random
    domain: str
    author: str
    people: list[str]
    at: datetime
    post: dict[str, Any] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    made: list[tuple[dict[str, Any], datetime]] = field(default_factory=list)

    def line(self, lines: list[str]) -> str:
        """A line that nobody has said here yet, if there is one, about two topics."""
        first, second = self.rng.sample(_phrases()["domains"][self.domain]["topics"], 2)
        text = self.rng.choice([n for n in lines if n not in self.used] or lines)
        self.used.add(text)
        return str(text).replace("{a}", first).replace("{b}", second)

    def said(self, who: str, kind: str) -> str:
        """A message by `who`, in that voice."""
        voice, rng = _voice(who), self.rng
        core = _ended(self.line(_phrases()["domains"][self.domain][kind]))
        if rng.random() < 0.5:
            core = f"{core} {_ended(self.line(_phrases()['second']))}"
        opening, closing = rng.choice(voice["open"]), rng.choice(voice["close"])
        if opening.endswith(", ") and not core.startswith(("I ", "I'")):
            core = core[0].lower() + core[1:]
        elif not opening or opening.endswith(". "):
            core = core[0].upper() + core[1:]
        text = opening + (core.removesuffix(".") + closing if core.endswith(".") else core)
        text = text.lower() if voice["lower"] else text
        if rng.random() < 0.04:
            text += rng.choice(_phrases()["tails"]).replace(
                "{name}", rng.choice([n for n in self.people if n != who])
            )
        return str(text)

    def score(self, who: str, kind: str) -> int:
        """Warm voices are received well, curt ones are not, and size has a long tail."""
        lean = float(_voice(who)["warmth"]) + (-0.9 if kind == "objections" else 0.4)
        sign = 1 if self.rng.random() < 1 / (1 + math.exp(-2.2 * lean)) else -1
        return sign * int(round(math.exp(self.rng.gauss(1.7, 1.1))))

    def stamp(self, at: datetime) -> str:
        return str(self.rng.choice(_FORMATS)(at))

    def comment(self, who: str, kind: str, at: datetime) -> dict[str, Any]:
        made = {
            "author": who,
            "body": self.said(who, kind),
            "score": self.score(who, kind),
            "timestamp": self.stamp(at),
            "replies": [],
        }
        self.made.append((made, at))
        return made


def generate(seed: int = 7, size: Size | None = None) -> Iterator[dict[str, Any]]:
    """Posts in the flat layout, domain by domain and author by author. Same seed, same posts."""
    size = size or Size()
    for domain in size.domains:
        for user in range(size.users):
            for number in range(size.posts):
                key = f"{seed}/{domain}/{user}/{number}"
                yield _post(random.Random(key), domain, user, number, size)


def _post(rng: random.Random, domain: str, user: int, number: int, size: Size) -> dict[str, Any]:
    author = _name(domain, user)
    near = range(size.users) if size.users <= _NEAR else range(user - _NEAR // 2, user + _NEAR // 2)
    crowd = [_name(domain, other % size.users) for other in near if other != user]
    crowd += [f"passer_by_{rng.randrange(400)}" for _ in range(4)]
    people = rng.sample(crowd, min(len(crowd), rng.randint(4, 6)))
    days = rng.randrange(700)
    thread = _Thread(rng, domain, author, people, _START + timedelta(days=days, hours=number))
    title, content = _opening(thread, link=(user + number) % 9 == 4)
    thread.post = {
        "title": title,
        "content": content,
        "url": f"https://example.org/{domain}/{user}/{number}",
        "__sub__": domain,
        "author": author,
        "score": 20 + rng.randrange(900),
        "timestamp": thread.stamp(thread.at),
        "comments": [],
    }
    _discuss(thread, people, rng.randint(*size.comments))
    _trouble(thread, user, number)
    return thread.post


def _name(domain: str, user: int) -> str:
    names = _phrases()["names"]
    base = names[(DOMAINS.index(domain) * 7 + user) % len(names)] if domain in DOMAINS else "guest"
    return f"{base}_{domain[:3]}{user}" if user >= len(names) else f"{base}_{domain[:3]}"


@lru_cache(maxsize=4096)
def _voice(name: str) -> dict[str, Any]:
    voices = _phrases()["voices"]
    found: dict[str, Any] = voices[random.Random(name).randrange(len(voices))]
    return found


def _opening(thread: _Thread, *, link: bool) -> tuple[str, str]:
    lines = _phrases()["domains"][thread.domain]
    title, content = thread.rng.choice([p for p in lines["posts"] if bool(p[1]) != link])
    first, second = thread.rng.sample(lines["topics"], 2)
    title, content = (t.replace("{a}", first).replace("{b}", second) for t in (title, content))
    return title[0].upper() + title[1:], content


def _discuss(thread: _Thread, people: list[str], count: int) -> None:
    """People comment, the author answers some of them, some answer back."""
    rng, at = thread.rng, thread.at
    tops: list[dict[str, Any]] = thread.post["comments"]
    answered: list[tuple[dict[str, Any], str]] = []
    made = turn = 0
    while made < count:
        at += timedelta(minutes=rng.randint(2, 55))
        who = people[turn % len(people)]
        turn += 1
        kind = "objections" if rng.random() < 0.3 else "remarks"
        if answered and rng.random() < 0.45:
            parent, _ = rng.choice(answered)
            said = thread.comment(who, kind, at)
            parent["replies"].append(said)
        else:
            said = thread.comment(who, kind, at)
            tops.append(said)
        made += 1
        if len(answered) < 3 or rng.random() < 0.4:
            at += timedelta(minutes=rng.randint(1, 30))
            reply = thread.comment(thread.author, "answers", at)
            said["replies"].append(reply)
            answered.append((reply, thread.author))
            made += 1


def _trouble(thread: _Thread, user: int, number: int) -> None:
    """What real files hold too: deleted texts, late branches, posts below a threshold."""
    rng, comments = thread.rng, thread.made
    others = [c for c, _ in comments if c["author"] != thread.author]
    if number == 1:
        rng.choice(others[1:])["body"] = rng.choice(("[deleted]", "[removed]"))
    if number == 2 and others:
        late = thread.comment(
            "AutoModerator" if user == 0 else others[0]["author"],
            "remarks",
            thread.at + timedelta(days=1),
        )
        thread.post["comments"].append(late)
    if number == 3 and user % 3 == 0:
        _below_threshold(thread, user)


def _below_threshold(thread: _Thread, user: int) -> None:
    """One post with few people, with few replies, or with faint scores only."""
    kind = (user // 3 + DOMAINS.index(thread.domain)) % 3 if thread.domain in DOMAINS else 0
    for comment, _ in thread.made:
        own = comment["author"] == thread.author
        if kind == 0 and not own:
            comment["author"] = thread.made[0][0]["author"]
        elif kind == 1 and own:
            comment["author"] = "passer_by_0"
        elif kind == 2 and own:
            comment["score"] = thread.rng.choice((0, 1, -1, 2, 3))


# --- files --------------------------------------------------------------------------------------


def grouped(posts: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The grouped layout of flat posts: by author, in order of first appearance."""
    found: dict[str, list[dict[str, Any]]] = {}
    for post in posts:
        found.setdefault(post["author"] or "UNKNOWN_AUTHOR", []).append(post)
    return found


def write_flat(
    path: Path, posts: Iterable[dict[str, Any]], *, most_bytes: int | None = None
) -> int:
    """Write an array of posts, at most so many bytes; returns how many posts there are."""
    count = written = 0
    with path.open("w", encoding="utf-8") as file:
        file.write("[")
        for post in posts:
            text = json.dumps(post, ensure_ascii=False)
            written += len(text.encode())
            file.write(",\n" + text if count else text)
            count += 1
            if most_bytes is not None and written >= most_bytes:
                break
        file.write("]\n")
    return count


def write_grouped(path: Path, posts: Iterable[dict[str, Any]]) -> None:
    """Write the grouped layout, one author per line."""
    lines = (
        f"{json.dumps(name, ensure_ascii=False)}: {json.dumps(found, ensure_ascii=False)}"
        for name, found in grouped(posts).items()
    )
    path.write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")
