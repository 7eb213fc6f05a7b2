"""Published figures: whole, within what is possible, and refused when a file is broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import AssetError
from core.published import load_published


def test_every_assistant_has_both_kinds_and_the_ablation_has_five_settings() -> None:
    table = load_published()
    assert len(table.rows) == 22
    assert {r.condition for r in table.rows if r.assistant == "Claude 3 Sonnet"} == {
        "base", "demographics", "interactions", "situation", "all",
    }  # fmt: skip
    assert len({r.assistant for r in table.rows}) == 7


def test_every_completion_rate_is_a_whole_number_of_dialogues() -> None:
    table = load_published()
    for row in table.rows:
        n = table.dialogues[row.kind]
        k = round(row.task_completion * n / 100)
        assert round(100 * k / n, 2) == row.task_completion, row


def test_rates_are_on_our_scale() -> None:
    first = load_published().rows[0]
    assert first.value("task_completion") == pytest.approx(0.8852)
    assert first.value("personalization") == 1.93


@pytest.mark.parametrize(
    ("text", "said"),
    [("rows: []", "Field required"), ("a: [", "cannot be read"), (None, "no published results")],
)
def test_broken_table_is_named(tmp_path: Path, text: str | None, said: str) -> None:
    (tmp_path / "published").mkdir()
    if text is not None:
        (tmp_path / "published" / "personalens.v1.yaml").write_text(text)
    with pytest.raises(AssetError, match=said):
        load_published(root=tmp_path)
