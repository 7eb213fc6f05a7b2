"""Labels from the terminal: out, back in, and what wrong use is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cli
from core.ports import Finished
from tests.builders import make_annotation, make_dialogue, make_judgement, make_study
from tests.support.app import own_store

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*args: object) -> tuple[int, str, str]:
        """Exit code, standard output and standard error of one command."""
        monkeypatch.setattr("sys.argv", ["cli.py", *map(str, args)])
        try:
            cli.main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 0
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


@pytest.fixture
def labelled() -> None:
    """A study of two dialogues that somebody labelled by themselves."""
    with own_store() as store:
        store.add_study(make_study())
        for name in ("d1", "d2"):
            dialogue = make_dialogue(id=name)
            store.add_finished([Finished(dialogue, (make_judgement(dialogue),))])
            store.add_annotations([make_annotation(name, value=2, note="=1+1")])


def answer(said: tuple[int, str, str]) -> Any:
    assert said[0] == 0, said
    return json.loads(said[1])


def test_labels_go_out_and_come_back(run: Run, labelled: None, tmp_path: Path) -> None:
    out = tmp_path / "out"
    told = answer(run("labels", "export", "pilot", "--to", out, "--json"))
    assert told == {"study": "pilot", "to": str(out), "form": "csv", "files": 3}
    assert answer(run("labels", "import", out / "labels.csv", "--json")) == {
        "labels": 2,
        "added": 0,
        "drawn": 0,
        "here_already": 2,
        "not_drawn": {},
        "left_out": {},
    }


def test_words_say_what_is_no_evidence(run: Run, labelled: None, tmp_path: Path) -> None:
    file = tmp_path / "theirs.csv"
    file.write_text(
        "dialogue_id,dimension,annotator,value,submitted_at\n"
        "d1,personalization,7,3,2026-03-01T12:00:00Z\n"
        "nowhere,personalization,7,3,2026-03-01T12:00:00Z\n",
        encoding="utf-8",
    )
    code, words, _ = run("labels", "import", file, "--person", "7=Cleo")
    assert code == 0
    assert words.splitlines() == [
        "1 of 2 labels added, 0 of them drawn by a design of this database.",
        "Not drawn: 1, no design and item come with it.",
        "Left out: 1, its dialogue is not here.",
    ]
    with own_store() as store:
        assert store.study_annotations("s1")[-1].annotator == "Cleo"


@pytest.mark.parametrize(
    "args",
    [
        ("export", "pilot", "--to", "out", "--as", "xml"),
        ("export", "nobody", "--to", "out"),
        ("export", "pilot", "--to", "out", "--design", "nothing"),
        ("export", "pilot", "--to", "out", "--blank"),
        ("import", "absent.csv"),
        ("import", "absent.csv", "--person", "seven"),
        ("import", "absent.csv", "--at", "yesterday"),
        ("import", "absent.csv", "--at", "2026-03-01T12:00"),
    ],
)
def test_wrong_use_gets_one_sentence(
    run: Run, labelled: None, tmp_path: Path, args: tuple[str, ...]
) -> None:
    code, said, words = run("labels", *(str(tmp_path / a) if a == "out" else a for a in args))
    assert (code, said) == (2, "")
    assert len(words.strip().splitlines()) == 1
    assert "Traceback" not in words
