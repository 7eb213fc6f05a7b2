from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

import pytest

from core.errors import SourceError
from core.sources.catalogue import default_catalogue
from core.sources.personalens import SAMPLE_FOLDER, import_personalens
from core.sources.progress import ImportProgress
from core.types import AffinityRef, Irregularity, TaskKind
from tests.builders import NOW
from tests.support.dataset_writer import HeldDataset, HeldDatasets
from tests.support.personalens import (
    BOOKS,
    SITUATION,
    TRIP,
    Files,
    changed,
    make_files,
    make_item,
    make_profile,
    pack,
    write_files,
)

PROFILE = "data/profile/user7/profile.json"
TASKS = "data/profile/user7/tasks.json"
DEFINITIONS = "data/task/Books/task.jsonl"


def import_into(store: HeldDatasets, path: Path, **options: Any) -> Any:
    return import_personalens(path, name="pl", store=store, now=lambda: NOW, **options)  # type: ignore[arg-type]


def imported(tmp_path: Path, files: Files, **options: Any) -> HeldDataset:
    store = HeldDatasets()
    import_into(store, write_files(tmp_path / "source", files), **options)
    return store.datasets["pl"]


def irregular(tmp_path: Path, files: Files) -> dict[str, Irregularity]:
    return {i.kind: i for i in imported(tmp_path, files).reports[0].irregularities}


def refusal(tmp_path: Path, files: Files, **options: Any) -> str:
    """The one sentence of a refused import, which stored nothing."""
    store = HeldDatasets()
    with pytest.raises(SourceError) as caught:
        import_into(store, write_files(tmp_path / "source", files), **options)
    assert store.datasets == {}
    assert str(caught.value).endswith(".")
    return str(caught.value)


# --- what comes out -----------------------------------------------------------------------------


def test_personas_come_out_whole(tmp_path: Path) -> None:
    files = changed(make_files(), PROFILE, 0, "interests", "Games")
    files = changed(files, PROFILE, ["crime", "é 😀"], "affinities", "Books", "Genre")
    persona = imported(tmp_path, files).personas["user7"]
    given = json.loads(files[PROFILE])
    assert persona.demographics == {
        k: v for k, v in given["demographics"].items() if k != "user_id"
    }
    assert persona.interests == set(given["interests"]) - {"Games"}
    assert persona.interactions == given["interactions"]
    rebuilt: dict[str, dict[str, Any]] = {}
    for a in persona.affinities:
        rebuilt.setdefault(a.domain, {})[a.name] = list(a.values) if a.listed else a.values[0]
    assert rebuilt == given["affinities"]


def test_tasks_come_out_with_their_affinities_resolved(tmp_path: Path) -> None:
    tasks = imported(tmp_path, make_files()).tasks
    assert list(tasks) == ["MD-task-4", "SD-Books-task-1"]
    books, trip = tasks["SD-Books-task-1"], tasks["MD-task-4"]
    assert (books.kind, books.domains) == (TaskKind.SINGLE, ("Books",))
    assert (books.description, books.intent, books.goal) == (
        BOOKS["Task Description"],
        BOOKS["User Intent"],
        BOOKS["Task Goal"],
    )
    assert books.relevant == (
        AffinityRef("Books", "Genre"),
        AffinityRef("Books", "Favourite Authors"),
    )
    assert (trip.kind, trip.domains) == (TaskKind.MULTI, ("Hotels", "Restaurants", "Events"))
    assert trip.relevant == (
        AffinityRef("Restaurants", "Cuisine Preference"),
        AffinityRef("Hotels", "Amenity Preference"),
        AffinityRef("Restaurants", "Price Range"),
        AffinityRef("Events", "Price Range"),
    )


def test_scenarios_come_out_with_their_situations(tmp_path: Path) -> None:
    files = changed(make_files(), TASKS, "Smart TV", "Task 1", "situations", "Device")
    scenarios = imported(tmp_path, files).scenarios
    assert set(scenarios) == {
        f"user{n}/{task}" for n in (0, 7) for task in ("SD-Books-task-1", "MD-task-4")
    }
    ref, situation = scenarios["user7/SD-Books-task-1"]
    assert (ref.dataset, ref.kind, ref.domains) == ("pl", TaskKind.SINGLE, ("Books",))
    assert situation.fields == SITUATION | {"Device": "Smart TV"}
    assert list(situation.fields) == list(SITUATION)


