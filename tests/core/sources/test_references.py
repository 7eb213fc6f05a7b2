from __future__ import annotations

import pytest

from core.sources.references import AffinityNames
from core.types import AffinityRef

NAMES = AffinityNames(
    {
        "Books": ["Genre", "Favourite Authors"],
        "Events": ["Price Range", "Seating Preference"],
        "Media": ["Preferred Genres", "Favourite Media"],
        "Movies": ["Preferred Genres", "Favorite Actors"],
        "Restaurants": ["Price Range"],
    }
)


@pytest.mark.parametrize(
    ("name", "domains", "refs", "irregular"),
    [
        ("Genre", ["Books"], ["Books.Genre"], ""),
        (
            "Favorite Authors",
            ["Books"],
            ["Books.Favourite Authors"],
            "affinity_name_spelling",
        ),
        ("favourite  actors", ["Movies"], ["Movies.Favorite Actors"], "affinity_name_spelling"),
        (
            "Preferred Genres (Media)",
            ["Movies", "Media"],
            ["Media.Preferred Genres"],
            "affinity_name_qualified",
        ),
        (
            "Favorite Media (Media)",
            ["Media"],
            ["Media.Favourite Media"],
            "affinity_name_qualified",
        ),
        (
            "Price Range",
            ["Restaurants", "Events"],
            ["Restaurants.Price Range", "Events.Price Range"],
            "ambiguous_affinity_name",
        ),
        (
            "Seating Preference",
            ["Movies"],
            ["Events.Seating Preference"],
            "affinity_from_other_domain",
        ),
        (
            "Price Range",
            ["Books"],
            ["Events.Price Range", "Restaurants.Price Range"],
            "affinity_from_other_domain",
        ),
        ("Preferred Genres (Media)", ["Books"], [], "unresolvable_affinity"),
        ("Mood", ["Books"], [], "unresolvable_affinity"),
        ("", [], [], "unresolvable_affinity"),
    ],
)
def test_a_name_means_these_affinities(
    name: str, domains: list[str], refs: list[str], irregular: str
) -> None:
    found = NAMES.resolve(name, domains)
    assert found.refs == tuple(AffinityRef(*ref.split(".")) for ref in refs)
    assert found.irregular == irregular
