"""One raw post to a `Thread`: checked, cleaned, numbered, and rid of names and links.

What departs from the format is counted and dropped or kept as said there; no item of a source
stops an import.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from core.personaconv.cleaning import (
    Masker,
    Names,
    clean,
    is_bot,
    parse_score,
    parse_time,
    quick_time,
)
from core.personaconv.streaming import RawPost
from core.personaconv.types import DOMAINS, GONE, Comment, Thread
from core.sources.irregularities import Irregularities

UNKNOWN_AUTHOR = "UNKNOWN_AUTHOR"
_KNOWN = frozenset(DOMAINS)
_NO_TIME = object()
_MOST = 10**15
_SHORT = 12  # characters: what is longer is no deletion mark


def _cleaned(body: Any) -> str:
    """`clean`, with a short way for what needs none."""
    if type(body) is str and "\n" not in body and "\r" not in body:
        return body.strip()
    return clean(body)


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
        items, parents = self._items(post.get("comments"), thread_id)
        content = post.get("content")
        content = clean(post.get("body") if content is None else content)
        title, texts = clean(post.get("title")), [_cleaned(item.get("body")) for item in items]
        names = {name for item in items if type(name := item.get("author")) is str}
        masker = Masker(self._names, {author, *names}, "\n".join([title, content, *texts]))
        if masker.needed:
            texts = list(map(masker.mask, texts))
            title, content = masker.mask(title), masker.mask(content)
        if not items:
            self._note("post_without_comments", thread_id)
        self._note("mention_replaced", thread_id, masker.mentions)
        self._note("link_replaced", thread_id, masker.links + bool(post.get("url")))
        return Thread(
            id=thread_id,
            author=self._names.of(author) if author != UNKNOWN_AUTHOR else "",
            domain=self._domain(post, thread_id),
            title=title,
            content=content,
            score=parse_score(post.get("score")),
            at=self._time(post, thread_id),
            comments=tuple(self._comments(items, parents, texts, thread_id)),
        )

    def _items(self, given: Any, thread_id: str) -> tuple[list[dict[str, Any]], list[int]]:
        """Comments depth-first and the numbers of their parents, whatever their depth."""
        items: list[dict[str, Any]] = []
        parents: list[int] = []
        open_ = [(item, 0) for item in reversed(self._list(given, thread_id))]
        while open_:
            item, parent = open_.pop()
            if type(item) is not dict:
                self._note("comment_not_object", thread_id)
                continue
            items.append(item)
            parents.append(parent)
            replies = item.get("replies")
            if replies:
                number = len(items)
                open_ += [(reply, number) for reply in reversed(self._list(replies, thread_id))]
        return items, parents

    def _list(self, given: Any, thread_id: str) -> list[Any]:
        if isinstance(given, list):
            return given
        if given not in (None, ""):
            self._note("comments_not_list", thread_id)
        return []

    def _comments(
        self,
        items: list[dict[str, Any]],
        parents: list[int],
        texts: list[str],
        thread_id: str,
    ) -> Iterator[Comment]:
        """The hot loop of an import: what is usual is done here, all else elsewhere."""
        new, names = tuple.__new__, self._names.of
        for number, (item, parent, text) in enumerate(zip(items, parents, texts, strict=True), 1):
            get = item.get
            stamp, author, score = get("timestamp"), get("author"), get("score")
            at = quick_time(stamp) or self._time(item, thread_id)
            if type(score) is int and abs(score) < _MOST:
                score = float(score)
            else:
                score = parse_score(score)
            null = get("body") is None
            if score is None or len(text) < _SHORT or is_bot(author):
                self._note_comment(null, text, score, author, thread_id)
            yield new(Comment, (number, parent, names(author), text, score, at, null))

    def _note_comment(
        self, null: bool, text: str, score: float | None, author: Any, thread_id: str
    ) -> None:
        if null:
            self._note("null_body", thread_id)
        elif text in GONE:
            self._note("deleted_text", thread_id)
        if score is None:
            self._note("score_not_number", thread_id)
        if is_bot(author):
            self._note("written_by_bot", thread_id)

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
