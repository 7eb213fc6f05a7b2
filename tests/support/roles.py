"""How the test provider plays user agent, assistant and judge: sensibly, and always the same."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from tests.support.answers import Received

_SCALE = re.compile(r"\b(\d)\s*(?:to|–|-)\s*(\d)\b")
_WISHES = ("something for Friday", "a quiet place", "an early time", "the usual kind")
_HELP = ("I found two that fit.", "Here is one I would take.", "That can be arranged.")


@dataclass(frozen=True)
class Markers:
    """Substrings of the messages that tell who is asked; judge before user, else assistant.

    How often the user spoke is the number of lines that begin with `said`, or of messages of
    the role assistant, where the history comes as messages.
    """

    judge: tuple[str, ...] = ('"rationale"',)
    user: tuple[str, ...] = ("[[DONE]]",)
    said: str = "User: "
    stop: str = "[[DONE]]"
    scale: tuple[int, int] = (1, 4)  # where neither schema nor prompt names one
    turns: tuple[int, int] = (2, 4)  # how many messages a user writes before it is done


def play(received: Received, markers: Markers) -> str:
    """The answer of the role that the messages ask for: a function of the body alone."""
    text = "\n".join(str(m.get("content", "")) for m in received.messages)
    if "response_format" in received.body or any(m in text for m in markers.judge):
        return _judge(received, text, markers)
    if any(m in text for m in markers.user):
        return _user(received, text, markers)
    return _assistant(received)


def _number(*parts: object) -> int:
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:6], "big")


def _user(received: Received, text: str, markers: Markers) -> str:
    said = sum(m["role"] == "assistant" for m in received.messages)
    said = said or sum(line.startswith(markers.said) for line in text.splitlines())
    low, high = markers.turns
    wanted = low + _number(text[:2000]) % (high - low + 1)
    wish = _WISHES[_number(text, said) % len(_WISHES)]
    if said == 0:
        return f"Hello, could you help me find {wish}?"
    if said < wanted:
        return f"Thanks. I would rather have {wish}; can you change that?"
    return f"That settles it, thank you. {markers.stop}"


def _assistant(received: Received) -> str:
    help_ = _HELP[_number(received.hash) % len(_HELP)]
    return f"{help_} Shall I go ahead? (option {_number(received.hash, 1) % 90 + 10})"


def _judge(received: Received, text: str, markers: Markers) -> str:
    schema = received.body.get("response_format", {}).get("json_schema", {}).get("schema", {})
    wanted = schema.get("properties", {}).get("value", {})
    value = _value(wanted, text, _number(received.hash), markers.scale)
    answer = {"value": value, "rationale": "The first turn shows it.", "evidence": [1]}
    return json.dumps(answer, ensure_ascii=False)


def _value(wanted: dict[str, Any], prompt: str, number: int, scale: tuple[int, int]) -> Any:
    if "enum" in wanted:
        choices = [c for c in wanted["enum"] if c is not None]
        return choices[number % len(choices)]
    if wanted.get("type") == "boolean":
        return bool(number % 2)
    if found := _SCALE.search(prompt):
        scale = (int(found[1]), int(found[2]))
    low, high = wanted.get("minimum", scale[0]), wanted.get("maximum", scale[1])
    return low + number % (max(high, low) - low + 1)
