"""Choosing a model: a scripted party, the settings' own model, or any other by its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st
import yaml

from core.types import ModelSpec
from pages._ui import text, wiring

OTHER = "another model"
NONE = "none"
_MEANINGS: Mapping[str, str] = {
    "scripted/attentive": "uses all that it is told",
    "scripted/forgetful": "asks for everything",
    "scripted/inventive": "invents preferences",
    "scripted/pushy": "decides without asking",
    OTHER: "by its name …",
    NONE: "do not judge",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen: a model, or nothing; and why it cannot be used, if it cannot."""

    spec: ModelSpec | None
    complaint: str = ""


@dataclass(frozen=True, slots=True)
class Picker:
    """One place where a model is chosen. Widgets have `key` and keys that begin with it."""

    key: str
    label: str
    scripted: tuple[str, ...]
    default: str
    optional: bool = False
    temperature: str = "0"
    free: bool = False  # every parameter, as text, instead of a temperature alone

    def choose(self) -> Choice:
        """Draw the widgets; returns what stands in them, checked without sending anything."""
        options = list(dict.fromkeys([self.default, *self.scripted, OTHER]))
        if self.optional:
            options.append(NONE)
        name = st.selectbox(
            self.label, options, key=self.key, format_func=_shown, persist_state="session"
        )
        if name == NONE:
            return Choice(None)
        spec = self._other() if name == OTHER else ModelSpec(name)
        if not spec.scripted and spec.model:
            spec = self._tuned(spec)
        return _checked(spec)

    def _other(self) -> ModelSpec:
        name = st.text_input(
            f"Name of the model ({self.label.lower()})",
            key=f"{self.key}.name",
            placeholder="openai/gpt-4o-mini, anthropic/…, ollama/…",
            max_chars=200,
            persist_state="session",
        )
        return ModelSpec((name or "").strip())

    def _tuned(self, spec: ModelSpec) -> ModelSpec:
        what = "parameters" if self.free else "temperature"
        with st.expander(f"Address and {what}", icon=":material/tune:"):
            base = st.text_input(
                "Address of an OpenAI-compatible server",
                key=f"{self.key}.base",
                placeholder="http://127.0.0.1:8000/v1; empty: the provider's own",
                max_chars=500,
                persist_state="session",
            )
            if self.free:
                return ModelSpec(spec.model, (base or "").strip() or None, self._params())
            temperature = st.number_input(
                "Temperature",
                min_value=0.0,
                max_value=2.0,
                value=None,
                step=0.1,
                key=f"{self.key}.temperature",
                placeholder=f"{self.temperature} unless set",
                persist_state="session",
            )
        params: dict[str, Any] = {} if temperature is None else {"temperature": temperature}
        return ModelSpec(spec.model, (base or "").strip() or None, params)

    def _params(self) -> dict[str, Any]:
        """What stands in the field of parameters; nothing while it is no mapping."""
        text_ = st.text_area(
            "Parameters (YAML or JSON)",
            key=f"{self.key}.params",
            placeholder="temperature: 0\nmax_tokens: 800",
            height=90,
            persist_state="session",
        )
        found = params_of(text_ or "")
        if isinstance(found, str):
            st.warning(NO_MAPPING, icon=":material/data_object:")
            return {}
        return found


NO_MAPPING = "Parameters are a mapping, such as temperature: 0 on a line of its own."


def params_of(words: str) -> dict[str, Any] | str:
    """The parameters that a text in YAML or JSON states, or the text when it is no mapping."""
    try:
        found = yaml.safe_load(words)
    except (yaml.YAMLError, RecursionError, ValueError):
        return words
    if found is None:
        return {}
    plain = isinstance(found, dict) and all(isinstance(name, str) for name in found)
    return found if plain else words


def fill(key: str, spec: ModelSpec | None) -> None:
    """Put a model into the widgets of the picker at `key`."""
    listed = spec is None or spec.scripted
    st.session_state[key] = (NONE if spec is None else spec.model) if listed else OTHER
    if spec is not None and not listed:
        st.session_state[f"{key}.name"] = spec.model
        st.session_state[f"{key}.base"] = spec.api_base or ""
        st.session_state[f"{key}.temperature"] = spec.params.get("temperature")


def _checked(spec: ModelSpec) -> Choice:
    if not spec.model:
        return Choice(spec, "Type the model's name, for example openai/gpt-4o-mini.")
    complaint = wiring.model().check(spec) or ""
    if complaint:
        st.warning(text.escape_md(complaint), icon=":material/key:")
    return Choice(spec, complaint)


def _shown(name: str) -> str:
    meaning = _MEANINGS.get(name)
    return f"{name}: {meaning}" if meaning else name
