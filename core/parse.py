"""A judge's answer, as it came, to a value: tolerant of form, never of doubt.

Models wrap JSON in prose, fences and reasoning, bold it, cut it off, or answer in words. All
of that is read. What is ambiguous is not: two different values, a half, a range, another
scale, or a number that is merely mentioned give a status and no value.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from core.assets import Scale
from core.types import JudgementStatus

_BRACES = 400  # places at which an object is looked for; a longer answer is no answer
_OPENING = 300  # characters within which a refusal says so
_KEYS = ("value", "score", "rating", "verdict")
_WORDS = {
    w: n
    for n, w in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    )
}
_YES_NO = {"yes": 1, "true": 1, "no": 0, "false": 0}
_TWIST = {1: r"no|not|false|but|however|partly|partially|almost|except|maybe", 0: r"yes|true|but"}

_NUMBER = rf"\d{{1,4}}|{'|'.join(_WORDS)}"
_TURN = re.compile(r"(?:turns?\s*)?#?(\d{1,4})(?:\s*[UA])?", re.IGNORECASE)
_THOUGHT_TAG = re.compile(r"<(/?)(?:think|thinking|thought|reasoning|reflection)>", re.I)
_PLAIN = re.compile(  # a number, maybe "out of" the scale's end, maybe with its anchor's word
    rf"(?P<n>-?\d{{1,4}}|{'|'.join(_WORDS)})(?:\.0+)?"
    rf"(?:\s*(?:/|out of|of)\s*(?P<of>{_NUMBER}))?"
    r"(?:\s*[-–—:,(]\s*(?P<label>[a-z][a-z ]*[a-z])\)?)?",
    re.IGNORECASE,
)
_ABOUT = r"(?:(?:the|my|overall|final|personali[sz]ation|naturalness|coherence|grounding)\s+){0,3}"
_NAME = r"(?:value|score|rating|verdict|answer|judge?ment)"
_LABELLED = re.compile(
    rf"^[ \t>#•-]*{_ABOUT}{_NAME}(?:\s*\([^)\n]*\))?"
    r"(?:[ \t]*[:=][ \t]*|[ \t]+is[ \t]+|[ \t]*(?=\n))\n?\s*(?P<said>[^\n]+)$",
    re.IGNORECASE | re.MULTILINE,
)
_TAGGED = re.compile(rf"<({_NAME})>(?P<said>[^<]*)</\1>", re.IGNORECASE)
_FIELD = re.compile(  # a key of broken JSON, with a value that is surely complete
    rf"""(?:^|[{{,\n])[ \t]*["']?(?:{"|".join(_KEYS)})["']?\s*:\s*"""
    r"""(?P<said>"[^"\n]*"|'[^'\n]*'|[^\s,{}\[\]"']+)(?=\s*[,}]|\s*\n|\s+$)""",
    re.IGNORECASE,
)
_RATIONALE_FIELD = re.compile(
    r"""["']rationale["']\s*:\s*["'](.*?)(?=["']\s*(?:,\s*["']\w+["']\s*:|\})|$)""", re.DOTALL
)
_EVIDENCE_FIELD = re.compile(r"""["']evidence["']\s*:\s*\[([^\]]*)\]""")
_REASON_LINE = re.compile(
    r"^[^\w\n]*(?:rationale|explanation|justification|reasons?|reasoning)\W*:\W*",
    re.I | re.MULTILINE,
)
_CLAUSE_END = re.compile(
    rf"[.!](?=\s*$)|[.!]\s+(?!\d)|;\s+(?!{_NUMBER})|\s[-–—]\s(?!\s*(?:{_NUMBER}))", re.IGNORECASE
)
_HINT = re.compile(rf"\d|\b(?:{'|'.join([*_WORDS, *_YES_NO])})\b", re.IGNORECASE)
_REFUSAL = re.compile(
    r"\W*(?:(?:I'm|I am|we're|we are)?\s*(?:so |very |truly )?(?:sorry|afraid)|(?:my )?apologies"
    r"|unfortunately|as an? [^,.\n]{1,60}|thank you[^.!\n]{0,80})?[\s,.;:!-]*(?:but |that )?\s*"
    r"(?:I|we)(?:'m|'ll|\s+am|\s+are|\s+must|\s+have to|\s+will|\s+do)?\s*"
    r"(?:respectfully )?(?:can't|cannot|can not|won't|will not|not able|unable|not be able|decline"
    r"|not (?:feel )?comfortable|don't feel comfortable|not going to)\b",
    re.IGNORECASE,
)

Outcome = int | Literal["out"] | None
"""A value, a number outside the scale, or something unreadable."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """What was read. `value` is set exactly when `status` is `OK`."""

    status: JudgementStatus
    value: int | None = None
    rationale: str = ""
    evidence: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Found:
    outcome: Outcome
    rationale: str = ""
    evidence: tuple[int, ...] = ()


def parse_judgement(text: str, scale: Scale) -> Parsed:
    """Read one judge's answer on `scale`. Never raises and never guesses.

    A value is returned only where the answer states one value, once or several times the
    same. Evidence are the turn numbers it names, not checked against any dialogue.
    """
    answer, cut = (text, False) if _is_one_object(text) else without_thoughts(text)
    if not answer.strip():
        return Parsed(JudgementStatus.TRUNCATED if cut else JudgementStatus.EMPTY)
    found = _find(answer, scale)
    status, value = _settle([f.outcome for f in found])
    if status is JudgementStatus.UNPARSABLE:
        status = _why_nothing(answer, found)
    first = next((f for f in found if f.rationale or f.evidence), _Found(None))
    return Parsed(status, value, first.rationale, first.evidence)


def _settle(outcomes: list[Outcome]) -> tuple[JudgementStatus, int | None]:
    different = set(outcomes)
    if len(different) != 1 or None in different:
        return JudgementStatus.UNPARSABLE, None
    only = different.pop()
    if isinstance(only, int):
        return JudgementStatus.OK, only
    return JudgementStatus.OUT_OF_RANGE, None


def _why_nothing(answer: str, found: list[_Found]) -> JudgementStatus:
    if _REFUSAL.match(_flat(answer.strip()[:_OPENING])):
        return JudgementStatus.REFUSED
    opened = answer.find("{")
    cut = not found and opened >= 0 and "}" not in answer[opened:]
    return JudgementStatus.TRUNCATED if cut else JudgementStatus.UNPARSABLE


# --- where a value may stand ------------------------------------------------------------------


def _find(answer: str, scale: Scale) -> list[_Found]:
    """Every statement of a value, from the surest place that has one, and labelled ones."""
    objects = _objects(answer)
    found = [f for _, _, o in objects for f in _from_object(o, scale)]
    prose = _flat(_outside(answer, objects))
    if not found:
        found = _from_broken_json(prose, scale)
        prose = "" if found else prose
    found += _from_labels(prose, scale, answer)
    return found or _from_bare(prose, scale, answer)


def _objects(text: str) -> list[tuple[int, int, dict[str, Any]]]:
    """JSON objects in the text that do not lie in one another, with where they stand."""
    decoder = json.JSONDecoder(object_pairs_hook=_unique, strict=False)
    found, start = [], text.find("{")
    for _ in range(_BRACES):
        if start < 0:
            break
        try:
            value, end = decoder.raw_decode(text, start)
            found.append((start, end, value))
        except RecursionError:  # nobody answers like this
            break
        except ValueError:
            end = start + 1
        start = text.find("{", end)
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, in which a key given twice with different values keeps them as a list."""
    result: dict[str, Any] = {}
    for key, value in pairs:
        again = key in result and result[key] != value
        result[key] = [result[key], value] if again else value
    return result


def _is_one_object(text: str) -> bool:
    bare = text.strip()
    return bare.startswith("{") and [o[:2] for o in _objects(bare)] == [(0, len(bare))]


def _from_object(data: Mapping[str, Any], scale: Scale) -> Iterator[_Found]:
    named = {str(k).strip().lower(): v for k, v in data.items()}
    key = next((k for k in _KEYS if k in named), None)
    if key is not None:
        rationale = named.get("rationale", "")
        shown = rationale if isinstance(rationale, str) else ""
        yield _Found(_of_json(named[key], scale), shown, _turns(named.get("evidence")))
        return
    for inner in data.values():
        if isinstance(inner, dict):
            yield from _from_object(inner, scale)


def _of_json(value: object, scale: Scale) -> Outcome:
    if isinstance(value, bool):
        return int(value) if scale.kind == "verdict" else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int):
        return value if value in scale.values else "out"
    return _of_phrase(_flat(value), scale) if isinstance(value, str) else None


def _from_broken_json(prose: str, scale: Scale) -> list[_Found]:
    if "{" not in prose:
        return []
    rationale = _RATIONALE_FIELD.search(prose)
    turns = _EVIDENCE_FIELD.search(prose)
    return [
        _Found(
            _of_phrase(match["said"], scale),
            rationale[1] if rationale else "",
            _turns(turns[1].split(",")) if turns else (),
        )
        for match in _FIELD.finditer(prose)
    ]


def _from_labels(prose: str, scale: Scale, answer: str) -> list[_Found]:
    said = [m["said"] for m in (*_LABELLED.finditer(prose), *_TAGGED.finditer(prose))]
    outcomes = [(_of_clause(s, scale), s) for s in said]
    kept = [o for o, s in outcomes if o is not None or _HINT.search(s)]
    return [_Found(outcome, _reasons(answer)) for outcome in kept]


def _from_bare(prose: str, scale: Scale, answer: str) -> list[_Found]:
    """An answer that is nothing but the value, or has it alone on its first line."""
    lines = [line.strip() for line in prose.splitlines() if line.strip()]
    if not lines or (len(lines) > 1 and re.fullmatch(r"\d+[.):]", lines[0])):
        return []
    outcome = _of_phrase(lines[0], scale)
    if outcome is None:
        return []
    others = {_of_phrase(line, scale) for line in lines[1:]} - {None}
    return [_Found(o, _reasons(answer)) for o in (outcome, *others)]


# --- what a phrase means ----------------------------------------------------------------------


def _of_clause(said: str, scale: Scale) -> Outcome:
    """The value that a labelled line states in its first clause, if that is all it states."""
    clause = _CLAUSE_END.split(said, maxsplit=1)[0]
    outcome = _of_phrase(clause, scale)
    if outcome is not None or scale.kind == "rating":
        return outcome
    head, comma, rest = clause.partition(",")
    verdict = _YES_NO.get(_bare(head))
    twisted = verdict is None or re.search(rf"\b(?:{_TWIST[verdict]})\b", rest, re.IGNORECASE)
    return None if twisted or not comma else verdict


def _of_phrase(phrase: str, scale: Scale) -> Outcome:
    """The value that `phrase` states, if it states one value and nothing else."""
    bare = _bare(phrase)
    if scale.kind == "verdict" and bare in _YES_NO:
        return _YES_NO[bare]
    labelled = [a.value for a in scale.anchors if a.label.lower() == bare]
    if labelled:
        return labelled[0] if len(labelled) == 1 else None
    match = _PLAIN.fullmatch(bare)
    return _of_number(match, scale) if match else None


def _of_number(match: re.Match[str], scale: Scale) -> Outcome:
    value = _number(match["n"])
    if match["of"] and (scale.kind == "verdict" or _number(match["of"]) != scale.high):
        return None
    if match["label"] and scale.label(value).lower() != match["label"].lower():
        return None
    return value if value in scale.values else "out"


def _number(text: str) -> int:
    return _WORDS[text.lower()] if text.lower() in _WORDS else int(text)


def _bare(phrase: str) -> str:
    """The phrase in lower case, without what surrounds it: quotes, brackets, a full stop."""
    inner = phrase.strip().strip("\"'[]{} \t").rstrip(".!,;: \t").strip("\"'[]{} \t")
    whole = re.fullmatch(r"\((.*)\)", inner)
    return (whole[1] if whole else inner).strip().lower()


def _turns(value: object) -> tuple[int, ...]:
    """Turn numbers, however they were written: `[1, "3", "turn 4"]` or `"1, 3"`."""
    items: Iterable[object] = re.split(r"[,;]|\band\b", value) if isinstance(value, str) else ()
    if isinstance(value, list):
        items = value
    matches = (_TURN.fullmatch(_flat(str(i)).strip(" \"'")) for i in items)
    return tuple(sorted({int(m[1]) for m in matches if m and int(m[1]) > 0}))


# --- text -------------------------------------------------------------------------------------


def without_thoughts(text: str) -> tuple[str, bool]:
    """The text without reasoning, and whether it breaks off inside some.

    A closing tag without an opening one ends reasoning that began with the text.
    """
    kept: list[str] = []
    last, inside = 0, False
    for tag in _THOUGHT_TAG.finditer(text):
        closing = bool(tag[1])
        if closing and not inside:
            kept.clear()
        elif not closing and not inside:
            kept.append(text[last : tag.start()])
        inside, last = not closing, tag.end()
    return "".join([*kept, "" if inside else text[last:]]), inside


def _outside(text: str, objects: list[tuple[int, int, dict[str, Any]]]) -> str:
    pieces, last = [], 0
    for start, end, _ in objects:
        pieces.append(text[last:start])
        last = end
    return "\n".join([*pieces, text[last:]])


def _flat(text: str) -> str:
    """Plain digits and quotes, no emphasis: for reading values, never for keeping."""
    plain = "".join(map(_plain_character, text))
    return re.sub(r"^```[a-z]*$|[*`]|__", "", plain, flags=re.MULTILINE)


@lru_cache(maxsize=4096)
def _plain_character(character: str) -> str:
    if "\uff01" <= character <= "\uff5e":
        character = chr(ord(character) - 0xFEE0)
    digit = unicodedata.decimal(character, None)
    if digit is not None:
        return str(digit)
    if character in "“”„‟«»":
        return '"'
    return "'" if character in "‘’‚‛" else character


def _reasons(answer: str) -> str:
    """The reasons in an answer without JSON: what stands under such a word, or all of it."""
    match = _REASON_LINE.search(answer)
    text = answer[match.end() :] if match else answer
    return text.strip() if len(text.split()) > 3 else ""
