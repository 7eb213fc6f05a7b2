"""Reading preferences off plain text: the values that a data set knows, found as whole words.

A value is found wherever its words stand in a row, whatever their case, hyphens and spacing
("non-fiction", "Non fiction"). The longest value wins, and found values do not overlap. Some
values are too common to be read off anywhere, and the phrase file names them: *shy* values
("first", "standard", "history") count only near a word that belongs to their affinity; names
that are also ordinary words ("Dollar", "Muse"), and titles and names of open affinities, count
only with a capital; a few ("No", "It") are never read, nor are values that mean "nothing".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

from core.parties.phrases import AffinityPhrases, Phrases, phrases
from core.types import Vocabulary

READ_AT_MOST = 20_000
"""Characters of a message that are read; what stands behind is ignored, so that a flood of text
costs little. No message of a sensible party comes near."""

_NEAR = 5  # words on either side in which a shy value looks for its company
_FAR = 9  # and for the words of a sentence that states or applies it
_SHORT = 600  # characters of a text that is remembered together with many others
_GAP = 4  # characters that may stand between two words of one value
_WORD = re.compile(r"\w+|[$+&÷]")
_PUNCTUATION = re.compile(r"[.,;:!?()\n]")

T = TypeVar("T")


class Token(NamedTuple):
    word: str
    start: int
    end: int
    capital: bool
    breaks: bool  # whether a comma, full stop or the like stands before it


class Mention(NamedTuple):
    """One value found in a text: of which affinity, which value, and from where to where."""

    affinity: str
    value: str
    position: int
    end: int


def cached_by_length(function: Callable[[str], T]) -> Callable[[str], T]:
    """Remember the results for many short texts and for a few long ones, to bound memory."""
    short = lru_cache(maxsize=4096)(function)
    long = lru_cache(maxsize=64)(function)
    return lambda text: short(text) if len(text) <= _SHORT else long(text)


@cached_by_length
def tokenise(text: str) -> tuple[Token, ...]:
    """The words of `text`, folded, with their places."""
    tokens: list[Token] = []
    before = 0
    for found in _WORD.finditer(text):
        word, start, end = found.group(), found.start(), found.end()
        breaks = start - before > 1 and _PUNCTUATION.search(text, before, start) is not None
        tokens.append(Token(word.casefold(), start, end, word[0].isupper(), breaks))
        before = end
    return tuple(tokens)


def tokens_of(text: str) -> tuple[Token, ...]:
    return tokenise(text[:READ_AT_MOST])


def words_of(text: str) -> tuple[str, ...]:
    """The folded words of a phrase."""
    return tuple(m.group().casefold() for m in _WORD.finditer(text))


class Hit(NamedTuple, Generic[T]):
    payload: T
    first: int  # index of the first token
    last: int  # index behind the last token


class _Phrase(NamedTuple, Generic[T]):
    words: tuple[str, ...]
    payloads: tuple[T, ...]
    loose: bool  # it has punctuation of its own, so that the text may have some inside it

    def stands_at(self, tokens: Sequence[Token], position: int) -> bool:
        words = self.words
        if position + len(words) > len(tokens):
            return False
        for offset in range(1, len(words)):
            token = tokens[position + offset]
            if token.word != words[offset] or (token.breaks and not self.loose):
                return False
            if token.start - tokens[position + offset - 1].end > _GAP:
                return False
        return True


class TokenIndex(Generic[T]):
    """Finds phrases in a row of tokens: the longest first, without overlap."""

    def __init__(self, entries: Iterable[tuple[str, T]]) -> None:
        by_words: dict[tuple[str, ...], dict[T, None]] = {}
        loose: set[tuple[str, ...]] = set()
        for phrase, payload in entries:
            words = words_of(phrase)
            if words:
                by_words.setdefault(words, {})[payload] = None
                if _PUNCTUATION.search(phrase):
                    loose.add(words)
        self._by_first: dict[str, list[_Phrase[T]]] = {}
        for words, payloads in by_words.items():
            phrase_ = _Phrase(words, tuple(payloads), words in loose)
            self._by_first.setdefault(words[0], []).append(phrase_)
        for found in self._by_first.values():
            found.sort(key=lambda entry: -len(entry.words))

    def find(self, tokens: Sequence[Token]) -> list[Hit[tuple[T, ...]]]:
        hits: list[Hit[tuple[T, ...]]] = []
        position = 0
        while position < len(tokens):
            hit = self._at(tokens, position)
            if hit is None:
                position += 1
            else:
                hits.append(hit)
                position = hit.last
        return hits

    def find_all(self, tokens: Sequence[Token]) -> list[tuple[T, ...]]:
        """Payloads of every phrase that occurs, overlapping ones too."""
        return [
            phrase.payloads
            for position, token in enumerate(tokens)
            for phrase in self._by_first.get(token.word, ())
            if phrase.stands_at(tokens, position)
        ]

    def _at(self, tokens: Sequence[Token], position: int) -> Hit[tuple[T, ...]] | None:
        for phrase in self._by_first.get(tokens[position].word, ()):
            if phrase.stands_at(tokens, position):
                return Hit(phrase.payloads, position, position + len(phrase.words))
        return None

    def __contains__(self, tokens: Sequence[Token]) -> bool:
        return any(self._at(tokens, i) for i in range(len(tokens)))


class _Company(NamedTuple):
    """What a shy value needs near it: one of some words, or words of a party's own sentences."""

    words: frozenset[str]
    leads: frozenset[tuple[str, ...]]

    def is_near(self, tokens: Sequence[Token], first: int, last: int) -> bool:
        before = [token.word for token in tokens[max(0, first - _FAR) : first]]
        after = [token.word for token in tokens[last : last + _FAR]]
        if self.words.intersection(before[-_NEAR:]) or self.words.intersection(after[:_NEAR]):
            return True
        return any(_contains(around, lead) for around in (before, after) for lead in self.leads)


