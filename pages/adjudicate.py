"""Adjudicate: where annotators differ, and what holds."""

from __future__ import annotations

import streamlit as st

from pages._ui import adjudicate_view, frame

frame.enter()
st.title("Adjudicate", anchor=False)
adjudicate_view.show()
