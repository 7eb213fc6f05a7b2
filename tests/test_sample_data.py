"""The sample dataset keeps the PersonaLens layout and is free of its known irregularities."""

import json
import re
from functools import cache
from pathlib import Path

import pytest

SAMPLE = Path(__file__).resolve().parents[1] / "assets" / "sample"

# Affinity names by domain; * marks those whose value is one string, all others are lists.
AFFINITIES = {
    "Alarm": "Alarm Time Preference*, Alarm Sound Preference*, Alarm Recurring Preference*",
    "Books": "Genre, Favourite Authors, Favourite Books, Favourite Book Series, Reading Format, "
    "Reading Time Preference, Reading Frequency*",
    "Buses": "Preferred Bus Company, Travel Frequency, Seat Preference*, Departure Time Preference",
    "Calendar": "Event Type Preference, Notification Preference*, Timezone*",
    "Events": "Event Type Preference, Price Range, Group Size Preference*, Seating Preference, "
    "Days of Week Preference*",
    "Finance": "Preferred Sectors, News Sources, Financial Company",
    "Flights": "Preferred Airline, Seat Class Preference, Layover Preference, Seat Preference*, "
    "Departure Time Preference",
    "Games": "Preferred Game Genres, Gaming Platforms, Multiplayer Preference, "
    "Gaming Frequency, Preferred Game Name",
    "Hotels": "Hotel Chains Preference, Amenity Preference, Location Preference, "
    "Star Rating Preference, Room Type Preference",
    "Media": "Preferred Genres, Favourite Actors and Directors, Favourite Media, "
    "Viewing Platform Preference",
    "Messaging": "Preferred Messaging Apps, Communication Style*, Frequent Contact, "
    "Preferred Communication Style*",
    "Movies": "Preferred Genres, Favorite Actors and Directors, Theater Type Preference, "
    "Viewing Time Preference, Seat Type Preference",
    "Music": "Preferred Genres, Favorite Artists, Favorite Bands, Favorite Albums, "
    "Platform Preference, Preferred Audio Quality*, Playlist Preference",
    "Rental Cars": "Car Type Preference, Preferred Rental Company, Preferred Car Brand, "
    "Rental Duration Preference*, Additional Feature Preference, Preferred Fuel Type*",
    "Restaurants": "Cuisine Preference, Dietary Restrictions, Ambiance Preference, Price Range",
    "Services": "Preferred Service Provider Types*, Appointment Time Preference, "
    "Location Preference, Service Frequency Preference, "
    "Service Provider Gender Preference*",
    "Shopping": "Preferred Product Category, Price Range Preference*, Brand Preference",
    "Sports": "Favorite Sports, Favorite Team, Viewing Preference*",
    "Train": "Preferred Train Class*, Travel Time Preference, Amenity Preference, "
    "Preferred Seat Type*",
    "Travel": "Preferred Destination Types, Duration Preference, Group Size Preference, "
    "Frequent Travel Destination, Travel Season Preference",
}
IS_TEXT = {
    (domain, name.rstrip("*")): name.endswith("*")
    for domain, names in AFFINITIES.items()
    for name in names.split(", ")
}
DEMOGRAPHICS = {
    "user_id": None,
    "age": {f"{band} years old" for band in ("18-24", "25-34", "35-44", "45-54", "55-64", "65+")},
    "gender": {"Male", "Female", "Non-binary / third gender"},
    "employment_status": {
        "Working full-time",
        "Working part-time",
        "Student",
        "Unemployed, seeking work",
        "Unemployed, not seeking work",
        "Retired",
        "Homemaker / Stay-at-home parent",
    },
    "education": {
        "University Bachelors Degree",
        "Graduate / Professional degree",
        "Some University but no degree",
        "Completed Secondary School",
        "Vocational",
        "Some Secondary",
        "Completed Primary School",
        "Some Primary",
    },
    "marital_status": {"Never been married", "Married", "Divorced / Separated", "Widowed"},
    "english_proficiency": {"Native speaker", "Fluent", "Advanced", "Intermediate", "Basic"},
    "ethnicity": {
        "White",
        "Black / African",
        "Hispanic / Latino",
        "Asian",
        "Mixed",
        "Middle Eastern / Arab",
        "Indigenous / First Peoples",
        "Other",
    },
    "religion": {
        "Non-religious",
        "Christian",
        "Agnostic",
        "Jewish",
        "Muslim",
        "Spiritual",
        "Buddhist",
        "Folk religion",
        "Hindu",
        "Other",
        "Sikh",
        "Prefer not to say",
    },
    "birth_country": None,
    "reside_country": None,
}
DEFINITION_FIELDS = {"Task Description", "User Intent", "Task Goal", "Relevant Affinity Types"}
SITUATION_FIELDS = {"Location", "Device", "Time of Day", "Day of the Week", "Environment"}
DAYS = {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
QUALIFIED = re.compile(r"(?P<name>.+) \((?P<domain>.+)\)")


@cache
def load(path: Path):
    return json.loads(path.read_text(encoding="utf-8"))


def schema():
    return load(SAMPLE / "res" / "schema.json")


@cache
def definitions(folder: str):
    lines = (
        (SAMPLE / "data" / "task" / folder / "task.jsonl").read_text(encoding="utf-8").splitlines()
    )
    return [json.loads(line) for line in lines]


def all_definitions():
    """Every task definition with its domains and its id."""
    for domain in AFFINITIES:
        for task in definitions(domain):
            yield task, [domain], f"SD-{domain}-task-{task['Task Number']}"
    for task in definitions("Multi-Domain"):
        yield task, task["Relevant Domains"], f"MD-task-{task['Task Number']}"


def user_folders():
    return sorted(
        (SAMPLE / "data" / "profile").iterdir(),
        key=lambda folder: int(folder.name.removeprefix("user")),
    )


def profiles():
    return [load(folder / "profile.json") for folder in user_folders()]


def flat(values):
    """All affinity values of one domain as a list of strings."""
    return [
        text for value in values.values() for text in ([value] if isinstance(value, str) else value)
    ]


def said(value: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(value.casefold())}(?!\w)", text.casefold()) is not None


def resolve(name: str, domains: list[str]) -> list[tuple[str, str]]:
    """The (domain, affinity) pairs that a relevant affinity type can mean."""
    if qualified := QUALIFIED.fullmatch(name):
        domains, name = [d for d in domains if d == qualified["domain"]], qualified["name"]
    return [(domain, name) for domain in domains if (domain, name) in IS_TEXT]


def strings(node):
    """Every string in a JSON value, keys included."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict):
        for key, value in node.items():
            yield key
            yield from strings(value)
    elif isinstance(node, list):
        for value in node:
            yield from strings(value)


def test_layout_holds_exactly_the_expected_files():
    folders = user_folders()
    assert [folder.name for folder in folders] == [f"user{n}" for n in range(len(folders))]
    for folder in folders:
        assert {file.name for file in folder.iterdir()} == {
            "profile.json",
            "tasks.json",
            "tasks_md.json",
        }
    tasks = SAMPLE / "data" / "task"
    assert {folder.name for folder in tasks.iterdir()} == {*AFFINITIES, "Multi-Domain"}
    assert all(
        [file.name for file in folder.iterdir()] == ["task.jsonl"] for folder in tasks.iterdir()
    )


def test_dataset_is_large_enough_for_a_first_study_and_small_enough_to_ship():
    assert len(user_folders()) >= 12
    assert sum(len(definitions(domain)) for domain in AFFINITIES) >= 40
    assert len(definitions("Multi-Domain")) >= 10
    assert sum(file.stat().st_size for file in SAMPLE.rglob("*") if file.is_file()) < 1_500_000


def test_schema_has_the_20_domains_and_90_affinities_with_their_types():
    assert [entry["domain"] for entry in schema()] == list(AFFINITIES)
    found = {
        (e["domain"], a["name"]): not a["has_multiple_values"]
        for e in schema()
        for a in e["affinities"]
    }
    assert found == IS_TEXT
    assert len(found) == 90
    assert sum(a["is_categorical"] for e in schema() for a in e["affinities"]) == 70


def test_schema_entries_are_described_and_their_vocabularies_have_no_repeats():
    for entry in schema():
        assert entry.keys() == {"domain", "description", "tasks", "affinities"}
        assert entry["description"]
        assert 2 <= len(entry["tasks"]) <= 4
        assert all(
            task.keys() == {"name", "description"} and all(task.values()) for task in entry["tasks"]
        )
        for affinity in entry["affinities"]:
            values = affinity["possible_values"]
            assert affinity["description"]
            assert values
            assert len({value.casefold() for value in values}) == len(values), affinity["name"]


def test_task_definitions_have_their_fields_and_consecutive_numbers():
    for folder in [*AFFINITIES, "Multi-Domain"]:
        tasks = definitions(folder)
        assert [task["Task Number"] for task in tasks] == list(range(1, len(tasks) + 1))
        extra = {"Relevant Domains"} if folder == "Multi-Domain" else set()
        assert all(task.keys() == DEFINITION_FIELDS | {"Task Number"} | extra for task in tasks)
        assert len(tasks) >= 2


def test_multi_domain_tasks_name_two_to_five_known_domains():
    for task in definitions("Multi-Domain"):
        domains = task["Relevant Domains"]
        assert 2 <= len(domains) == len(set(domains)) <= 5
        assert set(domains) <= AFFINITIES.keys()


def test_every_relevant_affinity_type_means_exactly_one_affinity():
    for task, domains, task_id in all_definitions():
        names = task["Relevant Affinity Types"]
        assert 1 <= len(names) == len(set(names)) <= 5, task_id
        for name in names:
            assert len(resolve(name, domains)) == 1, (task_id, name)


@pytest.mark.parametrize(
    "profile", profiles(), ids=lambda profile: profile["demographics"]["user_id"]
)
class TestProfile:
    def test_demographics_use_the_known_categories(self, profile):
        assert list(profile["demographics"]) == list(DEMOGRAPHICS)
        for field, allowed in DEMOGRAPHICS.items():
            value = profile["demographics"][field]
            assert value
            assert allowed is None or value in allowed, field

    def test_all_domains_and_affinities_are_present(self, profile):
        assert profile.keys() == {"demographics", "affinities", "interests", "interactions"}
        for part in ("affinities", "interests", "interactions"):
            assert list(profile[part]) == list(AFFINITIES)
        assert {
            (d, name) for d, values in profile["affinities"].items() for name in values
        } == IS_TEXT.keys()

    def test_values_are_strings_or_lists_as_the_schema_says(self, profile):
        for (domain, name), is_text in IS_TEXT.items():
            value = profile["affinities"][domain][name]
            assert isinstance(value, str if is_text else list), (domain, name)
            texts = [value] if is_text else value
            assert texts
            assert len(set(texts)) == len(texts)
            assert all(isinstance(text, str) and text == text.strip() and text for text in texts)

    def test_categorical_values_come_from_the_vocabulary(self, profile):
        for entry in schema():
            for affinity in entry["affinities"]:
                if affinity["is_categorical"]:
                    value = profile["affinities"][entry["domain"]][affinity["name"]]
                    chosen = {value} if isinstance(value, str) else set(value)
                    assert chosen <= set(affinity["possible_values"]), (
                        entry["domain"],
                        affinity["name"],
                    )

    def test_interest_mask_has_eleven_to_sixteen_ones(self, profile):
        assert set(profile["interests"].values()) == {0, 1}
        assert 11 <= sum(profile["interests"].values()) <= 16

    def test_summaries_reveal_most_but_not_all_values(self, profile):
        for domain, summary in profile["interactions"].items():
            assert summary.strip()
            if profile["interests"][domain]:
                values = flat(profile["affinities"][domain])
                share = sum(said(value, summary) for value in values) / len(values)
                assert 0.5 <= share <= 0.9, (domain, share)
                assert 70 <= len(summary.split()) <= 110, domain
            else:
                assert len(summary.split()) <= 30, domain


@pytest.mark.parametrize("folder", user_folders(), ids=lambda folder: folder.name)
class TestUserTasks:
    def test_user_id_is_the_folder_name(self, folder):
        assert load(folder / "profile.json")["demographics"]["user_id"] == folder.name

    def test_tasks_are_exactly_those_whose_domains_all_interest_the_person(self, folder):
        interests = load(folder / "profile.json")["interests"]
        eligible = [
            task_id
            for _, domains, task_id in all_definitions()
            if all(interests[d] for d in domains)
        ]
        for file, prefix in (("tasks.json", "SD-"), ("tasks_md.json", "MD-")):
            tasks = load(folder / file)
            assert [task["task_id"] for task in tasks.values()] == [
                i for i in eligible if i.startswith(prefix)
            ]
            assert list(tasks) == [f"Task {n}" for n in range(1, len(tasks) + 1)]

    def test_tasks_repeat_their_definition_word_for_word(self, folder):
        known = {task_id: (task, domains) for task, domains, task_id in all_definitions()}
        for file in ("tasks.json", "tasks_md.json"):
            for task in load(folder / file).values():
                definition, domains = known[task["task_id"]]
                assert task.keys() == DEFINITION_FIELDS | {
                    "Relevant Domains",
                    "task_id",
                    "situations",
                }
                assert task["Relevant Domains"] == domains
                assert all(task[field] == definition[field] for field in DEFINITION_FIELDS)

    def test_situations_state_one_plain_value_per_field(self, folder):
        for file in ("tasks.json", "tasks_md.json"):
            for task in load(folder / file).values():
                situation = task["situations"]
                assert situation.keys() == SITUATION_FIELDS
                assert ", " in situation["Location"]
                assert situation["Device"]
                assert situation["Time of Day"] in {"Morning", "Afternoon", "Evening", "Night"}
                assert situation["Day of the Week"] in DAYS
                assert situation["Environment"] in {"Quiet", "Noisy"}


def test_no_text_holds_a_placeholder_or_an_absent_value():
    nodes = [schema(), *(task for task, _, _ in all_definitions())]
    nodes += [load(file) for folder in user_folders() for file in folder.iterdir()]
    for text in strings(nodes):
        assert not re.search(r"[\[\]{}<>]|\bN/A\b|\bTODO\b", text), text


def test_no_two_summaries_are_equal_or_open_alike():
    summaries = [text for profile in profiles() for text in profile["interactions"].values()]
    assert len(set(summaries)) == len(summaries)
    openings = [" ".join(text.split()[:6]) for text in summaries if len(text.split()) >= 70]
    assert len(set(openings)) == len(openings)


def test_no_interest_is_shared_by_all_or_by_nobody():
    """A mask that never varies could not tell people apart; three domains nearly all use."""
    counts = {
        domain: sum(profile["interests"][domain] for profile in profiles()) for domain in AFFINITIES
    }
    assert all(count >= 3 for count in counts.values())
    assert sum(count == len(profiles()) for count in counts.values()) <= 3
