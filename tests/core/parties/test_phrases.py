"""The phrase file is valid, complete and understood by its own readers."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from core.errors import AssetError
from core.parties.lexicon import build_lexicon
from core.parties.phrases import PHRASES_FILE, load_phrases, phrases
from core.parties.reading import Scope, asked
from core.types import AffinityRef

PHRASES = phrases()
ASKED = [
    (domain, name, question)
    for domain, of in PHRASES.domains.items()
    for name, affinity in of.affinities.items()
    for question in affinity.ask
]


def test_file_covers_the_twenty_domains_and_ninety_affinities() -> None:
    assert len(PHRASES.domains) == 20
    assert sum(len(d.affinities) for d in PHRASES.domains.values()) == 90


@pytest.mark.parametrize(("domain", "name", "question"), ASKED)
def test_each_question_is_understood_as_what_it_asks(domain: str, name: str, question: str) -> None:
    scope = Scope(tuple(AffinityRef(domain, n) for n in PHRASES.domains[domain].affinities))
    assert asked(question, scope, build_lexicon({})) == [AffinityRef(domain, name)]


def test_nothing_in_the_file_is_exclaimed() -> None:
    said = PHRASES_FILE.read_text(encoding="utf-8").split("\nversion:", 1)[1]
    assert "!" not in said


def test_affinity_is_found_in_either_spelling() -> None:
    assert PHRASES.affinity("Books", "Favorite Authors").about == "authors"


def test_unknown_affinity_gets_phrases_made_from_its_name() -> None:
    made = PHRASES.affinity("Beekeeping", "Preferred Hive Types")
    assert made.about == "the hive types"
    assert made.ask[0] == "Do you have a preference about the hive types?"


@pytest.mark.parametrize("name", ["Preference", "", "<b>$x</b>", "🎵"])
def test_phrases_are_made_for_any_name(name: str) -> None:
    assert "$noun" not in PHRASES.affinity("Other", name).ask[0]


# --- broken files --------------------------------------------------------------------------------


def broken(tmp_path: Path, change: Any) -> str:
    data = yaml.safe_load(PHRASES_FILE.read_text(encoding="utf-8"))
    change(data)
    path = tmp_path / "phrases.v9.yaml"
    path.write_text(yaml.safe_dump(data, allow_unicode=True), encoding="utf-8")
    with pytest.raises(AssetError) as caught:
        load_phrases(path)
    return str(caught.value)


def test_fault_names_file_and_field_when_a_key_is_missing(tmp_path: Path) -> None:
    def change(data: Any) -> None:
        del data["domains"]["Alarm"]["affinities"]["Alarm Time Preference"]["ask"]

    assert broken(tmp_path, change).startswith(
        "phrases.v9.yaml: domains.Alarm.affinities.Alarm Time Preference.ask: "
    )


def test_fault_names_the_text_when_a_placeholder_is_missing(tmp_path: Path) -> None:
    def change(data: Any) -> None:
        data["domains"]["Flights"]["affinities"]["Seat Preference"]["say"] = ["I like windows"]

    assert "“I like windows” must hold $item" in broken(tmp_path, change)


def test_fault_is_told_when_no_act_fits_everything(tmp_path: Path) -> None:
    def change(data: Any) -> None:
        data["domains"]["Travel"]["acts"][-1]["when"] = ["never"]

    assert "domains.Travel" in broken(tmp_path, change)


def test_fault_is_told_when_a_sentence_is_missing(tmp_path: Path) -> None:
    def change(data: Any) -> None:
        data["user"]["nudge"] = []

    assert "user lacks the sentences 'nudge'" in broken(tmp_path, change)


def test_fault_names_the_line_when_it_is_no_yaml(tmp_path: Path) -> None:
    path = tmp_path / "phrases.v9.yaml"
    path.write_text("version: 1\nordinary: [a\n", encoding="utf-8")
    with pytest.raises(AssetError, match=r"phrases\.v9\.yaml, line \d+: not valid YAML"):
        load_phrases(path)


def test_fault_is_told_when_there_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(AssetError, match="Cannot read the phrase file"):
        load_phrases(tmp_path / "none.yaml")
