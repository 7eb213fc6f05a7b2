"""Labels to files and back: whole, with author and time, and evidence only if they were drawn."""

from __future__ import annotations

import csv
import json
import string
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import AppError, SourceError, StudyError
from core.export_tables import as_it_was, csv_file, defused, frame_of, parquet_file
from core.files import Folder
from core.label_files import FORMS, Form, export_labels, import_label_file, read_label_file
from core.label_import import ImportedLabels
from core.label_rows import COLUMNS, item_id
from core.labels import annotation_rows, evidence, standing
from core.ports import Finished, Study
from core.review_designs import Wish, extend, store_draw
from core.review_queue import After, Given, Queue
from core.review_types import Act, Reason, ReviewDesign, Work
from core.types import digest
from storage.store import SqlStore, open_store
from tests.builders import NOW, WEIRD, make_arm, make_dialogue, make_judgement, make_study

RUBRICS = {"personalization": "personalization@1", "task_completion": "task_completion@1"}
NASTY = "=cmd|' /C calc'!A0 <img src=x onerror=alert(1)> \u202eRTL עברית\r\n'=1+1\t$x$"
TABLES: tuple[Form, ...] = ("csv", "jsonl", "parquet")
LATER = NOW + timedelta(days=9)


class World:
    """A study of twelve judged dialogues by two arms, and the clock that all share."""

    def __init__(self, store: SqlStore, prefix: str = "a") -> None:
        self.store = store
        self.study: Study = make_study()
        self._ids = (f"{prefix}{n:04}" for n in count())
        self._seconds = count(1)
        store.add_study(self.study)
        for i in range(12):
            arm = make_arm("pushy" if i % 2 else "attentive")
            dialogue = make_dialogue(
                f"user: hi {i}", "assistant: hello", id=f"arm-{arm.name}-{i:02}", arm=arm
            )
            own = make_judgement(dialogue, value=i % 4 + 1)
            done = make_judgement(dialogue, value=i % 2, dimension="task_completion")
            store.add_finished([Finished(dialogue, (own, done))])

    def now(self) -> datetime:
        return NOW + timedelta(seconds=next(self._seconds))

    def new_id(self) -> str:
        return next(self._ids)

    def draw(self, budget: int = 6, **fields: Any) -> ReviewDesign:
        wish = Wish("first", self.study.id, RUBRICS, budget, seed=7, author="Lea", **fields)
        # The draw's id is the same in every world, so that labels can go from one to another.
        return store_draw(wish, self.store, now=lambda: NOW, new_id=lambda: "design1")

    def queue(self, design: ReviewDesign, annotator: str = "Ana") -> Queue:
        return Queue(design, annotator, self.store, self.now, self.new_id)

    def label(self, design: ReviewDesign, annotator: str, said: Sequence[Given]) -> list[str]:
        """Let somebody label the next dialogues; which they were."""
        queue, had = self.queue(design, annotator), []
        for one in said:
            at = queue.current()
            assert at is not None
            queue.rate(at, {"personalization": one, "task_completion": Given(1)}, 12.5)
            queue.answer(at, {"personalization": (replace(one, value=2), After.MISSED)})
            had.append(at.dialogue_id)
        return had

    def export(self, to: Path, form: Form, **options: Any) -> list[Path]:
        return export_labels(self.store, self.study, to=to, form=form, **options)

    def bring(self, path: Path, **options: Any) -> ImportedLabels:
        return import_label_file(path, self.store, now=lambda: LATER, **options)

    def labels(self) -> list[tuple[Any, ...]]:
        """What is known of each label that stands, apart from the ids of its rows."""
        found = standing(self.store.study_annotations(self.study.id))
        return sorted(
            (
                *(x.root_id, x.dialogue_id, x.dimension, x.annotator, str(x.reason), str(x.value)),
                *(x.cannot, x.note, x.marks, x.opened_at, x.submitted_at, x.active_seconds),
                *(x.seen, x.rubric, x.revealed, x.now, x.why),
            )
            for x in found
        )

    def evidence(self, design: ReviewDesign) -> int:
        """How many of its dialogues have labels that enter an estimate."""
        return evidence(design, "personalization", "", self.store).labelled


