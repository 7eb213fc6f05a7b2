"""A model's answer, as it came, to a label, a score or a text: tolerant of form, not of doubt.

Wanted is one JSON object. Read is also a plain answer, in quotes, after reasoning, with a Unicode
minus, thousands separators or a `k`. What could be read in two ways is invalid and stays so: an
invalid answer is scored as a wrong one, never left out.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from core.parse import without_thoughts
from core.personaconv.types import Task


class Status(StrEnum):
    """How an answer came out. Only the first two are answers."""

    EXACT = "exact"
    RECOVERED = "recovered"
    INVALID = "invalid"
    REFUSED = "refused"
    ERROR = "error"
    TRUNCATED = "truncated"

    @property
    def valid(self) -> bool:
        return self in (Status.EXACT, Status.RECOVERED)


@dataclass(frozen=True, slots=True)
class Answer:
    """What was read: of the task's own kind where the status is valid, and nothing else."""

    status: Status
    label: str | None = None
    score: float | None = None
    text: str | None = None


_KEYS = {
    Task.SENTIMENT: ("label", "sentiment", "answer"),
    Task.IMPACT: ("score", "answer", "value"),
    Task.REPLY: ("text", "reply", "body", "answer"),
}
_LABELS = ("positive", "negative")
_LABEL = re.compile(r"\b(positive|negative)(ly)?\b", re.IGNORECASE)
_NEGATED = re.compile(
    r"(?:\b(?:not|never|neither|nor|isn'?t|wasn'?t|non|hardly|un)\b[\s-]*(?:\w+\s+){0,2})"
    r"(?:positive|negative)|\b(?:positive|negative)\s*(?:or|and|/)\s*(?:positive|negative)",
    re.IGNORECASE,
)
_LAST = re.compile(
    r"^\W*(?:(?:final|my)\s+)?(?:answer|label|prediction|score|reply|sentiment)?\W*[:=]?\s*(?P<said>.+?)\W*$",
    re.IGNORECASE,
)
_MINUS = str.maketrans({"\u2212": "-", "\u2010": "-", "\u2011": "-", "\u2013": "-", "\u2014": "-"})
_RANGE = re.compile(r"\d\s*(?:-|to|\.\.+)\s*-?\d", re.IGNORECASE)
_NUMBER = re.compile(
    r"(?<![\w.,])(?P<n>[-+]?(?:\d{1,3}(?:[,\u00a0\u202f' ]\d{3})+|\d+)(?:\.\d+)?)\s*(?P<k>[kK]\b)?"
    r"(?![\w%])"
)
_EUROPEAN = re.compile(r"(?<!\d)\d{1,3}(?:\.\d{3})+(?!\d)")
_REFUSAL = re.compile(
    r"\W*(?:(?:i'?m|i am) (?:so )?sorry\W+(?:but )?)?(?:as an ai\b|"
    r"i (?:can'?t|cannot|can not|won'?t|am unable to|am not able to|'?m unable to) (?:help|"
    r"assist|comply|provide|generate|write|predict|answer|do that|fulfil))",
    re.IGNORECASE,
)
_PREFIX = re.compile(r"^(?:U1(?:'s)?(?: reply| answers?)?|reply|answer|text|response)\s*:\s*", re.I)
_QUOTES = (('"', '"'), ("“", "”"), ("'", "'"), ("«", "»"))
_FENCE = re.compile(r"^```\w*\n(.*?)\n?```$", re.DOTALL)


def read_answer(task: Task, raw: str, finish_reason: str = "stop") -> Answer:
    """Read one answer. Never raises and never guesses."""
    bare = raw.strip()
    read = _READ[task]
    if (exact := _object(bare)) is not None and set(exact) == {_KEYS[task][0]}:
        found = read(exact[_KEYS[task][0]], False)
        return _with(Status.EXACT, found) if found is not None else Answer(Status.INVALID)
    answer, cut = without_thoughts(bare)
    cut = cut or finish_reason == "length"
    answer = _unfenced(answer.strip())
    inner = _embedded(answer, _KEYS[task])
    if inner is not None:
        found = read(inner, False)
    elif cut:
        return Answer(Status.TRUNCATED)
    elif _REFUSAL.match(answer.replace("\u2019", "'")):
        return Answer(Status.REFUSED)
    else:
        found = None if "{" in answer and task is not Task.REPLY else read(answer, True)
    if found is None:
        return Answer(Status.INVALID)
    return _with(Status.RECOVERED, found)


