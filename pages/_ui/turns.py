"""Messages with the turn they belong to, and what their sides are called."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core.types import Message, Role

ROLES = {Role.USER: "User", Role.ASSISTANT: "Assistant"}


def numbered(messages: Sequence[Message]) -> Iterator[tuple[int, Message]]:
    """Each message with its turn; a turn begins with the user's message."""
    turn = 0
    for message in messages:
        turn += message.role is Role.USER
        yield max(turn, 1), message