class _Entry(NamedTuple):
    affinity: str
    value: str
    company: _Company | None  # None: the value counts anywhere
    capital: bool


class Lexicon:
    """The values of a data set by domain and affinity, and where a text mentions them.

    Immutable after it is built, safe to share between threads; build one per data set and
    process (`build_lexicon`), since it holds caches.
    """

    def __init__(self, vocabulary: Vocabulary, words: Phrases) -> None:
        self.phrases = words
        self._values = {
            domain: {name: _by_frequency(counts, words) for name, counts in names.items()}
            for domain, names in vocabulary.items()
        }
        self._index = {
            domain: TokenIndex(_entries(domain, names, words))
            for domain, names in self._values.items()
        }
        self._lower = {
            (domain, name): _lower_words(values)
            for domain, names in self._values.items()
            for name, values in names.items()
        }
        self._cached_find = lru_cache(maxsize=8192)(self._find)

    @property
    def domains(self) -> tuple[str, ...]:
        return tuple(self._values)

    def affinities(self, domain: str) -> tuple[str, ...]:
        return tuple(self._values.get(domain, ()))

    def values(self, domain: str, affinity: str) -> tuple[str, ...]:
        """Values held by somebody, the most frequent first; none that means "nothing"."""
        return self._values.get(domain, {}).get(affinity, ())

    def find(self, domain: str, text: str) -> tuple[Mention, ...]:
        """Values of `domain` that `text` mentions, in the order in which they stand.

        A word that is a value of two affinities gives two mentions at the same position.
        """
        return self._cached_find(domain, text[:READ_AT_MOST])

    def spoken(self, domain: str, affinity: str, value: str) -> str:
        """`value` as it is said in the middle of a sentence ("Casual" becomes "casual").

        A capital is dropped only if the data set itself also writes that word without one, and
        the rest of the value has none.
        """
        first, _, rest = value.partition(" ")
        lower = self._lower.get((domain, affinity), frozenset())
        if rest == rest.lower() and first[1:].islower() and first.lower() in lower:
            value = value[:1].lower() + value[1:]
        of = self.phrases.affinity(domain, affinity)
        return in_plural(value, self.phrases.countable) if of.kinds else value

    def _find(self, domain: str, text: str) -> tuple[Mention, ...]:
        index = self._index.get(domain)
        if index is None:
            return ()
        tokens = tokenise(text)
        found: list[Mention] = []
        for entries, first, last in index.find(tokens):
            start, end = tokens[first].start, tokens[last - 1].end
            for entry in entries:
                if _counts(entry, tokens, first, last):
                    found.append(Mention(entry.affinity, entry.value, start, end))
        return tuple(found)


