"""The deterministic parties that need no key: one user, four assistants of known quality."""

from core.parties.lexicon import Lexicon, build_lexicon
from core.parties.scripted_assistants import SCRIPTED_ASSISTANTS, make_scripted_assistant
from core.parties.scripted_user import ScriptedUser

__all__ = [
    "SCRIPTED_ASSISTANTS",
    "Lexicon",
    "ScriptedUser",
    "build_lexicon",
    "make_scripted_assistant",
]
