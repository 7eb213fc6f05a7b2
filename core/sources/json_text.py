"""JSON of other people: parsed, or refused with one sentence that says where."""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import from_json

from core.errors import SourceError

_KINDS = {
    dict: "an object",
    list: "a list",
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    type(None): "null",
}


def load_json(raw: bytes, where: str) -> Any:
    """Parse JSON. Raises `SourceError` that begins with `where` for whatever is wrong."""
    try:
        # three times as quick, and equal texts of one document become one object
        return from_json(raw)
    except ValueError:
        return _load_with_care(raw, where)


def _load_with_care(raw: bytes, where: str) -> Any:
    """What the quick parser refuses: faults, to be worded, and the rarer kinds of valid JSON."""
    try:
        value = json.loads(raw)
        _refuse_half_pairs(value, where)
        return value
    except json.JSONDecodeError as error:
        line, column = error.lineno, error.colno
        raise SourceError(
            f"{where} is not valid JSON (line {line}, column {column}: {error.msg})."
        ) from None
    except UnicodeDecodeError:
        raise SourceError(f"{where} is not UTF-8 text.") from None
    except (ValueError, RecursionError):
        raise SourceError(f"{where} holds JSON that is too deep or too large to read.") from None


def _refuse_half_pairs(value: Any, where: str) -> None:
    """Half of a surrogate pair is no text, and has no bytes."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise SourceError(f"{where} holds half of a surrogate pair, which is no text.") from None


def kind_of(value: Any) -> str:
    """Name the JSON type of a value for a sentence: "a list"."""
    return _KINDS.get(type(value), type(value).__name__)


def wrong(where: str, field: str, expected: str, value: Any) -> SourceError:
    """Return the error for a field whose type is not what the format says."""
    return SourceError(f"{where}: {field} should be {expected}, it is {kind_of(value)}.")


def missing(where: str, field: str) -> SourceError:
    """Return the error for a field that is not there."""
    return SourceError(f"{where}: {field} is missing.")


def get_object(data: Any, key: str, where: str, within: str = "") -> dict[str, Any]:
    """Return `data[key]`, which must be an object. Raises `SourceError` naming the field."""
    field = f"{within}.{key}" if within else key
    value = _get(data, key, where, field)
    if not isinstance(value, dict):
        raise wrong(where, field, "an object", value)
    return value


def get_text(data: Any, key: str, where: str, within: str = "") -> str:
    """Return `data[key]`, which must be a text. Raises `SourceError` naming the field."""
    field = f"{within}.{key}" if within else key
    value = _get(data, key, where, field)
    if not isinstance(value, str):
        raise wrong(where, field, "a text", value)
    return value


def get_texts(data: Any, key: str, where: str, within: str = "") -> tuple[str, ...]:
    """Return `data[key]`, which must be a list of texts. Raises `SourceError`."""
    field = f"{within}.{key}" if within else key
    value = _get(data, key, where, field)
    if not isinstance(value, list):
        raise wrong(where, field, "a list of texts", value)
    for number, item in enumerate(value):
        if not isinstance(item, str):
            raise wrong(where, f"{field}[{number}]", "a text", item)
    return tuple(value)


def _get(data: Any, key: str, where: str, field: str) -> Any:
    if not isinstance(data, dict):
        raise wrong(where, field.rpartition(".")[0] or "the whole", "an object", data)
    if key not in data:
        raise missing(where, field)
    return data[key]
