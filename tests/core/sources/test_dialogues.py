from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.errors import SourceError
from core.ports import DialogueFilter, Finished
from core.records import dialogue_record
from core.sources.dialogues import import_dialogues
from core.sources.progress import ImportProgress
from core.types import Dialogue, Message, ModelSpec, Role, StopReason, StudyState, TaskKind
from tests.builders import NOW, WEIRD, fill_dataset, make_arm, make_dialogue, make_study, make_task
from tests.support.personalens import Files, changed, pack, write_files

NAME = "user7/claude-3-sonnet-v1_d_s/SD-Rental Cars-task-2_dialogue.json"
RECORD = {
    "user_id": 7,
    "task_id": "SD-Rental Cars-task-2",
    "task_description": "Rent a small car.",
    "user_model": "claude-3-sonnet-v1",
    "assistant_model": "claude-3-sonnet-v1",
    "dialogue": [
        {"role": "user", "content": "A car, please."},
        {"role": "assistant", "content": f"Which one?\r\n{WEIRD}"},
        {"role": "user", "content": " The small one "},
        {"role": "assistant", "content": "Booked."},
    ],
}
FILES: Files = {f"output/dialogue/{NAME}": json.dumps(RECORD, indent=4).encode()}


def named(name: str, **change: Any) -> Files:
    """One file of the reference layout; user and task follow from its name."""
    task_id = name.rpartition("/")[2].removesuffix("_dialogue.json")
    return {f"output/dialogue/{name}": json.dumps(RECORD | {"task_id": task_id} | change).encode()}


def run(store: Any, path: Path, name: str = "theirs", **options: Any) -> Any:
    return import_dialogues(path, name=name, store=store, now=lambda: NOW, **options)


def stored(store: Any, name: str = "theirs") -> list[Dialogue]:
    return list(store.iter_dialogues(store.get_study(name).id))


def imported(store: Any, tmp_path: Path, files: Files) -> list[Dialogue]:
    run(store, write_files(tmp_path / "source", files))
    return stored(store)


def refusal(store: Any, tmp_path: Path, files: Files) -> str:
    """The one sentence of a refused import, which stored nothing."""
    with pytest.raises(SourceError) as caught:
        run(store, write_files(tmp_path / "source", files))
    assert store.list_studies() == []
    assert store.count_dialogues(DialogueFilter()) == 0
    assert str(caught.value).endswith(".")
    return str(caught.value)


# --- the layout of PersonaLens ------------------------------------------------------------------


def test_a_dialogue_comes_in_as_it_is(store: Any, tmp_path: Path) -> None:
    (dialogue,) = imported(store, tmp_path, FILES)
    assert dialogue.messages == tuple(
        Message(Role(m["role"]), m["content"])
        for m in RECORD["dialogue"]  # type: ignore[union-attr,index]
    )
    assert (dialogue.persona_id, dialogue.task_id) == ("user7", "SD-Rental Cars-task-2")
    assert (dialogue.kind, dialogue.domains) == (TaskKind.SINGLE, ("Rental Cars",))
    assert dialogue.intent == "Rent a small car."
    assert dialogue.arm.name == "claude-3-sonnet-v1_d_s"
    assert dialogue.arm.assistant == ModelSpec("claude-3-sonnet-v1")
    assert dialogue.arm.context.label == "demographics+situation"
    assert (dialogue.arm.prompt, dialogue.prompts) == ("imported", {})
    assert (dialogue.unit_id, dialogue.attempt, dialogue.repetition) == (None, 1, 0)
    assert dialogue.created_at == NOW


def test_the_collection_is_a_study_of_its_own_kind(store: Any, tmp_path: Path) -> None:
    imported(store, tmp_path, FILES)
    study = store.get_study("theirs")
    assert (study.kind, study.spec, study.state) == ("imported", None, StudyState.DONE)


def test_the_report_counts_dialogues_and_irregularities(store: Any, tmp_path: Path) -> None:
    files = FILES | named("user7/m/SD-Books-task-1_dialogue.json", stop_reason="user_done")
    files |= named(
        "user7/m/SD-Books-task-2_dialogue.json",
        user_model="other",
        dialogue=[{"role": "user", "content": "TERMINATE"}, {"role": "assistant", "content": " "}],
    )
    report = run(store, write_files(tmp_path / "source", files))
    assert (report.dataset, report.kind, report.dialogues, report.added) == (
        "theirs",
        "dialogues",
        3,
        3,
    )
    assert {i.kind: i.count for i in report.irregularities} == {
        "stop_reason_inferred": 2,
        "user_model_equals_assistant": 1,
        "empty_message": 1,
        "stop_word_in_message": 1,
    }


@pytest.mark.parametrize("name", ["x.zip", "x.tar.gz", "x.tar.xz"])
@pytest.mark.parametrize("prefix", ["", "dialogue/", "output/dialogue/", "a/output/dialogue/"])
def test_archives_and_prefixes_give_the_same_dialogue(
    sqlite_store: Any, tmp_path: Path, name: str, prefix: str
) -> None:
    content = FILES[f"output/dialogue/{NAME}"]
    run(sqlite_store, pack(tmp_path / name, {f"{prefix}{NAME}": content, "README.md": b"x"}))
    assert [d.task_id for d in stored(sqlite_store)] == ["SD-Rental Cars-task-2"]


