"""Chat completions at a server that speaks OpenAI's protocol, asked as directly as can be.

What litellm does around a call takes several times the processor time of the call itself. Where
many calls are out at once that is what one waits for, and here none of it is needed: nothing has
to be translated, and nobody knows prices (decision 11).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from core.models.heard import Heard

if TYPE_CHECKING:
    import httpx

_PATH = "/chat/completions"


class Declined(Exception):
    """The server answered with an error. Has what `provider_errors` looks at."""

    def __init__(self, response: httpx.Response) -> None:
        super().__init__(f"status {response.status_code}")
        self.response, self.status_code = response, response.status_code
        self.body = _error_in(response)
        self.message = str(self.body.get("message") or response.text[:2000])


def ask(
    client: httpx.Client,
    api_base: str,
    key: str,
    body: Mapping[str, Any],
    *,
    timeout: float,
) -> Heard:
    """Send one request and read its whole answer.

    Raises `Declined`, `ValueError` when the answer is no chat completion, and what httpx raises.
    """
    more = body.get("extra_body") or {}
    sent = {name: value for name, value in body.items() if name != "extra_body"} | dict(more)
    response = client.post(
        _address(api_base),
        json=sent,
        headers={"authorization": f"Bearer {key}"},
        timeout=timeout,
    )
    if response.status_code >= 400:
        raise Declined(response)
    return _heard(response.json())


def _address(api_base: str) -> str:
    base = api_base.rstrip("/")
    return base if base.endswith(_PATH) else base + _PATH


def _error_in(response: httpx.Response) -> Mapping[str, Any]:
    try:
        found = response.json()
    except ValueError:
        return {}
    error = found.get("error", found) if isinstance(found, Mapping) else None
    return error if isinstance(error, Mapping) else {}


def _heard(answer: Any) -> Heard:
    try:
        choice, usage = answer["choices"][0], answer.get("usage") or {}
        said = choice["message"]
        text, refusal = said.get("content") or "", said.get("refusal") or ""
        heard = Heard()
        heard.add(_text(text), choice.get("finish_reason"), str(refusal))
        heard.count(usage.get("prompt_tokens"), usage.get("completion_tokens"))
    except (AttributeError, KeyError, IndexError, TypeError):
        raise ValueError("the answer is no chat completion") from None
    return heard


def _text(content: Any) -> str:
    """A text, or the texts of a list of parts."""
    if isinstance(content, str):
        return content
    return "".join(part.get("text") or "" for part in content)
