"""Scenarios for tests of the parties: a small world of our own, the sample, the real archive.

Read straight from the JSON, so that these tests hold whatever the importer does. Affinity names
are resolved by spelling; what resolves nowhere is left out.
"""

from __future__ import annotations

import json
import random
import re
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from core.context import assistant_briefing, user_briefing
from core.parties.lexicon import Lexicon, build_lexicon
from core.parties.phrases import spelling
from core.parties.scripted import ScriptedUser, make_scripted_assistant
from core.simulate import TURN_LIMIT, Exchange, Watch, simulate
from core.types import (
    Affinity,
    AffinityRef,
    ContextSetting,
    Part,
    Persona,
    Scenario,
    Situation,
    Task,
    TaskKind,
)
from tests.builders import (
    NOW,
    make_persona,
    make_scenario,
    make_situation,
    make_task,
    make_vocabulary,
)

SAMPLE = Path(__file__).parents[2] / "assets" / "sample" / "data"
EVERYTHING = ContextSetting.of(*Part)
NOTHING = ContextSetting()

FLIGHTS = {
    "Preferred Airline": ["Northwind", "Alta"],
    "Seat Class Preference": ["premium economy", "business"],
    "Layover Preference": ["non-stop"],
    "Seat Preference": "aisle",
    "Departure Time Preference": ["morning"],
}
RESTAURANTS = {
    "Cuisine Preference": ["Thai", "Greek"],
    "Dietary Restrictions": [],
    "Ambiance Preference": ["quiet"],
    "Price Range": ["moderate"],
}
CALENDAR = {
    "Event Type Preference": ["choir practice"],
    "Notification Preference": "1 day before",
    "Timezone": "UTC+0",
}
SUMMARIES = {
    "Flights": "She flies with Northwind or Alta, in premium economy, and takes an aisle seat.",
    "Restaurants": "She often asks for Thai food, and for a quiet place to eat.",
    "Calendar": "She wants a reminder 1 day before choir practice.",
}
OTHERS = {
    "Flights": {
        "Preferred Airline": ["Skylark"],
        "Seat Class Preference": ["economy", "first"],
        "Layover Preference": ["short layover"],
        "Seat Preference": "window",
        "Departure Time Preference": ["evening"],
    },
    "Restaurants": {
        "Cuisine Preference": ["Peruvian", "Korean"],
        "Dietary Restrictions": ["vegan"],
        "Ambiance Preference": ["fine dining"],
        "Price Range": ["luxury"],
    },
    "Calendar": {
        "Event Type Preference": ["board meetings"],
        "Notification Preference": "15 minutes before",
        "Timezone": "UTC-5",
    },
}

MAYA = make_persona(
    "user0",
    affinities={"Flights": FLIGHTS, "Restaurants": RESTAURANTS, "Calendar": CALENDAR},
    interactions=SUMMARIES,
)
LEXICON = build_lexicon(make_vocabulary(MAYA, make_persona("user1", affinities=OTHERS)))
MOMENT = make_situation("Lisbon, Portugal", "Laptop", **{"Time of Day": "Evening"})


def flight(persona: Persona = MAYA, *names: str, intent: str = "") -> Scenario:
    """Maya books a flight; `names` are the affinities that matter, by default all five."""
    relevant = tuple(("Flights", n) for n in names or FLIGHTS)
    intent = intent or "Find and book a flight for your trip, considering your preferred airline."
    task = make_task("SD-Flights-task-1", domains=("Flights",), relevant=relevant, intent=intent)
    return make_scenario(persona=persona, task=task, situation=MOMENT)


def dinner(persona: Persona = MAYA) -> Scenario:
    """Maya wants a dinner and a calendar entry: two domains."""
    relevant = (
        ("Restaurants", "Cuisine Preference"),
        ("Restaurants", "Dietary Restrictions"),
        ("Restaurants", "Ambiance Preference"),
        ("Calendar", "Notification Preference"),
    )
    task = make_task(
        "MD-task-1",
        domains=("Restaurants", "Calendar"),
        relevant=relevant,
        intent="Reserve a restaurant for your anniversary and put it in your calendar.",
    )
    return make_scenario(persona=persona, task=task, situation=MOMENT)


