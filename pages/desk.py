"""Desk: rate dialogues that were drawn, blind first, with the keyboard."""

from __future__ import annotations

import streamlit as st

from pages._ui import design_list, desk_view, frame, state

frame.enter()
chosen = state.get("design")
if chosen is None:
    st.title("Desk", anchor=False)
    design_list.show()
else:
    desk_view.show(chosen)
