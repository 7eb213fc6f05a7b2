"""What the test provider may say: one answer, its faults, and their form on the wire."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from http import HTTPStatus
from typing import Any

WEIRD_TEXT = (
    '<b>bold</b><script>alert("x")</script> $x^2$ and $5 ![](https://example.invalid/p.png) '
    "~~gone~~ :smile: | a | b | =1+1 \u202eright to left\u202c \u05e9\u05dc\u05d5\u05dd "
    "\u4f60\u597d \U0001f600 e\u0301 \u200bzero\x07 \\n tab\there\nline\r\nend  "
)
OVERSIZED = " ".join(map(str, range(450_000)))  # three million characters, none repeated
APOLOGY = "I am sorry, I cannot help with that."  # a refusal in plain words


class Fault(StrEnum):
    NONE = "none"
    RATE_LIMIT = "rate_limit"
    RATE_LIMIT_WAIT = "rate_limit_wait"
    QUOTA = "quota"
    SERVER_ERROR = "server_error"
    UNAVAILABLE = "unavailable"
    RESET = "reset"
    STALL = "stall"
    TRUNCATED = "truncated"
    INVALID_JSON = "invalid_json"
    WRONG_SCHEMA = "wrong_schema"
    EMPTY = "empty"
    REFUSAL = "refusal"
    APOLOGY = "apology"
    CONTENT_FILTER = "content_filter"
    FILTERED_PROMPT = "filtered_prompt"
    OVERSIZED = "oversized"
    CONTEXT_OVERFLOW = "context_overflow"
    BAD_KEY = "bad_key"
    FORBIDDEN = "forbidden"
    UNKNOWN_MODEL = "unknown_model"
    BAD_REQUEST = "bad_request"
    LENGTH = "length"
    CUT_STREAM = "cut_stream"
    STALL_STREAM = "stall_stream"
    WEIRD = "weird"
    SLOW = "slow"

    @property
    def breaks_body(self) -> bool:
        return self in (Fault.TRUNCATED, Fault.INVALID_JSON, Fault.WRONG_SCHEMA)


@dataclass
class Received:
    """One request as it came. `occurrence` counts identical bodies from 1."""

    body: dict[str, Any]
    hash: str
    occurrence: int
    key: str
    fault: Fault = Fault.NONE

    @property
    def model(self) -> str:
        return str(self.body.get("model", ""))

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.body.get("messages", []))


@dataclass(frozen=True)
class Answer:
    """What to say. Without a text the provider plays its role; None means its own default."""

    text: str | None = None
    fault: Fault = Fault.NONE
    latency: float | None = None
    retry_after: str | None = None
    finish_reason: str = "stop"
    usage: bool = True
    piece_seconds: float | None = None

    def with_text(self, play: Callable[[], str]) -> Answer:
        fixed = {
            Fault.EMPTY: "",
            Fault.WEIRD: WEIRD_TEXT,
            Fault.OVERSIZED: OVERSIZED,
            Fault.APOLOGY: APOLOGY,
            Fault.REFUSAL: "",
            Fault.CONTENT_FILTER: "I was about to",
        }
        text = self.text if self.text is not None else fixed.get(self.fault)
        reason = {Fault.CONTENT_FILTER: "content_filter", Fault.LENGTH: "length"}
        return replace(
            self,
            text=play() if text is None else text,
            finish_reason=reason.get(self.fault, self.finish_reason),
        )


def body_hash(body: Mapping[str, Any]) -> str:
    """The same for two requests that say the same, whatever the order of their keys."""
    text = json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


# fault -> status, code, type, words; the words resemble what real providers send
_ERRORS: dict[Fault, tuple[int, str | None, str, str]] = {
    Fault.RATE_LIMIT: (429, "rate_limit_exceeded", "requests", "Rate limit reached."),
    Fault.RATE_LIMIT_WAIT: (429, "rate_limit_exceeded", "requests", "Rate limit reached."),
    Fault.QUOTA: (429, "insufficient_quota", "insufficient_quota", "You exceeded your quota."),
    Fault.SERVER_ERROR: (500, None, "server_error", "The server had an error."),
    Fault.UNAVAILABLE: (503, None, "server_error", "The engine is overloaded."),
    Fault.CONTEXT_OVERFLOW: (
        400,
        "context_length_exceeded",
        "invalid_request_error",
        "This model's maximum context length is 8192 tokens. Please reduce the messages.",
    ),
    Fault.FILTERED_PROMPT: (
        400,
        "content_policy_violation",
        "invalid_request_error",
        "Your request was rejected as a result of our safety system.",
    ),
    Fault.FORBIDDEN: (403, None, "permission_error", "Your project may not use this model."),
    Fault.BAD_REQUEST: (400, None, "invalid_request_error", "max_tokens is too large: 99."),
}


def error_for(
    received: Received, answer: Answer
) -> tuple[int, dict[str, Any], dict[str, str]] | None:
    """Status, body and headers of a fault that is an HTTP error, else None."""
    if answer.fault is Fault.BAD_KEY:
        # real providers do quote the key they refuse
        error = (401, "invalid_api_key", "invalid_request_error", f"Wrong key: {received.key}.")
    elif answer.fault is Fault.UNKNOWN_MODEL:
        words = f"The model `{received.model}` does not exist."
        error = (404, "model_not_found", "invalid_request_error", words)
    elif answer.fault in _ERRORS:
        error = _ERRORS[answer.fault]
    else:
        return None
    status, code, kind, words = error
    wait = answer.retry_after or ("1" if answer.fault is Fault.RATE_LIMIT_WAIT else None)
    headers = {"retry-after": wait} if wait else {}
    return status, {"error": {"message": words, "type": kind, "code": code}}, headers


def head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n{lines}\r\n".encode("latin-1")


def _envelope(received: Received, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{received.hash[:12]}",
        "object": kind,
        "created": 1_700_000_000,
        "model": received.model,
    }


def usage(received: Received, answer: Answer) -> dict[str, int]:
    """Invented but steady: a token for every four characters."""
    sent = sum(len(str(m.get("content", ""))) for m in received.messages) // 4 + 1
    said = len(answer.text or "") // 4 + 1
    return {"prompt_tokens": sent, "completion_tokens": said, "total_tokens": sent + said}


def completion(received: Received, answer: Answer) -> dict[str, Any]:
    body = _envelope(received, "chat.completion")
    if answer.fault is Fault.WRONG_SCHEMA:
        return body | {"result": "this is not what was agreed"}
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if answer.fault is Fault.REFUSAL:
        message |= {"content": None, "refusal": APOLOGY}
    choice = {"index": 0, "message": message, "finish_reason": answer.finish_reason}
    tokens = {"usage": usage(received, answer)} if answer.usage else {}
    return body | {"choices": [choice]} | tokens


STREAM_END = b"data: [DONE]\n\n"


def stream_events(received: Received, answer: Answer, size: int) -> Iterator[dict[str, Any]]:
    """The chunks of a streamed answer, its usage last when the client asked for it."""
    base = _envelope(received, "chat.completion.chunk")

    def chunk(delta: dict[str, str], reason: str | None) -> dict[str, Any]:
        return base | {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    yield chunk({"role": "assistant", "content": ""}, None)
    if answer.fault is Fault.REFUSAL:
        yield chunk({"refusal": APOLOGY}, None)
    text = answer.text or ""
    size = max(size, len(text) // 2000)
    for start in range(0, len(text), size):
        yield chunk({"content": text[start : start + size]}, None)
    yield chunk({}, answer.finish_reason)
    if answer.usage and received.body.get("stream_options", {}).get("include_usage"):
        yield base | {"choices": [], "usage": usage(received, answer)}
