"""What this installation is made of: checks, models, keys, settings. Never a key's value."""

from __future__ import annotations

import streamlit as st

from core.doctor import Check, examine
from core.models.keys import key_presence
from core.settings import Settings
from pages._ui import tables, wiring


def show(settings: Settings) -> None:
    """Draw what works here, which models are offered first, and which keys are set."""
    left, right = st.columns([3, 2], gap="medium")
    with left:
        st.markdown("**What works here**")
        tables.show_texts([_check_row(c) for c in examine(settings, wiring.store())])
    with right:
        st.markdown("**Models offered first**")
        tables.show_texts(
            [
                {"Part": "Simulated user", "Model": settings.user_model},
                {"Part": "Assistant", "Model": settings.assistant_model},
                {"Part": "Judge", "Model": settings.judge_model},
            ]
        )
        _show_keys()


def _show_keys() -> None:
    st.markdown("**Keys of providers**")
    st.caption("Read from the environment and shown nowhere; scripted parties need none.")
    tables.show_texts(
        [
            {
                "Provider": key.provider,
                "Variable": key.variable,
                "Key": "set ✓" if key.present else "not set",
            }
            for key in key_presence()
        ]
    )


def _check_row(check: Check) -> dict[str, str]:
    missing = "missing" if check.needed else "not there, optional"
    return {
        "Check": check.name,
        "Result": "works ✓" if check.ok else missing,
        "State": "\n".join(part for part in (check.state, check.advice) if part),
    }


def show_all(settings: Settings) -> None:
    """Draw every setting with its variable, its value (passwords masked) and its meaning."""
    st.caption("Set as variables of the environment and read when the app starts.")
    tables.show_texts(
        [{"Variable": v, "Value": value, "Meaning": m} for v, value, m in settings.public()]
    )
