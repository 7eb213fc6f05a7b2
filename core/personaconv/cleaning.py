"""Text, times and names of a source, as they are kept: clean, in UTC, and without names.

People are told apart by a keyed hash of their name, made while a source is read; the name is
kept nowhere. Mentions of names (`u/name`, and a participant's name where it cannot be a word),
links and mail addresses inside texts are replaced too.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b32encode
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

DELETED = ("[deleted]", "[removed]")
BOTS = ("automoderator",)
_BOT_LENGTH = len(BOTS[0])
_PREFIX = "m-"
_LINK = re.compile(
    r"""(?:\b[a-z][a-z0-9+.-]{1,20}://|\bwww\.)[^\s<>"'`{}|\\^)\]]+
      | \b(?:[a-z0-9-]+\.)+(?:com|org|net|edu|gov)\b(?:/[^\s<>"')\]]*)?""",
    re.IGNORECASE | re.VERBOSE,
)
_MAIL = re.compile(r"\b[\w.+-]+@[\w-]+\.[\w.-]*\w")
_MENTION = re.compile(r"(?<![\w/])/?u/([A-Za-z0-9_-]{2,40})", re.IGNORECASE)
_SIGNS = ("/", "@", "www.", "WWW.", ".com", ".COM", ".org", ".net", ".edu", ".gov")
_NAME_LIKE = re.compile(r"[0-9_-]|[a-z][A-Z]")
_PLAIN = len("2023-01-01T10:00:00")
_EPOCH_MAX = 32_503_680_000  # the year 3000, in seconds


class Names:
    """Pseudonyms by keyed hash (HMAC-SHA-256). The same name and key give the same one."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._known: dict[str, str] = {}

    def of(self, name: Any) -> str:
        """The pseudonym of an author. What names nobody stays: empty, deleted."""
        if type(name) is not str:
            return ""
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = self._make(name) if name.strip() else ""
        return known

    def _make(self, name: str) -> str:
        bare = name.strip()
        if bare.lower() in DELETED:
            return bare.lower()
        mark = hmac.new(self._key, bare.encode("utf-8", "surrogatepass"), hashlib.sha256).digest()
        return _PREFIX + b32encode(mark[:10]).decode().lower()


def is_person(pseudonym: str) -> bool:
    """Whether a pseudonym stands for somebody: not for the deleted or for nobody."""
    return pseudonym.startswith(_PREFIX)


def is_bot(name: Any) -> bool:
    return type(name) is str and len(name) == _BOT_LENGTH and name.lower() in BOTS


def clean(value: Any) -> str:
    """Null to nothing, line breaks to spaces, both ends stripped; nothing else is changed."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else str(value)
    if "\n" in text or "\r" in text:
        text = text.replace("\n", " ").replace("\r", " ")
    return text.strip()


class Masker:
    """Replaces what could lead to a person: mentions, names, links, mail addresses.

    `names` are those of one thread's participants. Only names that cannot be words (with a
    digit, an underscore, a hyphen or a capital inside) are looked for in plain text. What stands
    nowhere in `whole`, all texts of the thread, is looked for in none of them.
    """

    def __init__(self, pseudonyms: Names, names: Iterable[str], whole: str) -> None:
        self._pseudonyms = pseudonyms
        self._signs = tuple(sign for sign in _SIGNS if sign in whole)
        telling = (n for n in set(names) if n in whole and _can_be_no_word(n))
        self._names = tuple(sorted(telling, key=len, reverse=True))
        self.mentions = self.links = 0

    @property
    def needed(self) -> bool:
        """Whether any text of the thread may have something to mask."""
        return bool(self._signs or self._names)

    def mask(self, text: str) -> str:
        """The text without names and links; most texts have none and come back as they are."""
        for sign in self._signs:
            if sign in text:
                text = self._without_links(text)
                break
        for name in self._names:
            if name in text:
                text = self._without_name(text, name)
        return text

    def _without_links(self, text: str) -> str:
        text, mails = _MAIL.subn("[mail]", text)
        text, links = _LINK.subn("[link]", text)
        text, found = _MENTION.subn(self._mentioned, text)
        self.links += links + mails
        self.mentions += found
        return text

    def _without_name(self, text: str, name: str) -> str:
        whole = rf"(?<!\w){re.escape(name)}(?!\w)"
        text, found = re.subn(whole, self._pseudonyms.of(name), text)
        self.mentions += found
        return text

    def _mentioned(self, found: re.Match[str]) -> str:
        return self._pseudonyms.of(found[1])


@lru_cache(maxsize=10_000)
def _can_be_no_word(name: str) -> bool:
    bare = name.strip()
    return len(bare) > 4 and bare.lower() not in DELETED and bool(_NAME_LIKE.search(bare))


def quick_time(value: Any) -> datetime | None:
    """The usual forms in a fraction of the time; None for whatever is not one of them."""
    if type(value) is not str:
        return None
    try:
        if len(value) == _PLAIN and value[-1] != "Z":
            return datetime.fromisoformat(f"{value}Z")
        found = datetime.fromisoformat(value)
    except ValueError:
        return None
    return found if found.tzinfo is UTC else None


def parse_time(value: Any) -> datetime | None:
    """A moment in UTC: ISO 8601 with or without zone, or seconds since 1970; else None."""
    if isinstance(value, str):
        return _of_text(value.strip())
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _of_epoch(float(value))
    return None


def _of_text(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return _of_digits(text)
    zone = found.tzinfo
    if zone is UTC:
        return found
    try:
        return found.replace(tzinfo=UTC) if zone is None else found.astimezone(UTC)
    except (OverflowError, ValueError):
        return None


def _of_digits(text: str) -> datetime | None:
    try:
        return _of_epoch(float(text))
    except ValueError:
        return None


def _of_epoch(seconds: float) -> datetime | None:
    if not 0 <= seconds < _EPOCH_MAX:
        return None
    return datetime.fromtimestamp(seconds, UTC)


def parse_score(value: Any) -> float | None:
    """A number, or None for whatever else stands there."""
    kind = type(value)
    if kind is int and -(10**15) < value < 10**15:
        return float(value)
    if kind is bool or not isinstance(value, int | float):
        return None
    return float(value) if value == value and abs(value) < 1e15 else None
