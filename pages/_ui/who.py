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
    listens everywhere. Where a login is configured it is shared, whatever it listens on: a
    proxy may stand before it.
    """
    alone = _is_loopback(settings.address) and _is_loopback(st.get_option("server.address"))
    return alone and not login_configured()


def signed_in() -> str:
    """Whom the login vouches for; empty where there is no login, or before it."""
    user = st.user
    if not getattr(user, "is_logged_in", False):
        return ""
    return str(user.get("email") or user.get("name") or "")[:MOST]


def login_configured() -> bool:
    """Whether Streamlit's secrets name an OpenID provider."""
    try:
        return "auth" in st.secrets
    except FileNotFoundError:
        return False


def _is_loopback(address: str | None) -> bool:
    try:
        return ipaddress.ip_address(address or "").is_loopback
    except ValueError:
        return address == "localhost"


def recall(settings: Settings) -> None:
    """Put the remembered name into a new session."""
    if not own_machine(settings):  # a name that somebody types proves nothing there
        st.session_state["author"] = signed_in()
        return
    if "author" in st.session_state:
        return
    st.session_state["author"] = _read(settings)


def remember(settings: Settings, name: str) -> None:
    """Keep the name, on one's own machine; where it is shared, only a login names people."""
    if not own_machine(settings):
        return
    name = " ".join(name.split())[:MOST]
    st.session_state["author"] = name
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
