"""A browser's session with the app over its WebSocket, without a browser: cheap, and many at once.

It speaks Streamlit's own messages: it says which widget was touched, and reads what is drawn.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

ENDED = (
    ForwardMsg.FINISHED_SUCCESSFULLY,
    ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY,
    ForwardMsg.FINISHED_WITH_COMPILE_ERROR,
)


class Gone(Exception):
    """The server has hung up, or the page is another one than was thought."""


class Session:
    """One tab. `buttons` and `fields` are what the last runs drew, by their keys."""

    def __init__(self, address: str, page: str, query: str = "") -> None:
        self._url = f"ws{address.removeprefix('http')}/_stcore/stream"
        self._page, self._query = page, query
        self._values: dict[str, str] = {}
        self._hash = ""
        self.buttons: dict[str, tuple[str, str]] = {}
        self.fields: dict[str, tuple[str, str]] = {}
        self.words: list[str] = []
        self._drawn: tuple[dict[str, tuple[str, str]], dict[str, tuple[str, str]], list[str]]
        self._drawn = {}, {}, []
        self._ws: ClientConnection | None = None

    def __enter__(self) -> Session:
        try:
            self._ws = connect(self._url, subprotocols=[Subprotocol("streamlit")], max_size=None)
        except (OSError, WebSocketException) as error:
            raise Gone from error
        self._send()
        self.settle()
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        if self._ws is not None:
            self._ws.close()

    def click(self, key: str) -> None:
        """Press a button, and wait until everything that comes of it is drawn."""
        widget, fragment = self._button(key)
        self._send(trigger=widget, fragment=fragment)
        self.settle()

    def fill(self, key: str, value: str) -> None:
        """Type into a field, and leave it."""
        places = [place for known, place in self.fields.items() if known.startswith(key)]
        if not places:
            raise Gone
        widget, fragment = places[0]
        self._values[widget] = value
        self._send(fragment=fragment)
        self.settle()

    def has(self, key: str) -> bool:
        return any(known.startswith(key) for known in self.buttons)

    def until(self, true: Callable[[], bool], seconds: float = 60) -> None:
        """Read on until it is so. Raises `TimeoutError`."""
        deadline = time.monotonic() + seconds
        while not true():
            self._read(deadline)

    def settle(self, seconds: float = 60) -> None:
        """Read on until a run has ended that no other follows."""
        deadline = time.monotonic() + seconds
        while self._read(deadline) not in ENDED:
            pass

    # --- messages -----------------------------------------------------------------------------

    def _button(self, key: str) -> tuple[str, str]:
        """Where a button is. Raises `Gone` when the page has none of that name any more."""
        for known, place in self.buttons.items():
            if known.startswith(key):
                return place
        raise Gone

    def _send(self, *, trigger: str = "", fragment: str = "") -> None:
        message = BackMsg()
        state = message.rerun_script
        state.query_string, state.page_name = self._query, self._page
        state.page_script_hash = self._hash
        state.fragment_id = fragment
        for widget, value in self._values.items():
            state.widget_states.widgets.add(id=widget, string_value=value)
        if trigger:
            state.widget_states.widgets.add(id=trigger, trigger_value=True)
        assert self._ws is not None
        try:
            self._ws.send(message.SerializeToString())
        except ConnectionClosed as error:
            raise Gone from error

    def _read(self, deadline: float) -> int | None:
        """Take one message; returns how a run ended, if it did."""
        assert self._ws is not None
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the page did not answer")
        try:
            raw = self._ws.recv(timeout=left)
        except ConnectionClosed as error:
            raise Gone from error
        message = ForwardMsg()
        message.ParseFromString(raw if isinstance(raw, bytes) else raw.encode())
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self._drawn = {}, {}, []
        elif kind == "navigation":
            self._hash = message.navigation.page_script_hash
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            self._take(message.delta)
        elif kind == "script_finished":
            self._finish(int(message.script_finished))
            return int(message.script_finished)
        return None

    def _finish(self, how: int) -> None:
        """A whole run replaces what was there, a run of a fragment what it has drawn again."""
        buttons, fields, words = self._drawn
        if how == ForwardMsg.FINISHED_SUCCESSFULLY:
            self.buttons, self.fields, self.words = buttons, fields, words
        elif how == ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY:
            again = {fragment for _, fragment in buttons.values()}
            rest = {k: v for k, v in self.buttons.items() if v[1] not in again}
            self.buttons, self.fields = rest | buttons, self.fields | fields

    def _take(self, delta: Any) -> None:
        element = delta.new_element
        buttons, fields, words = self._drawn
        kind = element.WhichOneof("type")
        if kind == "button":
            buttons[_key(element.button.id)] = element.button.id, delta.fragment_id
        elif kind in ("text_input", "text_area"):
            field = getattr(element, kind)
            fields[_key(field.id)] = field.id, delta.fragment_id
        elif kind in ("markdown", "text", "alert"):
            words.append(getattr(element, kind).body)


def _key(widget: str) -> str:
    """The key that the page gave a widget: the last part of its id."""
    return widget.split("-", 2)[-1]