@pytest.mark.parametrize(
    ("folder", "model", "context"),
    [
        ("m", "m", "none"),
        ("m_d", "m", "demographics"),
        ("m_p", "m", "interactions"),
        ("m_s", "m", "situation"),
        ("m_d_p", "m", "demographics+interactions"),
        ("m_d_p_s", "m", "all"),
        ("m_s", "m_s", "none"),
        ("m_x", "m", "none"),
    ],
)
def test_the_tags_of_the_folder_give_the_context_setting(
    sqlite_store: Any, tmp_path: Path, folder: str, model: str, context: str
) -> None:
    files = named(f"user7/{folder}/SD-Books-task-1_dialogue.json", assistant_model=model)
    (dialogue,) = imported(sqlite_store, tmp_path, files)
    assert (dialogue.arm.name, dialogue.arm.context.label) == (folder, context)


@pytest.mark.parametrize(
    ("messages", "reason"),
    [(["user", "assistant"], StopReason.USER_DONE), (["user"], StopReason.TURN_LIMIT)],
)
def test_an_untold_stop_reason_is_inferred_and_said_to_be(
    sqlite_store: Any, tmp_path: Path, messages: list[str], reason: StopReason
) -> None:
    turns = [{"role": role, "content": "hi"} for role in messages]
    files = named("user7/m/SD-Books-task-1_dialogue.json", dialogue=turns)
    (dialogue,) = imported(sqlite_store, tmp_path, files)
    assert dialogue.stop_reason is reason
    assert dialogue.stop_detail.startswith("inferred: ")


def test_a_told_stop_reason_is_taken(sqlite_store: Any, tmp_path: Path) -> None:
    files = named(
        "user7/m/SD-Books-task-1_dialogue.json", stop_reason="budget", stop_detail="spent"
    )
    (dialogue,) = imported(sqlite_store, tmp_path, files)
    assert (dialogue.stop_reason, dialogue.stop_detail) == (StopReason.BUDGET, "spent")


def test_domains_of_a_multi_domain_task_come_from_the_datasets(
    sqlite_store: Any, tmp_path: Path
) -> None:
    fill_dataset(sqlite_store, tasks=[make_task("MD-task-2", domains=("Flights", "Hotels"))])
    files = named("user7/m/MD-task-2_dialogue.json") | named("user7/m/MD-task-3_dialogue.json")
    domains = {d.task_id: d.domains for d in imported(sqlite_store, tmp_path, files)}
    assert domains == {"MD-task-2": ("Flights", "Hotels"), "MD-task-3": ()}


def test_repetitions_are_told_apart(sqlite_store: Any, tmp_path: Path) -> None:
    name = "user7/m/SD-Books-task-1_dialogue.json"
    (content,) = named(name).values()
    files = {f"output/dialogue/{name}": content, f"repetition_2/output/dialogue/{name}": content}
    assert sorted(d.repetition for d in imported(sqlite_store, tmp_path, files)) == [0, 2]


def test_importing_twice_adds_nothing(store: Any, tmp_path: Path) -> None:
    path = write_files(tmp_path / "source", FILES)
    assert run(store, path).added == 1
    before = stored(store)
    assert run(store, path).added == 0
    assert stored(store) == before


def test_a_growing_folder_adds_what_is_new(sqlite_store: Any, tmp_path: Path) -> None:
    path = write_files(tmp_path / "source", FILES)
    run(sqlite_store, path)
    write_files(path, named("user8/m/SD-Books-task-1_dialogue.json", user_id="user8"))
    assert run(sqlite_store, path).added == 1
    assert len(stored(sqlite_store)) == 2


def test_other_messages_for_a_stored_dialogue_are_refused(
    sqlite_store: Any, tmp_path: Path
) -> None:
    path = write_files(tmp_path / "source", FILES)
    run(sqlite_store, path)
    before = stored(sqlite_store)
    write_files(path, changed(FILES, f"output/dialogue/{NAME}", "!", "dialogue", 0, "content"))
    with pytest.raises(SourceError, match="is stored already with other messages"):
        run(sqlite_store, path)
    assert stored(sqlite_store) == before


def test_the_name_of_a_study_is_not_taken_for_a_collection(
    sqlite_store: Any, tmp_path: Path
) -> None:
    sqlite_store.add_study(make_study(name="pilot"))
    with pytest.raises(SourceError, match="pilot is already a study"):
        run(sqlite_store, write_files(tmp_path / "source", FILES), name="pilot")


def test_progress_is_told(sqlite_store: Any, tmp_path: Path) -> None:
    told: list[ImportProgress] = []
    run(sqlite_store, write_files(tmp_path / "source", FILES), on_progress=told.append)
    assert told == [ImportProgress("writing", 1.0, dialogues=1)]


