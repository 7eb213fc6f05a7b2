from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from core.errors import AppError
from core.export import FORMS, export_study
from core.export_personalens import evaluation_text
from core.export_tables import defused
from core.files import Folder, safe_name
from core.ports import Finished, Study
from core.sources.dialogues import import_dialogues
from core.types import Dialogue, Judgement
from tests.builders import (
    NOW,
    WEIRD,
    make_arm,
    make_dialogue,
    make_instrument,
    make_judgement,
    make_override,
    make_study,
    make_task,
)

BOOKS = make_task("SD-Books-task-1")
TRIP = make_task("MD-task-4", domains=("Flights", "Hotels"))
RTL_FORMULA = "=cmd|' /C calc'!A0"


class Filled:
    """A store with one study, and what is in it."""

    def __init__(self, store: Any) -> None:
        self.store = store
        self.study: Study = make_study()
        store.add_study(self.study)

    def add(self, dialogue: Dialogue, *judgements: Judgement) -> Dialogue:
        self.store.add_finished([Finished(dialogue, judgements)])
        return dialogue

    def export(self, to: Path, form: Any) -> list[Path]:
        return export_study(self.store, self.study, to=to, form=form)


@pytest.fixture
def filled(sqlite_store: Any) -> Filled:
    return Filled(sqlite_store)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A folder that does not exist yet."""
    return tmp_path / "out"


def read(folder: Path, *keys: str) -> Any:
    manifest = json.loads((folder / "export.json").read_text("utf-8"))
    for key in keys:
        manifest = manifest[key]
    return manifest


def below(folder: Path) -> set[str]:
    files = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    return files - {"export.json"}


# --- jsonl --------------------------------------------------------------------------------------


def test_jsonl_holds_everything_raw(filled: Filled, tmp_path: Path) -> None:
    dialogue = make_dialogue(f"user: {WEIRD}", f"assistant: {RTL_FORMULA}\r\nx", task=BOOKS)
    judgement = make_judgement(dialogue, value=None, status="refused", raw=WEIRD)
    filled.add(dialogue, judgement)
    override = make_override(judgement, value=None, reason=WEIRD)
    filled.store.add_override(override)
    written = filled.export(tmp_path / "out", "jsonl")
    assert [p.name for p in written] == [
        "dialogues.jsonl",
        "judgements.jsonl",
        "overrides.jsonl",
        "export.json",
    ]
    (told,) = (json.loads(x) for x in written[0].read_text("utf-8").splitlines())
    assert [m["content"] for m in told["messages"]] == [m.content for m in dialogue.messages]
    assert told["arm"] == dialogue.arm.to_dict()
    assert (told["id"], told["stop_reason"]) == (dialogue.id, "user_done")
    (rated,) = (json.loads(x) for x in written[1].read_text("utf-8").splitlines())
    assert (rated["status"], rated["value"], rated["raw"]) == ("refused", None, WEIRD)
    assert rated["instrument"]["id"] == judgement.instrument.id
    (overridden,) = (json.loads(x) for x in written[2].read_text("utf-8").splitlines())
    assert (overridden["judgement_id"], overridden["reason"]) == (judgement.id, WEIRD)
    assert read(tmp_path / "out", "dialogues") == 1


def test_jsonl_that_is_exported_comes_back(filled: Filled, tmp_path: Path) -> None:
    original = filled.add(make_dialogue(f"user: {WEIRD}", "assistant: =1\r\n", task=TRIP))
    filled.export(tmp_path / "out", "jsonl")
    back = imported(filled, tmp_path / "out")
    assert [d.messages for d in back] == [original.messages]


def imported(filled: Filled, path: Path) -> list[Dialogue]:
    import_dialogues(path, name="back", store=filled.store, now=lambda: NOW)
    return list(filled.store.iter_dialogues(filled.store.get_study("back").id))


# --- tables -------------------------------------------------------------------------------------

DANGEROUS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "'=1", "''+1"]
HARMLESS = ["hi", "1-1", "", "'quoted'", " =1", "é=1", "a\n=1"]


@pytest.mark.parametrize("text", DANGEROUS)
def test_text_that_begins_a_formula_is_defused_and_can_be_had_back(text: str) -> None:
    assert defused(text) == f"'{text}"
    assert re.sub(r"^'('*[=+\-@\t\r\n])", r"\1", defused(text)) == text


@pytest.mark.parametrize("text", HARMLESS)
def test_other_text_is_left_alone(text: str) -> None:
    assert defused(text) == text


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_csv_cells_run_no_formula_and_are_otherwise_whole(filled: Filled, out: Path) -> None:
    texts = [*DANGEROUS, *HARMLESS, WEIRD.replace("\0", ""), 'a,"b";\r\nc']
    dialogue = make_dialogue(*(f"user: {t}" for t in texts), stop_detail="=1", task=BOOKS)
    judgement = make_judgement(dialogue, rationale="@x", raw="=y")
    filled.add(dialogue, judgement)
    filled.store.add_override(make_override(judgement, reason="-z"))
    filled.export(out, "csv")
    assert [r["content"] for r in rows(out / "messages.csv")] == [defused(t) for t in texts]
    assert [r["number"] for r in rows(out / "messages.csv")] == [str(n) for n in range(len(texts))]
    (told,) = rows(out / "dialogues.csv")
    assert (told["stop_detail"], told["turns"], told["arm"]) == ("'=1", "18", "attentive")
    (rated,) = rows(out / "judgements.csv")
    assert (rated["rationale"], rated["raw"], rated["value"]) == ("'@x", "'=y", "3")
    assert rows(out / "overrides.csv")[0]["reason"] == "'-z"
    assert "apostrophe" in (out / "README.txt").read_text("utf-8")


def test_every_cell_of_every_csv_is_safe(filled: Filled, out: Path) -> None:
    arm = make_arm("+arm", model="=model", context="all")
    dialogue = make_dialogue("user: =1", arm=arm, task=make_task("@task", intent="=intent"))
    filled.add(dialogue, make_judgement(dialogue, instrument=make_instrument(judge="-judge")))
    filled.export(out, "csv")
    cells = [c for f in out.glob("*.csv") for r in rows(f) for c in r.values()]
    assert cells
    assert not [c for c in cells if re.match(r"[=+\-@\t\r\n]", c)]


def test_parquet_holds_texts_unchanged_and_numbers_as_numbers(filled: Filled, out: Path) -> None:
    dialogue = make_dialogue("user: =1+1", f"assistant: {WEIRD}", task=TRIP)
    unscored = make_judgement(dialogue, value=None, dimension="grounding", turn=1)
    filled.add(dialogue, make_judgement(dialogue, value=4), unscored)
    filled.export(out, "parquet")
    messages = pd.read_parquet(out / "messages.parquet")
    assert messages["content"].tolist() == ["=1+1", WEIRD]
    judgements = pd.read_parquet(out / "judgements.parquet")
    assert judgements["value"].sum() == 4
    assert judgements["value"].isna().sum() == 1
    told = pd.read_parquet(out / "dialogues.parquet").iloc[0]
    assert (told["domains"], told["turns"], told["created_at"]) == (
        "Flights|Hotels",
        1,
        NOW.isoformat(),
    )
    assert len(pd.read_parquet(out / "overrides.parquet")) == 0


def test_more_rows_than_are_held_at_once_are_all_written(
    filled: Filled, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.export_tables._AT_ONCE", 2)
    for number in range(5):
        filled.add(make_dialogue(task=BOOKS, seed=number))
    filled.export(out / "c", "csv")
    filled.export(out / "p", "parquet")
    assert [r["seed"] for r in rows(out / "c" / "dialogues.csv")] == list("01234")
    frame = pd.read_parquet(out / "p" / "dialogues.parquet")
    assert frame["seed"].tolist() == [0, 1, 2, 3, 4]


# --- personalens --------------------------------------------------------------------------------


def test_dialogues_are_laid_out_as_the_benchmark_does(filled: Filled, out: Path) -> None:
    arm = make_arm("a", model="claude-3-sonnet-v1", context=("situation", "demographics"))
    dialogue = make_dialogue(
        f"user: {WEIRD}", "assistant: b", arm=arm, task=TRIP, persona_id="user7"
    )
    filled.add(dialogue)
    filled.export(out, "personalens")
    name = "output/dialogue/user7/claude-3-sonnet-v1_d_s/MD-task-4_dialogue.json"
    assert below(out) == {name, "README.txt"}
    text = (out / name).read_text("utf-8")
    record = json.loads(text)
    assert list(record)[:6] == [
        "user_id",
        "task_id",
        "task_description",
        "user_model",
        "assistant_model",
        "dialogue",
    ]
    assert text == json.dumps(record, indent=4, ensure_ascii=False)
    assert (record["user_id"], record["task_id"]) == (7, "MD-task-4")
    assert record["task_description"] == TRIP.intent
    assert (record["user_model"], record["assistant_model"]) == (
        "scripted/user",
        "claude-3-sonnet-v1",
    )
    assert record["dialogue"] == [
        {"role": "user", "content": WEIRD},
        {"role": "assistant", "content": "b"},
    ]
    assert (record["stop_reason"], record["seed"]) == ("user_done", 7)


def gathered(folder: Path, dimension: str, suffix: str = "") -> dict[str, str]:
    """What the benchmark's gathering rules find: file to score or verdict."""
    word = {"task_completion": ""}.get(dimension, f"{dimension.capitalize()} Score")
    pattern = rf"{word}: (\d+)" if word else r"(?i)VERDICT: (True|False)"
    return {
        path.relative_to(folder).as_posix(): found[1]
        for path in folder.rglob(f"{dimension}/*/*{suffix}.txt")
        if (found := re.search(pattern, path.read_text("utf-8")))
    }


