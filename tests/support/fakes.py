"""Fakes that satisfy the ports of `core`: a model that says what it was told to say."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from core.ports import Again, ChatRequest, IsCancelled, OnDelta, Reply

Answer = str | Reply | Exception


class RanDry(AssertionError):
    """More was asked than the test expected."""


class ScriptedModel:
    """A `ChatModel` that answers from a list, or by a function of the request.

    A text becomes a `Reply`, an exception is raised. `requests` holds what was asked.
    """

    def __init__(self, answers: Iterable[Answer] | Callable[[ChatRequest], Answer]) -> None:
        self.requests: list[ChatRequest] = []
        self._by_request = answers if callable(answers) else None
        self._answers = iter(()) if callable(answers) else iter(answers)

    def reply(
        self,
        request: ChatRequest,
        *,
        on_delta: OnDelta | None = None,
        is_cancelled: IsCancelled | None = None,
        again: Again | None = None,
    ) -> Reply:
        self.requests.append(request)
        answer = self._by_request(request) if self._by_request else next(self._answers, None)
        if answer is None:
            raise RanDry(f"request {len(self.requests)} was not expected")
        if isinstance(answer, Exception):
            raise answer
        reply = Reply(answer) if isinstance(answer, str) else answer
        if on_delta is not None:
            on_delta(reply.text)
        return reply


@dataclass
class ScriptedCalls:
    """A `Calls` over a `ScriptedModel`; `parties` holds who asked, in order."""

    model: ScriptedModel
    parties: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, *answers: Answer) -> ScriptedCalls:
        return cls(ScriptedModel(answers))

    @property
    def requests(self) -> list[ChatRequest]:
        return self.model.requests

    def reply(self, party: str, request: ChatRequest, *, on_delta: OnDelta | None = None) -> Reply:
        self.parties.append(party)
        return self.model.reply(request, on_delta=on_delta)
