"""Untrusted text as plain text: nothing in it is markup, and nothing reorders what is read."""

from __future__ import annotations

import re

import streamlit as st

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def clean(words: str) -> str:
    """The text without control characters and without those that turn the direction of reading.

    A person reads what a judge read, in the order in which it stands; what is stored stays.
    """
    return _CONTROL.sub("", words.replace("\r\n", "\n").replace("\r", "\n"))


def show(words: str) -> None:
    """Draw words as they stand."""
    st.text(clean(words))


def block(words: str) -> None:
    """Draw a longer text that may be copied, as it stands."""
    st.code(clean(words), language=None, wrap_lines=True)
