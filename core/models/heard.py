"""What has come of one answer of a model, and what it amounts to: a reply, or an error."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from core.errors import EmptyReply, ModelError, ModelRefused
from core.ports import Reply

LONGEST_REPLY = 1_000_000  # characters; what lies beyond is cut, and counts as cut for length

E = TypeVar("E", bound=ModelError)


@dataclass
class Heard:
    """What has come so far; a streamed answer comes in pieces. Tokens are None if not counted."""

    parts: list[str] = field(default_factory=list)
    length: int = 0
    finish_reason: str = ""
    refusal: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None

    def add(self, text: str, finish_reason: str | None = None, refusal: str = "") -> str:
        """Take a text, or a piece of it; returns what of it is kept."""
        kept = text[: max(0, LONGEST_REPLY - self.length)]
        self.parts.append(kept)
        self.length += len(kept)
        self.refusal += refusal
        self.finish_reason = finish_reason or self.finish_reason
        if self.length >= LONGEST_REPLY:
            self.finish_reason = "length"
        return kept

    def count(self, tokens_in: object, tokens_out: object) -> None:
        """Take what the provider counted; one that counts nothing says nothing, or 0."""
        if isinstance(tokens_in, int) and isinstance(tokens_out, int) and tokens_in > 0:
            self.tokens_in, self.tokens_out = tokens_in, tokens_out

    @property
    def full(self) -> bool:
        return self.length >= LONGEST_REPLY

    def reply(self, model: str, cost_usd: float | None) -> Reply:
        """The whole answer. Raises `ModelRefused` or `EmptyReply`, with what it cost."""
        text = "".join(self.parts)
        if self.finish_reason == "content_filter":
            raise self._paid(
                ModelRefused(f"The provider's filter stopped the answer of {model}."), cost_usd
            )
        if not text.strip():
            raise self._paid(self._nothing(model), cost_usd)
        reason = self.finish_reason or "stop"
        return Reply(text, reason, self.tokens_in, self.tokens_out, cost_usd)

    def _nothing(self, model: str) -> ModelError:
        if self.refusal:
            return ModelRefused(f"{model} declined to answer.")
        if self.finish_reason == "length":
            return EmptyReply(
                f"{model} wrote nothing within its token limit; raise max_tokens in its params."
            )
        return EmptyReply(f"{model} answered with nothing; try again later.")

    def _paid(self, error: E, cost_usd: float | None) -> E:
        error.tokens_in, error.tokens_out = self.tokens_in, self.tokens_out
        error.cost_usd = cost_usd
        return error
