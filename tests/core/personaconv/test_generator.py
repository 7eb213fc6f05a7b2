"""The made-up threads are what the specification asks of a demonstration set (9.6)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.personaconv.generator import SAMPLE, Size, generate, grouped, write_flat
from core.personaconv.types import DOMAINS
from tests.support.conversations import read_threads


@pytest.fixture(scope="module")
def made() -> list[dict[str, Any]]:
    return list(generate())


def under(comments: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for comment in comments:
        yield comment
        yield from under(comment["replies"])


def test_the_same_seed_makes_the_same_posts_and_another_seed_others(
    made: list[dict[str, Any]],
) -> None:
    assert made == list(generate(7))
    assert made != list(generate(8))


def test_the_shipped_sample_is_what_the_generator_makes(made: list[dict[str, Any]]) -> None:
    assert json.loads(SAMPLE.read_text(encoding="utf-8")) == grouped(made)


def test_every_domain_has_six_users_with_four_posts(made: list[dict[str, Any]]) -> None:
    per_user = Counter((post["__sub__"], post["author"]) for post in made)
    assert set(per_user.values()) == {4}
    assert Counter(domain for domain, _ in per_user) == dict.fromkeys(DOMAINS, 6)


def test_posts_have_participants_and_replies_but_for_those_below_a_threshold(
    made: list[dict[str, Any]],
) -> None:
    few_people = few_replies = faint = 0
    for thread in read_threads(made):
        own = [c for c in thread.own() if not c.gone]
        few_people += len(thread.participants) < 4
        few_replies += len(own) < 3
        faint += len(own) >= 3 and all(abs(c.score or 0) <= 3 for c in own)
    assert 1 <= few_people <= 15
    assert 1 <= few_replies <= 15
    assert faint >= 1


def test_what_real_files_hold_is_there(made: list[dict[str, Any]]) -> None:
    comments = [c for post in made for c in under(post["comments"])]
    scores = [c["score"] for c in comments]
    assert min(scores) < -20
    assert max(scores) > 20
    assert {c["body"] for c in comments} >= {"[deleted]", "[removed]"}
    assert any(not post["content"] for post in made)
    stamps = {len(c["timestamp"]) for c in comments}
    assert stamps == {19, 20, 24, 25}
    assert any("T" not in c["timestamp"] for c in comments)


def test_target_and_demonstration_may_share_a_tree(made: list[dict[str, Any]]) -> None:
    def shares(thread: Any) -> bool:
        newest = sorted((c for c in thread.own() if c.at), key=lambda c: c.at)[-2:]
        return len(newest) == 2 and len({thread.top_of(c.number) for c in newest}) == 1

    assert any(shares(thread) for thread in read_threads(made))


def test_nobody_says_the_same_twice_in_a_thread_while_there_is_something_else(
    made: list[dict[str, Any]],
) -> None:
    repeated = 0
    for post in made:
        texts = [c["body"] for c in under(post["comments"]) if not c["body"].startswith("[")]
        repeated += len(texts) - len(set(texts))
    assert repeated < 40  # of 2,700


def test_a_file_of_a_wanted_size_can_be_made(tmp_path: Path) -> None:
    path = tmp_path / "big.json"
    count = write_flat(path, generate(1, Size(users=10_000)), most_bytes=200_000)
    assert 190_000 < path.stat().st_size < 220_000
    assert len(json.loads(path.read_text(encoding="utf-8"))) == count
