"""Length and kinship: found where they push the judge, and not where they do not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.errors import StudyError
from core.judge_bias import LENGTH, OWN, Said, bias_sentences, family_of, judge_bias, said_by
from tests.builders import make_dialogue
from tests.support.annotations import annotation

JUDGE = "openai/gpt-4o"


def labelled(own: float = 0.0, length: float = 0.0) -> tuple[pd.DataFrame, dict[str, Said]]:
    """Eighty dialogues of twenty personas; the judge errs by what is asked for, plus noise."""
    rng = np.random.default_rng(3)
    rows, said = [], {}
    for i in range(80):
        kin, letters = i % 2 == 0, int(100 * 2 ** rng.integers(0, 5))
        human = float(rng.integers(2, 5))
        pushed = own * kin + length * np.log2(letters / 400)
        said[f"d{i}"] = Said(letters, "azure/gpt-4o-mini" if kin else "anthropic/claude-3-haiku")
        rows.append(
            annotation(
                dialogue_id=f"d{i}",
                persona_id=f"p{i // 4}",
                value_before_reveal=human,
                judge_value=human + pushed + rng.normal(0, 0.3),
            )
        )
    return pd.DataFrame(rows), said


def effects(**how: float) -> dict[str, tuple[float, bool]]:
    table, said = labelled(**how)
    found = judge_bias(table, said, dimension="naturalness", judge=JUDGE).found
    return {e.name: (e.est, e.lo > 0) for e in found.effects}


def test_judge_that_favours_its_own_family_is_found_out() -> None:
    found = effects(own=0.8)
    assert found[OWN] == (pytest.approx(0.8, abs=0.2), True)
    assert not found[LENGTH][1]


def test_judge_that_favours_length_is_found_out() -> None:
    found = effects(length=0.5)
    assert found[LENGTH] == (pytest.approx(0.5, abs=0.1), True)
    assert not found[OWN][1]


def test_what_does_not_vary_is_said_and_left_out() -> None:
    table, said = labelled(length=0.5)
    alone = {i: Said(s.letters, "openai/gpt-4o") for i, s in said.items()}
    found = judge_bias(table, alone, dimension="naturalness", judge=JUDGE)
    assert found.left_out == (OWN,)
    lines = bias_sentences(found)
    assert lines[0].startswith("Doubling the length buys 0.49 points that people do not give")
    assert "does not vary" in lines[-1]


def test_nothing_that_varies_or_is_known_is_refused() -> None:
    table, said = labelled()
    same = {i: Said(100, JUDGE) for i in said}
    with pytest.raises(StudyError, match="alike"):
        judge_bias(table, same, dimension="naturalness", judge=JUDGE)
    with pytest.raises(StudyError, match="review some first"):
        judge_bias(table, {}, dimension="naturalness", judge=JUDGE)


def test_labels_that_are_no_evidence_do_not_count() -> None:
    table, said = labelled(own=0.8)
    with pytest.raises(StudyError, match="review some first"):
        judge_bias(table.assign(reason="self_selected"), said, dimension="naturalness", judge=JUDGE)


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("openai/gpt-4o-mini", "openai"),
        ("bedrock/anthropic.claude-3-haiku", "anthropic"),
        ("together/meta-llama/Llama-3.1-8B", "meta"),
        ("groq/mixtral-8x7b", "mistral"),
        ("scripted/judge", "scripted/judge"),
    ],
)
def test_family_is_read_from_the_name(model: str, family: str) -> None:
    assert family_of(model) == family


def test_only_the_assistants_letters_count() -> None:
    assert said_by(make_dialogue("user: hello there", "assistant: hi")).letters == 2