@pytest.fixture
def world(sqlite_store: SqlStore) -> World:
    return World(sqlite_store)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Any:
    """The same dialogues and the same draw in another database, where nobody has labelled."""
    opened = open_store(f"sqlite:///{tmp_path / 'elsewhere.db'}")
    other = World(opened, "b")
    other.draw(overlap=0.5)
    yield other
    opened.close()


def filled(world: World) -> ReviewDesign:
    """A draw with labels of two people: nasty words, a value that cannot be given, a reveal."""
    design = world.draw(overlap=0.5)
    world.label(
        design,
        "Ana",
        [Given(4, note=NASTY, marks=(1,)), Given(None, cannot="It breaks off."), Given(1)],
    )
    world.label(design, "Ben ☃", [Given(3, note=WEIRD.replace("\x00", "")), Given(2)])
    return design


def table(folder: Path, form: Form) -> Path:
    return folder / f"labels.{form}"


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def rewrite(path: Path, change: Callable[[dict[str, str]], object]) -> Path:
    """The same CSV file with each row changed."""
    rows = rows_of(path)
    for row in rows:
        change(row)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


# --- there and back -----------------------------------------------------------------------------


@pytest.mark.parametrize("form", TABLES)
def test_labels_come_back_whole_where_the_same_was_drawn(
    world: World, elsewhere: World, tmp_path: Path, form: Form
) -> None:
    filled(world)
    world.export(tmp_path / "out", form)
    came = elsewhere.bring(table(tmp_path / "out", form))
    assert (came.labels, came.added, came.drawn, came.here_already) == (10, 10, 10, 0)
    assert came.not_drawn == {}
    assert elsewhere.labels() == world.labels()


@pytest.mark.parametrize("form", TABLES)
def test_the_same_file_twice_or_in_its_own_database_adds_nothing(
    world: World, elsewhere: World, tmp_path: Path, form: Form
) -> None:
    filled(world)
    world.export(tmp_path / "out", form)
    before = world.labels()
    assert world.bring(table(tmp_path / "out", form)).here_already == 10
    elsewhere.bring(table(tmp_path / "out", form))
    again = elsewhere.bring(table(tmp_path / "out", form))
    assert (again.added, again.here_already) == (0, 10)
    assert elsewhere.labels() == world.labels() == before


@pytest.mark.parametrize("form", ["label-studio", "argilla"])
def test_another_tools_layout_keeps_value_author_time_and_note(
    world: World, elsewhere: World, tmp_path: Path, form: Form
) -> None:
    design = filled(world)
    world.export(tmp_path / "out", form, design=design)
    file = "tasks.json" if form == "label-studio" else "records.json"
    came = elsewhere.bring(tmp_path / "out" / file)
    assert (came.added, came.drawn, came.not_drawn) == (10, 10, {})

    def kept(of: World) -> list[tuple[Any, ...]]:
        found = standing(of.store.study_annotations("s1"))
        return sorted(
            (x.dialogue_id, x.dimension, x.annotator, str(x.value), x.cannot, x.note.strip(),
             x.submitted_at, x.active_seconds)
            for x in found
        )  # fmt: skip

    assert kept(elsewhere) == kept(world)
    assert elsewhere.bring(tmp_path / "out" / file).here_already == 10


def test_a_place_that_was_filled_by_an_import_is_not_handed_out_again(
    world: World, elsewhere: World, tmp_path: Path
) -> None:
    filled(world)
    world.export(tmp_path / "out", "jsonl")
    elsewhere.bring(tmp_path / "out" / "labels.jsonl")
    held = elsewhere.store.list_assignments("design1")
    assert {a.work for a in held} == {Work.DONE}
    assert len(held) == len(world.store.list_assignments("design1")) == 5
    design = elsewhere.store.get_design("design1")
    had = {a.dialogue_id for a in held if a.annotator == "Ana"}
    following = elsewhere.queue(design, "Ana").current()
    assert following is not None
    assert following.dialogue_id not in had


