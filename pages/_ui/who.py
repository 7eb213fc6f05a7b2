"""Who is at work: a name, kept in the session, and on one's own machine remembered."""

from __future__ import annotations

import ipaddress
import logging

import streamlit as st

from core.settings import Settings

log = logging.getLogger(__name__)

MOST = 80
_FILE = "author.txt"


def own_machine(settings: Settings) -> bool:
    """Tell whether the app listens on this machine alone, for the one person who sits at it.

    Both the setting and what the server really listens on must say so: without an address it
    listens everywhere.
    """
    return _is_loopback(settings.address) and _is_loopback(st.get_option("server.address"))


def _is_loopback(address: str | None) -> bool:
    try:
        return ipaddress.ip_address(address or "").is_loopback
    except ValueError:
        return address == "localhost"


def recall(settings: Settings) -> None:
    """Put the remembered name into a new session."""
    if "author" in st.session_state:
        return
    st.session_state["author"] = _read(settings) if own_machine(settings) else ""


def remember(settings: Settings, name: str) -> None:
    """Keep the name in this session, and for the next one where one person works."""
    name = " ".join(name.split())[:MOST]
    st.session_state["author"] = name
    if not own_machine(settings):
        return  # on a shared machine the next person would sign with it
    try:
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        (settings.data_dir / _FILE).write_text(name, encoding="utf-8")
    except OSError as error:
        log.warning("the author's name is not remembered: %s", error.strerror)


def _read(settings: Settings) -> str:
    try:
        return (settings.data_dir / _FILE).read_text(encoding="utf-8").strip()[:MOST]
    except (OSError, UnicodeDecodeError):
        return ""
