"""The turn loop of one dialogue.

Protocol: PersonaLens (Zhao et al. 2025), its "simulation protocol", with the defects of the
reference code repaired: the stop token counts only at the end of a message, it is cut before
anything is stored, no empty message is ever stored, and every dialogue records why it ended.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from core.calls import never
from core.errors import (
    Cancelled,
    ContextOverflow,
    EmptyReply,
    ModelError,
    ModelMisconfigured,
    ModelRefused,
)
from core.limits import BudgetReached
from core.parties import STOP_TOKEN
from core.ports import IsCancelled, Party
from core.types import Message, Role, StopReason, TaskKind

TURN_LIMIT = {TaskKind.SINGLE: 20, TaskKind.MULTI: 30}
_AFTER_TOKEN = " \t\r\n.!\"'”’*_`)"  # what models put behind a token that they mean as the end

OnMessage = Callable[[Message], None]
OnPiece = Callable[[Role, str], None]


@dataclass(frozen=True, slots=True)
class Exchange:
    """What was said, and why it ended."""

    messages: tuple[Message, ...]
    stop_reason: StopReason
    stop_detail: str = ""


@dataclass(frozen=True, slots=True)
class Watch:
    """What happens beside the loop: each finished message, each streamed piece, and the clock.

    `on_piece(role, "")` announces that a message of that role starts (again).
    """

    now: Callable[[], datetime]
    on_message: OnMessage | None = None
    on_piece: OnPiece | None = None
    is_cancelled: IsCancelled = never


def cut_stop(text: str) -> tuple[str, bool]:
    """Cut a stop token from the end of `text`; also say whether there was one.

    A token elsewhere in the text is not a wish to stop, and stays.
    """
    stopped = False
    rest = text.strip()
    while (bare := rest.rstrip(_AFTER_TOKEN)).endswith(STOP_TOKEN):
        rest = bare[: -len(STOP_TOKEN)].rstrip()
        stopped = True
    return (rest, True) if stopped else (text, False)


def simulate(user: Party, assistant: Party, *, max_turns: int, watch: Watch) -> Exchange:
    """Let two parties talk until the user is done, the turns run out, or something fails.

    `max_turns` counts the assistant's answers within the loop. At the limit the dialogue ends
    on a user message that has no answer; a user who is done gets one last answer.
    Raises only `ModelMisconfigured`: no dialogue can come of that.
    """
    return _Loop(user, assistant, watch).run(max_turns)


class _Loop:
    def __init__(self, user: Party, assistant: Party, watch: Watch) -> None:
        self._parties = {Role.USER: user, Role.ASSISTANT: assistant}
        self._watch = watch
        self._messages: list[Message] = []

    def run(self, max_turns: int) -> Exchange:
        try:
            reason, detail = self._talk(max_turns), ""
        except ModelMisconfigured:
            raise
        except ModelRefused as error:
            reason, detail = StopReason.REFUSED, str(error)
        except ContextOverflow as error:
            reason, detail = StopReason.CONTEXT_OVERFLOW, str(error)
        except ModelError as error:
            reason, detail = StopReason.MODEL_ERROR, f"{type(error).__name__}: {error}"
        except BudgetReached as error:
            reason, detail = StopReason.BUDGET, str(error)
        except Cancelled as error:
            reason, detail = StopReason.CANCELLED, str(error)
        return Exchange(tuple(self._messages), reason, detail)

    def _talk(self, max_turns: int) -> StopReason:
        self._open()
        for _ in range(max_turns):
            self._say(Role.ASSISTANT)
            text, stopped = cut_stop(self._ask(Role.USER))
            if stopped and not text:  # nothing was said, so that nothing is owed an answer
                return StopReason.USER_DONE
            self._keep(Role.USER, text)
            if stopped:
                self._say(Role.ASSISTANT)
                return StopReason.USER_DONE
        return StopReason.TURN_LIMIT

    def _open(self) -> None:
        """The opening ends nothing, so that a token in it is only cut."""
        text, _ = cut_stop(self._ask(Role.USER))
        self._keep(Role.USER, text)

    def _say(self, role: Role) -> None:
        self._keep(role, self._ask(role))

    def _ask(self, role: Role) -> str:
        if self._watch.is_cancelled():
            raise Cancelled("Stopped by a person.")
        on_piece = self._watch.on_piece
        if on_piece is None:
            return self._parties[role].speak(self._messages)
        on_piece(role, "")
        return self._parties[role].speak(self._messages, on_delta=lambda d: on_piece(role, d))

    def _keep(self, role: Role, text: str) -> None:
        if not text.strip():
            raise EmptyReply(f"The {role} said nothing.")
        message = Message(role, text, self._watch.now())
        self._messages.append(message)
        if self._watch.on_message is not None:
            self._watch.on_message(message)