def test_a_half_made_rating_here_is_ended_by_its_authors_import(
    world: World, elsewhere: World, tmp_path: Path
) -> None:
    design = world.draw(overlap=0.5)
    (labelled,) = world.label(design, "Ana", [Given(4)])
    world.export(tmp_path / "out", "csv")
    mine = elsewhere.queue(elsewhere.store.get_design("design1"), "Ana").current()
    assert mine is not None
    assert (mine.dialogue_id, mine.work) == (labelled, Work.OPEN)
    assert elsewhere.bring(tmp_path / "out" / "labels.csv").drawn == 2
    assert elsewhere.store.list_assignments("design1")[0].work is Work.DONE


# --- what an export holds -----------------------------------------------------------------------


def test_agreement_can_be_computed_from_the_exported_table(world: World, tmp_path: Path) -> None:
    filled(world)
    world.export(tmp_path / "out", "csv")
    frame = pd.read_csv(tmp_path / "out" / "labels.csv")
    own = frame[frame["dimension"] == "personalization"]
    asked = annotation_rows("s1", "personalization", world.store)
    columns = [
        *("dialogue_id", "persona_id", "arm", "annotator", "value_before_reveal"),
        *("value_after_reveal", "reason", "pi", "judge_value", "instrument", "rubric"),
    ]
    pd.testing.assert_frame_equal(
        own[columns].reset_index(drop=True), asked[columns], check_dtype=False
    )
    assert own["judge_visible_before"].dtype == bool


def test_no_cell_is_run_by_a_spreadsheet_and_words_come_back(world: World, tmp_path: Path) -> None:
    filled(world)
    world.export(tmp_path / "out", "csv")
    cells = [cell for row in rows_of(tmp_path / "out" / "labels.csv") for cell in row.values()]
    assert not [cell for cell in cells if cell and cell[0] in "=+@\t\r\n"]
    assert NASTY in [as_it_was(cell) for cell in cells]


def test_a_label_that_was_taken_back_is_in_the_acts_alone(world: World, tmp_path: Path) -> None:
    design = world.draw()
    world.label(design, "Ana", [Given(4), Given(3)])
    queue = world.queue(design)
    last = queue.last()
    assert last is not None
    queue.undo(last)
    world.export(tmp_path / "out", "jsonl")
    lines = (tmp_path / "out" / "labels.jsonl").read_text("utf-8").splitlines()
    acts = [
        json.loads(a) for a in (tmp_path / "out" / "acts.jsonl").read_text("utf-8").splitlines()
    ]
    assert len(lines) == 2
    assert [a["act"] for a in acts].count("undone") == 2
    assert [a["act"] for a in acts].count("rated") == 4


@pytest.mark.parametrize("form", ["label-studio", "argilla"])
def test_dialogues_for_other_tools_tell_neither_judge_nor_arm_nor_model(
    world: World, tmp_path: Path, form: Form
) -> None:
    design = filled(world)
    world.export(tmp_path / "out", form, design=design, blank=True)
    written = "".join(
        path.read_text("utf-8")
        for path in (tmp_path / "out").iterdir()
        if path.name != "labels.manifest.json"
    )
    for word in ("attentive", "pushy", "scripted", "It used what it knew", "judge_value", "arm-"):
        assert word not in written
    file = "tasks.json" if form == "label-studio" else "records.json"
    tasks = json.loads((tmp_path / "out" / file).read_text("utf-8"))
    assert len(tasks) == 6
    assert not any(task.get("annotations") or task.get("responses") for task in tasks)


def test_a_study_without_labels_has_nothing_for_other_tools(world: World, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="no labels yet"):
        world.export(tmp_path / "out", "label-studio")


@pytest.mark.parametrize("form", FORMS)
def test_an_export_can_be_made_again_but_nowhere_else(
    world: World, tmp_path: Path, form: Form
) -> None:
    filled(world)
    assert world.export(tmp_path / "out", form)
    assert world.export(tmp_path / "out", form)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(AppError, match="not empty"):
        world.export(tmp_path / "mine", form)


# --- what is no evidence ------------------------------------------------------------------------


def drop(*names: str) -> Callable[[dict[str, str]], object]:
    return lambda row: row.update(dict.fromkeys(names, ""))


def put(**cells: str) -> Callable[[dict[str, str]], object]:
    return lambda row: row.update(cells)