def test_the_report_counts_and_the_vocabulary_says_who_holds_what(tmp_path: Path) -> None:
    files = changed(
        make_files(), PROFILE, ["physical", "ebook"], "affinities", "Books", "Reading Format"
    )
    held = imported(tmp_path, files)
    report = held.reports[0]
    assert (report.dataset, report.kind, report.source) == ("pl", "personalens", "source")
    assert (report.personas, report.tasks, report.scenarios) == (2, 2, 4)
    assert (report.added, report.dialogues, report.at) == (8, 0, NOW)
    assert held.vocabulary["Books"]["Reading Format"] == {"physical": 2, "ebook": 1}


def test_importing_twice_adds_nothing(tmp_path: Path) -> None:
    store = HeldDatasets()
    path = write_files(tmp_path / "source", make_files())
    assert import_into(store, path).added == 8
    assert import_into(store, path).added == 0


@pytest.mark.parametrize("name", ["x.zip", "x.tar", "x.tar.gz", "x.tar.xz"])
@pytest.mark.parametrize("prefix", ["", "PersonaLens-main/", "./"])
@pytest.mark.parametrize("backwards", [False, True])
def test_any_archive_prefix_and_order_gives_the_same(
    tmp_path: Path, name: str, prefix: str, backwards: bool
) -> None:
    files = make_files(prefix=prefix)
    files |= {f"{prefix}README.md": b"# PersonaLens", f"{prefix}src/data/x.json": b"not json"}
    order = sorted(files, reverse=backwards)
    store = HeldDatasets()
    import_into(store, pack(tmp_path / name, {n: files[n] for n in order}))
    plain = imported(tmp_path, make_files())
    held = store.datasets["pl"]
    assert (held.personas, held.tasks) == (plain.personas, plain.tasks)
    assert held.scenarios == plain.scenarios


def test_the_bundled_sample_imports_with_nothing_unresolved() -> None:
    store = HeldDatasets()
    report = import_into(store, SAMPLE_FOLDER)
    held = store.datasets["pl"]
    assert held.sample
    assert min(report.personas, report.tasks, report.scenarios) > 0
    assert "unresolvable_affinity" not in {i.kind for i in report.irregularities}
    for task in held.tasks.values():
        for persona in held.personas.values():
            assert all(persona.affinity(ref) for ref in task.relevant)


def test_progress_is_told_until_all_is_written(tmp_path: Path) -> None:
    told: list[ImportProgress] = []
    imported(tmp_path, make_files(), on_progress=told.append)
    assert told[0] == ImportProgress("reading", 1.0, personas=2)
    assert told[-1] == ImportProgress("writing", 1.0, personas=2, scenarios=4)


def test_the_garbage_collector_is_on_again_after_an_import_and_after_a_fault(
    tmp_path: Path,
) -> None:
    imported(tmp_path, make_files())
    refusal(tmp_path / "bad", {})
    assert gc.isenabled()


def test_a_database_holds_the_import_and_a_fault_leaves_it_as_it_was(
    store: Any, tmp_path: Path
) -> None:
    good = write_files(tmp_path / "good", make_files())
    assert import_into(store, good).added == 8
    before = store.revision(), store.list_datasets()
    broken = changed(make_files("user0", "user8"), "data/profile/user8/tasks.json", 1, "Task 1")
    with pytest.raises(SourceError, match="Task 1 should be an object"):
        import_into(store, write_files(tmp_path / "broken", broken))
    assert (store.revision(), store.list_datasets()) == before
    assert import_into(store, good).added == 0
    scenario = store.get_scenario("pl", "user7", "SD-Books-task-1")
    assert scenario.situation.fields == SITUATION
    assert scenario.task.intent == BOOKS["User Intent"]
    assert scenario.persona.interactions["Books"] == "The user spoke of Books."


# --- selections ---------------------------------------------------------------------------------


def test_a_selection_imports_its_users_and_all_tasks(tmp_path: Path) -> None:
    files = make_files("user0", "user7", "user12")
    files["data/profile/user12/profile.json"] = b"broken, but not selected"
    held = imported(tmp_path, files, users="5-9,0")
    assert set(held.personas) == {"user0", "user7"}
    assert len(held.tasks) == 2
    assert len(held.scenarios) == 4


@pytest.mark.parametrize(
    ("users", "sentence"),
    [
        ("3", "3 names 1 users that are not here (3)"),
        ("sample-20", "sample-20 names 20 users that are not here"),
        ("100-200", "No user between 100 and 200 is here."),
        ("everyone", "'everyone' selects no users"),
    ],
)
def test_a_selection_that_fits_nobody_stores_nothing(
    tmp_path: Path, users: str, sentence: str
) -> None:
    assert sentence in refusal(tmp_path, make_files(), users=users)


