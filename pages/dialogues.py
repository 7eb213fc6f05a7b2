"""Dialogues: find them, read one, and correct its judgements."""

from __future__ import annotations

import streamlit as st

from pages._ui import dialogue_list, dialogue_query, dialogue_view, frame, state

frame.enter()
chosen = state.get("dialogue")
query = dialogue_query.read()
if chosen is None:
    st.title("Dialogues", anchor=False)
    dialogue_list.show(query)
else:
    dialogue_view.show(query, chosen)
