"""Posts of a raw file, one after another, with no more than one post in memory.

Two layouts: an array of posts, or an object of arrays by author; and either a value per line.
A file may be compressed (.gz, .xz), and may lie in a folder, .zip or .tar.
"""

from __future__ import annotations

import codecs
import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from core.errors import SourceError
from core.sources.archive import open_source
from core.sources.json_text import kind_of
from core.sources.streams import Limits, Meter, MeteredReader, Readable, XzReader, archive_faults

_BLOCK = 4 << 20
_MOST = 64 << 20  # characters that one post may take
_SPACE = " \t\n\r"
_ENDINGS = (".json", ".jsonl", ".ndjson")
_PACKED = (".gz", ".xz")
_LIMITS = Limits(entry_bytes=8 << 30)
_POST_KEYS = ("comments", "title", "content", "__sub__")


@dataclass(frozen=True, slots=True)
class RawPost:
    """One item of a source. `group` is the author it stands under, None in the flat layout."""

    group: str | None
    value: Any


class JsonWindow:
    """A part of a long JSON text: values are parsed from it, and it moves on.

    A value that the window does not hold whole is tried again when more of it is there.
    """

    def __init__(self, source: Readable, name: str) -> None:
        self._source, self.name = source, name
        self._decode = codecs.getincrementaldecoder("utf-8-sig")()
        self._scan = json.JSONDecoder().raw_decode
        self._text, self._at, self._before, self._ended = "", 0, 0, False

    def peek(self) -> str:
        """The next character that is no space, or "" at the end."""
        while True:
            text, at = self._text, self._at
            while at < len(text) and text[at] in _SPACE:
                at += 1
            self._at = at
            if at < len(text) or not self._more():
                return text[at : at + 1]

    def take(self, wanted: str) -> bool:
        """Pass over the next character if it is `wanted`."""
        found = self.peek() == wanted
        self._at += found
        return found

    def expect(self, wanted: str, what: str) -> None:
        if not self.take(wanted):
            raise self.fault(f"{wanted} was expected {what}")

    def value(self) -> Any:
        """Parse the value that comes next. Raises `SourceError` for what is no JSON."""
        self.peek()
        while True:
            try:
                value, end = self._scan(self._text, self._at)
            except json.JSONDecodeError as error:
                too_long = len(self._text) - self._at > _MOST
                if too_long or not self._more():
                    raise self.fault(error.msg, error.pos) from None
                continue
            except RecursionError:
                raise self.fault("it is nested too deep to read") from None
            # A number at the very end may go on beyond it.
            if end == len(self._text) and not isinstance(value, dict | list | str) and self._more():
                continue
            self._at = end
            return value

    def fault(self, what: str, at: int | None = None) -> SourceError:
        place = self._before + (self._at if at is None else at)
        return SourceError(f"{self.name} is not valid JSON near character {place:,} ({what}).")

    def _more(self) -> bool:
        """Read on, dropping what is done with; False at the end."""
        if self._ended:
            return False
        kept = len(self._text) - self._at
        data = self._source.read(max(_BLOCK, kept))  # doubling keeps long values cheap
        self._ended = not data
        try:
            text = self._decode.decode(data, final=self._ended)
        except UnicodeDecodeError:
            raise SourceError(f"{self.name} is not UTF-8 text.") from None
        self._before += self._at
        self._text, self._at = self._text[self._at :] + text, 0
        return bool(text) or not self._ended


def posts(window: JsonWindow, *, by_line: bool) -> Iterator[RawPost]:
    """Every post of one file, in file order, whatever its layout."""
    first = window.peek()
    if by_line:
        yield from _by_line(window)
    elif first == "[":
        yield from (RawPost(None, value) for value in _array(window))
    elif first == "{":
        yield from _grouped(window)
    else:
        raise SourceError(
            f"{window.name} is no source of conversations: it should be a JSON array of posts, "
            "or an object with an array of posts for each author."
        )
    if window.peek():
        raise window.fault("something follows after its end")


def _array(window: JsonWindow) -> Iterator[Any]:
    window.expect("[", "at the start")
    if window.take("]"):
        return
    while True:
        yield window.value()
        if window.take("]"):
            return
        window.expect(",", "between two posts")


def _grouped(window: JsonWindow) -> Iterator[RawPost]:
    window.expect("{", "at the start")
    if window.take("}"):
        return
    while True:
        name = window.value()
        if not isinstance(name, str):
            raise window.fault("a name was expected")
        window.expect(":", f"after a name that is {kind_of(name)}")
        if window.peek() != "[":
            raise SourceError(
                f"{window.name}: under each author an array of posts was expected; a file with "
                "one post per line is called .jsonl."
            )
        yield from (RawPost(name, value) for value in _array(window))
        if window.take("}"):
            return
        window.expect(",", "between two authors")


def _by_line(window: JsonWindow) -> Iterator[RawPost]:
    """A post per line, or an author's posts per line."""
    while window.peek():
        value = window.value()
        lists = (
            isinstance(value, dict) and value and all(isinstance(v, list) for v in value.values())
        )
        if lists and not any(key in value for key in _POST_KEYS):
            for name, found in value.items():
                yield from (RawPost(name, post) for post in found)
        else:
            yield RawPost(None, value)


# --- files --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RawFile:
    """The posts of one source, and how much of it is read, 0 to 1."""

    posts: Iterator[RawPost]
    fraction: Callable[[], float]


@contextmanager
def open_posts(path: Path) -> Iterator[RawFile]:
    """Open a raw file, plain, compressed or in an archive. Raises `SourceError` in a sentence."""
    suffixes = [s.lower() for s in path.suffixes]
    single = bool(suffixes) and (suffixes[-1] in _ENDINGS or suffixes[-1] in _PACKED)
    if path.is_dir() or not single or suffixes[-2:-1] == [".tar"]:
        with open_source(path, _LIMITS) as source:
            yield RawFile(_of_entries(source, path.name), source.fraction)
        return
    with archive_faults(path.name):
        if not path.is_file():
            raise SourceError(f"There is no file {path}.")
        size = path.stat().st_size
        packed = path.open("rb")
    with packed:
        meter = Meter(path.name, _LIMITS, size)
        reader = MeteredReader(_unpacked(packed, suffixes[-1]), meter)
        by_line = _is_lines(suffixes)
        window = JsonWindow(reader, path.name)
        yield RawFile(posts(window, by_line=by_line), lambda: packed.tell() / max(size, 1))


def _unpacked(packed: IO[bytes], suffix: str) -> Readable:
    if suffix == ".gz":
        return cast(Readable, gzip.GzipFile(fileobj=packed, mode="rb"))
    return XzReader(packed) if suffix == ".xz" else packed


def _is_lines(suffixes: list[str]) -> bool:
    return any(s in (".jsonl", ".ndjson") for s in suffixes[-2:])


def _of_entries(entries: Any, name: str) -> Iterator[RawPost]:
    met = False
    for entry in entries:
        if not entry.name.lower().endswith(_ENDINGS):
            continue
        met = True
        with entry.opener() as file:
            window = JsonWindow(file, entry.where)
            yield from posts(window, by_line=not entry.name.lower().endswith(".json"))
    if not met:
        raise SourceError(f"{name} holds no .json or .jsonl file.")
