"""Study files: what is refused, and with which sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from core.errors import StudyError
from core.study_file import load_study, parse_study, read_params
from core.types import ContextSetting, Part

GOOD: dict[str, Any] = {
    "name": "context-ablation",
    "dataset": "sample",
    "scenarios": {
        "kind": "all",
        "domains": ["Alarm", "Flights"],
        "users": "sample-20",
        "limit": 100,
        "seed": 7,
    },
    "user_agent": {"model": "scripted/user"},
    "arms": [
        {
            "name": "attentive",
            "model": "scripted/attentive",
            "context": ["demographics", "interactions", "situation"],
        },
        {
            "name": "gpt",
            "model": "openai/gpt-4o-mini",
            "api_base": None,
            "params": {"temperature": 0},
            "context": [],
        },
    ],
    "repetitions": 1,
    "judges": [{"model": "scripted/judge", "rubrics": ["task_completion", "personalization"]}],
    "primary": "personalization",
    "limits": {
        "concurrency": 32,
        "requests_per_minute": None,
        "budget_usd": None,
        "max_turns": None,
    },
}


def test_every_key_of_the_contract_is_understood() -> None:
    spec = parse_study(GOOD, source="study.yaml")
    assert spec.arms[0].arm.context == ContextSetting.of(*Part)
    assert spec.arms[1].arm.context.label == "none"
    assert spec.arms[1].spec.params == {"temperature": 0}
    assert spec.scenarios.users == "sample-20"


def test_written_study_reads_back_the_same() -> None:
    spec = parse_study(GOOD, source="study.yaml")
    assert parse_study(yaml.safe_load(spec.to_yaml()), source="again") == spec


@pytest.mark.parametrize("word", ["all", "none"])
def test_context_may_be_a_word(word: str) -> None:
    arm = {"name": "a", "model": "scripted/attentive", "context": word}
    spec = parse_study(GOOD | {"arms": [arm]}, source="study.yaml")
    assert spec.arms[0].arm.context.label == word


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"arms": []}, "arms"),
        ({"armz": []}, "armz"),
        ({"repetitions": 0}, "repetitions"),
        ({"scenarios": {"kind": "some"}}, "scenarios.kind"),
        ({"arms": [{"name": "a", "model": "x", "context": ["mood"]}]}, "arms.0.context.0"),
        ({"arms": [{"name": "../x", "model": "y"}]}, "arms.0.name"),
        ({"arms": [{"name": "a", "model": "x"}, {"name": "a", "model": "y"}]}, "same name"),
        ({"judges": [{"model": "x", "rubrics": []}]}, "judges.0.rubrics"),
        ({"limits": {"budget_usd": -1}}, "limits.budget_usd"),
        (
            {"arms": [{"name": "a", "model": "x", "params": {"api_key": "s3"}}]},
            "belongs in the environment",
        ),
        (
            {"arms": [{"name": "a", "model": "x", "api_base": "http://me:pw@127.0.0.1/v1"}]},
            "no name, password or key",
        ),
        ({"arms": [{"name": "a", "model": "x", "api_base": "file:///etc"}]}, "arms.0.api_base"),
    ],
)
def test_fault_is_one_sentence_that_names_the_field(change: dict[str, Any], says: str) -> None:
    with pytest.raises(StudyError) as fault:
        parse_study(GOOD | change, source="study.yaml")
    assert says in str(fault.value)
    assert "\n" not in str(fault.value)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"name: [", "not valid YAML"),
        (b"\xff\xfe\x00", "Cannot read"),
        (b"- a\n- b\n", "is not a study"),
        (b"", "is not a study"),
    ],
)
def test_unreadable_file_is_refused_with_one_sentence(
    tmp_path: Path, content: bytes, says: str
) -> None:
    file = tmp_path / "study.yaml"
    file.write_bytes(content)
    with pytest.raises(StudyError, match=says):
        load_study(file)


def test_missing_file_is_refused_with_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="Cannot read the study file"):
        load_study(tmp_path / "absent.yaml")


def test_params_of_a_command_line_are_read_as_values() -> None:
    words = ["max_tokens=800", "input_cost_per_token=2e-05", "structured=true", "seed=null"]
    words += ["reasoning_effort=low", "stop=a=b"]
    assert read_params(words) == {
        "max_tokens": 800,
        "input_cost_per_token": 2e-05,
        "structured": True,
        "seed": None,
        "reasoning_effort": "low",
        "stop": "a=b",
    }


@pytest.mark.parametrize("word", ["max_tokens", "=3", "", "api_key=sk-1", "Authorization=x"])
def test_a_word_that_is_no_param_is_refused(word: str) -> None:
    with pytest.raises(StudyError) as caught:
        read_params([word])
    assert "sk-1" not in str(caught.value)
