"""Raw files of either layout become clean threads without names, whatever is wrong in them."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import zipfile
from pathlib import Path
from typing import Any

import pytest

from core.errors import SourceError
from core.personaconv.cleaning import Masker, Names, clean, parse_time
from core.personaconv.raw import Reader
from core.personaconv.streaming import JsonWindow, RawPost, open_posts, posts
from core.personaconv.types import Thread
from tests.support.conversations import (
    KEY,
    fixture_a,
    fixture_threads,
    make_comment,
    make_post,
    read_threads,
    write_json,
)


def read(path: Path) -> list[RawPost]:
    with open_posts(path) as file:
        return list(file.posts)


FLAT = [post for posts in fixture_a().values() for post in posts]


def test_both_layouts_hold_the_same_posts(tmp_path: Path) -> None:
    flat = read(write_json(tmp_path / "flat.json", FLAT))
    grouped = read(write_json(tmp_path / "grouped.json", fixture_a()))
    assert [p.value for p in flat] == [p.value for p in grouped] == FLAT
    assert [p.group for p in grouped] == ["u1", "u1", "u2", "u2"]


@pytest.mark.parametrize("name", ["a.json.gz", "a.json.xz", "a.zip", "a.jsonl", "a.jsonl.gz"])
def test_a_compressed_source_reads_like_a_plain_one(tmp_path: Path, name: str) -> None:
    text = "\n".join(map(json.dumps, FLAT)) if "jsonl" in name else json.dumps(FLAT)
    data, path = text.encode(), tmp_path / name
    if name.endswith(".zip"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("Raw_Data.json", data)
    else:
        pack = {".gz": gzip.compress, ".xz": lzma.compress}.get(path.suffix, bytes)
        path.write_bytes(pack(data))
    assert [p.value for p in read(path)] == FLAT


class OneByOne:
    """A source that gives a few bytes at a time, so that every token is cut somewhere."""

    def __init__(self, data: bytes, size: int) -> None:
        self._file, self._size = io.BytesIO(data), size

    def read(self, size: int, /) -> bytes:
        return self._file.read(self._size)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_values_are_whole_wherever_the_stream_is_cut(size: int) -> None:
    value = [{"title": 'é 😀 \\ " ]'}, 12345, None, [1, {"a": -1.5e3}], "x", True]
    data = json.dumps(value, ensure_ascii=False).encode()
    found = posts(JsonWindow(OneByOne(data, size), "a.json"), by_line=False)
    assert [p.value for p in found] == value


@pytest.mark.parametrize(
    "text",
    ["", "12", '"a"', '[{"a": 1}', '[{"a": 1} {"b": 2}]', '{"a": 1}', "[] []", '[{"a": tru}]'],
)
def test_a_file_that_is_no_source_is_refused_in_one_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SourceError, match=r"a\.json"):
        read(path)


def test_a_truncated_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(json.dumps(FLAT).encode())[:-20])
    with pytest.raises(SourceError, match="truncated"):
        read(path)


def test_ids_count_users_posts_and_comments_depth_first() -> None:
    thread = fixture_threads()[1]
    assert thread.id == "u1p2"
    assert tuple(thread.comment_id(c.number) for c in thread.comments) == (
        "u1p2-c1",
        "u1p2-c1-c2",
        "u1p2-c1-c2-c3",
        "u1p2-c1-c4",
        "u1p2-c1-c4-c5",
        "u1p2-c1-c4-c5-c6",
        "u1p2-c7",
        "u1p2-c7-c8",
        "u1p2-c7-c9",
    )
    assert thread.path(5) == (0, 1, 4)
    assert thread.below(4) == {4, 5, 6}


def test_flat_posts_of_one_author_are_numbered_together_though_others_lie_between() -> None:
    found = read_threads([make_post("ann"), make_post("bob"), make_post("ann")])
    assert [t.id for t in found] == ["u1p1", "u2p1", "u1p2"]


def test_pseudonyms_depend_on_the_name_and_the_key_alone() -> None:
    one = Names(b"one")
    assert one.of("ann") == Names(b"one").of("ann") != Names(b"two").of("ann")
    assert one.of("ann") != one.of("Ann")
    assert one.of("[deleted]") == "[deleted]"
    assert one.of(None) == ""


def everything(thread: Thread) -> str:
    texts = [thread.author, thread.title, thread.content, *map(str, thread.comments)]
    return "\n".join(texts)


def test_no_name_and_no_link_is_left_of_a_post() -> None:
    body = (
        "Ask u/Some_One or /u/other-one, see https://example.org/x?y=1) and www.example.com, "
        "or example.net/page, mail a.b@example.org. KiteSeason9 said so. That is all."
    )
    post = make_post("KiteSeason9", make_comment("Some_One", body), content=body, title=body)
    (thread,) = read_threads([post])
    for word in ("Some_One", "other-one", "example", "KiteSeason9", "http", "a.b@"):
        assert word not in everything(thread), word
    assert Names(KEY).of("KiteSeason9") in thread.comments[0].text
    assert thread.comments[0].text.endswith("said so. That is all.")


def test_a_name_that_is_a_word_is_left_where_it_is_a_word() -> None:
    text = "A reader of books."
    masker = Masker(Names(KEY), ["books", "reader"], text)
    assert masker.mask(text) == text


def test_cleaning_changes_line_breaks_and_ends_only() -> None:
    assert clean(" a\r\nb  *c* &amp; \n") == "a  b  *c* &amp;"
    assert clean(None) == ""
    assert clean(12) == "12"


@pytest.mark.parametrize(
    "value",
    [
        "2023-01-01T10:00:00Z",
        "2023-01-01T12:00:00+02:00",
        "2023-01-01T10:00:00",
        "2023-01-01T10:00:00.000Z",
        "2023-01-01 10:00:00",
        1672567200,
        1672567200.0,
        "1672567200",
    ],
)
def test_every_accepted_form_of_a_time_is_the_same_moment(value: Any) -> None:
    found = parse_time(value)
    assert found is not None
    assert found.isoformat() == "2023-01-01T10:00:00+00:00"


@pytest.mark.parametrize("value", [None, "", "yesterday", True, -5, 1e30, [], float("nan")])
def test_what_is_no_time_is_none(value: Any) -> None:
    assert parse_time(value) is None


def test_irregular_items_are_counted_and_stop_nothing() -> None:
    """Acceptance test 10 of the specification."""
    odd = [
        make_comment("A", "numeric", 1672567200),
        make_comment("A", "no time", None),
        make_comment("A", "bad time", "soon"),
        make_comment("A", None),
        make_comment("A", "text score", "10:00", "many"),
        make_comment("A", "[deleted]"),
        make_comment("AutoModerator", "I am a bot"),
        "not an object",
        None,
    ]
    odd[0]["replies"] = {"not": "a list"}
    sources: list[Any] = [
        make_post("ann", *odd),
        make_post("bob", __sub__="gardening", content=None, title=None),
        make_post("bob", comments=None),
        make_post(None),  # type: ignore[arg-type]
        "no post",
    ]
    reader = Reader(Names(KEY))
    threads = [reader.thread(RawPost(None, post)) for post in sources]
    assert [t.id if t else None for t in threads] == ["u1p1", "u2p1", "u2p2", "u3p1", None]
    assert threads[1] is not None
    assert (threads[1].title, threads[1].content) == ("", "")
    counts = {i.kind: i.count for i in reader.irregularities().found()}
    links = counts.pop("link_replaced")
    assert links == 4  # the address of each post
    assert counts == {
        "post_not_object": 1,
        "post_without_author": 1,
        "post_without_comments": 3,
        "comments_not_list": 1,
        "comment_not_object": 2,
        "null_body": 1,
        "deleted_text": 1,
        "written_by_bot": 1,
        "score_not_number": 1,
        "time_missing": 1,
        "time_unreadable": 1,
        "time_as_number": 1,
        "domain_unknown": 1,
    }


def test_a_very_deep_thread_is_read() -> None:
    comment = make_comment("A", "deepest")
    for _ in range(900):
        comment = make_comment("A", "deep", "10:00", 1, comment)
    (thread,) = read_threads([make_post("ann", comment)])
    assert len(thread.comments) == 901
    assert len(thread.path(901)) == 901
