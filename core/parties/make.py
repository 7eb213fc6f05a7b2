"""Who plays which side: the one place that turns a model's name into a party."""

from __future__ import annotations

from core.assets import load_prompt
from core.context import Briefing
from core.errors import StudyError
from core.parties.lexicon import Lexicon
from core.parties.model_party import ModelAssistant, ModelUser
from core.parties.scripted import SCRIPTED_ASSISTANTS, ScriptedUser, make_scripted_assistant
from core.ports import Calls, Party
from core.types import Arm, ModelSpec

USER_PROMPT = "user_agent@1"
SCRIPTED_USER = "scripted/user"
SCRIPTED_JUDGE = "scripted/judge"


def make_user(
    spec: ModelSpec, briefing: Briefing, *, calls: Calls, lexicon: Lexicon, seed: int
) -> Party:
    """The party that plays the persona. Raises `StudyError` for an unknown scripted name."""
    if spec.model == SCRIPTED_USER:
        return ScriptedUser(briefing, lexicon=lexicon, seed=seed)
    check_scripted_name(spec.model, (SCRIPTED_USER,), "user agent")
    return ModelUser(spec, briefing, load_prompt(USER_PROMPT), calls, seed)


def make_assistant(
    arm: Arm, briefing: Briefing, *, calls: Calls, lexicon: Lexicon, seed: int
) -> Party:
    """The assistant of an arm. Raises `StudyError` for an unknown scripted name."""
    spec = arm.assistant
    if spec.model in SCRIPTED_ASSISTANTS:
        return make_scripted_assistant(spec.model, briefing, lexicon=lexicon, seed=seed)
    check_scripted_name(spec.model, tuple(SCRIPTED_ASSISTANTS), "assistant")
    return ModelAssistant(spec, briefing, load_prompt(arm.prompt), calls, seed)


def check_scripted_name(model: str, known: tuple[str, ...], side: str) -> None:
    """Refuse a scripted name that nothing answers to. Raises `StudyError`."""
    if model.startswith("scripted/") and model not in known:
        raise StudyError(
            f"There is no scripted {side} called {model}; there are {', '.join(sorted(known))}."
        )
