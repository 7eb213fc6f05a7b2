"""Live dialogues of this process by id, so that a reload goes on watching."""

from __future__ import annotations

import threading
from collections import OrderedDict

import streamlit as st

from core.live import LiveDialogue
from core.settings import Settings

_MOST_OVER = 50
"""Dialogues that are over are in the database; that many stay here to be looked at."""


class LiveRegistry:
    """Live dialogues by id; of those that are over the oldest fall out. Safe in any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lives: OrderedDict[str, LiveDialogue] = OrderedDict()

    def add(self, live: LiveDialogue) -> None:
        with self._lock:
            self._lives[live.id] = live
            over = [i for i, other in self._lives.items() if other.snapshot().over]
            for i in over[:-_MOST_OVER]:
                del self._lives[i]

    def find(self, live_id: str) -> LiveDialogue | None:
        with self._lock:
            return self._lives.get(live_id)


@st.cache_resource(show_spinner=False)
def registry(settings: Settings) -> LiveRegistry:
    """The live dialogues of the process that works with these settings."""
    del settings  # the key alone: each database has its own
    return LiveRegistry()
