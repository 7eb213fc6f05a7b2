"""How a dialogue ended, in words."""

from __future__ import annotations

from core.live import without_kind
from core.types import StopReason
from pages._ui import text

_SENTENCES = {
    StopReason.USER_DONE: "The user had finished and ended the conversation.",
    StopReason.TURN_LIMIT: "The conversation reached its limit of turns.",
    StopReason.MODEL_ERROR: "A model failed, and the conversation broke off.",
    StopReason.REFUSED: "A model refused to go on.",
    StopReason.CONTEXT_OVERFLOW: "The conversation grew longer than a model takes.",
    StopReason.BUDGET: "The budget was spent.",
    StopReason.CANCELLED: "Somebody stopped it.",
}


def sentence(reason: StopReason, detail: str = "") -> str:
    """Say why a dialogue ended, and whether it can be judged. Markdown of ours, detail inert."""
    words = _SENTENCES[reason]
    if not reason.judged:
        said = without_kind(detail).strip()
        if said and reason is not StopReason.CANCELLED:
            words += f" {text.escape_md(said, one_line=True)}"
        words += " What was said is kept; a dialogue that was broken off is not judged."
    return words
