"""Parties played by a model: a prompt, a briefing, and the call log.

Each call is complete in itself: one system text and one user message that holds the briefing
and the whole history as text. So the same request always means the same state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.assets import Prompt, dialogue_text, sections_text
from core.context import Briefing
from core.parties import STOP_TOKEN
from core.ports import Calls, ChatMessage, ChatRequest, OnDelta
from core.types import Message, ModelSpec, Role

MAX_TOKENS = 800
USER_TEMPERATURE = 0.5
ASSISTANT_TEMPERATURE = 0.0


@dataclass(frozen=True, slots=True)
class ModelUser:
    """The user agent: a model that plays the persona."""

    spec: ModelSpec
    briefing: Briefing
    prompt: Prompt
    calls: Calls
    seed: int | None = None

    @property
    def prompt_id(self) -> str:
        return self.prompt.id

    def messages(self, history: Sequence[Message]) -> tuple[ChatMessage, ...]:
        """Word for word what the model is told before its next message."""
        briefing = sections_text(self.briefing.sections())
        if not history:
            return self.prompt.render("opening", briefing=briefing, stop_token=STOP_TOKEN)
        said = dialogue_text(history)
        return self.prompt.render("turn", briefing=briefing, dialogue=said, stop_token=STOP_TOKEN)

    def speak(self, history: Sequence[Message], *, on_delta: OnDelta | None = None) -> str:
        request = request_of(self.spec, self.messages(history), USER_TEMPERATURE, self.seed)
        return self.calls.reply(Role.USER, request, on_delta=on_delta).text


@dataclass(frozen=True, slots=True)
class ModelAssistant:
    """The assistant under test, played by a model."""

    spec: ModelSpec
    briefing: Briefing
    prompt: Prompt
    calls: Calls
    seed: int | None = None

    @property
    def prompt_id(self) -> str:
        return self.prompt.id

    def messages(self, history: Sequence[Message]) -> tuple[ChatMessage, ...]:
        """Word for word what the model is told before its next message."""
        context = sections_text(self.briefing.sections())
        return self.prompt.render("reply", context=context, dialogue=dialogue_text(history))

    def speak(self, history: Sequence[Message], *, on_delta: OnDelta | None = None) -> str:
        request = request_of(self.spec, self.messages(history), ASSISTANT_TEMPERATURE, self.seed)
        return self.calls.reply(Role.ASSISTANT, request, on_delta=on_delta).text


def request_of(
    spec: ModelSpec, messages: tuple[ChatMessage, ...], temperature: float, seed: int | None
) -> ChatRequest:
    """A request with the protocol's defaults; a study's own parameters go before them.

    Not every provider takes a seed: the work unit's goes out only where the study says
    `seed: true`, and a number there is sent as it is.
    """
    params = dict(spec.params)
    own = params.pop("temperature", temperature)
    tokens = params.pop("max_tokens", MAX_TOKENS)
    wanted = params.pop("seed", None)
    return ChatRequest(
        spec=ModelSpec(spec.model, spec.api_base, params),
        messages=messages,
        temperature=own,
        max_tokens=tokens,
        seed=seed if wanted is True else wanted,
    )