@pytest.mark.parametrize(
    ("why", "change"),
    [
        (why, change)
        for why, changes in {
            "no design and item come with it": [drop("design_id", "item_id")],
            "its design and item do not match what was drawn here": [
                put(item_id="0123456789abcdef"),
                put(design_id="nowhere"),
                drop("item_id"),
                drop("design_id"),
                lambda row: (
                    row.update(dialogue_id="arm-attentive-00")
                    if row["dialogue_id"] != "arm-attentive-00"
                    else row.update(dialogue_id="arm-pushy-01")
                ),
            ],
            "the judge was, or may have been, in sight": [
                put(judge_visible_before="True"),
                drop("judge_visible_before"),
            ],
        }.items()
        for change in changes
    ],
)
def test_a_label_that_was_not_drawn_is_kept_and_is_no_evidence(
    world: World,
    elsewhere: World,
    tmp_path: Path,
    why: str,
    change: Callable[[dict[str, str]], object],
) -> None:
    filled(world)
    world.export(tmp_path / "out", "csv")
    came = elsewhere.bring(rewrite(tmp_path / "out" / "labels.csv", change))
    assert (came.added, came.drawn, dict(came.not_drawn)) == (10, 0, {why: 10})
    stored = elsewhere.store.study_annotations("s1")
    assert {(row.root_id, row.reason) for row in stored} == {("", Reason.IMPORTED)}
    assert elsewhere.evidence(elsewhere.store.get_design("design1")) == 0
    assert elsewhere.store.list_assignments("design1") == []


def test_whoever_was_not_asked_brings_no_evidence(world: World, tmp_path: Path) -> None:
    design = world.draw(annotators=("Ana",))
    world.label(design, "Ana", [Given(4)])
    world.export(tmp_path / "out", "csv")
    came = world.bring(rewrite(tmp_path / "out" / "labels.csv", put(annotator="Mallory")))
    assert dict(came.not_drawn) == {"its annotator is not of the design": 2}


def test_more_labels_than_the_design_has_places_for_are_no_evidence(
    world: World, tmp_path: Path
) -> None:
    design = world.draw(overlap=0.0)
    world.label(design, "Ana", [Given(4)])
    world.export(tmp_path / "out", "csv")
    came = world.bring(rewrite(tmp_path / "out" / "labels.csv", put(annotator="Mallory")))
    assert dict(came.not_drawn) == {"no place of its item was free": 2}
    assert world.evidence(design) == 1


def test_a_second_label_of_the_same_person_is_no_evidence(world: World, tmp_path: Path) -> None:
    design = world.draw(overlap=0.0)
    world.label(design, "Ana", [Given(4)])
    world.export(tmp_path / "out", "csv")
    moved = put(submitted_at=(NOW + timedelta(days=1)).isoformat(), value_before_reveal="1")
    came = world.bring(rewrite(tmp_path / "out" / "labels.csv", moved))
    assert (came.drawn, sum(came.not_drawn.values())) == (0, 2)
    rated = [a for a in world.store.study_annotations("s1") if a.act is Act.RATED]
    assert [(a.reason, a.root_id) for a in rated[2:]] == [(Reason.IMPORTED, "")] * 2


def test_of_two_labels_of_one_person_in_one_file_only_the_first_is_drawn(
    world: World, elsewhere: World, tmp_path: Path
) -> None:
    world.label(world.draw(overlap=0.5), "Ana", [Given(4)])
    world.export(tmp_path / "out", "jsonl")
    path = tmp_path / "out" / "labels.jsonl"
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    later = [
        line | {"submitted_at": (NOW + timedelta(hours=1)).isoformat(), "value_before_reveal": 1}
        for line in lines
    ]
    path.write_text("\n".join(json.dumps(line) for line in [*later, *lines]), encoding="utf-8")
    came = elsewhere.bring(path)
    assert (came.drawn, dict(came.not_drawn)) == (2, {"labelled again": 2})


