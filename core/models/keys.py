"""Which provider a model belongs to, and which variable of the environment holds its key.

The main providers are known here, so that a page can say what is there without loading
litellm. A key's value is read only to be sent, to be looked for in texts, or to learn that it
is not empty.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

# provider prefix of litellm -> variables, any one of which will do
VARIABLES: Mapping[str, tuple[str, ...]] = {
    "openai": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "mistral": ("MISTRAL_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "groq": ("GROQ_API_KEY",),
    "xai": ("XAI_API_KEY",),
    "cohere": ("COHERE_API_KEY", "CO_API_KEY"),
    "azure": ("AZURE_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "together_ai": ("TOGETHERAI_API_KEY", "TOGETHER_API_KEY", "TOGETHER_AI_API_KEY"),
    "fireworks_ai": ("FIREWORKS_AI_API_KEY", "FIREWORKS_API_KEY"),
    "huggingface": ("HF_TOKEN", "HUGGINGFACE_API_KEY"),
    "perplexity": ("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"),
}
_SECRET_NAME = re.compile(r"(_API_KEY|_TOKEN|_SECRET|_ACCESS_KEY|_PASSWORD)$")
_KEY_LIKE = re.compile(r"\b(sk|pk|gsk|xai|hf|AIza|key)[-_][\w-]{6,}|\b[\w-]{32,}", re.IGNORECASE)
_ADDRESS = re.compile(r"\w+://\S+")
_SHORTEST_SECRET = 6  # shorter values would blank out ordinary words


@dataclass(frozen=True, slots=True)
class ProviderKey:
    """Whether a provider's key is set; never the key."""

    provider: str
    variable: str
    present: bool


def key_presence() -> list[ProviderKey]:
    """For each main provider the variable that holds its key (or would), and if it is set."""
    found = []
    for provider, names in VARIABLES.items():
        name = next((n for n in names if is_set(n)), names[0])
        found.append(ProviderKey(provider, name, is_set(name)))
    return found


def is_set(variable: str) -> bool:
    return bool(os.environ.get(variable, "").strip())


def missing_key(model: str, provider: str) -> str | None:
    """One sentence when a main provider's key is in none of its variables."""
    names = VARIABLES.get(provider, ())
    if not names or any(is_set(n) for n in names):
        return None
    return f"{model} needs a key: set {names[0]} in the environment and start again."


def without_secrets(text: str) -> str:
    """The text on one line without keys, credentials or addresses, cut to a sentence's length."""
    for name, value in os.environ.items():
        if _SECRET_NAME.search(name) and len(value) >= _SHORTEST_SECRET:
            text = text.replace(value, "***")
    text = _KEY_LIKE.sub("***", _ADDRESS.sub("(address)", text))
    return " ".join(text.split())[:200]
