"""Data: which datasets there are, how to import more, and what imports found."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.types import Dataset
from pages._ui import (
    frame,
    import_panel,
    import_report,
    labels_panel,
    state,
    tables,
    text,
    wiring,
)

_KINDS = {"personalens": "PersonaLens"}


def show_datasets(datasets: Sequence[Dataset]) -> None:
    rows = [
        {
            "Dataset": d.name,
            "Kind": _KINDS.get(d.kind, d.kind) + (", ships with Rapport" if d.sample else ""),
            "Personas": d.personas,
            "Tasks": d.tasks,
            "Scenarios": d.scenarios,
            "Imported (UTC)": text.when(d.imported_at),
        }
        for d in datasets
    ]
    number = st.column_config.NumberColumn(format="localized")
    tables.pick_row(
        rows,
        [d.name for d in datasets],
        key="data.datasets",
        param="dataset",
        column_config={"Personas": number, "Tasks": number, "Scenarios": number},
    )


def show_dataset(dataset: str) -> None:
    st.subheader(f"Imports of {text.escape_md(dataset, one_line=True)}", anchor=False)
    st.page_link(
        frame.path("personas"),
        label="Meet its personas",
        icon=":material/group:",
        query_params={"dataset": dataset},
    )
    import_report.pick(wiring.store().list_import_reports(dataset), first=0)


frame.enter()
st.title("Data", anchor=False)
datasets = wiring.store().list_datasets()
chosen = state.choice("dataset", [d.name for d in datasets])
if datasets:
    show_datasets(datasets)
else:
    st.info("There is no dataset yet; import one below.", icon=":material/database:")
if chosen is not None:
    show_dataset(chosen)
st.subheader("Import", anchor=False)
import_panel.show()
if chosen is None:
    st.subheader("What imports found", anchor=False)
    import_report.pick(wiring.store().list_import_reports(), first=None)
labels_panel.show()