# --- faults: one sentence with file and field, nothing stored -----------------------------------


@pytest.mark.parametrize(
    ("keys", "value", "sentence"),
    [
        (["affinities", "Games"], ..., "profile.json: affinities.Games is missing."),
        (["interactions", "Games"], ..., "profile.json: interactions.Games is missing."),
        (["interests", "Games"], ..., "profile.json: interests.Games is missing."),
        (["affinities"], ..., "profile.json: affinities is missing."),
        (["interests"], [], "profile.json: interests should be an object, it is a list."),
        (
            ["affinities", "Books", "Genre"],
            ...,
            "profile.json: affinities.Books.Genre is missing.",
        ),
        (
            ["affinities", "Books", "Genre"],
            "crime",
            "profile.json: affinities.Books.Genre should be a list of texts, it is a text.",
        ),
        (
            ["affinities", "Books", "Reading Frequency"],
            ["daily"],
            "affinities.Books.Reading Frequency should be a text, it is a list.",
        ),
        (
            ["affinities", "Books", "Genre"],
            ["crime", 3],
            "affinities.Books.Genre[1] should be a text, it is a number.",
        ),
        (
            ["affinities", "Books", "Genre"],
            [["crime"]],
            "affinities.Books.Genre[0] should be a text, it is a list.",
        ),
        (
            ["affinities", "Books", "Genre"],
            None,
            "affinities.Books.Genre should be a text or a list of texts, it is null.",
        ),
        (["affinities", "Books"], "x", "affinities.Books should be an object, it is a text."),
        (["interests", "Books"], 2, "interests.Books should be 0 or 1, it is 2."),
        (["interests", "Books"], True, "interests.Books should be 0 or 1, it is True."),
        (["interests", "Books"], "1", "interests.Books should be 0 or 1, it is a text."),
        (["interests", "Boks"], 1, "interests names 'Boks', which is no domain here."),
        (["interests", "Books*"], 1, "interests names Books twice."),
        (["interactions", "Books"], 5, "interactions.Books should be a text, it is a number."),
        (["demographics", "age"], ..., "profile.json: demographics.age is missing."),
        (["demographics", "age"], 30, "demographics.age should be a text, it is a number."),
        (
            ["demographics", "user_id"],
            "user8",
            "demographics.user_id is 'user8', the folder is user7.",
        ),
    ],
)
def test_a_faulty_profile_is_named_by_its_field(
    tmp_path: Path, keys: list[str], value: Any, sentence: str
) -> None:
    found = refusal(tmp_path, changed(make_files(), PROFILE, value, *keys))
    assert "user7" in found
    assert sentence in found


def test_a_domain_that_a_profile_lacks_throughout_is_missed(tmp_path: Path) -> None:
    files = make_files()
    for key in ("affinities", "interactions", "interests"):
        files = changed(files, PROFILE, ..., key, "Games")
    assert f"{PROFILE}: affinities.Games is missing." in refusal(tmp_path, files)


