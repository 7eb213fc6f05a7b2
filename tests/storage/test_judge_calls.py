"""The calls of all judges of one dialogue, on both engines."""

from __future__ import annotations

from typing import Any

from tests.builders import make_call


def test_judge_calls_are_those_whose_scope_begins_with_the_dialogue(store: Any) -> None:
    inside = [make_call("d1:0a", "judge:a"), make_call("d1:ff", "judge:b")]
    outside = [make_call("d1"), make_call("d10:0a"), make_call("d0:0a"), make_call("xd1:0a")]
    store.add_calls([*outside[:2], *inside, *outside[2:]])
    assert [(c.scope, c.party) for c in store.list_judge_calls("d1")] == [
        ("d1:0a", "judge:a"),
        ("d1:ff", "judge:b"),
    ]
