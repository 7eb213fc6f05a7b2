"""Conversations: domains, members and threads of a dataset, and one thread as a tree."""

from __future__ import annotations

import streamlit as st

from core.personaconv.generator import SAMPLE
from core.personaconv.types import Conversations
from pages._ui import conversation_query as query
from pages._ui import errors, filters, frame, state, tables, text, thread_view, wiring

_PAGE = 200


def show_counts(counts: Conversations) -> None:
    with st.expander(
        f"{text.plural(counts.threads, 'thread')}, {text.plural(counts.comments, 'comment')}, "
        f"{text.plural(counts.members, 'member')}, {text.plural(counts.targets, 'target')}"
    ):
        names = ("threads", "members", "comments", "trees", "qualifying", "paths", "targets")
        rows = [
            {"Domain": d.domain} | {n.capitalize(): text.count(getattr(d, n)) for n in names}
            for d in counts.by_domain
        ]
        tables.show_texts(rows)
        st.caption(
            "A tree is a top-level comment with all below it; it qualifies where whoever started "
            "the thread speaks in it and somebody answers. A path leads from the post to a leaf."
        )


def show_threads(dataset: str, counts: Conversations) -> None:
    left, middle, right = st.columns([1, 2, 1])
    domains = [d.domain for d in counts.by_domain]
    with left:
        domain = st.selectbox("Domain", domains, index=None, key="conversations.domain")
    members = [m for m in wiring.store().list_thread_authors(dataset, domain) if m]
    with middle:
        author = st.selectbox("Member", members, index=None, key="conversations.member")
    with right:
        page = st.number_input("Page", 1, step=1, key="conversations.page")
    found = query.threads(dataset, domain, author, _PAGE, (int(page) - 1) * _PAGE)
    rows = [
        {
            "Thread": t.id,
            "Domain": t.domain,
            "Title": t.title,
            "Comments": t.comments,
            "Targets": t.targets,
            "Started": text.when(t.at) if t.at else "",
        }
        for t in found
    ]
    height = tables.height_of(len(rows), most=10 if state.get("thread") is None else 4)
    ids = [t.id for t in found]
    tables.pick_row(rows, ids, key="conversations.table", param="thread", height=height)


frame.enter()
st.title("Conversations", anchor=False)
datasets = query.datasets()
if not datasets:
    st.info("There are no conversations yet.", icon=":material/forum:")
    st.text(f"python cli.py import {SAMPLE.relative_to(SAMPLE.parents[2])} --as personaconv")
    st.page_link(frame.path("data"), label="Import conversations", icon=":material/upload:")
    st.stop()
chosen = filters.pick_dataset(datasets, key="conversations.dataset").name
held = query.counts(chosen)
show_counts(held)
show_threads(chosen, held)
if (thread_id := state.get("thread")) is not None:
    with errors.shown():
        thread = query.thread(query.at(chosen), thread_id)
        st.subheader(text.escape_md(thread.title or "(no title)", one_line=True), anchor=False)
        thread_view.show(thread, chosen)