def test_evaluations_are_found_by_the_rules_of_the_gathering_script(
    filled: Filled, out: Path
) -> None:
    dialogue = make_dialogue(task=BOOKS, persona_id="user7")
    filled.add(
        dialogue,
        make_judgement(dialogue, value=3, rationale="Fine.\n\nPersonalization Score: 9"),
        make_judgement(dialogue, value=0, dimension="task_completion", rationale="VERDICT: True"),
        make_judgement(dialogue, value=5, dimension="naturalness_user"),
        make_judgement(dialogue, value=2, dimension="naturalness_assistant"),
        make_judgement(dialogue, value=4, dimension="coherence_assistant"),
    )
    filled.export(out, "personalens")
    base = "output/evaluation/user7/scripted-attentive"
    # The script knows these two judges and no other, so that ours stand under their names.
    task = "claude-3-5-sonnet-v2/SD-Books-task-1"
    done = "claude-3-sonnet-v1/SD-Books-task-1"
    assert gathered(out, "personalization") == {f"{base}/personalization/{task}.txt": "3"}
    assert gathered(out, "task_completion") == {f"{base}/task_completion/{done}.txt": "False"}
    assert gathered(out, "naturalness", "_user") == {f"{base}/naturalness/{task}_user.txt": "5"}
    assert gathered(out, "naturalness", "_asst") == {f"{base}/naturalness/{task}_asst.txt": "2"}
    assert gathered(out, "coherence") == {f"{base}/coherence/{task}_asst.txt": "4"}
    text = (out / base / "personalization" / f"{task}.txt").read_text("utf-8")
    assert text.endswith("\nJudge: scripted/judge · personalization@1\n")
    told = (out / "README.txt").read_text("utf-8")
    assert "personalization in claude-3-5-sonnet-v2: scripted/judge · personalization@1" in told


