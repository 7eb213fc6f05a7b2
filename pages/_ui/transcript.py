"""A dialogue as people read it: who said what in which turn, as inert text."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st

from core.types import Message, Role
from pages._ui import plain, text
from pages._ui.turns import ROLES, numbered

_ICONS = {Role.USER: ":material/person:", Role.ASSISTANT: ":material/assistant:"}
_INDENT, _WIDTH = 1, 9
_JOINER = "\u2060"  # invisible
_IMAGE = re.compile(r"!(?=\[)")
_CODE = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]*`)", re.DOTALL)
_OURS = re.compile(r":(?=[\w+-]+(?:[:\[/]))")  # icons, colours, emoji: no chat window's markdown
_HEADING = re.compile(r"^#{1,4}(?=\s)", re.MULTILINE)


def show(
    messages: Sequence[Message], *, cited: Collection[int] = (), rendered: bool = False
) -> None:
    """Draw messages: the user to the left, the assistant to the right, each named.

    `cited` are the turns that a judgement names as its evidence. With `rendered`, markdown in
    a message is drawn; images never are.
    """
    zone = local_zone()
    for turn, message in numbered(messages):
        with _place(message.role):
            st.caption(_head(turn, message, turn in cited, zone))
            body(message.content, rendered=rendered)


def show_coming(turn: int, role: Role, piece: str) -> None:
    """Draw a message in the making."""
    with _place(role):
        st.caption(f"{_named(turn, role)} · is writing …")
        if piece:
            plain.show(piece)


def body(content: str, *, rendered: bool) -> None:
    """Draw a text: as it is, or with its markdown but without images."""
    if rendered:
        st.markdown(tamed(plain.clean(content)))
    else:
        plain.show(content)


def tamed(markdown: str) -> str:
    """The markdown with images as links, so that nothing is loaded by itself.

    Outside of code, dollars are dollars, what only Streamlit reads as markup stays as it is
    written, and headings are small.
    """
    parts = _CODE.split(_IMAGE.sub(f"!{_JOINER}", markdown))
    return "".join(part if i % 2 else _plainer(part) for i, part in enumerate(parts))


def _plainer(markdown: str) -> str:
    markdown = _OURS.sub(f":{_JOINER}", markdown.replace("$", "\\$"))
    return _HEADING.sub("#####", markdown)


def local_zone() -> tzinfo:
    """The time zone of whoever looks, where the browser tells it."""
    try:
        return ZoneInfo(st.context.timezone or "UTC")
    except (ZoneInfoNotFoundError, ValueError):
        return UTC


def _place(role: Role) -> st.delta_generator.DeltaGenerator:
    user = role is Role.USER
    spec = (_WIDTH, _INDENT) if user else (_INDENT, _WIDTH)
    return st.columns(spec, gap=None)[0 if user else 1].container(border=True, gap="xxsmall")


def _head(turn: int, message: Message, cited: bool, zone: tzinfo) -> str:
    parts = [_named(turn, message.role)]
    if message.author:
        parts.append(f"written by {text.escape_md(message.author, one_line=True)}")
    if message.at is not None:
        parts.append(_clock(message.at, zone))
    if cited:
        parts.append(":material/format_quote: **evidence**")
    return " · ".join(parts)


def _named(turn: int, role: Role) -> str:
    return f"{_ICONS[role]} **{turn} {ROLES[role]}**"


def _clock(at: datetime, zone: tzinfo) -> str:
    return f"{at.astimezone(zone):%H:%M:%S}"
