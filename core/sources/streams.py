"""Reading compressed bytes with a bound on what they may grow to.

A stream is read forwards only, a block at a time; nothing is ever held or written whole.
"""

from __future__ import annotations

import lzma
import zlib
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from tarfile import TarError
from typing import Protocol
from zipfile import BadZipFile

from core.errors import SourceError

_BLOCK = 1 << 17
_XZ_MEMORY = 256 << 20  # an .xz header may ask for 4 GB; the strongest usual setting needs 65 MB
_TAIL = 32 << 10  # more than tarfile reads ahead
_CLOSING = 1024  # two blocks of zeros close a tar archive


@dataclass(frozen=True, slots=True)
class Limits:
    """What a source may hold.

    `ratio` is looked at from `ratio_floor` bytes on: small archives of much alike files
    compress very well without being bombs.
    """

    entries: int = 2_000_000
    entry_bytes: int = 64 << 20
    total_bytes: int = 8 << 30
    ratio: int = 200
    ratio_floor: int = 256 << 20


class Meter:
    """Counts what one source yields and refuses what is beyond its limits."""

    def __init__(self, name: str, limits: Limits, packed_bytes: int) -> None:
        self.name = name
        self.limits = limits
        self.packed_bytes = packed_bytes
        self.produced = 0
        self.entries = 0

    def add_entry(self, entry: str, size: int) -> None:
        """Count one entry of `size` bytes. Files of lines are bounded by line, not as a whole."""
        self.entries += 1
        if self.entries > self.limits.entries:
            raise SourceError(f"{self.name} holds more than {self.limits.entries:,} files.")
        by_line = entry.endswith(".jsonl")
        most = self.limits.total_bytes if by_line else self.limits.entry_bytes
        if size > most:
            raise SourceError(f"{self.name}: {entry} is larger than {most >> 20:,} MB; refused.")

    def add_bytes(self, count: int) -> None:
        """Count bytes as they come out of the archive."""
        self.produced += count
        if self.produced > self.limits.total_bytes:
            most = self.limits.total_bytes >> 20
            raise SourceError(f"{self.name} unpacks to more than {most:,} MB; refused.")
        if self.produced > max(self.limits.ratio_floor, self.limits.ratio * self.packed_bytes):
            raise SourceError(
                f"{self.name} unpacks to more than {self.limits.ratio} times its size; refused."
            )


@contextmanager
def archive_faults(name: str) -> Iterator[None]:
    """Turn what the decompressors raise into one sentence that names the file."""
    try:
        yield
    except EOFError:
        raise SourceError(f"{name} is truncated: copy or download it again.") from None
    except (lzma.LZMAError, zlib.error, BadZipFile, TarError) as error:
        raise SourceError(f"{name} is damaged or no archive ({_reason(error)}).") from None
    except (NotImplementedError, RuntimeError) as error:
        # zipfile's words for encryption and for compression methods it does not know
        raise SourceError(f"{name} cannot be unpacked ({_reason(error)}).") from None
    except OSError as error:
        raise SourceError(f"Cannot read {name}: {error.strerror or _reason(error)}.") from None


def _reason(error: BaseException) -> str:
    return str(error).strip().rstrip(".") or type(error).__name__


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class XzReader:
    """Decompressed bytes of an .xz file, with a bound on the memory its header may claim."""

    def __init__(self, packed: Readable) -> None:
        self._packed = packed
        self._decoder = self._new()

    @staticmethod
    def _new() -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)

    def read(self, size: int, /) -> bytes:
        """Return 1 to `size` bytes, or none at the end."""
        while True:
            if self._decoder.eof:
                following = self._next_stream()
                if not following:
                    return b""
                self._decoder = self._new()
                data = self._decoder.decompress(following, size)
            else:
                data = self._decoder.decompress(self._input(), size)
            if data:
                return data

    def _input(self) -> bytes:
        if not self._decoder.needs_input:
            return b""
        packed = self._packed.read(_BLOCK)
        if not packed:
            raise EOFError
        return packed

    def _next_stream(self) -> bytes:
        """First bytes of a stream that follows; zeros between streams are padding."""
        rest = self._decoder.unused_data.lstrip(b"\0")
        while not rest:
            block = self._packed.read(_BLOCK)
            if not block:
                return b""
            rest = block.lstrip(b"\0")
        return rest


class MeteredReader:
    """Reads `source`, counting; `fence` is the position that may not be passed just now."""

    def __init__(self, source: Readable, meter: Meter) -> None:
        self._source = source
        self._meter = meter
        self.position = 0
        self.fence: int | None = None
        self._recent: deque[bytes] = deque()
        self._held = 0

    def read(self, size: int, /) -> bytes:
        with archive_faults(self._meter.name):
            data = self._source.read(size)
        self.position += len(data)
        self._meter.add_bytes(len(data))
        self._remember(data)
        if self.fence is not None and self.position > self.fence:
            raise SourceError(f"{self._meter.name} is damaged: it has an oversized header.")
        return data

    def _remember(self, data: bytes) -> None:
        self._recent.append(data)
        self._held += len(data)
        while self._held - len(self._recent[0]) >= _TAIL:
            self._held -= len(self._recent.popleft())

    def finish(self, end: int) -> None:
        """Check that nothing but zeros follows the archive's `end`, and that they are there.

        Reads to the end, so that the checksums of the compressed stream are checked too;
        tarfile by itself takes a broken header for the end of the archive.
        """
        self.fence = None
        if self._last(self.position - end).strip(b"\0"):
            raise SourceError(f"{self._meter.name} is damaged: it has a broken header.")
        while block := self.read(_BLOCK):
            if block.strip(b"\0"):
                raise SourceError(f"{self._meter.name} is damaged: data follows after its end.")
        if self.position - end < _CLOSING:
            raise SourceError(f"{self._meter.name} is truncated: copy or download it again.")

    def _last(self, count: int) -> bytes:
        return b"".join(self._recent)[-count:] if count else b""