@pytest.mark.parametrize(
    ("keys", "value", "sentence"),
    [
        (["Task 1", "task_id"], ..., "tasks.json: Task 1.task_id is missing."),
        (["Task 1", "task_id"], "MD-task-4", "Task 1.task_id 'MD-task-4' is no SD-task."),
        (["Task 1", "task_id"], "SD-Books-task-9", "SD-Books-task-9 has no definition"),
        (["Task 1", "Task Goal"], 7, "Task 1.Task Goal should be a text, it is a number."),
        (["Task 1", "User Intent"], ..., "Task 1.User Intent is missing."),
        (
            ["Task 1", "Relevant Domains"],
            "Books",
            "Task 1.Relevant Domains should be a list of texts, it is a text.",
        ),
        (
            ["Task 1", "Relevant Affinity Types"],
            [["Genre"]],
            "Task 1.Relevant Affinity Types[0] should be a text, it is a list.",
        ),
        (["Task 1", "situations"], None, "Task 1.situations should be an object, it is null."),
        (["Task 1", "situations", "Device"], ..., "Task 1.situations.Device is missing."),
        (
            ["Task 1", "situations", "Device"],
            1,
            "Task 1.situations.Device should be a text, it is a number.",
        ),
        (
            ["Task 1", "situations", "Mood"],
            "good",
            "Task 1.situations has a field 'Mood', which is none.",
        ),
        (["Task 1"], "x", "Task 1 should be an object, it is a text."),
        (["Task 2"], make_item(BOOKS, "SD-Books-task-1"), "SD-Books-task-1 is in this file twice."),
    ],
)
def test_a_faulty_task_file_is_named_by_its_field(
    tmp_path: Path, keys: list[str], value: Any, sentence: str
) -> None:
    found = refusal(tmp_path, changed(make_files(), TASKS, value, *keys))
    assert "user7/tasks.json" in found
    assert sentence in found


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"{", f"{PROFILE} is not valid JSON (line 1, column 2:"),
        (b"\xff\xfe\xfa", f"{PROFILE} is not"),
        (b"[1]", f"{PROFILE}: the whole should be an object, it is a list."),
        (b"[" * 200_000, "too deep or too large"),
        (b'{"a": "\\ud800"}', "half of a surrogate pair"),
        (b"1" * 10_000, "too deep or too large"),
    ],
)
def test_what_is_no_json_is_refused(tmp_path: Path, content: bytes, sentence: str) -> None:
    assert sentence in refusal(tmp_path, make_files() | {PROFILE: content})


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"Task Number": "1"}, "Task Number should be a whole number, it is a text."),
        ({"Task Number": True}, "Task Number should be a whole number, it is true or false."),
        ({"Task Goal": None}, "Task Goal should be a text, it is null."),
        ({"Relevant Affinity Types": {}}, "Relevant Affinity Types should be a list of texts"),
    ],
)
def test_a_faulty_definition_is_named_by_its_line(
    tmp_path: Path, change: dict[str, Any], sentence: str
) -> None:
    lines = [json.dumps(BOOKS), "", json.dumps(BOOKS | {"Task Number": 2} | change)]
    files = make_files() | {DEFINITIONS: "\n".join(lines).encode()}
    assert f"{DEFINITIONS} line 3: {sentence}" in refusal(tmp_path, files)


def test_a_task_that_is_defined_twice_is_refused(tmp_path: Path) -> None:
    twice = json.dumps(BOOKS).encode() + b"\n" + json.dumps(BOOKS).encode()
    found = refusal(tmp_path, make_files() | {DEFINITIONS: twice})
    assert "defines task SD-Books-task-1 twice." in found


def test_a_task_in_a_domain_without_profiles_is_refused(tmp_path: Path) -> None:
    files = make_files() | {"data/task/Gardens/task.jsonl": json.dumps(BOOKS).encode()}
    assert "domain Gardens in the profiles is missing" in refusal(tmp_path, files)


@pytest.mark.parametrize("file", ["profile", "tasks", "tasks_md"])
def test_a_user_without_one_of_the_files_is_refused(tmp_path: Path, file: str) -> None:
    files = make_files()
    del files[f"data/profile/user7/{file}.json"]
    assert f"user7 has no {file}.json." in refusal(tmp_path, files)


def test_a_user_who_is_there_twice_is_refused(tmp_path: Path) -> None:
    files = make_files()
    doubled = {**files, f"./{PROFILE}": files[PROFILE]}
    store = HeldDatasets()
    with pytest.raises(SourceError, match=r"user7/profile\.json is there twice"):
        import_into(store, pack(tmp_path / "x.tar", doubled))
    assert store.datasets == {}


def test_two_copies_of_the_benchmark_in_one_source_are_refused(tmp_path: Path) -> None:
    found = refusal(tmp_path, make_files("user0") | make_files("user7", prefix="old/"))
    assert "holds the benchmark twice" in found


def test_a_source_of_something_else_is_refused(tmp_path: Path) -> None:
    assert "holds no PersonaLens data" in refusal(tmp_path, {"photos/cat.json": b"{}"})


# --- irregularities -----------------------------------------------------------------------------


def test_a_regular_source_has_only_what_its_tasks_bring(tmp_path: Path) -> None:
    assert set(irregular(tmp_path, make_files())) == {
        "affinity_name_spelling",
        "ambiguous_affinity_name",
        "near_synonymous_affinities",
    }