def test_suggestions_of_a_model_beside_a_task_spoil_its_labels(
    world: World, elsewhere: World, tmp_path: Path
) -> None:
    design = filled(world)
    world.export(tmp_path / "ls", "label-studio", design=design)
    path = tmp_path / "ls" / "tasks.json"
    tasks = json.loads(path.read_text("utf-8"))
    for task in tasks:
        task["predictions"] = [{"model_version": "judge", "result": []}]
    path.write_text(json.dumps(tasks), encoding="utf-8")
    assert elsewhere.bring(path).drawn == 0


def test_labels_drawn_before_an_extension_count_after_it(
    world: World, elsewhere: World, tmp_path: Path
) -> None:
    filled(world)
    world.export(tmp_path / "out", "csv")
    first = elsewhere.store.get_design("design1")
    longer = extend(first, 9, "Lea", elsewhere.store, now=elsewhere.now, new_id=lambda: "design2")
    assert elsewhere.bring(tmp_path / "out" / "labels.csv").drawn == 10
    assert elsewhere.evidence(longer) > 0


# --- files that others made ---------------------------------------------------------------------


HEAD = "dialogue_id,dimension,annotator,value,submitted_at"
LINE = "arm-pushy-01,personalization,Ana,3,2026-03-01T12:00:00Z"


def write(tmp_path: Path, *lines: str, name: str = "mine.csv") -> Path:
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_small_table_of_ones_own_is_taken_in(world: World, tmp_path: Path) -> None:
    nowhere = LINE.replace("arm-pushy-01", "nowhere")
    came = world.bring(write(tmp_path, "\ufeff" + HEAD, LINE, nowhere))
    assert (came.labels, came.added) == (2, 1)
    assert dict(came.left_out) == {"its dialogue is not here": 1}
    (label,) = standing(world.store.study_annotations("s1"))
    assert (label.annotator, label.value, label.submitted_at) == ("Ana", 3, NOW)
    assert (label.reason, label.rubric) == (Reason.IMPORTED, "personalization@1")
    assert world.store.study_annotations("s1")[0].source == "csv: mine.csv"


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (LINE.replace(",3,", ",9,"), "9 is no value of personalization@1"),
        (LINE.replace(",3,", ",good,"), "value_before_reveal"),
        (LINE.replace(",3,", ",,"), "there must be a value"),
        (LINE.replace("Z", ""), "time zone"),
        (LINE.replace("2026-03", "2027-03"), "still to come"),
        (LINE.replace("Ana", " "), "annotator"),
        (LINE.replace("personalization", "charm"), "no rubric 'charm'"),
        (LINE.replace("personalization", "personalization_per_turn"), "each turn"),
        (LINE + ",one cell too many", "more cells"),
    ],
)
def test_a_bad_row_is_named_and_nothing_of_the_file_is_stored(
    world: World, tmp_path: Path, line: str, fault: str
) -> None:
    with pytest.raises(SourceError, match=fault) as refused:
        world.bring(write(tmp_path, HEAD, LINE, line))
    assert "row 2" in str(refused.value)
    assert world.store.study_annotations("s1") == []


