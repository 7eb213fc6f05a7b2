"""Files of a folder or an archive, one after another, without unpacking anything to disk.

What is read is untrusted: names that point outside, links, devices, bombs and damaged archives
are refused with a `SourceError` that names the file.
"""

from __future__ import annotations

import gzip
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from core.errors import SourceError
from core.sources.streams import Limits, Meter, MeteredReader, Readable, XzReader, archive_faults

_HEADER_BYTES = 1 << 20  # a tar header with its long names is far below this
_TAR_BLOCK = tarfile.RECORDSIZE
_XZ, _GZ, _ZIP = b"\xfd7zXZ\0", b"\x1f\x8b", (b"PK\x03\x04", b"PK\x05\x06")
_KNOWN = "a folder, .zip, .tar, .tar.gz or .tar.xz"


@dataclass(frozen=True, slots=True)
class Entry:
    """One regular file. It must be read before the next entry is asked for."""

    name: str
    size: int
    source: str
    line_bytes: int
    opener: Callable[[], IO[bytes]]

    @property
    def where(self) -> str:
        return f"{self.source}: {self.name}"

    def read(self) -> bytes:
        """Return the whole content, which may not be larger than one line of `lines`."""
        if self.size > self.line_bytes:
            raise SourceError(f"{self.where} is larger than {self.line_bytes >> 20} MB; refused.")
        with archive_faults(self.source), self.opener() as file:
            data = file.read(self.size + 1)
        if len(data) != self.size:
            raise SourceError(f"{self.where} is not as long as the archive says.")
        return data

    def lines(self) -> Iterator[bytes]:
        """Yield the content line by line, so that a long file is never held whole."""
        with archive_faults(self.source), self.opener() as file:
            while line := file.readline(self.line_bytes + 1):
                if len(line) > self.line_bytes:
                    raise SourceError(f"{self.where} has a line over {self.line_bytes >> 20} MB.")
                yield line


@dataclass(frozen=True, slots=True)
class Source:
    """Iterates over entries; `fraction` tells how much of the source is read, 0 to 1."""

    name: str
    entries: Iterator[Entry]
    fraction: Callable[[], float]

    def __iter__(self) -> Iterator[Entry]:
        return self.entries


@contextmanager
def open_source(path: Path, limits: Limits | None = None) -> Iterator[Source]:
    """Open a folder, an archive or one .json/.jsonl file; iterate over its regular files.

    Names are relative, with "/" between their parts. Raises `SourceError` for what is no such
    source, and while iterating or reading for whatever is unsafe, damaged or beyond `limits`.
    """
    limits = limits or Limits()
    with ExitStack() as stack:
        if path.is_dir():
            yield _folder(path, limits)
            return
        meter = Meter(path.name, limits, _size(path))
        packed = stack.enter_context(_open_file(path))
        yield _archive(path, packed, meter, stack)


def _size(path: Path) -> int:
    with archive_faults(path.name):
        if not path.exists():
            raise SourceError(f"There is no file or folder {path}.")
        if not path.is_file():
            raise SourceError(f"{path.name} is neither a folder nor a regular file.")
        return path.stat().st_size


def _open_file(path: Path) -> IO[bytes]:
    with archive_faults(path.name):
        return path.open("rb")


def _archive(path: Path, packed: IO[bytes], meter: Meter, stack: ExitStack) -> Source:
    def fraction() -> float:
        return packed.tell() / max(meter.packed_bytes, 1)

    magic = packed.read(262)
    packed.seek(0)
    if magic.startswith(_ZIP):
        return Source(path.name, _zip_entries(packed, meter, stack), fraction)
    if path.suffix in (".json", ".jsonl"):
        return Source(path.name, _single(path, meter), fraction)
    reader = MeteredReader(_unpacked(path, packed, magic), meter)
    return Source(path.name, _tar_entries(reader, meter), fraction)


def _unpacked(path: Path, packed: IO[bytes], magic: bytes) -> Readable:
    if magic.startswith(_XZ):
        return XzReader(packed)
    if magic.startswith(_GZ):
        return cast(Readable, gzip.GzipFile(fileobj=packed, mode="rb"))
    if magic[257:262] == b"ustar" or path.suffix == ".tar":
        return packed
    raise SourceError(f"{path.name} is not {_KNOWN}.")


def _safe_name(name: str, source: str) -> str:
    """`name` with "/" between its parts; refused if it could point outside the source."""
    parts = name.replace("\\", "/").split("/")
    outside = ".." in parts or parts[0] == "" or parts[0].endswith(":") or "\0" in name
    if outside:
        raise SourceError(f"{source} is refused: the name {name[:80]!r} points outside it.")
    return "/".join(p for p in parts if p not in ("", "."))