@pytest.mark.parametrize("gap", ["\n\n", "\r\n\r\n", "\n \t\n\n", "\r\r"])
def test_a_rationale_is_not_cut_at_blank_lines(gap: str) -> None:
    text = evaluation_text("Coherence", 4, f"One.{gap}Two.\n", "a judge")
    found = re.search(r"Justification: (.*?)(?=\n\n|$)", text, re.DOTALL)
    assert text.startswith("Coherence Score: 4\n")
    assert found
    assert found[1].strip() == "One.\nTwo."


def test_what_the_layout_cannot_say_is_left_out_and_counted(filled: Filled, out: Path) -> None:
    good = make_dialogue(task=BOOKS)
    filled.add(
        good,
        make_judgement(good, value=None, status="refused"),
        make_judgement(good, value=None, dimension="coherence_user"),
        make_judgement(good, dimension="grounding"),
        make_judgement(good, dimension="personalization_per_turn", turn=1),
    )
    failed = make_dialogue(task=BOOKS, persona_id="user8", stop="model_error")
    filled.add(failed, make_judgement(failed))
    filled.add(make_dialogue(task=BOOKS, persona_id="user9", parent_id=good.id, parent_message=0))
    filled.export(out, "personalens")
    name = "output/dialogue/user0/scripted-attentive/SD-Books-task-1_dialogue.json"
    assert below(out) == {name, "README.txt"}
    assert read(out) == {
        "study": "pilot",
        "study_id": "s1",
        "form": "personalens",
        "complete": True,
        "dialogues": 1,
        "judgements": 0,
        "left_out": {
            "branch": 1,
            "dialogue model_error": 1,
            "judgement of a dialogue that is left out": 1,
            "judgement on grounding": 1,
            "judgement on personalization_per_turn": 1,
            "judgement refused": 1,
            "judgement unparsable": 1,
        },
    }


