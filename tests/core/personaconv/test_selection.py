"""Which replies are asked about, by the strict rules and by those of the released code."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from core.personaconv.generator import Size, generate
from core.personaconv.selection import (
    Rules,
    label_of,
    reference_choice,
    split_by_time,
    split_by_user,
    targets_of,
)
from core.personaconv.types import Split, Task, Thread
from tests.support.conversations import (
    fixture_post,
    fixture_threads,
    make_comment,
    make_instances,
    make_post,
    read_threads,
)


@pytest.fixture(scope="module")
def threads() -> list[Thread]:
    return read_threads(generate(3))


# --- reference: acceptance test 1 of the specification -------------------------------------------


@pytest.mark.parametrize("task", [Task.SENTIMENT, Task.IMPACT])
def test_fixture_a_gives_the_three_instances_of_the_released_code(task: Task) -> None:
    chosen = reference_choice(fixture_threads(), task)
    ids = [c.thread.comment_id(c.target.number) for c in chosen]
    assert ids == ["u1p2-c1-c4-c5", "u2p1-c1-c4-c5", "u2p2-c1-c4-c5"]
    assert [c.target.score for c in chosen] == [-77, 77, 77]
    demos = [c.thread.comment_id(c.demo.number) for c in chosen if c.demo]
    assert demos == ["u1p2-c1-c2-c3", "u2p1-c1-c2-c3", "u2p2-c1-c2-c3"]


def test_fixture_a_gives_four_instances_of_the_third_task() -> None:
    chosen = reference_choice(fixture_threads(), Task.REPLY)
    assert [c.thread.id for c in chosen] == ["u1p1", "u1p2", "u2p1", "u2p2"]
    assert all(c.target.text.startswith("T of") for c in chosen)
    assert all(c.demo and c.demo.text.startswith("D1 of") for c in chosen)


def of_one_post(post: dict[str, Any], task: Task) -> int:
    return len(reference_choice(read_threads([post]), task))


@pytest.mark.parametrize("task", [Task.SENTIMENT, Task.IMPACT])
def test_posts_below_a_threshold_are_passed_over(task: Task) -> None:
    post = fixture_post("u1", -1, 1)
    assert of_one_post(post, task) == 1
    few_people = fixture_post("u1", -1, 1)
    for top in few_people["comments"]:
        top["author"] = "A"
        for reply in top["replies"]:
            reply["author"] = {"C": "A", "F": "A"}.get(reply["author"], reply["author"])
    assert of_one_post(few_people, task) == 1  # u1, A, B and D
    few_people["comments"][0]["replies"][1]["replies"][0]["replies"] = []
    assert of_one_post(few_people, task) == 0
    faint = fixture_post("u1", -1, 1)
    faint["comments"][0]["replies"][1]["replies"][0]["score"] = 3
    faint["comments"][0]["replies"][0]["replies"][0]["score"] = -3
    assert of_one_post(faint, task) == 0
    two = fixture_post("u1", -1, 1)
    two["comments"][1]["replies"][0]["body"] = "[Deleted]"
    assert of_one_post(two, task) == 0


def test_a_demonstration_of_score_zero_serves_only_the_second_task() -> None:
    post = fixture_post("u1", -1, 1)
    post["comments"][0]["replies"][0]["replies"][0]["score"] = 0
    post["comments"][1]["replies"][0]["score"] = 0
    (first,) = reference_choice(read_threads([post]), Task.SENTIMENT)
    (second,) = reference_choice(read_threads([post]), Task.IMPACT)
    assert first.demo is None
    assert second.demo is not None


def test_the_third_task_wants_two_trees_and_little_removed() -> None:
    post = fixture_post("u1", 1, 1)
    post["comments"][1]["replies"] = []
    assert of_one_post(post, Task.REPLY) == 0
    post = fixture_post("u1", 1, 1)
    for reply in post["comments"][0]["replies"]:
        reply["body"] = "[removed]"
    assert of_one_post(post, Task.REPLY) == 0  # 2 of 6: above 0.33
    post = fixture_post("u1", 1, 1)
    post["comments"][0]["replies"][1]["replies"][0]["body"] = "[deleted]"
    assert of_one_post(post, Task.REPLY) == 0


# --- strict --------------------------------------------------------------------------------------


def test_every_reply_with_text_time_and_a_written_path_is_a_target() -> None:
    thread = fixture_threads()[0]
    assert [t.number for t in targets_of(thread)] == [3, 5, 8]
    own = [make_comment("ann", "yes"), make_comment("ann", None), make_comment("ann", "[removed]")]
    own += [make_comment("ann", "no time", None), make_comment("ann", "before", "2022-01-01")]
    gone = make_comment("B", "[deleted]", "10:00", 1, make_comment("ann", "to nothing", "11:00"))
    late = make_comment("B", "late", "12:00", 1, make_comment("ann", "sooner", "11:00"))
    (thread,) = read_threads([make_post("ann", *own, gone, late)])
    assert [thread.comment(t.number).text for t in targets_of(thread)] == ["yes"]


def test_nobody_is_asked_about_who_deleted_their_name() -> None:
    posts = [make_post("[deleted]", make_comment("[deleted]", "yes"))]
    posts.append(make_post(None, make_comment(None, "yes")))  # type: ignore[arg-type]
    assert [targets_of(t) for t in read_threads(posts)] == [[], []]


@pytest.mark.parametrize(
    ("score", "label"), [(5, "positive"), (-2, "negative"), (1, None), (0, None), (None, None)]
)
def test_faint_scores_have_no_label(score: float | None, label: str | None) -> None:
    assert label_of(score) == label


def test_splits_follow_time_in_each_domain(threads: list[Thread]) -> None:
    targets = [t for thread in threads for t in targets_of(thread)]
    splits = split_by_time(targets)
    for domain in {t.domain for t in targets}:
        mine = [t for t in targets if t.domain == domain]
        of = {s: [t.at for t in mine if splits[t.thread_id, t.number] is s] for s in Split}
        assert max(of[Split.TRAIN]) <= min(of[Split.DEV])
        assert max(of[Split.DEV]) <= min(of[Split.TEST])
        assert len(of[Split.TRAIN]) / len(mine) == pytest.approx(0.7, abs=0.02)
        assert len(of[Split.TEST]) / len(mine) == pytest.approx(0.2, abs=0.02)


def test_no_user_of_a_cold_start_is_in_two_parts() -> None:
    threads = read_threads(generate(3, Size(users=10, posts=2)))
    targets = [t for thread in threads for t in targets_of(thread)]
    splits = split_by_user(targets)
    parts: dict[tuple[str, str], set[Split]] = {}
    for t in targets:
        parts.setdefault((t.domain, t.member), set()).add(splits[t.thread_id, t.number])
    assert all(len(p) == 1 for p in parts.values())
    assert {s for p in parts.values() for s in p} == set(Split)


def test_a_draw_is_stratified_seeded_and_shared_by_the_tasks(threads: list[Thread]) -> None:
    rules = Rules(split=None, limit=50, seed=1)
    first, again = (make_instances(threads, Task.REPLY, rules) for _ in range(2))
    assert first == again
    other = make_instances(threads, Task.REPLY, Rules(split=None, limit=50, seed=2))
    assert [i.id for i in first] != [i.id for i in other]
    assert len(first) == 50
    assert set(Counter(i.domain for i in first).values()) <= {4, 5, 6}
    scored = {i.id for i in make_instances(threads, Task.IMPACT, rules)}
    assert scored == {i.id for i in first}


def test_the_sentiment_of_faint_scores_is_not_asked(threads: list[Thread]) -> None:
    labelled = {i.id for i in make_instances(threads, Task.SENTIMENT)}
    everything = {i.id for i in make_instances(threads, Task.REPLY)}
    assert labelled < everything


def test_instance_ids_name_dataset_thread_and_comment() -> None:
    (first, *_) = make_instances(fixture_threads(), Task.REPLY)
    assert first.id == "hash:u1p1:u1p1-c7-c8"
