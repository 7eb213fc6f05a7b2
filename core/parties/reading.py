"""Understanding a message without a model: sentences, questions, claims, what is asked for.

The rules are whole-word markers from the phrase file. They understand the scripted parties
exactly and other texts roughly; the parties are made so that a misreading costs a turn and
never a false success.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache

from core.parties.lexicon import (
    READ_AT_MOST,
    Hit,
    Lexicon,
    Mention,
    Token,
    TokenIndex,
    cached_by_length,
    tokenise,
    tokens_of,
)
from core.parties.phrases import AffinityPhrases, Phrases, phrases
from core.types import AffinityRef

_BREAK = re.compile(r"(?<=[.!?…])(?<![A-Z]\.)[\"'”’)\]*_]*\s+|[\n\r]+")
_CLAUSE = re.compile(r"[.,;:!?()\n–—]")
_STRONG = 3  # what a keyword weighs, when a hint weighs one
_DENIALS = frozenset(
    {"not", "never", "cannot", "unable", "haven", "hasn", "couldn", "wasn", "isn", "aren", "sorry"}
)
_BACK = 4  # words before a value in which a negation still reaches it


class Sign(StrEnum):
    """What a sentence can be seen to do."""

    QUESTION = "question"
    DONE = "done"
    OFFER = "offer"
    CLOSER = "closer"
    DECIDED = "decided"
    CLAIM = "claim"
    AGREEMENT = "agreement"
    THANKS = "thanks"
    INDIFFERENCE = "indifference"
    PREFERENCE = "preference"
    ASSISTANT_ROLE = "assistant_role"
    USER_ROLE = "user_role"


@dataclass(frozen=True, slots=True)
class Sentence:
    start: int
    end: int
    tokens: tuple[Token, ...]
    signs: frozenset[Sign]

    def __contains__(self, position: int) -> bool:
        return self.start <= position < self.end


@cache
def _signs(words: Phrases) -> TokenIndex[Sign]:
    of = words.reading
    verbs = of.done_verbs
    done = [f"{s} {v}" for s in (*of.done_subjects, *of.done_auxiliaries) for v in verbs]
    by_sign = {
        Sign.DONE: (*done, *of.done_phrases),
        Sign.OFFER: of.offers,
        Sign.CLOSER: of.closers,
        Sign.DECIDED: of.decided,
        Sign.CLAIM: of.claims,
        Sign.AGREEMENT: of.agreement,
        Sign.THANKS: of.thanks,
        Sign.INDIFFERENCE: of.indifference,
        Sign.PREFERENCE: of.preference,
        Sign.ASSISTANT_ROLE: of.assistant_roles,
        Sign.USER_ROLE: of.user_roles,
    }
    return TokenIndex((text, sign) for sign, texts in by_sign.items() for text in texts)


@cache
def _negations(words: Phrases) -> tuple[TokenIndex[str], TokenIndex[str]]:
    of = words.reading
    return (
        TokenIndex((text, text) for text in of.negations),
        TokenIndex((text, text) for text in of.after_negations),
    )


@cache
def _keywords(words: Phrases) -> TokenIndex[tuple[str, int]]:
    weighted = ((_STRONG, "keywords"), (1, "hints"))
    return TokenIndex(
        (text, (domain, weight))
        for domain, of in words.domains.items()
        for weight, texts in weighted
        for text in getattr(of, texts)
    )


def read(text: str) -> tuple[Sentence, ...]:
    """The sentences of a message with their signs. Reads at most `READ_AT_MOST` characters."""
    return _read(text[:READ_AT_MOST])


@cached_by_length
def _read(text: str) -> tuple[Sentence, ...]:
    tokens = tokenise(text)
    sentences: list[Sentence] = []
    first = start = 0
    for end in (*(m.end() for m in _BREAK.finditer(text)), len(text)):
        last = first
        while last < len(tokens) and tokens[last].start < end:
            last += 1
        if last > first:
            signs = _signs_of(text[start:end], tokens[first:last])
            sentences.append(Sentence(start, end, tokens[first:last], signs))
        first, start = last, end
    return tuple(sentences)


def _signs_of(text: str, tokens: tuple[Token, ...]) -> frozenset[Sign]:
    words = phrases()
    signs = {s for found in _signs(words).find_all(tokens) for s in found}
    if text.rstrip(" \t\r\n\"'”’)]*_").endswith(("?", "？", "؟")):
        signs.add(Sign.QUESTION)
        signs -= {Sign.DONE, Sign.DECIDED}
    if Sign.DONE in signs and _is_denied(tokens):
        signs.discard(Sign.DONE)
    return frozenset(signs)


def _is_denied(tokens: Sequence[Token]) -> bool:
    """ "I have not booked", "I'm unable to confirm": nothing was done after all."""
    return any(token.word in _DENIALS for token in tokens[:6])


def has(text: str, sign: Sign) -> bool:
    return any(sign in s.signs for s in read(text))


def negated(text: str, mention: Mention) -> bool:
    """Whether `text` speaks against the value that it mentions ("not window, please")."""
    before, after = _negations(phrases())
    tokens = tokens_of(text)
    first = next(i for i, t in enumerate(tokens) if t.end > mention.position)
    last = next(
        (i for i in range(first, len(tokens)) if tokens[i].start >= mention.end), len(tokens)
    )
    start = first
    while start > max(0, first - _BACK) and not _CLAUSE.search(
        text, tokens[start - 1].end, tokens[start].start
    ):
        start -= 1
    if tokens[start:first] in before:
        return True
    return any(hit.first == 0 for hit in after.find(tokens[last : last + 4]))


def domains_in(text: str, *, sure: bool = False) -> list[str]:
    """Domains whose keywords occur, the best supported first; with `sure`, hints do not count."""
    tokens = tokens_of(text)
    counts: dict[str, int] = {}
    for found in _keywords(phrases()).find_all(tokens):
        for domain, weight in found:
            counts[domain] = counts.get(domain, 0) + weight
    least = _STRONG if sure else 1
    return [d for d in sorted(counts, key=lambda d: -counts[d]) if counts[d] >= least]


@lru_cache(maxsize=512)
def _cues(domains: tuple[str, ...], names: tuple[tuple[str, ...], ...]) -> TokenIndex[AffinityRef]:
    words = phrases()
    return TokenIndex(
        (cue, AffinityRef(domain, name))
        for domain, of in zip(domains, names, strict=True)
        for name in of
        for cue in _cues_of(words.affinity(domain, name))
    )


def _cues_of(of: AffinityPhrases) -> tuple[str, ...]:
    """The cues, and the assistants' own questions, which are thus always understood."""
    return (*of.cues, *of.ask)