def build_lexicon(vocabulary: Vocabulary) -> Lexicon:
    """A lexicon of `vocabulary`, with the phrases that ship; PersonaLens takes 0.4 s, once."""
    return Lexicon(vocabulary, phrases())


def _by_frequency(counts: Mapping[str, int], words: Phrases) -> tuple[str, ...]:
    real = [value for value in counts if not words.is_nothing(value)]
    return tuple(sorted(real, key=lambda value: (-counts[value], value)))


def _entries(
    domain: str, names: Mapping[str, tuple[str, ...]], words: Phrases
) -> list[tuple[str, _Entry]]:
    entries: list[tuple[str, _Entry]] = []
    for name, values in names.items():
        of = words.affinity(domain, name)
        for value in values:
            if value.strip().casefold() not in words.never:
                entries += _forms(name, value, of, words)
    return entries


def _forms(name: str, value: str, of: AffinityPhrases, words: Phrases) -> list[tuple[str, _Entry]]:
    """The forms under which a value is recognised, each with what it needs to count."""
    folded = value.strip().casefold()
    company = _company_of(of) if folded in of.shy else None
    capital = _like_a_name(value) and (of.open or (folded in words.ordinary and not of.shy))
    needs = _Entry(name, value, company, capital)
    free = _Entry(name, value, None, capital=False)
    entries = [(value, needs)]
    if value.endswith(")"):
        entries.append((without_aside(value), needs))
    if of.kinds:
        entries.append((in_plural(value, words.countable), needs))
    special = of.values.get(folded)
    if special:
        forms = (*special.find, special.say or "")
        entries += [(form, needs if form.casefold() == folded else free) for form in forms]
    return entries


def _like_a_name(value: str) -> bool:
    """ "Me Before You", "Dune"; not "Local banks", whose capital only opens the value."""
    return value[1:] != value[1:].lower() or (" " not in value and value != value.lower())


def without_aside(value: str) -> str:
    """Without an explanation in brackets at the end, which nobody would say."""
    return re.sub(r"\s*\([^()]*\)\s*$", "", value) or value


def in_plural(value: str, countable: frozenset[str]) -> str:
    """ "board game" as "board games"; a value whose last word is not countable stays."""
    stem, last = value[: -len(value.split()[-1])] if value.split() else "", value.split()[-1:]
    if not last or last[0].casefold() not in countable:
        return value
    word = last[0]
    if word.endswith("y"):
        return f"{stem}{word[:-1]}ies"
    return f"{stem}{word}{'es' if word.endswith(('ch', 'sh', 's', 'x')) else 's'}"


@lru_cache(maxsize=1024)
def _company_of(of: AffinityPhrases) -> _Company:
    leads: set[tuple[str, ...]] = set()
    for template in (*of.say, *of.plural, of.with_, of.claim):
        before, _, after = template.partition("$item")
        leads |= {words_of(before)[-2:], words_of(after)[:2]}
    words = of.near | {cue for cue in of.cues if " " not in cue}
    return _Company(words, frozenset(lead for lead in leads if _is_telling(lead)))


def _is_telling(lead: tuple[str, ...]) -> bool:
    return len(lead) > 1 or any(len(word) > 4 for word in lead)


def _contains(words: Sequence[str], lead: tuple[str, ...]) -> bool:
    span = len(lead)
    return any(tuple(words[i : i + span]) == lead for i in range(len(words) - span + 1))


def _counts(entry: _Entry, tokens: Sequence[Token], first: int, last: int) -> bool:
    if entry.capital and not any(token.capital for token in tokens[first:last]):
        return False
    return entry.company is None or entry.company.is_near(tokens, first, last)


def _lower_words(values: Iterable[str]) -> frozenset[str]:
    words = (word for value in values for word in value.split())
    return frozenset(word for word in words if word == word.lower())
