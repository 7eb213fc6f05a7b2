"""What the scripted parties say and how they read: the phrase file, loaded and validated."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path
from string import Template
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from core.errors import AssetError

PHRASES_FILE = Path(__file__).parents[2] / "assets" / "scripted" / "phrases.v1.yaml"

Texts = tuple[str, ...]


class _Frozen(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=(), strict=False)

    def __hash__(self) -> int:  # one instance per phrase file: identity is enough
        return id(self)


class ValuePhrases(_Frozen):
    """One value that is said or recognised otherwise than by its own words."""

    say: str | None = None
    with_: str | None = Field(default=None, alias="with")
    find: Texts = ()
    whole: bool = False  # `say` stands for the whole item, not for $value in it


class AffinityPhrases(_Frozen):
    """How one affinity is asked for, stated, applied and pretended to be known."""

    about: str
    cues: Texts = ()
    item: str = "$value"
    join: str = Field(default="and", pattern="^(and|or)$")
    ask: Texts = Field(min_length=1)
    say: Texts = Field(min_length=1)
    plural: Texts = ()
    with_: str = Field(alias="with")
    claim: str
    values: Mapping[str, ValuePhrases] = Field(default_factory=dict)
    shy: frozenset[str] = frozenset()
    near: frozenset[str] = frozenset()
    single: bool = False
    early: bool = True
    open: bool = False
    kinds: bool = False
    vague: bool = False

    @model_validator(mode="after")
    def _holds_its_placeholder(self) -> AffinityPhrases:
        for text in (*self.say, *self.plural, self.with_, self.claim):
            if _names(text) - {"value", "noun"} != {"item"} and "$value" not in text:
                raise ValueError(f"“{text}” must hold $item and nothing else to fill in")
        if _names(self.item) - {"whose"} != {"value"}:
            raise ValueError(f"“{self.item}” must hold $value")
        return self


class Act(_Frozen):
    """What an assistant does in a domain; the first whose `when` occurs in the opening wins."""

    do: str
    done: str
    when: Texts = ()
    plain: bool = False


class DomainPhrases(_Frozen):
    keywords: Texts = Field(min_length=1)
    hints: Texts = ()
    topic: str
    thing: str
    acts: tuple[Act, ...] = Field(min_length=1)
    openings: Texts = Field(min_length=1)
    affinities: Mapping[str, AffinityPhrases] = Field(min_length=1)
    local: bool = False

    @model_validator(mode="after")
    def _last_act_is_for_everything(self) -> DomainPhrases:
        if self.acts[-1].when:
            raise ValueError("the last of acts must not have a 'when'")
        return self


class ReadingPhrases(_Frozen):
    """Markers by which a message is understood, as whole words."""

    done_subjects: Texts = Field(min_length=1)
    done_verbs: Texts = Field(min_length=1)
    done_auxiliaries: Texts = Field(min_length=1)
    done_phrases: Texts = Field(min_length=1)
    offers: Texts = Field(min_length=1)
    closers: Texts = Field(min_length=1)
    decided: Texts = Field(min_length=1)
    claims: Texts = Field(min_length=1)
    negations: Texts = Field(min_length=1)
    after_negations: Texts = Field(min_length=1)
    thanks: Texts = Field(min_length=1)
    agreement: Texts = Field(min_length=1)
    indifference: Texts = Field(min_length=1)
    preference: Texts = Field(min_length=1)
    assistant_roles: Texts = Field(min_length=1)
    user_roles: Texts = Field(min_length=1)


class GenericPhrases(_Frozen):
    topic: str
    thing: str
    acts: tuple[Act, ...] = Field(min_length=1)
    openings: Texts = Field(min_length=1)
    affinity: AffinityPhrases


class Phrases(_Frozen):
    """The whole phrase file."""

    version: int
    ordinary: frozenset[str]
    never: frozenset[str]
    countable: frozenset[str]
    nothing: frozenset[str]
    with_article: Texts
    reading: ReadingPhrases
    user: Mapping[str, Texts]
    assistant: Mapping[str, Texts]
    generic: GenericPhrases
    domains: Mapping[str, DomainPhrases]

    @model_validator(mode="after")
    def _has_all_sentences(self) -> Phrases:
        for side, keys in (("user", _USER_KEYS), ("assistant", _ASSISTANT_KEYS)):
            have: Mapping[str, Texts] = getattr(self, side)
            for key in sorted(keys):
                if not have.get(key):
                    raise ValueError(f"{side} lacks the sentences '{key}'")
        return self

    @cached_property
    def _by_name(self) -> dict[tuple[str, str], AffinityPhrases]:
        return {
            (domain, spelling(name)): phrases
            for domain, of in self.domains.items()
            for name, phrases in of.affinities.items()
        }

    @cached_property
    def _made(self) -> dict[str, AffinityPhrases]:
        return {}

    def affinity(self, domain: str, name: str) -> AffinityPhrases:
        """The phrases of an affinity; generic ones from its name where the file has none."""
        found = self._by_name.get((domain, spelling(name)))
        return found or self._generic_affinity(name)

    def _generic_affinity(self, name: str) -> AffinityPhrases:
        made = self._made.get(name)
        if made is None:
            made = _with_noun(self.generic.affinity, noun_of(name))
            if len(self._made) < 1000:
                self._made[name] = made
        return made

    def acts(self, domain: str) -> tuple[Act, ...]:
        known = self.domains.get(domain)
        return known.acts if known else self.generic.acts

    def topic(self, domain: str) -> str:
        known = self.domains.get(domain)
        return known.topic if known else self.generic.topic

    def is_nothing(self, value: str) -> bool:
        """Whether a stored value says that there is no preference."""
        return value.strip().casefold() in self.nothing or not value.strip()


_USER_KEYS = frozenset(
    {"wishes", "asks", "invites", "several", "no_preference", "no_preference_generic", "agree"}
    | {"go_ahead", "correct", "correct_claim", "again", "more", "nudge", "check", "thanks"}
)
_ASSISTANT_KEYS = frozenset(
    {"propose", "moment", "place", "place_when", "device", "home", "confirm", "start", "noted"}
    | {"noted_plain", "free_choice", "sorry", "done", "closing", "farewell", "updated", "unclear"}
    | {"invented", "invented_more", "pushed", "pushed_more", "grudging"}
)


def _names(text: str) -> set[str]:
    return set(Template(text).get_identifiers())


def spelling(name: str) -> str:
    """One spelling for names that sources write in two ways (Favorite, Favourite)."""
    return name.casefold().replace("favorite", "favourite")


def noun_of(name: str) -> str:
    """A noun phrase for an affinity that the phrase file does not know."""
    words = re.sub(r"[^\w\s/&'-]", " ", name)[:60]
    words = re.sub(r"(?i)\b(preferred|preferences?|favou?rites?|usual)\b", " ", words)
    noun = " ".join(words.split()).lower()
    return f"the {noun}" if noun else "this"


def _with_noun(phrases: AffinityPhrases, noun: str) -> AffinityPhrases:
    def fill(text: str) -> str:
        return Template(text).safe_substitute(noun=noun)

    return phrases.model_copy(
        update={
            "about": fill(phrases.about),
            "cues": (noun.removeprefix("the "),),
            "ask": tuple(map(fill, phrases.ask)),
            "say": tuple(map(fill, phrases.say)),
        }
    )


def load_phrases(path: Path = PHRASES_FILE) -> Phrases:
    """Read and validate a phrase file. Raises `AssetError` naming the file and the field."""
    try:
        data: Any = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise AssetError(f"Cannot read the phrase file {path}: {reason}.") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        raise AssetError(f"{path.name}{where}: not valid YAML; correct the file.") from None
    try:
        return Phrases.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "file"
        raise AssetError(f"{path.name}: {field}: {first['msg']}.") from None


@cache
def phrases() -> Phrases:
    """The phrases that ship with Rapport, read once per process."""
    return load_phrases()
