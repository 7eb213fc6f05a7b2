"""The command line is a contract: names, JSON keys, exit codes, one sentence for a fault."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

import cli


@dataclass
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.out)
        return value


Run = Callable[..., Ran]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*args: object) -> Ran:
        monkeypatch.setattr("sys.argv", ["cli.py", *map(str, args)])
        capsys.readouterr()
        code = 0
        try:
            cli.main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        got = capsys.readouterr()
        return Ran(code, got.out, got.err)

    return call


STUDY: dict[str, Any] = {
    "name": "small",
    "dataset": "sample",
    "scenarios": {"kind": "all", "users": "0-9", "limit": 24, "seed": 7},
    "user_agent": {"model": "scripted/user"},
    "arms": [
        {"name": "attentive all", "model": "scripted/attentive", "context": "all"},
        {"name": "forgetful all", "model": "scripted/forgetful", "context": "all"},
    ],
    "judges": [{"model": "scripted/judge", "rubrics": ["task_completion", "personalization"]}],
    "primary": "personalization",
}


def study_file(folder: Path, **changes: Any) -> Path:
    file = folder / "study.yaml"
    file.write_text(yaml.safe_dump(STUDY | changes), encoding="utf-8")
    return file


def test_sample_is_there_on_first_start(run: Run) -> None:
    found = run("datasets", "--json").json["datasets"]
    assert [d["name"] for d in found] == ["sample"]
    assert set(found[0]) >= {"name", "kind", "personas", "tasks", "scenarios", "imported_at"}
    assert found[0]["personas"] >= 12


def test_personas_are_listed_and_filtered_by_domain(run: Run) -> None:
    everyone = run("personas", "sample", "--json").json["personas"]
    flyers = run("personas", "sample", "--domain", "Flights", "--json").json["personas"]
    assert 0 < len(flyers) < len(everyone)
    assert all("Flights" in p["interests"] for p in flyers)


def test_study_is_run_shown_judged_again_compared_and_exported(run: Run, tmp_path: Path) -> None:
    ran = run("run", study_file(tmp_path), "--json")
    assert ran.code == 0
    keys = {"study", "state", "units", "done", "failed", "owed", "judgements", "unscored"}
    assert set(ran.json) >= keys | {"cost_usd", "stop_reasons", "seconds"}
    assert (ran.json["units"], ran.json["done"], ran.json["owed"]) == (48, 48, 0)
    assert ran.json["judgements"] == 96

    assert run("status", "small", "--json").json["done"] == 48
    assert run("status", "small", "--json").json["stalled"] is False
    assert run("status", "--json").json["studies"][0]["study"] == "small"

    again = run("run", study_file(tmp_path), "--json")
    assert again.json["judgements"] == 96  # nothing was done twice

    judged = run("judge", "small", "--rubric", "grounding", "--judge", "scripted/judge", "--json")
    assert judged.json["added"] == 48

    results = run("results", "small", "--json").json
    assert set(results) == {"study", "results", "differences"}
    row_keys = {"arm", "dimension", "estimate", "lo", "hi", "n", "n_personas", "n_unscored"}
    assert all(set(r) >= row_keys | {"method", "instrument"} for r in results["results"])
    mean = {(r["arm"], r["dimension"]): r["estimate"] for r in results["results"]}
    assert mean["attentive all", "personalization"] > mean["forgetful all", "personalization"]
    pairs = {(d["arm"], d["baseline"]) for d in results["differences"]}
    assert pairs == {("forgetful all", "attentive all")}

    for form in ("jsonl", "csv", "parquet", "personalens"):
        target = tmp_path / form
        exported = run("export", "small", "--to", target, "--as", form, "--json")
        assert exported.code == 0, exported.err
        assert any(target.rglob("*"))


def test_several_processes_share_a_study(run: Run, tmp_path: Path) -> None:
    ran = run("run", study_file(tmp_path), "--workers", 3, "--json")
    assert ran.code == 0, ran.err
    assert (ran.json["done"], ran.json["judgements"], ran.json["state"]) == (48, 96, "done")


def test_exported_dialogues_come_back_with_the_same_messages(run: Run, tmp_path: Path) -> None:
    run("run", study_file(tmp_path))
    run("export", "small", "--to", tmp_path / "out", "--as", "personalens")
    back = run("import", tmp_path / "out", "--as", "dialogues", "--name", "back", "--json")
    assert back.code == 0, back.err
    assert back.json["dialogues"] == 48
    again = run("import", tmp_path / "out", "--as", "dialogues", "--name", "back", "--json")
    assert again.json["added"] == 0
    for name in ("small", "back"):
        run("export", name, "--to", tmp_path / name, "--as", "jsonl")

    def messages(name: str) -> list[Any]:
        lines = (tmp_path / name / "dialogues.jsonl").read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines]
        return sorted(
            [r["persona_id"], r["task_id"], [(m["role"], m["content"]) for m in r["messages"]]]
            for r in rows
        )

    assert messages("small") == messages("back")


def test_imported_dialogues_can_be_judged_by_rubrics_that_need_the_dialogue_alone(
    run: Run, tmp_path: Path
) -> None:
    run("run", study_file(tmp_path))
    run("export", "small", "--to", tmp_path / "out", "--as", "personalens")
    for file in (tmp_path / "out").rglob("*_dialogue.json"):
        record = json.loads(file.read_text(encoding="utf-8"))
        assert record.pop("dataset") == "sample"  # as the benchmark's own scripts write it
        file.write_text(json.dumps(record), encoding="utf-8")
    run("import", tmp_path / "out", "--as", "dialogues", "--name", "back")
    judge = ("--judge", "scripted/judge", "--json")
    rated = run("judge", "back", "--rubric", "coherence_assistant", *judge)
    assert rated.json["added"] == 48
    refused = run("judge", "back", "--rubric", "personalization", *judge)
    assert refused.code == 2
    assert "import its dataset first" in refused.err
    assert len(refused.err.strip().splitlines()) == 1


def test_words_are_printed_without_json_and_nothing_on_standard_error(run: Run) -> None:
    ran = run("datasets")
    assert "sample" in ran.out
    with pytest.raises(json.JSONDecodeError):
        json.loads(ran.out)


# --- bad input --------------------------------------------------------------------------------


def truncated(folder: Path) -> Path:
    whole = folder / "whole.tar.gz"
    with tarfile.open(whole, "w:gz") as tar:
        tar.add("assets/sample/data", arcname="data")
    cut = folder / "cut.tar.gz"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    return cut


def escaping(folder: Path) -> Path:
    file = folder / "escape.tar.gz"
    with tarfile.open(file, "w:gz") as tar:
        entry = tarfile.TarInfo("../../data/profile/user1/profile.json")
        entry.size = 2
        tar.addfile(entry, io.BytesIO(b"{}"))
    return file


def bomb(folder: Path) -> Path:
    file = folder / "bomb.zip"
    with (
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("data/profile/user0/profile.json", "w", force_zip64=True) as entry,
    ):
        for _ in range(1100):
            entry.write(b" " * 1_000_000)
    return file


def missing_domain(folder: Path) -> Path:
    file = folder / "missing.zip"
    with zipfile.ZipFile(file, "w") as archive:
        for source in sorted(Path("assets/sample/data").rglob("*.json*")):
            text = source.read_text(encoding="utf-8")
            if source.parent.name == "user3" and source.name == "profile.json":
                profile = json.loads(text)
                del profile["affinities"]["Books"]
                text = json.dumps(profile)
            archive.writestr(str(source.relative_to("assets/sample")), text)
    return file


@pytest.mark.parametrize("make", [truncated, escaping, bomb, missing_domain])
def test_bad_archive_gets_one_sentence_and_leaves_the_database_as_it_was(
    run: Run, tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    before = run("datasets", "--json").json
    ran = run("import", make(tmp_path), "--name", "bad", "--json")
    assert ran.code == 2
    assert ran.out == ""
    assert len(ran.err.strip().splitlines()) == 1
    assert "Traceback" not in ran.err
    assert run("datasets", "--json").json == before


@pytest.mark.parametrize(
    "args",
    [
        ("import", "/nowhere/at/all.zip"),
        ("import", "assets/sample", "--as", "nonsense"),
        ("import", "assets/sample", "--name", "x", "--users", "40-30"),
        ("personas", "nowhere"),
        ("status", "nowhere"),
        ("results", "nowhere"),
        ("run", "/nowhere.yaml"),
        ("export", "nowhere", "--to", "/tmp/x"),
        ("judge", "nowhere", "--rubric", "personalization", "--judge", "scripted/judge"),
    ],
)
def test_wrong_use_gets_one_sentence_and_exit_code_two(run: Run, args: tuple[str, ...]) -> None:
    ran = run(*args)
    assert ran.code == 2
    assert len(ran.err.strip().splitlines()) == 1
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"arms": [{"name": "a", "model": "scripted/clever"}]}, "scripted/clever"),
        ({"arms": [{"name": "a", "model": "nosuchprovider/x"}]}, "nosuchprovider/x"),
        ({"judges": [{"model": "scripted/judge", "rubrics": ["charm"]}]}, "charm"),
        ({"dataset": "nowhere"}, "nowhere"),
    ],
)
def test_study_of_unknown_things_is_refused_before_anything_is_stored(
    run: Run, tmp_path: Path, changes: dict[str, Any], says: str
) -> None:
    ran = run("run", study_file(tmp_path, **changes), "--json")
    assert ran.code == 2
    assert says in ran.err
    assert len(ran.err.strip().splitlines()) == 1
    assert run("status", "--json").json == {"studies": []}


def test_missing_key_is_told_before_the_study_starts(run: Run, tmp_path: Path) -> None:
    arm = {"name": "a", "model": "openai/gpt-4o-mini"}
    ran = run("run", study_file(tmp_path, arms=[arm]), "--json")
    assert ran.code == 2
    assert "OPENAI_API_KEY" in ran.err


def test_cancelled_study_is_not_run_by_accident(run: Run, tmp_path: Path) -> None:
    file = study_file(tmp_path)
    run("run", file)
    assert run("cancel", "small", "--json").json["state"] == "cancelled"
    refused = run("run", file)
    assert refused.code == 2
    assert "cancelled" in refused.err
    assert run("resume", "small", "--json").json["owed"] == 0


def test_study_in_a_file_is_not_run_on_a_cluster(run: Run, tmp_path: Path) -> None:
    for args in (
        ("run", study_file(tmp_path), "--cluster", "tcp://127.0.0.1:1"),
        ("resume", "small", "--cluster", "tcp://127.0.0.1:1"),
        ("worker", "--scheduler", "tcp://127.0.0.1:1"),
    ):
        refused = run(*args)
        assert (refused.code, refused.out) == (2, "")
        assert "PostgreSQL" in refused.err
        assert len(refused.err.strip().splitlines()) == 1
    assert run("status", "--json").json == {"studies": []}


def test_database_is_copied_and_a_full_one_is_left_alone(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("run", study_file(tmp_path))
    source, target = (f"sqlite:///{tmp_path / name}" for name in ("rapport.db", "two.db"))
    copied = run("copy", "--from", source, "--to", target, "--json")
    assert copied.code == 0, copied.err
    assert set(copied.json) == {"tables", "seconds"}
    rows = {table["name"]: table["rows"] for table in copied.json["tables"]}
    assert (rows["dialogue"], rows["judgement"], rows["dataset"]) == (48, 96, 1)
    assert all(set(t) == {"name", "rows", "checksum"} for t in copied.json["tables"])

    again = run("copy", "--from", source, "--to", target, "--json")
    assert (again.code, again.out) == (2, "")
    assert len(again.err.strip().splitlines()) == 1

    results = run("results", "small", "--json").json
    monkeypatch.setenv("RAPPORT_DATABASE_URL", target)
    assert run("results", "small", "--json").json == results


def test_doctor_says_what_works_here(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    ran = run("doctor", "--json")
    assert ran.code == 0
    assert ran.json["ok"] is True
    assert "sk-very-secret" not in ran.out + ran.err


def test_a_dry_run_estimates_and_runs_nothing(run: Run) -> None:
    value = run("run", "assets/sample/study.yaml", "--dry-run", "--json").json
    assert (value["units"], value["scenarios"], value["personas"]) == (480, 120, 14)
    assert value["calls"] == {"low": 0, "expected": 0, "high": 0}
    assert run("status", "--json").json["studies"] == []
    assert "Nothing was run." in run("run", "assets/sample/study.yaml", "--dry-run").out


def test_report_is_written_and_checked_with_the_numbers_of_results(
    run: Run, tmp_path: Path
) -> None:
    run("run", study_file(tmp_path), "--json")
    file = tmp_path / "report.html"
    written = run("report", "small", "--to", file, "--json")
    assert written.code == 0
    assert written.json["claims"] > 10
    ledger = json.loads(file.read_text("utf-8").split('id="ledger">')[1].split("</script>")[0])
    results = run("results", "small", "--json").json
    assert ledger["results"] == results["results"]
    assert ledger["differences"] == results["differences"]
    checked = run("report", "--check", file, "--json")
    assert checked.code == 0
    assert checked.json["supported"] == checked.json["claims"]
    file.write_text(file.read_text("utf-8").replace("<h1>small", "<h1>large"), "utf-8")
    assert run("report", "--check", file).code == 1


def test_report_without_a_study_or_file_is_wrong_use(run: Run, tmp_path: Path) -> None:
    for arguments in ((), ("small",), ("nowhere", "--to", tmp_path / "r.html")):
        ran = run("report", *arguments)
        assert ran.code == 2
        assert len(ran.err.strip().splitlines()) == 1


def test_judge_is_checked_by_the_controls(run: Run) -> None:
    checked = run("judges", "check", "scripted/judge", "--personas", "8", "--json")
    assert checked.code == 0
    assert checked.json["passed"] is True
    assert {"name", "passed", "said", "estimate", "lo", "hi", "n"} <= set(checked.json["checks"][0])
    refused = run("judges", "check", "scripted/nobody")
    assert refused.code == 2
    assert len(refused.err.strip().splitlines()) == 1
