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
from typing import Any

DELETED = ("[deleted]", "[removed]")
BOTS = ("automoderator",)
_PREFIX = "m-"
_LINK = re.compile(
    r"""(?:\b[a-z][a-z0-9+.-]{1,20}://|\bwww\.)[^\s<>"'`{}|\\^)\]]+
      | \b(?:[a-z0-9-]+\.)+(?:com|org|net|edu|gov)\b(?:/[^\s<>"')\]]*)?""",
    re.IGNORECASE | re.VERBOSE,
)
_MAIL = re.compile(r"\b[\w.+-]+@[\w-]+\.[\w.-]*\w")
_MENTION = re.compile(r"(?<![\w/])/?u/([A-Za-z0-9_-]{2,40})", re.IGNORECASE)
_HINTS = ("://", "www.", "@", "u/", "U/", ".com", ".org", ".net", ".edu", ".gov")
_NAME_LIKE = re.compile(r"[0-9_-]|[a-z][A-Z]")
_EPOCH_MAX = 32_503_680_000  # the year 3000, in seconds


class Names:
    """Pseudonyms by keyed hash (HMAC-SHA-256). The same name and key give the same one."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._known: dict[str, str] = {}

    def of(self, name: Any) -> str:
        """The pseudonym of an author. What names nobody stays: empty, deleted."""
        if not isinstance(name, str) or not name.strip():
            return ""
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = self._make(name)
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
    return isinstance(name, str) and name.lower() in BOTS


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
    digit, an underscore, a hyphen or a capital inside) are looked for in plain text.
    """

    def __init__(self, pseudonyms: Names, names: Iterable[Any]) -> None:
        self._pseudonyms = pseudonyms
        known = {n.strip() for n in names if isinstance(n, str) and len(n.strip()) > 4}
        telling = [n for n in known if n.lower() not in DELETED and _NAME_LIKE.search(n)]
        self._names = tuple(telling)
        self.mentions = self.links = 0

    def mask(self, text: str) -> str:
        """The text without names and links; most texts have none and come back as they are."""
        if any(hint in text for hint in _HINTS):
            text, mails = _MAIL.subn("[mail]", text)
            text, links = _LINK.subn("[link]", text)
            text, found = _MENTION.subn(self._mentioned, text)
            self.links += links + mails
            self.mentions += found
        for name in self._names:
            if name in text:
                text, found = re.subn(
                    rf"(?<!\w){re.escape(name)}(?!\w)", self._pseudonyms.of(name), text
                )
                self.mentions += found
        return text

    def _mentioned(self, found: re.Match[str]) -> str:
        return self._pseudonyms.of(found[1])


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
    try:
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
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
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if value == value and abs(value) < 1e15 else None
