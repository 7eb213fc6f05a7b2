"""A table of annotations as pages get it: sixty dialogues of twelve personas, three people."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pandas as pd

# Published together with the golden values of the alternative annotator test.
JUDGE = "444333544254533553453252232323532343453344522224435444434324"
PEOPLE = {
    "ana": "354332434153433533342233223124522453343234422214425454414513",
    "ben": "444334444242533454442142133213443344454244523313335554524414",
    "cleo": "353322334142532334243143123223423333552333412112225544414414",
}
START = datetime(2026, 12, 1, 9, tzinfo=UTC)


def annotation(**fields: Any) -> dict[str, Any]:
    """One row with sane defaults."""
    row = {
        "dialogue_id": "d0", "persona_id": "p0", "arm": "attentive", "dimension": "naturalness",
        "annotator": "ana", "value_before_reveal": 3.0, "value_after_reveal": 3.0,
        "reason": "design", "pi": 0.5, "judge_value": 3.0,
        "instrument": "some-model · naturalness@1", "instrument_id": "i1", "submitted_at": START,
        "judge_visible_before": False, "rubric": "naturalness@1",
    }  # fmt: skip
    return row | fields


def annotations(**fields: Any) -> pd.DataFrame:
    """All sixty dialogues by all three people, blind, drawn with one probability."""
    rows = [
        annotation(
            dialogue_id=f"d{i:02}",
            persona_id=f"p{i // 5:02}",
            arm=("attentive", "forgetful")[i % 2],
            annotator=name,
            value_before_reveal=float(values[i]),
            value_after_reveal=float(values[i]),
            judge_value=float(JUDGE[i]),
            reason="design" if name == "ana" else "overlap",
            submitted_at=START + timedelta(minutes=i),
            **fields,
        )
        for name, values in PEOPLE.items()
        for i in range(60)
    ]
    return pd.DataFrame(rows)
