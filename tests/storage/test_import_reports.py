"""Reports of imports are kept, also of those that write no dataset."""

from __future__ import annotations

from typing import Any

from tests.builders import fill_dataset, make_report


def test_report_of_imported_dialogues_is_kept_beside_those_of_datasets(store: Any) -> None:
    fill_dataset(store, "sample")
    store.add_import_report(make_report("back", kind="dialogues", dialogues=3))
    assert [r.dataset for r in store.list_import_reports()] == ["back", "sample"]
    (kept,) = store.list_import_reports("back")
    assert kept == make_report("back", kind="dialogues", dialogues=3)
    assert store.find_dataset("back") is None