@pytest.mark.parametrize(
    ("keys", "value", "sentence"),
    [
        (["user_id"], 8, "user_id is '8', the folder is user7."),
        (["task_id"], "MD-task-1", "task_id is 'MD-task-1', the file is SD-Rental Cars-task-2."),
        (["task_description"], ..., "task_description is missing."),
        (["user_model"], None, "user_model should be a text, it is null."),
        (["dialogue"], {}, "dialogue should be a list of messages, it is an object."),
        (["dialogue"], [], "dialogue has no messages."),
        (["dialogue", 1], "hi", "dialogue[1] should be an object, it is a text."),
        (["dialogue", 1, "role"], "system", "dialogue[1].role is 'system', not user or assistant."),
        (["dialogue", 1, "content"], None, "dialogue[1].content should be a text, it is null."),
        (["stop_reason"], "bored", "stop_reason 'bored' is none that Rapport knows."),
        (["context"], ["mood"], "context should be a list of demographics, interactions"),
        (["context"], [["mood"]], "context should be a list of demographics, interactions"),
        (["repetition"], -1, "repetition should be a number from 0"),
        (["repetition"], "1", "repetition should be a number from 0, it is a text."),
    ],
)
def test_a_bad_file_is_named_by_its_field_and_stores_nothing(
    sqlite_store: Any, tmp_path: Path, keys: list[Any], value: Any, sentence: str
) -> None:
    good = named("user1/m/SD-Books-task-1_dialogue.json", user_id=1)
    bad = changed(FILES, f"output/dialogue/{NAME}", value, *keys)
    found = refusal(sqlite_store, tmp_path, good | bad)
    assert NAME in found
    assert sentence in found


def test_what_is_no_json_is_refused(sqlite_store: Any, tmp_path: Path) -> None:
    assert "is not valid JSON" in refusal(sqlite_store, tmp_path, dict.fromkeys(FILES, b"{"))


def test_a_foreign_task_id_is_refused(sqlite_store: Any, tmp_path: Path) -> None:
    files = named("user7/m/homework_dialogue.json")
    assert "'homework' is no task id of PersonaLens" in refusal(sqlite_store, tmp_path, files)


def test_the_same_dialogue_in_two_places_is_refused(sqlite_store: Any, tmp_path: Path) -> None:
    (content,) = FILES.values()
    files = {f"a/{NAME}": content, f"b/{NAME}": content}
    assert "is the same dialogue as another" in refusal(sqlite_store, tmp_path, files)


def test_a_source_without_dialogues_is_refused(sqlite_store: Any, tmp_path: Path) -> None:
    assert "holds no dialogues" in refusal(sqlite_store, tmp_path, {"a.json": b"{}"})


# --- dialogues.jsonl ----------------------------------------------------------------------------


def own(tmp_path: Path, *dialogues: Dialogue) -> Path:
    path = tmp_path / "dialogues.jsonl"
    path.write_text("\n".join(json.dumps(dialogue_record(d)) for d in dialogues), "utf-8")
    return path


def test_own_records_come_back_as_they_were(sqlite_store: Any, tmp_path: Path) -> None:
    sqlite_store.add_study(make_study())
    original = make_dialogue(
        f"user: {WEIRD}",
        "assistant: =1+1",
        arm=make_arm("gpt", model="openai/x", context=("situation",), temperature=0.5),
        stop="turn_limit",
        stop_detail="20 turns",
        repetition=2,
        author="Ana",
    )
    branch = make_dialogue(parent_id=original.id, parent_message=1)
    sqlite_store.add_finished([Finished(original), Finished(branch)])
    assert run(sqlite_store, own(tmp_path, original, branch)).added == 2
    first, second = stored(sqlite_store)
    assert dialogue_record(first) | {"id": "", "study_id": ""} == dialogue_record(original) | {
        "id": "",
        "study_id": "",
    }
    assert (second.parent_id, second.parent_message) == (first.id, 1)
    assert first.id != original.id
    assert run(sqlite_store, own(tmp_path, original, branch)).added == 0


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"messages": None}, "line 2: messages: Input should be a valid tuple."),
        ({"messages": [{"role": "judge", "content": ""}]}, "line 2: messages.0.role: Input"),
        ({"stop_reason": "bored"}, "line 2: stop_reason: Input should be 'user_done'"),
        ({"created_at": "2026-01-01T00:00:00"}, "line 2: created_at has no time zone."),
        ({"attempt": 0}, "line 2: attempt: Input should be greater than or equal to 1."),
        ({"seconds": float("nan")}, "line 2: seconds: Input should be"),
        ({"arm": {"name": "x"}}, "line 2: arm.model: Field required."),
    ],
)
def test_a_bad_record_is_named_by_line_and_field(
    sqlite_store: Any, tmp_path: Path, change: dict[str, Any], sentence: str
) -> None:
    good = dialogue_record(make_dialogue())
    lines = [json.dumps(good), json.dumps(good | {"id": "other"} | change)]
    files = {"dialogues.jsonl": "\n".join(lines).encode()}
    assert sentence in refusal(sqlite_store, tmp_path, files)
