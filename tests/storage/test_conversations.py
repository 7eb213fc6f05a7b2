"""Conversations are stored whole, found by member, and never changed."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

from core.errors import NotFound, SourceError
from core.importing import import_source
from core.personaconv.cleaning import Names
from core.personaconv.generator import Size, generate, write_flat, write_grouped
from core.personaconv.selection import targets_of
from core.personaconv.types import Thread
from core.types import ImportReport
from storage.store import SqlStore, open_store, utc_now
from tests.builders import WEIRD
from tests.support.conversations import fixture_a, make_comment, make_post, read_threads, write_json

SMALL = Size(users=3, posts=2, domains=("books", "science"))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "raw.json"
    write_grouped(path, generate(1, SMALL))
    return path


def load(store: SqlStore, path: Path, name: str = "talk") -> ImportReport:
    return import_source(path, kind="personaconv", name=name, store=store, now=utc_now)


def key_of(store: SqlStore) -> bytes:
    with store.write_conversations("talk") as writer:
        return writer.key


def expected(store: SqlStore) -> list[Thread]:
    return read_threads(generate(1, SMALL), key_of(store))


def test_threads_come_back_as_they_were_read(store: SqlStore, source: Path) -> None:
    report = load(store, source)
    threads = expected(store)
    assert list(store.iter_threads("talk")) == threads
    ids = [threads[3].id, "unknown", threads[0].id]
    assert store.get_threads("talk", ids) == {t.id: t for t in (threads[3], threads[0])}
    assert (report.personas, report.tasks, report.added) == (6, 12, 12)
    assert report.scenarios == sum(len(targets_of(t)) for t in threads)


def test_what_a_dataset_holds_is_counted_by_domain(store: SqlStore, source: Path) -> None:
    load(store, source)
    found = store.get_conversations("talk")
    threads = expected(store)
    assert found.comments == sum(len(t.comments) for t in threads)
    assert [d.domain for d in found.by_domain] == ["books", "science"]
    books = [t for t in threads if t.domain == "books"]
    assert found.by_domain[0].trees == sum(len(t.children[0]) for t in books)
    assert found.by_domain[0].members == 3
    dataset = store.find_dataset("talk")
    assert dataset is not None
    assert (dataset.kind, dataset.tasks) == ("personaconv", 12)
    assert dataset.scenarios == found.targets == len(store.list_targets("talk"))


def test_targets_are_those_of_the_threads(store: SqlStore, source: Path) -> None:
    load(store, source)
    assert store.list_targets("talk") == [x for t in expected(store) for x in targets_of(t)]


def test_a_member_is_found_in_threads_of_others_too(store: SqlStore, source: Path) -> None:
    load(store, source)
    threads = expected(store)
    member = threads[0].author
    found = store.threads_of_members("talk", [member, "nobody"])
    assert found["nobody"] == []
    assert found[member] == [t for t in threads if member in t.participants]
    assert any(t.author != member for t in found[member])


def test_threads_are_listed_by_domain_and_author(store: SqlStore, source: Path) -> None:
    load(store, source)
    threads = expected(store)
    author = threads[0].author
    assert [t.id for t in store.list_threads("talk", author=author)] == [
        t.id for t in threads if t.author == author
    ]
    books = store.list_threads("talk", domain="books", limit=2, offset=1)
    assert [t.id for t in books] == [t.id for t in threads if t.domain == "books"][1:3]
    assert author in store.list_thread_authors("talk")


def test_the_same_source_again_adds_nothing(store: SqlStore, source: Path) -> None:
    first = load(store, source)
    again = load(store, source)
    assert (first.added, again.added) == (12, 0)
    assert len(list(store.iter_threads("talk"))) == 12


@pytest.mark.parametrize("change", ["more", "fewer", "other"])
def test_another_source_is_refused_under_the_same_name(
    store: SqlStore, source: Path, tmp_path: Path, change: str
) -> None:
    load(store, source)
    posts = list(generate(1, SMALL))
    if change == "more":
        posts.append(make_post("new"))
    elif change == "fewer":
        posts.pop()
    else:
        posts[2]["comments"][0]["score"] += 1
    other = tmp_path / "other.json"
    write_flat(other, posts)
    with pytest.raises(SourceError, match="another name"):
        load(store, other)
    assert len(list(store.iter_threads("talk"))) == 12


def test_two_datasets_have_their_own_threads_and_pseudonyms(store: SqlStore, source: Path) -> None:
    load(store, source)
    load(store, source, "second")
    one, two = (list(store.iter_threads(name)) for name in ("talk", "second"))
    assert [t.title for t in one] == [t.title for t in two]
    assert {t.author for t in one}.isdisjoint(t.author for t in two)


def test_a_bad_file_stores_nothing(store: SqlStore, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text('[{"title": "a", "comments": []}, {"title"', encoding="utf-8")
    with pytest.raises(SourceError):
        load(store, path)
    assert store.find_dataset("talk") is None
    with pytest.raises(SourceError, match="no posts"):
        load(store, write_json(tmp_path / "empty.json", []))
    with pytest.raises(NotFound):
        store.get_conversations("talk")


def test_no_name_and_no_link_of_the_source_is_in_the_database(
    sqlite_store: SqlStore, tmp_path: Path
) -> None:
    body = "u/SecretName_1 wrote https://example.org/secret and SecretName_1 agreed"
    post = make_post("SecretName_1", make_comment("SecretName_1", body), content=body)
    load(sqlite_store, write_json(tmp_path / "a.json", {"SecretName_1": [post]}))
    with sqlite_store._db.read() as connection:
        names = sa.inspect(connection).get_table_names()
        rows = [
            str(row) for n in names for row in connection.execute(sa.text(f"SELECT * FROM {n}"))
        ]
    text = "\n".join(rows)
    assert Names(key_of(sqlite_store)).of("SecretName_1") in text
    for secret in ("SecretName", "example.org"):
        assert secret not in text


def test_strange_texts_survive(store: SqlStore, tmp_path: Path) -> None:
    post = make_post("ann", make_comment("bob", WEIRD, "10:00", 2.5), title=WEIRD, content=WEIRD)
    load(store, write_json(tmp_path / "a.json", [post]))
    (thread,) = store.iter_threads("talk")
    assert thread.comments[0].score == 2.5
    (expected,) = read_threads([post], key_of(store))
    assert thread == expected


def test_an_import_may_be_run_on_fixture_a(migrated_sqlite_url: str, tmp_path: Path) -> None:
    store = open_store(migrated_sqlite_url)
    report = load(store, write_json(tmp_path / "a.json", fixture_a()))
    assert (report.tasks, report.scenarios) == (4, 12)
    store.close()
