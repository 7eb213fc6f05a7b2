"""The frame of the web app: navigation, and the page that was chosen."""

import streamlit as st

from pages._ui import frame

st.set_page_config(
    page_title="Rapport",
    page_icon="assets/icon.png",
    layout="wide",
    initial_sidebar_state="expanded",
)
frame.navigate()
