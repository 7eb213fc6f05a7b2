"""Sort what a provider (or litellm for it) raises into the kinds of `core.errors`.

litellm's classes say less than the status and code it keeps from the provider: a missing key
arrives as a 500, a refused project as a plain APIError. So those are looked at, and class
names only where nothing else tells. No text of an error reaches a person before keys and
addresses are taken out of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from core.errors import (
    ContextOverflow,
    ModelError,
    ModelMisconfigured,
    ModelRefused,
    ModelUnavailable,
)
from core.models.keys import without_secrets

_TOO_LONG = re.compile(r"context.?(length|window)|maximum context|too many (input )?tokens", re.I)
_FILTERED = re.compile(r"content.?(policy|filter|management)|safety system", re.I)
_BROKE = re.compile(r"insufficient.?quota|credit balance", re.I)
_NO_KEY = re.compile(r"missing credentials|missing .{0,30}api.?key", re.I)
_PREFIX = re.compile(r"^((litellm\.)?\w*(Error|Exception)( -|:)\s*)+")
_STATED = (500, 503, 529)  # faults that a provider states of itself
_HINTS = {
    401: "the provider refused the key; check the variable that holds it",
    402: "the account has no credit left; top it up or choose another model",
    403: "this account may not use it; ask the provider for access or choose another model",
    404: "the provider does not know it; check the model's name and its api_base",
}


def sort_error(error: Exception, model: str, sent: Collection[str]) -> ModelError:
    """The error of the right kind for what a call to `model` raised.

    `sent` names the parameters of the call, so that one that is not supported can be named.
    """
    original = getattr(error, "original_exception", None)
    if type(error).__name__ == "MidStreamFallbackError" and isinstance(original, Exception):
        error = original
    kind = _kind(error, model, sent)
    kind.cost_usd = 0.0 if _is_free(error) else None
    return kind


def _kind(error: Exception, model: str, sent: Collection[str]) -> ModelError:
    for sort in (_hopeless, _by_request, _by_status):
        if (kind := sort(error, model, sent)) is not None:
            return kind
    return _unavailable(error, model)


def _is_free(error: Exception) -> bool:
    """Whether the request cannot have been paid for.

    A provider that says what is wrong has not answered. A time-out, a broken answer, or a
    gateway that has lost its provider say nothing about what happened behind them.
    """
    if not _answered(error):
        return _never_connected(error)
    status = _status(error)
    return (400 <= status < 500 and status != 408) or status in _STATED


def _never_connected(error: BaseException | None) -> bool:
    while error is not None:
        if type(error).__name__ in ("ConnectError", "ConnectTimeout"):  # httpx's
            return True
        error = error.__cause__ or error.__context__
    return False


def _hopeless(error: Exception, model: str, _: Collection[str]) -> ModelError | None:
    """What neither waiting nor another request would change, however it is numbered."""
    words = _words(error)
    if _NO_KEY.search(words):
        return ModelMisconfigured(f"{model} needs a key, and none is set in the environment.")
    if _status(error) == 429 and _BROKE.search(words):
        return ModelMisconfigured(f"{model}: {_HINTS[402]}.")
    return None


def _by_request(error: Exception, model: str, sent: Collection[str]) -> ModelError | None:
    """What this request did wrong: too long, filtered, or with a parameter too many."""
    name, words = type(error).__name__, _words(error)
    bad = _status(error) in (400, 413, 422)
    if name == "ContextWindowExceededError" or (bad and _TOO_LONG.search(words)):
        return ContextOverflow(
            f"The messages are longer than {model} takes; lower max_turns or choose a model "
            "with a longer context."
        )
    if name == "ContentPolicyViolationError" or (bad and _FILTERED.search(words)):
        return ModelRefused(f"The provider's filter refused the messages sent to {model}.")
    if name == "UnsupportedParamsError":
        return ModelMisconfigured(_unsupported(words, model, sent))
    return None


def _by_status(error: Exception, model: str, _: Collection[str]) -> ModelError | None:
    status = _status(error)
    if status in _HINTS:
        return ModelMisconfigured(f"{model}: {_HINTS[status]}.")
    if "LLM Provider NOT provided" in _words(error):
        return ModelMisconfigured(unknown_provider(model))
    if 400 <= status < 500 and status not in (408, 409, 425, 429):
        said = without_secrets(_PREFIX.sub("", _said(error))).rstrip(".")
        return ModelMisconfigured(f"{model} refused the request: {said}.")
    return None


def unknown_provider(model: str) -> str:
    return (
        f"{without_secrets(model)} names no known provider; write provider/model, such as "
        "openai/gpt-4o-mini, or openai/NAME with an api_base for a server of your own."
    )


def _unsupported(words: str, model: str, sent: Collection[str]) -> str:
    names = [name for name in sent if re.search(rf"\b{re.escape(name)}\b", words)]
    if not names:
        return f"{model} does not take one of its parameters; remove it from the params."
    return (
        f"{model} does not take the parameter {' and '.join(names)} as given; "
        f"write {names[0]}: null in the model's params to leave it out."
    )


def _unavailable(error: Exception, model: str) -> ModelUnavailable:
    status = _status(error)
    if status == 429:
        why = "it had too many requests"
    elif _timed_out(error) or status in (408, 504):
        why = "it took too long"
    elif _answered(error):
        why = f"the provider had a fault (status {status})"
    else:
        why = "the connection failed or its answer could not be read"
    after = retry_after(_headers(error), datetime.now(UTC)) if _answered(error) else None
    return ModelUnavailable(f"{model} did not answer: {why}; try again later.", retry_after=after)


def _timed_out(error: Exception) -> bool:
    return isinstance(error, TimeoutError) or type(error).__name__.endswith("Timeout")  # httpx's


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds that a Retry-After header asks for: a number, or a date; None without one."""
    given = headers.get("retry-after", "")
    try:
        if milliseconds := headers.get("retry-after-ms"):
            return _wait(float(milliseconds) / 1000)
        return _wait(float(given))
    except ValueError:
        pass
    try:
        return _wait((parsedate_to_datetime(given) - now).total_seconds())
    except (ValueError, TypeError):
        return None


def _wait(seconds: float) -> float | None:
    return max(0.0, seconds) if seconds < float("inf") else None


def _status(error: Exception) -> int:
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else 0


def _words(error: Exception) -> str:
    """What the provider said, and its code and type where it gave them."""
    body = _body(error)
    code = f" {body.get('code')} {body.get('type')}" if body else ""
    return _said(error) + code


def _said(error: Exception) -> str:
    own = _body(error).get("message")
    return own if isinstance(own, str) else _message(error)


def _message(error: Exception) -> str:
    return str(getattr(error, "message", None) or error)


def _body(error: Exception) -> Mapping[str, Any]:
    body = getattr(error, "body", None) or _json_in(_message(error))
    return body if isinstance(body, Mapping) else {}


def _json_in(words: str) -> Any:
    """The error object at the end of a message, where litellm passes on the whole answer."""
    try:
        body = json.loads(words[words.index("{") :])
    except ValueError:
        return None
    return body.get("error", body) if isinstance(body, Mapping) else None


def _headers(error: Exception) -> Mapping[str, str]:
    own: Any = getattr(getattr(error, "response", None), "headers", None)
    return own or getattr(error, "litellm_response_headers", None) or {}


def _answered(error: Exception) -> bool:
    """Whether a server said so itself; litellm invents a response where none came."""
    return bool(_headers(error))
