"""Whose fault it was, said without leaving what one is doing."""

from __future__ import annotations

import streamlit as st

from core import faults
from core.clock import new_id, now
from core.errors import AppError
from core.review_queue import Queue
from core.review_types import Party
from pages._ui import wiring

_PARTIES = [party for party in Party if party is not Party.NOBODY]
_NAMES = {Party.USER: "simulated user"}


def show(queue: Queue, dialogue_id: str) -> None:
    """Draw the choice: one of the parties, or none."""
    key = f"desk.fault.{dialogue_id}"
    st.pills(
        "If something went wrong: whose fault?",
        _PARTIES,
        key=key,
        format_func=lambda party: _NAMES.get(party, str(party)),
        on_change=_name,
        args=(queue, dialogue_id, key),
    )


def _name(queue: Queue, dialogue_id: str, key: str) -> None:
    party = st.session_state.get(key) or Party.NOBODY
    try:
        fault = faults.name_fault(
            dialogue_id, Party(party), queue.annotator, now=now, new_id=new_id
        )
        wiring.reviews().add_fault(fault)
    except AppError as error:
        st.session_state["desk.note"] = str(error)
