"""What an assistant hears: domains, preferences stated and refused, its own open questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from core.context import Briefing
from core.parties.lexicon import Lexicon, words_of
from core.parties.phrases import spelling
from core.parties.reading import Scope, Sign, asked, attribute, domains_in, has, negated
from core.parties.wording import distinct
from core.types import AffinityRef, Message, Role, TaskKind

_MOST_DOMAINS = 5

Known = dict[AffinityRef, list[str]]


@dataclass(slots=True)
class Heard:
    """What the history tells an assistant, recomputed at every turn."""

    turn: int = 0
    opening: str = ""
    last: str = ""
    mine: str = ""  # the assistant's own previous message
    scope: Scope = field(default_factory=lambda: Scope(()))
    stated: Known = field(default_factory=dict)
    refused: Known = field(default_factory=dict)
    new: Known = field(default_factory=dict)  # stated in the last message
    corrected: bool = False  # the last message spoke against a value
    asked: list[AffinityRef] = field(default_factory=list)  # ever, by this assistant
    pending: list[AffinityRef] = field(default_factory=list)  # in its previous message
    done: bool = False

    def open(self, ref: AffinityRef) -> bool:
        return ref not in self.stated and ref not in self.asked


class Hearing:
    """Turns a history into what it tells an assistant with this briefing."""

    def __init__(self, briefing: Briefing, lexicon: Lexicon) -> None:
        self._briefing = briefing
        self._lexicon = lexicon
        self._phrases = lexicon.phrases
        self._single = briefing.kind is TaskKind.SINGLE

    def hear(self, history: Sequence[Message]) -> Heard:
        heard = Heard()
        heard.opening = next((m.content for m in history if m.role is Role.USER), "")
        heard.scope = self._scope(history)
        for message in history:
            if message.role is Role.USER:
                self._hear_user(message.content, heard)
            else:
                self._hear_self(message.content, heard)
        return heard

    def _hear_self(self, text: str, heard: Heard) -> None:
        heard.mine = text
        fresh = [r for r in heard.scope.refs if r not in heard.asked]
        heard.pending = asked(text, heard.scope, self._lexicon, fresh)
        heard.asked += [r for r in heard.pending if r not in heard.asked]
        heard.done = heard.done or has(text, Sign.DONE)

    def _hear_user(self, text: str, heard: Heard) -> None:
        heard.turn += 1
        heard.last = text
        heard.new = {}
        heard.corrected = False
        for ref, mentions in attribute(text, heard.scope, self._lexicon, heard.pending).items():
            for mention in mentions:
                if negated(text, mention):
                    heard.refused.setdefault(ref, []).append(mention.value)
                    heard.corrected = True
                else:
                    heard.new.setdefault(ref, []).append(mention.value)
        if heard.turn == 1:  # the wish itself is no preference
            heard.new = {}
        heard.stated |= heard.new

    def _scope(self, history: Sequence[Message]) -> Scope:
        """The domains that the context names, or that the user's words point to."""
        if self._briefing.interactions is not None:
            domains = list(self._briefing.interactions)
        else:
            said = [m.content for m in history if m.role is Role.USER]
            domains = self._domains_of(said[0] if said else "")
            for text in said[1:]:
                domains += self._domains_behind(text, domains)
        return Scope(tuple(r for d in domains[:_MOST_DOMAINS] for r in self._refs(d)))

    def _domains_of(self, opening: str) -> list[str]:
        likely = domains_in(opening)
        if self._single:
            return likely[:1]
        sure = domains_in(opening, sure=True)
        return sure if len(sure) > 1 else likely[:2]

    def _domains_behind(self, text: str, known: Sequence[str]) -> list[str]:
        """Further domains, when values are mentioned that none of the known ones has."""
        places = {m.position for d in known for m in self._lexicon.find(d, text)}
        if places and self._single:
            return []
        further: list[str] = []
        for _ in range(2):  # a user speaks of two things at most in one breath
            found = {d: self._places(d, text) - places for d in self._lexicon.domains}
            best = max(found, key=lambda d: len(found[d]), default="")
            if found.get(best):
                further.append(best)
                places |= found[best]
        return further

    def _places(self, domain: str, text: str) -> set[int]:
        return {m.position for m in self._lexicon.find(domain, text)}

    def _refs(self, domain: str) -> list[AffinityRef]:
        """The affinities of a domain, in the order in which one would ask for them."""
        of = self._phrases.domains.get(domain)
        names = list(self._lexicon.affinities(domain))
        order = {spelling(name): i for i, name in enumerate(of.affinities)} if of else {}
        names.sort(key=lambda name: order.get(spelling(name), len(order)))
        return [AffinityRef(domain, name) for name in names]


@lru_cache(maxsize=2048)
def read_summary(
    domain: str, summary: str, scope: Scope, lexicon: Lexicon
) -> tuple[tuple[AffinityRef, tuple[str, ...]], ...]:
    """Preferences that an interaction summary states, in its order, without those it denies."""
    own = Scope(tuple(r for r in scope.refs if r.domain == domain))
    found: dict[AffinityRef, tuple[str, ...]] = {}
    for ref, mentions in attribute(summary, own, lexicon).items():
        values = _fullest(distinct(m.value for m in mentions if not negated(summary, m)))
        of = lexicon.phrases.affinity(ref.domain, ref.name)
        if of.open:
            values = [v for v in values if v != v.lower()] or values  # names before descriptions
        if values and not of.vague:
            found[ref] = tuple(values[:1] if of.single else values)
    return tuple(found.items())


def _fullest(values: Sequence[str]) -> list[str]:
    """Without values that are part of another one: "social" beside "social gatherings"."""
    folded = [f" {' '.join(words_of(v))} " for v in values]
    return [
        v for v, f in zip(values, folded, strict=True) if not any(f in o and f != o for o in folded)
    ]
