"""What an attentive assistant makes of the moment and of where a person lives, in one sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from core.context import Briefing
from core.parties.phrases import Phrases
from core.parties.wording import fill, pick

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_TIMES = ("morning", "afternoon", "evening", "night")
_DEVICES = ("laptop", "smartphone", "phone", "tablet", "desktop", "computer")
_PLAIN = re.compile(r"[^\W\d_][^\d\[\]<>()|{}/]{1,39}")  # a name, nothing that a template left


def moment_line(briefing: Briefing, domains: Sequence[str], phrases: Phrases, seed: int) -> str:
    """One sentence that puts the situation or the country to use; empty when neither is given."""
    if briefing.situation is not None:
        return _of_situation(briefing.situation, domains, phrases, seed)
    if briefing.demographics is not None:
        country = _country(briefing.demographics, phrases)
        if country:
            return fill(pick(phrases.assistant["home"], seed), country=country)
    return ""


def _of_situation(
    situation: Mapping[str, str], domains: Sequence[str], phrases: Phrases, seed: int
) -> str:
    city, when, device = _city(situation), _when(situation), _device(situation)
    local = any(d in phrases.domains and phrases.domains[d].local for d in domains)
    if local and city:
        key = "place_when" if when else "place"
        return fill(pick(phrases.assistant[key], seed), city=city, when=when)
    if device:
        return fill(pick(phrases.assistant["device"], seed), device=device)
    return fill(pick(phrases.assistant["moment"], seed), when=when) if when else ""


def _city(situation: Mapping[str, str]) -> str:
    city = situation.get("Location", "").split(",")[0].strip()
    return city if _PLAIN.fullmatch(city) else ""


def _when(situation: Mapping[str, str]) -> str:
    """ "a Saturday evening", or nothing unless both parts are plain."""
    day = situation.get("Day of the Week", "").strip()
    time = situation.get("Time of Day", "").strip().lower()
    return f"a {day} {time}" if day in _DAYS and time in _TIMES else ""


def _device(situation: Mapping[str, str]) -> str:
    device = situation.get("Device", "").strip().lower()
    return device if device in _DEVICES else ""


def _country(demographics: Mapping[str, str], phrases: Phrases) -> str:
    name = demographics.get("reside_country", "").strip()
    if not _PLAIN.fullmatch(name) or "," in name or phrases.is_nothing(name):
        return ""
    short = name.split(" of Great Britain")[0]
    article = any(word in short.casefold() for word in phrases.with_article)
    return f"the {short}" if article else short
