"""Overriding: what a person reads of a dialogue's judgements, and the rows that are added."""

from __future__ import annotations

from core.overrides import Why, new_override, rated_dimensions, undoing
from core.types import OverrideReason
from tests.builders import NOW, make_dialogue, make_instrument, make_judgement, make_override

DIALOGUE = make_dialogue()
WHY = Why("Ana", OverrideReason.RUBRIC, "  Read it again. ")


def test_dimensions_stand_judge_by_judge_as_people_read_them() -> None:
    other = make_instrument("grounding@1", judge="openai/gpt-4o-mini")
    judgements = [
        make_judgement(DIALOGUE, dimension="coherence_user"),
        make_judgement(DIALOGUE, dimension="grounding", instrument=other),
        make_judgement(DIALOGUE, dimension="personalization"),
        make_judgement(DIALOGUE, dimension="unheard_of"),
    ]
    found = [(g.instrument.judge, g.dimension) for g in rated_dimensions(judgements, [])]
    assert found == [
        ("scripted/judge", "personalization"),
        ("scripted/judge", "coherence_user"),
        ("scripted/judge", "unheard_of"),
        ("openai/gpt-4o-mini", "grounding"),
    ]


def test_turns_of_one_dimension_stand_together_in_their_order() -> None:
    turns = [
        make_judgement(DIALOGUE, dimension="personalization_per_turn", turn=t) for t in (2, 10, 1)
    ]
    (group,) = rated_dimensions(turns, [])
    assert group.per_turn
    assert [r.judgement.turn for r in group.rated] == [1, 2, 10]


def test_the_latest_override_is_in_force_and_is_what_the_next_one_supersedes() -> None:
    judgement = make_judgement(DIALOGUE, value=3)
    first = make_override(judgement, value=2)
    second = make_override(judgement, value=1, supersedes=first.id)
    rated = rated_dimensions([judgement], [second, first])[0].rated[0]
    assert (rated.force.value, rated.latest_id, rated.corrected) == (1, second.id, True)
    row = new_override(
        judgement, 4, WHY, seen=rated.latest_id, now=lambda: NOW, new_id=lambda: "o3"
    )
    assert (row.supersedes, row.reason, row.author) == (second.id, "Read it again.", "Ana")


def test_an_undone_judgement_is_no_correction_any_more() -> None:
    judgement = make_judgement(DIALOGUE, value=3)
    first = make_override(judgement, value=2)
    back = undoing(judgement, "Ben", seen=first.id, now=lambda: NOW, new_id=lambda: "o2")
    rated = rated_dimensions([judgement], [first, back])[0].rated[0]
    assert (rated.force.value, rated.undone, rated.corrected) == (3, True, False)
    assert len(rated.history) == 2