@pytest.mark.parametrize("name", ["x.json", "x.jsonl", "x.csv", "x.parquet"])
def test_what_is_no_such_file_is_refused_in_one_sentence(
    world: World, tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    path.write_bytes(b'\xff\xfe{"a": \x00')
    with pytest.raises(SourceError):
        world.bring(path)
    with pytest.raises(SourceError, match="Cannot read"):
        world.bring(tmp_path / f"absent-{name}")


def test_numbers_of_annotators_get_their_names(world: World, tmp_path: Path) -> None:
    task = {
        "data": {"dialogue_id": "arm-pushy-01"},
        "annotations": [
            {
                "completed_by": 7,
                "created_at": "2026-03-01T12:00:00Z",
                "lead_time": 30,
                "result": [
                    {
                        "from_name": "personalization",
                        "to_name": "transcript",
                        "type": "rating",
                        "value": {"rating": 2},
                    }
                ],
            },
            {"completed_by": 8, "was_cancelled": True, "result": []},
        ],
    }
    path = write(tmp_path, json.dumps([task]), name="project.json")
    came = world.bring(path, people={"7": "Ana"})
    assert (came.added, dict(came.left_out)) == (1, {"skipped by its annotator": 1})
    (label,) = standing(world.store.study_annotations("s1"))
    assert (label.annotator, label.value, label.active_seconds) == ("Ana", 2, 30)
    assert label.opened_at == NOW - timedelta(seconds=30)


def test_answers_that_tell_no_time_need_one(world: World, tmp_path: Path) -> None:
    user = "00000000-0000-0000-0000-000000000007"
    record = {
        "id": "x",
        "fields": {},
        "metadata": {"dialogue_id": "arm-pushy-01"},
        "responses": {
            "personalization": [
                {"value": "2", "user_id": user},
                {"value": "4", "user_id": "draft", "status": "draft"},
            ],
            "personalization_note": [{"value": "so so", "user_id": user}],
        },
    }
    path = write(tmp_path, json.dumps([record]), name="records.json")
    with pytest.raises(SourceError, match="--at"):
        world.bring(path)
    came = world.bring(path, at=NOW, people={user: "Ana"})
    assert (came.added, dict(came.left_out)) == (1, {"answer draft": 1})
    (label,) = standing(world.store.study_annotations("s1"))
    assert (label.annotator, label.value, label.note) == ("Ana", 2, "so so")
    assert label.submitted_at == NOW


def test_an_item_says_nothing_of_its_dialogue() -> None:
    assert item_id("d", "gpt-4o/user7") == item_id("d", "gpt-4o/user7")
    assert item_id("d", "gpt-4o/user7") != item_id("e", "gpt-4o/user7")
    assert set(item_id("d", "gpt-4o/user7")) <= set(string.hexdigits)


@given(st.text(max_size=40) | st.text(alphabet="'=+-@\t\r\nx", max_size=6))
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_cell_comes_back_as_it_was(text: str) -> None:
    assert as_it_was(defused(text)) == text


@given(
    note=st.text(max_size=60), why=st.text(alphabet="'=+-@\t\r\n\x00\u202e\u2028x,\"", max_size=9)
)
@settings(max_examples=60, deadline=None)
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_any_words_come_back_from_a_table(
    tmp_path_factory: pytest.TempPathFactory, form: Form, note: str, why: str
) -> None:
    row = dict.fromkeys(COLUMNS) | {
        "dialogue_id": "d1",
        "dimension": "personalization",
        "annotator": "Ana",
        "value_before_reveal": 3,
        "submitted_at": NOW.isoformat(),
        "note": note,
        "why": why,
    }
    folder = Folder(tmp_path_factory.mktemp("words"))
    open_table = csv_file if form == "csv" else parquet_file
    with open_table(folder, f"labels.{form}", COLUMNS) as add:
        add(frame_of([row], COLUMNS))
    (label,), _, _ = read_label_file(folder.written[0], form=None, people={}, at=None)
    assert (label.note, label.why) == (note, why)


@pytest.fixture
def either(store: SqlStore) -> World:
    """The same dialogues and draw on each engine, where nobody has labelled."""
    other = World(store, "c")
    other.draw(overlap=0.5)
    return other


def test_two_imports_at_once_fill_each_place_once_on_either_engine(
    either: World, tmp_path: Path
) -> None:
    made = open_store(f"sqlite:///{tmp_path / 'first.db'}")
    world = World(made)
    filled(world)
    world.export(tmp_path / "out", "csv")
    expected = world.labels()
    made.close()

    with ThreadPoolExecutor(4) as pool:
        came = list(pool.map(lambda _: either.bring(tmp_path / "out" / "labels.csv"), range(4)))
    assert either.labels() == expected
    assert sum(one.added for one in came) == len(expected)


def test_times_with_any_zone_are_the_same_moment(world: World, tmp_path: Path) -> None:
    world.bring(write(tmp_path, HEAD, LINE))
    other = LINE.replace("12:00:00Z", "13:00:00+01:00")
    assert world.bring(write(tmp_path, HEAD, other)).here_already == 1
    stored = world.store.study_annotations("s1")[0]
    assert stored.submitted_at.astimezone(UTC) == NOW
    assert stored.id == digest(
        "imported label", "arm-pushy-01", "", "personalization", None, "Ana", NOW.timestamp(), 3
    )