@dataclass(frozen=True, slots=True)
class Scope:
    """The affinities that a dialogue may be about: those of some domains, in a fixed order."""

    refs: tuple[AffinityRef, ...]

    @property
    def domains(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(ref.domain for ref in self.refs))

    def cues(self) -> TokenIndex[AffinityRef]:
        by_domain: dict[str, list[str]] = {}
        for ref in self.refs:
            by_domain.setdefault(ref.domain, []).append(ref.name)
        return _cues(tuple(by_domain), tuple(map(tuple, by_domain.values())))


def asked(
    text: str, scope: Scope, lexicon: Lexicon, prefer: Iterable[AffinityRef] = ()
) -> list[AffinityRef]:
    """What a message asks for, in its order. Offers and "anything else?" ask for nothing.

    A word that may mean several affinities is taken to mean the first of `prefer` among them,
    or one of a domain that the sentence names.
    """
    found: list[AffinityRef] = []
    preferred = tuple(prefer)
    for sentence in read(text):
        if Sign.QUESTION not in sentence.signs or sentence.signs & {Sign.OFFER, Sign.CLOSER}:
            continue
        refs = _by_cue(sentence, scope, preferred, text) or _by_options(
            text, sentence, scope, lexicon
        )
        found += [ref for ref in refs if ref not in found]
    return found


def _by_cue(
    sentence: Sentence, scope: Scope, prefer: Sequence[AffinityRef], text: str
) -> list[AffinityRef]:
    hits = scope.cues().find(sentence.tokens)
    if not hits:
        return []
    named = domains_in(text[sentence.start : sentence.end])
    refs = [_best(h.payload, prefer, named) for h in sorted(hits, key=_shorter)]
    return list(dict.fromkeys(refs))[:1]


def _shorter(hit: Hit[tuple[AffinityRef, ...]]) -> tuple[int, int]:
    return hit.first - hit.last, hit.first


