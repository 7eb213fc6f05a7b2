"""Putting values into sentences: lists, articles, capitals, and a steady choice among variants."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from string import Template

from core.parties import STOP_TOKEN
from core.parties.lexicon import Lexicon, without_aside, words_of
from core.parties.phrases import AffinityPhrases
from core.types import AffinityRef

_LONGEST_VALUE = 80
_CLOCK = re.compile(r"\b(\d{1,2}(?::\d\d)?) ?([AaPp])\.?[Mm]\b\.?")
_TWO_STOPS = re.compile(r"(?<=[.!])(?<!\.\.)\.(?!\.)")
_LEADING_A = re.compile(r"\ba \$value")


def pick(options: Sequence[str], *key: object) -> str:
    """One of `options`, always the same one for the same key."""
    return options[zlib.crc32("|".join(map(str, key)).encode()) % len(options)]


def rotate(options: Sequence[str], turn: int, *key: object) -> str:
    """One of `options`, a different one in each turn until all have been used."""
    return options[(zlib.crc32("|".join(map(str, key)).encode()) + turn) % len(options)]


def fill(template: str, **values: str) -> str:
    """Put values into a sentence; a full stop after "Inc." is not doubled."""
    return _TWO_STOPS.sub("", Template(template).safe_substitute(values))


def capitalise(text: str) -> str:
    """Raise the first letter; leave names such as "eBay" and "iMessage" as they are."""
    word = re.match(r"\w*", text)
    if word and any(c.isupper() for c in word.group()[1:]):
        return text
    return text[:1].upper() + text[1:]


def sentence(text: str) -> str:
    """A clause as a sentence: capital at the start, one full stop at the end."""
    text = capitalise(text.strip())
    return text if text.endswith((".", "?", "!", "…", ".”")) else f"{text}."


def join_list(items: Sequence[str], word: str = "and") -> str:
    """ "a", "a and b", "a, b and c"."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {word} {items[-1]}"


def join_phrases(parts: Sequence[str]) -> str:
    """Like `join_list`, but with commas only where there are two or a part is itself a list."""
    if len(parts) < 3 or any(re.search(r" (and|or) |, |: ", part) for part in parts):
        return ", ".join(parts)
    return join_list(parts)


def clean(value: str) -> str:
    """An untrusted value as one short line that can end no dialogue."""
    line = " ".join(value.replace(STOP_TOKEN, " ").split())
    line = _CLOCK.sub(lambda m: f"{m[1]} {m[2].lower()}m", line)
    if len(line) <= _LONGEST_VALUE:
        return line
    return line[:_LONGEST_VALUE].rsplit(" ", 1)[0]


def distinct(values: Iterable[str]) -> list[str]:
    """Without repetitions; case and punctuation make no difference."""
    kept: dict[tuple[str, ...], str] = {}
    for value in values:
        kept.setdefault(words_of(value) or (value,), value)
    return list(kept.values())


def say_items(
    lexicon: Lexicon, ref: AffinityRef, values: Sequence[str], whose: str = "your"
) -> str:
    """The values of one affinity as one noun phrase: "a window seat", "Thai or Greek food".

    `whose` is put before people where the phrase file says so: "your wife Maeve and aunt Jo".
    """
    return _items(lexicon, ref, tuple(values), whose)


@lru_cache(maxsize=8192)
def _items(lexicon: Lexicon, ref: AffinityRef, values: tuple[str, ...], whose: str) -> str:
    of = lexicon.phrases.affinity(ref.domain, ref.name)
    plain: list[str] = []
    whole: list[str] = []
    for value in distinct(values):
        special = of.values.get(value.strip().casefold())
        stands_alone = special is not None and special.whole and special.say is not None
        (whole if stands_alone else plain).append(spoken(lexicon, ref, value))
    parts = [_one_item(of, plain, whose)] if plain else []
    return join_list([*parts, *whole], of.join)


def spoken(lexicon: Lexicon, ref: AffinityRef, value: str) -> str:
    """One value as it is said in the middle of a sentence."""
    special = lexicon.phrases.affinity(ref.domain, ref.name).values.get(value.strip().casefold())
    said = special.say if special and special.say else None
    return without_aside(clean(said or lexicon.spoken(ref.domain, ref.name, value)))


def _one_item(of: AffinityPhrases, values: Sequence[str], whose: str) -> str:
    template = of.item
    if values[0][:1].lower() in "aeiou":
        template = _LEADING_A.sub("an $value", template)
    owner = "" if values[0][:1].isupper() else whose  # "my sister", but plain "Maeve"
    after = template.partition("$value")[2]
    if after and values[-1].casefold().endswith(after.casefold()):  # "café food", not twice
        template = template.removesuffix(after)
    return fill(template, value=join_list(values, of.join), whose=owner).strip()


def adjunct(lexicon: Lexicon, ref: AffinityRef, values: Sequence[str]) -> str:
    """What an assistant appends to its act for these values: "with a window seat"."""
    of = lexicon.phrases.affinity(ref.domain, ref.name)
    if len(values) == 1:
        special = of.values.get(values[0].strip().casefold())
        if special and special.with_:
            return special.with_
    return fill(of.with_, item=say_items(lexicon, ref, values))


def statement(lexicon: Lexicon, ref: AffinityRef, values: Sequence[str], *key: object) -> str:
    """A user's clause that states these values, without a full stop."""
    of = lexicon.phrases.affinity(ref.domain, ref.name)
    options = of.plural if of.plural and len(values) > 1 else of.say
    return fill(pick(options, *key), item=say_items(lexicon, ref, values, "my"))
