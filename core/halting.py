"""A model that tells at once when it can never answer, so that nobody asks it any more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from core.errors import Cancelled, ModelMisconfigured
from core.ports import Again, ChatModel, ChatRequest, IsCancelled, OnDelta, Reply


@dataclass(frozen=True, slots=True)
class Halting:
    """Implements `ports.ChatModel` over another one.

    `halt` hears of a bad key or an unknown model while the call still has its place within the
    limits: of those who wait for that place, none gets it to be refused likewise.
    """

    model: ChatModel
    halt: Callable[[ModelMisconfigured], None]

    def reply(
        self,
        request: ChatRequest,
        *,
        on_delta: OnDelta | None = None,
        is_cancelled: IsCancelled | None = None,
        again: Again | None = None,
    ) -> Reply:
        if is_cancelled is not None and is_cancelled():
            raise Cancelled("Stopped before a call to the model.")
        try:
            return self.model.reply(
                request, on_delta=on_delta, is_cancelled=is_cancelled, again=again
            )
        except ModelMisconfigured as error:
            self.halt(error)
            raise

    def worst_cost(self, request: ChatRequest) -> float | None:
        return self.model.worst_cost(request)
