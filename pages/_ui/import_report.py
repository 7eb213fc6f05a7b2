"""What an import read, added and found irregular."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.types import ImportReport, Irregularity
from pages._ui import tables, text

_EXAMPLES = 3


def pick(reports: Sequence[ImportReport], *, first: int | None) -> None:
    """Let a person choose among stored reports, newest first, and draw the chosen one.

    `first` is the number of the report that is open at first, None for none.
    """
    if not reports:
        st.caption("No import has been recorded.")
        return
    number = st.selectbox(
        "Import",
        range(len(reports)),
        index=first,
        format_func=lambda n: _label(reports[n]),
        key="data.report",
        placeholder="Choose one to read its report",
    )
    if number is not None:
        show(reports[number])


def show(report: ImportReport) -> None:
    """Draw one report: a sentence, then every kind of irregularity."""
    st.markdown(text.escape_md(sentence(report)))
    if not report.irregularities:
        st.caption("Nothing in the source departs from its format.")
        return
    repaired = sum(i.count for i in report.irregularities if i.repaired)
    noted = sum(i.count for i in report.irregularities if not i.repaired)
    st.caption(
        f"{text.count(repaired)} departures from the format were repaired, {text.count(noted)} "
        "were kept as they are and are listed so that nobody is surprised by them."
    )
    tables.show_texts([_row(i) for i in report.irregularities])


def sentence(report: ImportReport) -> str:
    """One sentence of what an import read and added, as plain text."""
    nouns = ("persona", "task", "scenario")
    if report.kind == "personaconv":
        nouns = ("member", "thread", "target")
    read = [
        text.plural(report.personas, nouns[0]) if report.personas else "",
        text.plural(report.tasks, nouns[1]) if report.tasks else "",
        text.plural(report.scenarios, nouns[2]) if report.scenarios else "",
        text.plural(report.dialogues, "dialogue") if report.dialogues else "",
    ]
    told = ", ".join(part for part in read if part) or "nothing"
    added = (
        f"{text.plural(report.added, 'row')} added" if report.added else "all of it known before"
    )
    return f"{report.source}: {told}; {added}; {text.duration(report.seconds)}."


def _label(report: ImportReport) -> str:
    added = f"{text.count(report.added)} added" if report.added else "nothing new"
    return f"{text.when(report.at)} · {report.dataset} · {report.source} · {added}"


def _row(irregularity: Irregularity) -> dict[str, str]:
    more = len(irregularity.examples) - _EXAMPLES
    examples = list(irregularity.examples[:_EXAMPLES]) + (["…"] if more > 0 else [])
    words = irregularity.kind.replace("_", " ")
    return {
        "Irregularity": words[:1].upper() + words[1:],
        "Count": text.count(irregularity.count),
        "Done": "repaired" if irregularity.repaired else "reported",
        "What it is": irregularity.what,
        "Examples": "\n".join(examples),
    }