def _entry(name: str, size: int, meter: Meter, opener: Callable[[], IO[bytes]]) -> Entry:
    safe = _safe_name(name, meter.name)
    meter.add_entry(safe, size)
    return Entry(safe, size, meter.name, meter.limits.entry_bytes, opener)


def _single(path: Path, meter: Meter) -> Iterator[Entry]:
    yield _entry(path.name, meter.packed_bytes, meter, lambda: path.open("rb"))


# --- folders ----------------------------------------------------------------------------------


def _folder(path: Path, limits: Limits) -> Source:
    meter = Meter(path.name or str(path), limits, 0)
    files = list(_walk(path, "", meter.name))

    def fraction() -> float:
        return meter.entries / max(len(files), 1)

    return Source(meter.name, _folder_entries(path, files, meter), fraction)


def _walk(root: Path, below: str, source: str) -> Iterator[str]:
    """Names of all files, sorted; hidden ones (.git) are passed over, links are refused."""
    with archive_faults(source):
        found = sorted(os.scandir(root / below), key=lambda e: e.name)
    for item in found:
        name = f"{below}{item.name}"
        if item.name.startswith("."):
            continue
        if item.is_symlink():
            raise SourceError(f"{source} is refused: {name} is a link.")
        if item.is_dir(follow_symlinks=False):
            yield from _walk(root, f"{name}/", source)
        elif item.is_file(follow_symlinks=False):
            yield name
        else:
            raise SourceError(f"{source} is refused: {name} is not a regular file.")


def _folder_entries(root: Path, files: list[str], meter: Meter) -> Iterator[Entry]:
    for name in files:
        file = root / name
        with archive_faults(meter.name):
            size = file.stat().st_size
        yield _entry(name, size, meter, lambda file=file: _open_plain(file))  # type: ignore[misc]


def _open_plain(file: Path) -> IO[bytes]:
    """Open without following a link that took the file's place since the folder was read."""
    return os.fdopen(os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb")


# --- tar --------------------------------------------------------------------------------------


def _tar_entries(reader: MeteredReader, meter: Meter) -> Iterator[Entry]:
    reader.fence = 2 * _HEADER_BYTES
    with archive_faults(meter.name):
        tar = tarfile.open(  # noqa: SIM115  # closed below, faults of opening are worded here
            fileobj=cast(IO[bytes], reader), mode="r|", bufsize=_TAR_BLOCK
        )
    with closing(tar):
        while (member := _next_member(tar, reader, meter)) is not None:
            if member.isdir():
                _safe_name(member.name, meter.name)
                meter.add_entry(member.name, 0)
            else:
                opener = _tar_opener(tar, member)
                yield _entry(member.name, member.size, meter, opener)
            # what is left of this member is skipped next; then one header may follow
            reader.fence = reader.position + member.size + _HEADER_BYTES
        reader.finish(tar.offset)


def _next_member(
    tar: tarfile.TarFile, reader: MeteredReader, meter: Meter
) -> tarfile.TarInfo | None:
    with archive_faults(meter.name):
        member = tar.next()
    reader.fence = None
    tar.members = []  # type: ignore[attr-defined]  # else it keeps every header it has met
    if member is not None and not member.isdir() and (not member.isreg() or member.issparse()):
        raise SourceError(f"{meter.name} is refused: {member.name[:80]} is a link or device.")
    return member


def _tar_opener(tar: tarfile.TarFile, member: tarfile.TarInfo) -> Callable[[], IO[bytes]]:
    return lambda: cast(IO[bytes], tar.extractfile(member))


# --- zip --------------------------------------------------------------------------------------


def _zip_entries(packed: IO[bytes], meter: Meter, stack: ExitStack) -> Iterator[Entry]:
    with archive_faults(meter.name):
        archive = stack.enter_context(zipfile.ZipFile(packed))
    for info in archive.infolist():
        _refuse_special(info, meter.name)
        meter.add_bytes(info.file_size)  # zipfile never yields more than is declared here
        if info.is_dir():
            _safe_name(info.filename, meter.name)
            continue
        opener = _zip_opener(archive, info)
        yield _entry(info.filename, info.file_size, meter, opener)


def _refuse_special(info: zipfile.ZipInfo, source: str) -> None:
    mode = stat.S_IFMT(info.external_attr >> 16)
    if mode not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise SourceError(f"{source} is refused: {info.filename[:80]} is a link or device.")
    if info.flag_bits & 1:
        raise SourceError(f"{source} is encrypted: unlock it first.")


def _zip_opener(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Callable[[], IO[bytes]]:
    return lambda: archive.open(info)
