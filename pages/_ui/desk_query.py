"""What the desk reads: the design that the address names, and this person's queue at it."""

from __future__ import annotations

import streamlit as st

from core.clock import new_id, now
from core.review_designs import latest
from core.review_queue import Queue
from core.review_types import ReviewDesign, ReviewItem
from core.settings import Settings
from pages._ui import wiring


def design(root_id: str) -> ReviewDesign | None:
    """The last extension of a design, or None when there is none of that id."""
    found = [d for d in latest(wiring.reviews().list_designs()) if d.root_id == root_id]
    return found[0] if found else None


def queue_of(design: ReviewDesign, person: str) -> Queue:
    """Raises `StudyError` when the design names its annotators, and this is none of them."""
    drawn = _drawn(wiring.settings(), design.id)
    return Queue(design, person, wiring.reviews(), now, new_id, drawn)


@st.cache_resource(show_spinner=False, max_entries=32)
def _drawn(settings: Settings, design_id: str) -> tuple[ReviewItem, ...]:
    """What a design drew: stored once, and never changed."""
    del settings
    return tuple(wiring.reviews().list_items(design_id, selected=True))
