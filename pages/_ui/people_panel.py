"""People: who may do what, and the audit of who did what."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

import streamlit as st

from core.clock import now
from core.errors import AppError
from core.export_tables import defused
from core.review_types import Event
from core.roles import Role, give
from pages._ui import errors, state, text, transcript, who, wiring

_SHOWN = 500
_EVERYBODY = "everybody"


def show() -> None:
    """Draw the roles where the app is shared, and the audit."""
    if not who.own_machine(wiring.settings()):
        _roles()
    else:
        st.caption("On one's own machine whoever sits there may do everything.")
    _audit()


def _roles() -> None:
    roles = wiring.reviews().list_roles()
    for person, role in roles.items():
        st.markdown(f"{text.escape_md(person, one_line=True)}: **{role}**")
    if not roles:
        st.caption("Nobody has signed in yet; whoever does first is the admin.")
    left, middle, right = st.columns([4, 2, 2], vertical_alignment="bottom")
    left.text_input("Person, as the login names them", key="settings.person")
    middle.selectbox("Role", list(Role), key="settings.role")
    right.button("Give this role", key="settings.give", on_click=_give, width="stretch")
    if st.user.get("is_logged_in"):
        st.button("Sign out", key="settings.sign_out", on_click=st.logout)


def _give() -> None:
    with errors.shown():
        person = str(st.session_state.get("settings.person") or "").strip()
        if not person:
            raise AppError("Say whose role it is.")
        role = Role(st.session_state["settings.role"])
        give(person, role, state.author(), wiring.reviews(), now=now)


def _audit() -> None:
    events = wiring.reviews().list_events(limit=_SHOWN)
    people = [_EVERYBODY, *dict.fromkeys(event.author for event in events)]
    acts = ["anything", *dict.fromkeys(event.act for event in events)]
    left, right = st.columns(2)
    person = left.selectbox("Who", people, key="settings.audit.who")
    act = right.selectbox("What", acts, key="settings.audit.what")
    if person != _EVERYBODY:
        events = wiring.reviews().list_events(author=person, limit=_SHOWN)
    shown = [event for event in events if act in ("anything", event.act)]
    if not shown:
        st.caption("Nothing was done here yet.")
        return
    zone = transcript.local_zone()
    st.dataframe(
        [
            {
                "When": text.when(event.at, zone),
                "Who": event.author,
                "What": event.act,
                "On": event.subject,
                "Which": event.detail,
            }
            for event in shown
        ],
        hide_index=True,
        key="settings.audit.rows",
    )
    st.download_button(
        "As CSV",
        data=audit_csv(shown),
        file_name="audit.csv",
        mime="text/csv",
        key="settings.audit.csv",
        icon=":material/download:",
    )


def audit_csv(events: Sequence[Event]) -> str:
    """The events as a table in which nothing is a formula."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["at", "author", "act", "subject", "detail"])
    for event in events:
        row = (event.author, event.act, event.subject, event.detail)
        writer.writerow([event.at.isoformat(), *(defused(cell) for cell in row)])
    return out.getvalue()
