"""One raw post to a `Thread`: checked, cleaned, numbered, and rid of names and links.

What departs from the format is counted and dropped or kept as said there; no item of a source
stops an import.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from core.personaconv.cleaning import Masker, Names, clean, is_bot, parse_score, parse_time
from core.personaconv.streaming import RawPost
from core.personaconv.types import DOMAINS, Comment, Thread
from core.sources.irregularities import Irregularities

UNKNOWN_AUTHOR = "UNKNOWN_AUTHOR"
_KNOWN = frozenset(DOMAINS)
_NO_TIME = object()


class Reader:
    """Turns raw posts into threads, numbering users and their posts as they come."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._users: dict[str, int] = {}
        self._posts: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self.examples: dict[str, list[str]] = {}

    def thread(self, raw: RawPost) -> Thread | None:
        """The thread of a post, or None for what is no post."""
        post = raw.value
        if not isinstance(post, dict):
            self._note("post_not_object", f"a post that is {type(post).__name__}")
            return None
        given = post.get("author")
        author = raw.group if raw.group is not None else given
        if not isinstance(author, str) or not author.strip():
            author = UNKNOWN_AUTHOR
            self._note("post_without_author", clean(post.get("title")))
        thread_id = self._number(author)
        if raw.group is not None and isinstance(given, str) and given != raw.group:
            self._note("author_differs_from_group", thread_id)
        return self._read(post, author, thread_id)

    def _number(self, author: str) -> str:
        user = self._users.setdefault(author, len(self._users) + 1)
        self._posts[author] += 1
        return f"u{user}p{self._posts[author]}"

    def _read(self, post: dict[str, Any], author: str, thread_id: str) -> Thread:
        items = list(self._items(post.get("comments"), thread_id))
        masker = Masker(self._names, [author, *(item.get("author") for item, _ in items)])
        comments = tuple(
            self._comment(item, number, parent, masker, thread_id)
            for number, (item, parent) in enumerate(items, 1)
        )
        if not comments:
            self._note("post_without_comments", thread_id)
        content = post.get("content")
        thread = Thread(
            id=thread_id,
            author=self._names.of(author) if author != UNKNOWN_AUTHOR else "",
            domain=self._domain(post, thread_id),
            title=masker.mask(clean(post.get("title"))),
            content=masker.mask(clean(post.get("body") if content is None else content)),
            score=parse_score(post.get("score")),
            at=self._time(post, thread_id),
            comments=comments,
        )
        self._note("mention_replaced", thread_id, masker.mentions)
        self._note("link_replaced", thread_id, masker.links + bool(post.get("url")))
        return thread

    def _items(self, given: Any, thread_id: str) -> Iterator[tuple[dict[str, Any], int]]:
        """Comments depth-first with the number of their parent, whatever their depth."""
        number = 0
        open_ = [(iter(self._list(given, thread_id)), 0)]
        while open_:
            items, parent = open_[-1]
            for item in items:
                if isinstance(item, dict):
                    number += 1
                    yield item, parent
                    replies = item.get("replies")
                    if replies:
                        open_.append((iter(self._list(replies, thread_id)), number))
                        break
                else:
                    self._note("comment_not_object", thread_id)
            else:
                open_.pop()

    def _list(self, given: Any, thread_id: str) -> list[Any]:
        if isinstance(given, list):
            return given
        if given not in (None, ""):
            self._note("comments_not_list", thread_id)
        return []

    def _comment(
        self, item: dict[str, Any], number: int, parent: int, masker: Masker, thread_id: str
    ) -> Comment:
        body = item.get("body")
        text = masker.mask(clean(body))
        score = parse_score(item.get("score"))
        author = item.get("author")
        if body is None:
            self._note("null_body", thread_id)
        elif text in ("[deleted]", "[removed]"):
            self._note("deleted_text", thread_id)
        if score is None:
            self._note("score_not_number", thread_id)
        if is_bot(author):
            self._note("written_by_bot", thread_id)
        return Comment(
            number,
            parent,
            self._names.of(author),
            text,
            score,
            self._time(item, thread_id),
            body is None,
        )

    def _time(self, item: dict[str, Any], thread_id: str) -> Any:
        value = item.get("timestamp", _NO_TIME)
        if value is _NO_TIME or value is None:
            value = item.get("created_utc")
        if value is None:
            self._note("time_missing", thread_id)
            return None
        found = parse_time(value)
        if found is None:
            self._note("time_unreadable", f"{thread_id}: {str(value)[:40]}")
        elif not isinstance(value, str):
            self._note("time_as_number", thread_id)
        return found

    def _domain(self, post: dict[str, Any], thread_id: str) -> str:
        domain = clean(post.get("__sub__")).lower()
        if domain not in _KNOWN:
            self._note("domain_unknown", f"{thread_id}: {domain[:40]}")
        return domain or "unknown"

    def _note(self, kind: str, example: str, count: int = 1) -> None:
        if not count:
            return
        self.counts[kind] += count
        kept = self.examples.setdefault(kind, [])
        if len(kept) < 3 and example:
            kept.append(example)

    def irregularities(self) -> Irregularities:
        """What was met, in the form of every import report."""
        found = Irregularities()
        for kind, count in self.counts.items():
            examples = self.examples.get(kind) or ["no place"]
            found.add(kind, examples[0], count - len(examples) + 1)
            for example in examples[1:]:
                found.add(kind, example)
        return found
