"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from core.errors import AppError


class Folder:
    """A folder that is written to, and the files written so far.

    Names are parts of a path below the folder; whoever makes a name of foreign text passes it
    through `core.files.safe_name` first.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.written: list[Path] = []

    @contextmanager
    def replacing(self, name: str) -> Iterator[Path]:
        """Yield a temporary path beside `name` that takes its place when all went well."""
        target = self.path / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".writing-")
            os.close(handle)
        except OSError as error:
            raise AppError(f"Cannot write {target}: {error.strerror}.") from None
        try:
            yield Path(temporary)
            os.chmod(temporary, 0o644)
            os.replace(temporary, target)
        except OSError as error:
            raise AppError(f"Cannot write {target}: {error.strerror}.") from None
        finally:
            Path(temporary).unlink(missing_ok=True)
        self.written.append(target)

    @contextmanager
    def open(self, name: str) -> Iterator[IO[str]]:
        """Open `name` for writing UTF-8 text exactly as given, line ends included.

        Half of a surrogate pair, which UTF-8 cannot hold, is written as JSON would escape it.
        """
        with (
            self.replacing(name) as path,
            path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file,
        ):
            yield file

    def write_text(self, name: str, text: str) -> None:
        """Write one small file."""
        with self.open(name) as file:
            file.write(text)


def safe_name(text: str) -> str:
    """Return `text` as a file name that is safe on every system; not unique by itself."""
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in text)
    return kept.strip(".-")[:80] or "unnamed"