def test_a_later_attempt_takes_the_place_of_an_earlier_one(filled: Filled, out: Path) -> None:
    for attempt, text in ((2, "second"), (1, "first"), (3, "third")):
        dialogue = make_dialogue(f"user: {text}", "assistant: x", task=BOOKS, attempt=attempt)
        filled.add(dialogue, make_judgement(dialogue, value=attempt))
    filled.export(out, "personalens")
    (file,) = out.rglob("*_dialogue.json")
    assert json.loads(file.read_text("utf-8"))["dialogue"][0]["content"] == "third"
    assert list(gathered(out, "personalization").values()) == ["3"]
    assert read(out, "left_out") == {
        "earlier attempt": 2,
        "judgement of a dialogue that is left out": 2,
    }


def test_arms_of_the_same_model_get_folders_of_their_own(filled: Filled, out: Path) -> None:
    arms = [
        make_arm("plain", model="openai/gpt"),
        make_arm("other prompt", model="openai/gpt", prompt="assistant@2"),
        make_arm("shouted", model="OpenAI/GPT"),
        make_arm("with", model="openai/gpt", context=("interactions",)),
    ]
    for arm in arms:
        filled.add(make_dialogue(f"user: {arm.name}", "assistant: x", arm=arm, task=BOOKS))
    filled.export(out, "personalens")
    folders = sorted(p.name for p in (out / "output/dialogue/user0").iterdir())
    assert len({f.casefold() for f in folders}) == 4
    assert "openai-gpt" in folders
    assert "openai-gpt_p" in folders
    back = {d.arm.name: d for d in imported(filled, out)}
    assert {n: d.messages[0].content for n, d in back.items()} == {a.name: a.name for a in arms}
    assert {d.arm.name: d.arm.context for d in back.values()} == {a.name: a.context for a in arms}


def test_two_instruments_of_one_judge_do_not_overwrite_each_other(
    filled: Filled, out: Path
) -> None:
    dialogue = make_dialogue(task=BOOKS)
    rubrics = [make_instrument(f"personalization@{version}") for version in (1, 2)]
    filled.add(
        dialogue,
        *(make_judgement(dialogue, value=n, instrument=r) for n, r in enumerate(rubrics, 1)),
    )
    filled.export(out, "personalens")
    found = gathered(out, "personalization")
    assert sorted(found.values()) == ["1", "2"]
    judges = sorted(path.split("/")[-2] for path in found)
    assert judges == ["claude-3-5-sonnet-v2", "scripted-judge"]


@pytest.mark.parametrize(
    "name", ["../../etc/x", "/etc/x", "..", "a/b", "a\\b", "con:aux", "\0", "é", "", ".hidden"]
)
def test_names_of_arms_models_and_judges_are_never_a_path(
    filled: Filled, tmp_path: Path, name: str
) -> None:
    arm = make_arm(name, model=name or "m")
    dialogue = make_dialogue(task=BOOKS, arm=arm)
    filled.add(dialogue, make_judgement(dialogue, instrument=make_instrument(judge=name)))
    for path in filled.export(tmp_path / "deep" / "out", "personalens"):
        assert path.resolve().is_relative_to(tmp_path / "deep" / "out")
        assert all(re.fullmatch(r"[\w.,-]+", p) for p in path.relative_to(tmp_path).parts)
    assert {p.name for p in tmp_path.iterdir() if not p.name.startswith("rapport.db")} == {"deep"}


@pytest.mark.parametrize(
    ("persona", "task"),
    [("user7/../..", "SD-Books-task-1"), ("maya", "SD-Books-task-1"), ("user7", "../MD-task-1")],
)
def test_personas_and_tasks_of_another_kind_are_refused(
    filled: Filled, out: Path, persona: str, task: str
) -> None:
    filled.add(make_dialogue(task=make_task(task), persona_id=persona))
    with pytest.raises(AppError, match="is no scenario of PersonaLens"):
        filled.export(out, "personalens")


