"""Column types that keep every text whole on both engines, and the functions both understand.

PostgreSQL refuses the character U+0000 and neither engine takes half a surrogate pair; models
write both. Such characters are escaped on the way in and restored on the way out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import pydantic_core
import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import GenericFunction
from sqlalchemy.types import TypeDecorator, TypeEngine

ESCAPE = "\u241b"  # the picture of the escape key: rare, and doubled where it is meant
_TROUBLE = re.compile("[\x00\ud800-\udfff\u241b]")
_ESCAPED = re.compile("\u241b(\u241b|[0-9a-f]{4})")
_SURROGATE = re.compile("[\ud800-\udfff]")


def escape(text: str) -> str:
    """Make `text` storable; nearly every text is already and comes back as it is."""
    if text.isascii() and "\x00" not in text:
        return text
    return _TROUBLE.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    char = found[0]
    return ESCAPE + (ESCAPE if char == ESCAPE else f"{ord(char):04x}")


def restore(text: str) -> str:
    """Undo `escape`."""
    return _ESCAPED.sub(_restored, text) if ESCAPE in text else text


def _restored(found: re.Match[str]) -> str:
    return ESCAPE if found[1] == ESCAPE else chr(int(found[1], 16))


def to_json(value: Any) -> str:
    """Compact JSON in readable characters; JSON itself escapes U+0000."""
    if isinstance(value, Mapping):
        value = dict(value)
    try:  # three times as fast, and the same text
        return pydantic_core.to_json(value).decode()
    except (UnicodeEncodeError, pydantic_core.PydanticSerializationError):
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _by_code_point(dialect: sa.Dialect) -> TypeEngine[Any]:
    """Text sorted alike on both engines, whatever their locale."""
    return dialect.type_descriptor(sa.Text(collation="C" if dialect.name == "postgresql" else None))


class Text(TypeDecorator[str]):
    """Text of any content."""

    impl = sa.Text
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> TypeEngine[Any]:
        return _by_code_point(dialect)

    def process_bind_param(self, value: str | None, _dialect: sa.Dialect) -> str | None:
        return None if value is None else escape(value)

    def process_result_value(self, value: str | None, _dialect: sa.Dialect) -> str | None:
        return None if value is None else restore(value)


class Json(TypeDecorator[Any]):
    """A JSON value kept as text: unlike jsonb it returns exactly what was stored, in order."""

    impl = sa.Text
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> TypeEngine[Any]:
        return _by_code_point(dialect)

    def process_bind_param(self, value: Any, _dialect: sa.Dialect) -> str:
        return to_json(value)

    def process_result_value(self, value: str | None, _dialect: sa.Dialect) -> Any:
        return None if value is None else json.loads(value)


class UtcTime(TypeDecorator[datetime]):
    """A moment, always with its time zone."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a stored time needs a time zone")
        value = value.astimezone(UTC)
        return value if dialect.name == "postgresql" else value.replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, _dialect: sa.Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class BigKey(TypeDecorator[int]):
    """A row number of 64 bits; SQLite counts by itself only in a column called INTEGER."""

    impl = sa.BigInteger
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> TypeEngine[Any]:
        kind = sa.Integer() if dialect.name == "sqlite" else sa.BigInteger()
        return dialect.type_descriptor(kind)


class _Holds(GenericFunction[bool]):
    name = "rapport_holds"
    type = sa.Boolean()
    inherit_cache = True


class _Among(GenericFunction[bool]):
    name = "rapport_among"
    type = sa.Boolean()
    inherit_cache = True


def holds(column: Any, part: str) -> sa.ColumnElement[bool]:
    """`column` contains exactly `part`, which has been escaped as the column's content was."""
    return _Holds(column, sa.literal(part, sa.Text()))


def among(column: Any, names: Iterable[str]) -> sa.ColumnElement[bool]:
    """`column` is one of `names`. However many there are, they are one parameter."""
    listed = json.dumps([escape(str(name)) for name in sorted(names)])
    return _Among(column, sa.literal(listed, sa.Text()))


def touches(column: Any, domains: Iterable[str]) -> sa.ColumnElement[bool]:
    """At least one of `domains` is in the JSON list that `column` holds."""
    return sa.or_(*(holds(column, to_json(domain)) for domain in sorted(domains)))


def _two(element: Any, compiler: SQLCompiler, options: Any) -> tuple[str, str]:
    first, second = (compiler.process(clause, **options) for clause in element.clauses)
    return first, second


@compiles(_Holds)
def _instr(element: _Holds, compiler: SQLCompiler, **options: Any) -> str:
    return "(instr({}, {}) > 0)".format(*_two(element, compiler, options))


@compiles(_Holds, "postgresql")
def _strpos(element: _Holds, compiler: SQLCompiler, **options: Any) -> str:
    return "(strpos({}, {}) > 0)".format(*_two(element, compiler, options))


@compiles(_Among)
def _json_each(element: _Among, compiler: SQLCompiler, **options: Any) -> str:
    return "({} IN (SELECT value FROM json_each({})))".format(*_two(element, compiler, options))


@compiles(_Among, "postgresql")
def _elements(element: _Among, compiler: SQLCompiler, **options: Any) -> str:
    column, listed = _two(element, compiler, options)
    return f"({column} IN (SELECT json_array_elements_text(CAST({listed} AS json))))"


def number_in(name: str) -> int:
    """The last number in an id, by which lists are ordered; -1 when there is none."""
    digits = re.findall(r"[0-9]+", name)
    return int(digits[-1][:18]) if digits else -1