def talk(
    scenario: Scenario,
    model: str,
    setting: ContextSetting,
    *,
    lexicon: Lexicon = LEXICON,
    seed: int = 1,
) -> Exchange:
    """The scripted user and one scripted assistant, to the end."""
    user = ScriptedUser(user_briefing(scenario), lexicon=lexicon, seed=seed)
    given = assistant_briefing(scenario, setting)
    assistant = make_scripted_assistant(f"scripted/{model}", given, lexicon=lexicon, seed=seed)
    limit = TURN_LIMIT[scenario.task.kind]
    return simulate(user, assistant, max_turns=limit, watch=Watch(now=lambda: NOW))


# --- PersonaLens files ---------------------------------------------------------------------------


def read_archive(path: Path, users: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The three files of some users, in one pass over the archive."""
    wanted = frozenset(users)
    found: dict[str, dict[str, Any]] = {}
    with tarfile.open(path) as archive:
        for member in archive:
            parts = member.name.split("/")
            if member.isfile() and parts[1] == "profile" and parts[2] in wanted:
                file = archive.extractfile(member)
                assert file is not None
                found.setdefault(parts[2], {})[parts[3].removesuffix(".json")] = json.load(file)
    return found


def read_folder(data: Path = SAMPLE) -> dict[str, dict[str, Any]]:
    """The three files of every user below `data/profile`."""
    return {
        folder.name: {
            file.stem: json.loads(file.read_text(encoding="utf-8"))
            for file in sorted(folder.glob("*.json"))
        }
        for folder in sorted((data / "profile").iterdir())
    }


def persona_of(profile: Mapping[str, Any]) -> Persona:
    affinities = tuple(
        Affinity(domain, name, (value,), listed=False)
        if isinstance(value, str)
        else Affinity(domain, name, tuple(value), listed=True)
        for domain, of in profile["affinities"].items()
        for name, value in of.items()
    )
    facts = profile["demographics"]
    interests = frozenset(d for d, on in profile["interests"].items() if on)
    return Persona(facts["user_id"], facts, interests, affinities, profile["interactions"])


def scenarios_of(files: Mapping[str, Any]) -> Iterator[Scenario]:
    """Every scenario of one user, single-domain first."""
    persona = persona_of(files["profile"])
    for name, kind in (("tasks", TaskKind.SINGLE), ("tasks_md", TaskKind.MULTI)):
        for row in files.get(name, {}).values():
            domains = tuple(row["Relevant Domains"])
            task = Task(
                row["task_id"],
                kind,
                domains,
                row["Task Description"],
                row["User Intent"],
                row["Task Goal"],
                _resolve(row["Relevant Affinity Types"], domains, persona),
            )
            yield Scenario("test", persona, task, Situation(row["situations"]))


def some_scenarios(
    users: Mapping[str, Mapping[str, Any]], each: int, seed: int = 7
) -> tuple[list[Scenario], Lexicon]:
    """`each` scenarios of every user, drawn at random, and the lexicon of these users."""
    rng = random.Random(seed)
    drawn: list[Scenario] = []
    for files in users.values():
        scenarios = list(scenarios_of(files))
        drawn += rng.sample(scenarios, min(each, len(scenarios)))
    personas = [persona_of(files["profile"]) for files in users.values()]
    return drawn, build_lexicon(make_vocabulary(*personas))


def _resolve(
    names: Iterable[str], domains: tuple[str, ...], persona: Persona
) -> tuple[AffinityRef, ...]:
    """Each name to the first listed domain that has it, or to the one named in brackets."""
    found: list[AffinityRef] = []
    for name in names:
        match = re.fullmatch(r"(.*?) \((.+)\)", name)
        bare, places = (match[1], (match[2],)) if match else (name, domains)
        refs = [a.ref for a in persona.in_domains(places) if spelling(a.name) == spelling(bare)]
        found += refs[:1]
    return tuple(dict.fromkeys(found))
