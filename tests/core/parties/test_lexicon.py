"""Values are read off text as whole words, the longest first, and only where that is safe."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from core.parties.lexicon import READ_AT_MOST, Lexicon, build_lexicon

VOCABULARY = {
    "Music": {
        "Preferred Genres": {"pop": 9, "dream pop": 2, "country": 4, "folk": 3},
        "Favorite Artists": {"The Slow Tide": 1, "Blue": 1},
        "Favorite Bands": {"The Slow Tide": 1},
        "Playlist Preference": {"Casual": 1, "casual": 5, "Songs for Ironing": 1},
    },
    "Books": {"Genre": {"non-fiction": 3, "fiction": 5}},
    "Flights": {
        "Seat Class Preference": {"first": 1, "premium economy": 2},
        "Seat Preference": {"no preference": 3, "aisle": 5},
    },
    "Rental Cars": {"Preferred Rental Company": {"Budget": 2, "Hertz": 1}},
    "Media": {"Favourite Media": {"Small Boats (2019)": 1, "No": 1}},
}


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return build_lexicon(VOCABULARY)


def values(lexicon: Lexicon, domain: str, text: str) -> list[str]:
    return [m.value for m in lexicon.find(domain, text)]


def test_longest_value_wins_when_one_is_part_of_another(lexicon: Lexicon) -> None:
    assert values(lexicon, "Music", "Some dream pop, then pop.") == ["dream pop", "pop"]


@pytest.mark.parametrize("text", ["Non-Fiction", "non fiction", "NON-FICTION books"])
def test_value_is_found_when_case_or_hyphen_differs(lexicon: Lexicon, text: str) -> None:
    assert values(lexicon, "Books", text) == ["non-fiction"]


def test_value_is_not_found_inside_a_word(lexicon: Lexicon) -> None:
    assert values(lexicon, "Music", "popular folklore") == []


def test_value_is_not_found_across_a_comma(lexicon: Lexicon) -> None:
    assert values(lexicon, "Music", "dream, pop and folk") == ["pop", "folk"]


def test_shy_value_counts_only_near_its_affinity(lexicon: Lexicon) -> None:
    assert values(lexicon, "Flights", "First, tell me more.") == []
    assert values(lexicon, "Flights", "She flies first class.") == ["first"]
    assert values(lexicon, "Music", "She lives in another country.") == []
    assert values(lexicon, "Music", "She plays country songs.") == ["country"]


def test_ordinary_word_is_a_name_only_with_a_capital(lexicon: Lexicon) -> None:
    assert values(lexicon, "Rental Cars", "a budget of 50") == []
    assert values(lexicon, "Rental Cars", "a car from Budget") == ["Budget"]


def test_a_word_that_opens_many_sentences_is_never_a_title(lexicon: Lexicon) -> None:
    assert values(lexicon, "Media", "No, not that one.") == []


def test_no_preference_is_no_value(lexicon: Lexicon) -> None:
    assert lexicon.values("Flights", "Seat Preference") == ("aisle",)
    assert values(lexicon, "Flights", "no preference for the aisle") == ["aisle"]


def test_an_explanation_in_brackets_need_not_be_said(lexicon: Lexicon) -> None:
    assert values(lexicon, "Media", "She loved Small Boats.") == ["Small Boats (2019)"]


def test_value_of_two_affinities_gives_two_mentions_at_one_place(lexicon: Lexicon) -> None:
    found = lexicon.find("Music", "She hears The Slow Tide.")
    assert [(m.affinity, m.position, m.end) for m in found] == [
        ("Favorite Artists", 10, 23),
        ("Favorite Bands", 10, 23),
    ]


def test_values_are_ordered_by_how_many_hold_them(lexicon: Lexicon) -> None:
    assert lexicon.values("Music", "Preferred Genres") == ("pop", "country", "folk", "dream pop")


def test_nothing_is_found_in_an_unknown_domain(lexicon: Lexicon) -> None:
    assert lexicon.find("Beekeeping", "pop") == ()
    assert lexicon.values("Beekeeping", "Hives") == ()


def test_text_behind_the_limit_is_not_read(lexicon: Lexicon) -> None:
    assert lexicon.find("Music", "x" * READ_AT_MOST + " pop") == ()


def test_capital_is_dropped_only_when_the_data_also_writes_it_small(lexicon: Lexicon) -> None:
    def spoken(value: str) -> str:
        return lexicon.spoken("Music", "Playlist Preference", value)

    assert spoken("Casual") == "casual"
    assert spoken("Songs for Ironing") == "Songs for Ironing"


def test_threads_that_share_a_lexicon_find_the_same(lexicon: Lexicon) -> None:
    texts = [f"dream pop {i} and folk, near country songs" for i in range(200)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda t: values(lexicon, "Music", t), texts * 3))
    assert found == [["dream pop", "folk", "country"]] * 600


def test_vocabulary_without_values_reads_nothing() -> None:
    assert build_lexicon({"Music": {"Preferred Genres": {}}}).find("Music", "pop") == ()
    assert build_lexicon({}).domains == ()