def _with(status: Status, found: str | float | tuple[str]) -> Answer:
    if isinstance(found, tuple):
        return Answer(status, label=found[0])
    if isinstance(found, str):
        return Answer(status, text=found)
    return Answer(status, score=found)


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _unfenced(text: str) -> str:
    fenced = _FENCE.match(text)
    return fenced[1].strip() if fenced else text


def _embedded(text: str, keys: tuple[str, ...]) -> Any:
    """The value of the wanted key in the only object of a text that has one, else None."""
    decoder, at = json.JSONDecoder(strict=False), text.find("{")
    found: list[Any] = []
    while at >= 0 and len(found) < 50:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if isinstance(value, dict):
                named = {str(k).strip().lower(): v for k, v in value.items()}
                found += [named[k] for k in keys if k in named][:1]
        at = text.find("{", end)
    different = {json.dumps(v, sort_keys=True) for v in found}
    return found[0] if len(different) == 1 else None


# --- what a value means -------------------------------------------------------------------------


def _read_label(value: Any, plain: bool) -> tuple[str] | None:
    if not isinstance(value, str):
        return None
    text = value.strip()
    if _bare(text).lower() in _LABELS:
        return (_bare(text).lower(),)
    if not plain:
        return None
    last = _LAST.match(text.splitlines()[-1].replace("*", "")) if text else None
    if last and _bare(last["said"]).lower() in _LABELS:
        return (_bare(last["said"]).lower(),)
    said = {m[1].lower() for m in _LABEL.finditer(text)}
    if len(said) != 1 or _NEGATED.search(text):
        return None
    return (said.pop(),)


def _read_score(value: Any, plain: bool) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(round(value)) if math.isfinite(value) and abs(value) < 1e12 else None
    if not isinstance(value, str):
        return None
    text = _bare(value.translate(_MINUS).replace("*", ""))
    lines = [line for line in text.splitlines() if line.strip()]
    found = _only_number(text)
    if found is None and plain and len(lines) > 1:
        last = _LAST.match(lines[-1])
        found = _only_number(last["said"]) if last and last["said"] else None
    return found


def _only_number(text: str) -> float | None:
    """The number that a text states, if it states one; a range is none."""
    if _RANGE.search(text) or _EUROPEAN.search(text):
        return None
    numbers = {_number(m) for m in _NUMBER.finditer(text)}
    digits = sum(c.isdigit() for c in _NUMBER.sub("", text))
    return numbers.pop() if len(numbers) == 1 and not digits else None


def _number(found: re.Match[str]) -> float:
    value = float(re.sub(r"[,\u00a0\u202f' ]", "", found["n"]))
    return float(round(value * 1000 if found["k"] else value))


def _read_text(value: Any, plain: bool) -> str | None:
    if not isinstance(value, str):
        return None
    text = value.strip()
    if plain:
        text = _unquoted(_PREFIX.sub("", text, count=1).strip())
    return text or None


def _unquoted(text: str) -> str:
    for opening, closing in _QUOTES:
        inner = text[1:-1]
        if len(text) > 1 and text[0] == opening and text[-1] == closing and opening not in inner:
            return inner.strip()
    return text


def _bare(text: str) -> str:
    """Without what surrounds a short answer: quotes, brackets, a full stop."""
    return text.strip().strip("\"'“”‘’`*[]() \t").rstrip(".!,;: \t").strip("\"'“”‘’`*[]() \t")


_READ: dict[Task, Callable[[Any, bool], Any]] = {
    Task.SENTIMENT: _read_label,
    Task.IMPACT: _read_score,
    Task.REPLY: _read_text,
}