def _best(
    refs: Sequence[AffinityRef], prefer: Sequence[AffinityRef], named: Sequence[str]
) -> AffinityRef:
    if len(refs) == 1:
        return refs[0]
    likely = next((d for d in named if any(ref.domain == d for ref in refs)), None)
    pool = [ref for ref in refs if likely is None or ref.domain == likely]
    return next((ref for ref in prefer if ref in pool), pool[0])


def _by_options(text: str, sentence: Sentence, scope: Scope, lexicon: Lexicon) -> list[AffinityRef]:
    """A question that lists two values of one affinity asks for it."""
    for domain in scope.domains:
        values: dict[str, set[str]] = {}
        for mention in lexicon.find(domain, text):
            if mention.position in sentence:
                values.setdefault(mention.affinity, set()).add(mention.value.casefold())
        for name, offered in values.items():
            if len(offered) > 1 and AffinityRef(domain, name) in scope.refs:
                return [AffinityRef(domain, name)]
    return []


def attribute(
    text: str, scope: Scope, lexicon: Lexicon, asked_for: Sequence[AffinityRef] = ()
) -> dict[AffinityRef, list[Mention]]:
    """Whose values a message mentions: each stretch of text goes to one affinity.

    An affinity whose cue stands in the sentence comes first, then what was just asked for, then
    one of a domain that the sentence names, then the order of the scope.
    """
    spans: dict[tuple[int, int], list[tuple[AffinityRef, Mention]]] = {}
    for domain in scope.domains:
        for mention in lexicon.find(domain, text):
            ref = AffinityRef(domain, mention.affinity)
            if ref in scope.refs:
                spans.setdefault((mention.position, mention.end), []).append((ref, mention))
    found: dict[AffinityRef, list[Mention]] = {}
    for span, candidates in sorted(spans.items()):
        if _inside_another(span, spans):
            continue
        ref = _whose(text, span[0], [r for r, _ in candidates], scope, asked_for)
        found.setdefault(ref, []).extend(m for r, m in candidates if r == ref)
    return found


def _inside_another(span: tuple[int, int], spans: Iterable[tuple[int, int]]) -> bool:
    """Whether a longer value of another domain covers this one ("upbeat" in "upbeat music")."""
    start, end = span
    return any(s <= start and end <= e and (s, e) != span for s, e in spans)


def _whose(
    text: str,
    position: int,
    refs: Sequence[AffinityRef],
    scope: Scope,
    asked_for: Sequence[AffinityRef],
) -> AffinityRef:
    if len(set(refs)) == 1:
        return refs[0]
    sentence = next((s for s in read(text) if position in s), None)
    cued = _cued(sentence, scope) if sentence else []
    named = domains_in(text[sentence.start : sentence.end]) if sentence else []
    order = list(asked_for)

    def rank(ref: AffinityRef) -> tuple[bool, int, bool]:
        asked_at = order.index(ref) if ref in order else len(order)
        return ref not in cued, asked_at, ref.domain not in named

    return min(refs, key=rank)


def _cued(sentence: Sentence, scope: Scope) -> list[AffinityRef]:
    return [ref for found in scope.cues().find_all(sentence.tokens) for ref in found]


def about(text: str, ref: AffinityRef) -> bool:
    """Whether one sentence of `text` says that this affinity does not matter."""
    topic = phrases().affinity(ref.domain, ref.name).about
    index = _topic(topic)
    return any(Sign.INDIFFERENCE in s.signs and s.tokens in index for s in read(text))


@lru_cache(maxsize=1024)
def _topic(topic: str) -> TokenIndex[str]:
    return TokenIndex([(topic, topic)])


def agrees(value: str, held: Iterable[str]) -> bool:
    """Whether `value` is one of `held`, allowing for wordings within each other."""
    folded = value.casefold()
    return any(_within(folded, h.casefold()) for h in held)


@lru_cache(maxsize=65536)
def _within(one: str, other: str) -> bool:
    if one == other:
        return True
    a = [t.word for t in tokenise(one)]
    b = [t.word for t in tokenise(other)]
    short, long = (a, b) if len(a) <= len(b) else (b, a)
    span = len(short)
    return span > 0 and any(long[i : i + span] == short for i in range(len(long) - span + 1))