@pytest.mark.parametrize(
    ("kind", "keys", "value", "count"),
    [
        ("misspelt_mask_key", ["interests"], "Buses**", 1),
        ("masked_domain_has_affinities", ["interests", "Games"], 0, 1),
        ("unknown_demographic", ["demographics", "religion"], "N/A", 1),
        ("unknown_demographic", ["demographics", "age"], "Prefer not to say", 1),
        ("empty_list", ["affinities", "Books", "Genre"], [], 1),
        ("literal_na_value", ["affinities", "Books", "Genre"], ["N/A"], 1),
        ("no_preference", ["affinities", "Hotels", "Star Rating Preference"], ["No preference"], 1),
        ("duplicate_value", ["affinities", "Books", "Genre"], ["a", "a"], 1),
        ("unknown_affinity", ["affinities", "Books", "Cover"], "blue", 1),
        (
            "value_outside_vocabulary",
            ["affinities", "Books", "Reading Format"],
            ["physical", "scroll"],
            1,
        ),
        ("value_case_variant", ["affinities", "Books", "Reading Format"], ["Physical"], 1),
        ("summary_announces_itself", ["interactions", "Books"], "Here is a summary: …", 1),
        ("summary_based_on", ["interactions", "Books"], "Based on the profile, …", 1),
        ("empty_summary", ["interactions", "Books"], " ", 1),
        ("scenario_outside_interests", ["interests", "Books"], 0, 1),
    ],
)
def test_an_irregular_profile_is_counted(
    tmp_path: Path, kind: str, keys: list[str], value: Any, count: int
) -> None:
    files = make_files()
    if kind == "misspelt_mask_key":
        mask = make_profile("user7")["interests"]
        value = {value if key == "Buses" else key: wanted for key, wanted in mask.items()}
    found = irregular(tmp_path, changed(files, PROFILE, value, *keys))
    assert found[kind].count == count
    assert len(found[kind].examples) == 1


def test_a_misspelt_mask_key_is_repaired(tmp_path: Path) -> None:
    mask = {("Buses**" if k == "Buses" else k): 1 for k in make_profile("user7")["interests"]}
    held = imported(tmp_path, changed(make_files(), PROFILE, mask, "interests"))
    assert "Buses" in held.personas["user7"].interests
    assert {i.kind: i.repaired for i in held.reports[0].irregularities}["misspelt_mask_key"]


def test_values_stay_as_they_are_written(tmp_path: Path) -> None:
    files = changed(
        make_files(), PROFILE, ["Physical", "N/A"], "affinities", "Books", "Reading Format"
    )
    persona = imported(tmp_path, files).personas["user7"]
    affinity = persona.affinity(AffinityRef("Books", "Reading Format"))
    assert affinity is not None
    assert affinity.values == ("Physical", "N/A")


def test_another_order_of_the_mask_is_counted(tmp_path: Path) -> None:
    files = make_files("user0", "user7", "user8")
    mask = dict(reversed(make_profile("user7")["interests"].items()))
    found = irregular(tmp_path, changed(files, PROFILE, mask, "interests"))
    assert (found["mask_order"].count, found["mask_order"].examples) == (1, (PROFILE,))


@pytest.mark.parametrize(
    ("field", "value", "kind"),
    [
        ("Location", "[Your City], Spain", "placeholder_in_situation"),
        ("Device", "[Laptop]", "placeholder_in_situation"),
        ("Location", "Porto or Lisbon", "vague_situation_value"),
        ("Day of the Week", "Weekday (e.g., Monday)", "vague_situation_value"),
        ("Day of the Week", "Weekday", "vague_situation_value"),
        ("Time of Day", "Saturday Morning", "vague_situation_value"),
        ("Time of Day", "Morning, Afternoon", "vague_situation_value"),
        ("Device", "Desktop/Laptop", "vague_situation_value"),
        ("Location", "Home (Porto)", ""),
        ("Time of Day", "Late Morning", ""),
        ("Device", "Gaming PC", ""),
    ],
)
def test_open_situations_are_counted(tmp_path: Path, field: str, value: str, kind: str) -> None:
    files = changed(make_files(), TASKS, value, "Task 1", "situations", field)
    found = irregular(tmp_path, files)
    both = {"placeholder_in_situation", "vague_situation_value"}
    assert {k: found[k].count for k in both & set(found)} == ({kind: 1} if kind else {})


def test_a_scenario_that_differs_from_its_definition_is_repaired(tmp_path: Path) -> None:
    files = changed(make_files(), TASKS, "Something else", "Task 1", "Task Goal")
    found = irregular(tmp_path, files)["instance_differs_from_definition"]
    assert (found.count, found.repaired) == (1, True)
    assert found.examples == (f"{TASKS}: SD-Books-task-1",)
    assert imported(tmp_path, files).tasks["SD-Books-task-1"].goal == BOOKS["Task Goal"]