def test_what_is_exported_for_personalens_comes_back(store: Any, tmp_path: Path) -> None:
    filled = Filled(store)
    arm = make_arm("a_s", model="model_s", context=("demographics",))
    originals = [
        filled.add(d)
        for d in (
            make_dialogue(f"user: {WEIRD}", "assistant: =1\r\n", arm=arm, task=BOOKS),
            make_dialogue("user: again", "assistant: ", arm=arm, task=BOOKS, repetition=1),
            make_dialogue("user: c", arm=arm, task=TRIP, stop="turn_limit", persona_id="user12"),
        )
    ]
    filled.export(tmp_path / "out", "personalens")
    assert (tmp_path / "out/repetition_1/output/dialogue/user0/model_s_d").is_dir()
    back = imported(filled, tmp_path / "out")

    def told(d: Dialogue) -> tuple[object, ...]:
        setting = (d.arm.name, d.arm.assistant, d.arm.context, d.user_agent)
        return (d.persona_id, d.task_id, d.repetition, d.messages, d.stop_reason, d.intent, setting)

    assert sorted(map(told, back), key=str) == sorted(map(told, originals), key=str)


# --- folders ------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_exporting_again_gives_the_same_files(filled: Filled, tmp_path: Path, form: str) -> None:
    dialogue = make_dialogue(task=BOOKS)
    filled.add(dialogue, make_judgement(dialogue))
    filled.export(tmp_path / "out", form)

    def contents() -> dict[str, bytes]:
        out = tmp_path / "out"
        return {name: (out / name).read_bytes() for name in below(out)}

    before = contents()
    filled.export(tmp_path / "out", form)
    assert contents() == before
    assert before


@pytest.mark.parametrize("form", FORMS)
def test_a_study_without_dialogues_is_exported_too(
    filled: Filled, tmp_path: Path, form: str
) -> None:
    assert filled.export(tmp_path / "out", form)[-1].name == "export.json"
    assert read(tmp_path / "out", "dialogues") == 0


@pytest.mark.parametrize("content", [None, "{}", "[]", "x", '{"study_id": "another"}'])
def test_a_folder_that_holds_something_else_is_left_alone(
    filled: Filled, tmp_path: Path, content: str | None
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine", "utf-8")
    if content is not None:
        (tmp_path / "out" / "export.json").write_text(content, "utf-8")
    before = {p: p.read_bytes() for p in (tmp_path / "out").iterdir()}
    with pytest.raises(AppError, match="holds no earlier export of this study"):
        filled.export(tmp_path / "out", "jsonl")
    assert {p: p.read_bytes() for p in (tmp_path / "out").iterdir()} == before


def test_a_file_in_the_place_of_the_folder_is_refused(filled: Filled, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine", "utf-8")
    with pytest.raises(AppError, match="is a file: name a folder"):
        filled.export(tmp_path / "out", "jsonl")


def test_an_unknown_form_is_refused(filled: Filled, tmp_path: Path) -> None:
    with pytest.raises(AppError, match="'xlsx' is no form of export: choose jsonl, csv"):
        filled.export(tmp_path / "out", "xlsx")


def test_a_broken_export_leaves_no_part_of_a_file_and_can_be_done_again(
    filled: Filled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled.add(make_dialogue(task=BOOKS))

    def broken(study_id: str) -> Iterator[Dialogue]:
        yield make_dialogue(task=BOOKS)
        raise RuntimeError("power cut")

    with monkeypatch.context() as patch:
        patch.setattr(filled.store, "iter_dialogues", broken)
        with pytest.raises(RuntimeError):
            filled.export(tmp_path / "out", "jsonl")
    assert below(tmp_path / "out") == set()
    assert read(tmp_path / "out", "complete") is False
    filled.export(tmp_path / "out", "jsonl")
    assert read(tmp_path / "out", "complete") is True


def test_a_file_keeps_its_old_content_until_the_new_one_is_whole(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write_text("a.txt", "old")
    opened = folder.open("a.txt")
    opened.__enter__().write("new")
    assert not opened.__exit__(KeyError, KeyError("power cut"), None)
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text("utf-8") == "old"


def test_half_a_surrogate_pair_does_not_stop_an_export(tmp_path: Path) -> None:
    Folder(tmp_path).write_text("a.txt", "x\ud800y")
    assert (tmp_path / "a.txt").read_text("utf-8") == "x\\ud800y"


def test_safe_names_are_short_and_plain() -> None:
    assert safe_name("openai/gpt-4o mini") == "openai-gpt-4o-mini"
    assert safe_name("x" * 200) == "x" * 80
    assert safe_name("../..") == "unnamed"
