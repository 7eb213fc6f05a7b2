"""Who matches, and what of a persona matters for a task."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from core.personas import (
    PersonaFilter,
    RelevantAffinity,
    count_marked,
    demographic_values,
    domains_of,
    facts,
    headline,
    interest_domains,
    marked_affinities,
    matching,
    relevant_affinities,
    says,
)
from core.types import AffinityRef
from tests.builders import make_persona, make_task

ANA = make_persona("user1", age="25-34 years old", gender="Female", interests=["Books"])
BEN = make_persona("user2", age="65+ years old", gender="Male", interests=["Books", "Hotels"])
CLEO = make_persona("user3", age="25-34 years old", gender="Male", interests=[])
PEOPLE = [p.summary for p in (ANA, BEN, CLEO)]


def ids(where: PersonaFilter) -> list[str]:
    return [p.id for p in matching(PEOPLE, where)]


# --- which personas ---------------------------------------------------------------------------


def test_everybody_matches_when_nothing_is_asked() -> None:
    assert ids(PersonaFilter()) == ["user1", "user2", "user3"]


def test_a_search_that_found_nobody_is_not_a_search_that_was_not_made() -> None:
    assert ids(PersonaFilter(ids=frozenset())) == []
    assert ids(PersonaFilter(ids=frozenset({"user3", "user9"}))) == ["user3"]


def test_one_of_the_values_of_a_field_is_enough_but_every_field_must_match() -> None:
    either = {"age": frozenset({"25-34 years old", "65+ years old"})}
    assert ids(PersonaFilter(demographics=either)) == ["user1", "user2", "user3"]
    both = either | {"gender": frozenset({"Male"})}
    assert ids(PersonaFilter(demographics=both)) == ["user2", "user3"]


def test_a_field_without_chosen_values_restricts_nothing() -> None:
    assert ids(PersonaFilter(demographics={"age": frozenset()})) == ["user1", "user2", "user3"]


def test_a_field_that_nobody_has_matches_nobody_when_a_value_is_asked() -> None:
    assert ids(PersonaFilter(demographics={"height": frozenset({"tall"})})) == []


def test_all_interests_must_be_shared() -> None:
    assert ids(PersonaFilter(interests=frozenset({"Books"}))) == ["user1", "user2"]
    assert ids(PersonaFilter(interests=frozenset({"Books", "Hotels"}))) == ["user2"]


def test_fields_come_in_reading_order_with_sorted_values_and_without_the_id() -> None:
    odd = make_persona("user4", favourite_number="7").summary
    found = demographic_values([*PEOPLE, odd])
    assert list(found) == ["age", "gender", "reside_country", "favourite_number"]
    assert found["age"] == ("25-34 years old", "65+ years old")
    assert found["favourite_number"] == ("7",)


def test_interest_domains_are_those_that_somebody_cares_for() -> None:
    assert interest_domains(PEOPLE) == ("Books", "Hotels")
    assert interest_domains([]) == ()


# --- words ------------------------------------------------------------------------------------


def test_headline_says_who_this_is() -> None:
    persona = make_persona("user7", age="18-24 years old", employment_status="Student")
    assert headline(persona) == "user7 · 18-24 years old · Student · lives in Portugal"
    assert headline(persona.summary) == headline(persona)


def test_headline_is_the_id_when_nothing_else_is_known() -> None:
    persona = make_persona("user7", affinities={}, interests=[])
    bare = type(persona)("user7", {}, frozenset(), (), {})
    assert headline(bare) == "user7"


def test_facts_have_titles_that_people_read_and_no_id() -> None:
    told = facts({"user_id": "user1", "shoe_size": "42", "reside_country": "Chile", "age": "30"})
    assert told == [("age", "30"), ("lives in", "Chile"), ("shoe size", "42")]


# --- one persona ------------------------------------------------------------------------------


def test_domains_include_those_with_a_summary_alone() -> None:
    persona = make_persona(
        affinities={"Books": {"Format": "ebook"}}, interactions={"Books": "x", "Train": "y"}
    )
    assert domains_of(persona) == ("Books", "Train")


def test_a_value_is_marked_when_the_summary_of_its_domain_says_it_in_any_case() -> None:
    persona = make_persona(
        affinities={"Books": {"Genre": ["Crime", "travel"], "Format": "ebook"}},
        interactions={"Books": "She asked for CRIME, as an e-book.", "Hotels": "travel, ebook"},
    )
    genre, form = marked_affinities(persona, "Books")
    assert [(v.text, v.in_summary) for v in genre.values] == [("Crime", True), ("travel", False)]
    assert [(v.text, v.in_summary) for v in form.values] == [("ebook", False)]
    assert count_marked((genre, form)) == (1, 3)


def test_nothing_is_marked_when_there_is_no_summary_or_no_value() -> None:
    persona = make_persona(affinities={"Books": {"Genre": [], "Format": ""}}, interactions={})
    marked = marked_affinities(persona, "Books")
    assert [a.values for a in marked if a.name == "Genre"] == [()]
    assert count_marked(marked) == (0, 1)
    assert not says("anything", " ")


def test_relevant_affinities_keep_the_tasks_order_and_say_what_is_not_held() -> None:
    persona = make_persona(affinities={"Books": {"Genre": ["crime", "travel"]}})
    task = make_task(relevant=[("Hotels", "Amenity"), ("Books", "Genre")])
    assert relevant_affinities(persona, task) == (
        RelevantAffinity(AffinityRef("Hotels", "Amenity"), None),
        RelevantAffinity(AffinityRef("Books", "Genre"), ("crime", "travel")),
    )


@pytest.mark.real_data
def test_most_values_stand_in_the_summaries_of_the_real_archive(personalens_archive: Path) -> None:
    said = total = 0
    with tarfile.open(personalens_archive) as archive:
        for member in archive:
            if not member.name.endswith("/profile.json"):
                continue
            file = archive.extractfile(member)
            assert file is not None
            profile = json.load(file)
            persona = make_persona(
                affinities=profile["affinities"], interactions=profile["interactions"]
            )
            for domain in domains_of(persona):
                marked, n = count_marked(marked_affinities(persona, domain))
                said, total = said + marked, total + n
    assert (said, total) == (249_993, 305_609)  # 81.8 %