def with_books(**change: Any) -> Files:
    """A source whose book task reads otherwise, in definition and scenarios alike."""
    books = BOOKS | change
    files = make_files() | {DEFINITIONS: json.dumps(books).encode()}
    for user in ("user0", "user7"):
        item = {"Task 1": make_item(books, "SD-Books-task-1")}
        files[f"data/profile/{user}/tasks.json"] = json.dumps(item).encode()
    return files


@pytest.mark.parametrize(
    ("change", "kind", "count"),
    [
        ({"User Intent": "Find a book for [occasion]."}, "placeholder_in_task", 1),
        ({"User Intent": "Cancel your existing order."}, "task_without_state", 1),
        ({"Relevant Affinity Types": ["Mood"]}, "unresolvable_affinity", 2),
        ({"Relevant Affinity Types": ["Seating Preference"]}, "affinity_from_other_domain", 2),
        ({"Relevant Affinity Types": ["Genre (Books)"]}, "affinity_name_qualified", 2),
    ],
)
def test_an_irregular_task_is_counted(
    tmp_path: Path, change: dict[str, Any], kind: str, count: int
) -> None:
    assert irregular(tmp_path, with_books(**change))[kind].count == count


def test_references_are_counted_once_per_scenario(tmp_path: Path) -> None:
    found = irregular(tmp_path, make_files())
    assert found["affinity_name_spelling"].count == 2
    assert found["ambiguous_affinity_name"].count == 2
    assert TRIP["Relevant Affinity Types"][2] in found["ambiguous_affinity_name"].examples[0]


def test_an_affinity_that_nine_in_ten_answer_alike_is_counted(tmp_path: Path) -> None:
    users = [f"user{n}" for n in range(30)]
    files = make_files(*users)
    for user in users[:4]:
        name = f"data/profile/{user}/profile.json"
        files = changed(files, name, "monthly", "affinities", "Books", "Reading Frequency")
    for user in users[:3]:
        name = f"data/profile/{user}/profile.json"
        files = changed(files, name, ["crime", user], "affinities", "Books", "Genre")
    found = irregular(tmp_path, files)["near_constant_affinity"]
    assert found.count == 89  # all ninety but the one that 26 of 30 answer alike
    assert "Alarm.Alarm Time Preference: tea (100%)" in found.examples


# --- res/schema.json ----------------------------------------------------------------------------


def make_schema(**values: list[str]) -> list[dict[str, Any]]:
    """The schema of the shipped catalogue; `values` closes affinities of Books."""
    return [
        {
            "domain": domain,
            "affinities": [
                {
                    "name": name,
                    "is_categorical": domain == "Books" and name.replace(" ", "_") in values,
                    "has_multiple_values": kind.listed,
                    "possible_values": values.get(name.replace(" ", "_"), []),
                }
                for name, kind in names.items()
            ],
        }
        for domain, names in default_catalogue().items()
    ]


def test_the_vocabulary_of_the_source_holds_where_it_has_one(tmp_path: Path) -> None:
    schema = json.dumps(make_schema(Genre=["crime", "Tea"])).encode()
    found = irregular(tmp_path, make_files() | {"res/schema.json": schema})
    assert found["value_case_variant"].count == 2
    assert found["value_case_variant"].examples == ("Books.Genre: tea (2)",)


def test_slips_of_the_schema_are_counted(tmp_path: Path) -> None:
    values = ["tea", "rent", "rent", "wendesday morning", "Mondays", "sunday"]
    schema = json.dumps(make_schema(Genre=values)).encode()
    found = irregular(tmp_path, make_files() | {"res/schema.json": schema})["schema_fault"]
    assert found.examples == (
        "res/schema.json: Books.Genre: 'rent' is listed twice",
        "res/schema.json: Books.Genre: 'wendesday morning' looks like a misspelt Wednesday",
    )


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [
        ({}, "res/schema.json: the whole should be a list of domains, it is an object."),
        ([{}], "res/schema.json: [0].domain is missing."),
        ([{"domain": "Books"}], "[0].affinities should be a list, it is null."),
        (
            [{"domain": "Books", "affinities": [{"name": "Genre"}]}],
            "has_multiple_values is missing",
        ),
    ],
)
def test_a_broken_schema_is_refused(tmp_path: Path, schema: Any, sentence: str) -> None:
    files = make_files() | {"res/schema.json": json.dumps(schema).encode()}
    assert sentence in refusal(tmp_path, files)
