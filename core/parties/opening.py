"""A user's first message: the task's intent in the first person, without any preference."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from core.context import Briefing
from core.parties import STOP_TOKEN
from core.parties.lexicon import TokenIndex, tokens_of
from core.parties.phrases import Phrases
from core.parties.wording import fill, join_list, pick

_LONGEST = 200  # characters of an intent that are used

# Where an intent begins to speak of preferences, which the user keeps for later.
_TAIL = re.compile(
    r""",?\s+(?:
      (?:that|which|whether\ it)\s+(?:best\ )?(?:match\w*|fits?(?!\ you\b)|aligns?
        |suits?(?!\ (?:me|you|the\ way)\b)|meets?|offers?
        |you\ prefer|can\ accommodate|you\ find\ pleasant)\b
    | (?:tailored|aligned|based|according|depending)\s+(?:to|with|on)\b
    | (?:while|also)\s+(?:considering|factoring|accounting|still)\b
    | (?:considering|prioriti[sz]ing|incorporating|taking\ into\ account|given)\b
    | (?:suitable|ideal)\s+for\s+your\s+preferences
    | (?:with|with\ personali[sz]ed|with\ a\ focus|with\ the|with\ appropriate)\s+
        (?:recommendations?|your|song|amenities|suggestions|on)\b
    | (?:from|within|in|at|for|using|with)\s+(?:your|the|their)\s+(?:\w+\s+)?
        (?:prefer\w+|favou?rite|specified|ideal|desired|most\ suitable|typical|usual)\b
    | by\s+(?:finding\s+(?:suitable|songs|a\ combination)|getting|receiving|exploring)\b
    | and\ whether\b
    | with\ in-depth\b
    ).*$""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_NEXT_VERB = re.compile(r",\s+and\s+(?=(?:find|manage|plan|set|book|keep|send|put|note|choose)\b)")
_ASIDE = re.compile(r"\s*\([^()]*\)")
_SLOT = re.compile(r"\[\s*([^\]/\[]{1,40})[^\]]*\]")
_LEAD = re.compile(r"^As (?:someone|somebody|an?|the)\b[^,]*,\s*", re.IGNORECASE)
_NEED = re.compile(r"^(?:the user|you)\s+(wants?|needs?|would like)\s+(?!to\b)", re.IGNORECASE)
_WISH = re.compile(
    r"^(?:the user|you|i)?\s*(?:(?:would|'d)\s+like|wants?|needs?|wish(?:es)?|am looking"
    r"|are looking|is looking|intends?|plans?)\s+to\s+",
    re.IGNORECASE,
)
_ME_BEFORE = re.compile(
    r"\b(for|with|to|of|from|about|around|near|suits?|helps?|tell|tells|give|gives|keep|let"
    r"|carries|done|like|interests?|concerns?|reminds?|pleases?|treat|by|on|at|beside|than)\s+you\b",
    re.IGNORECASE,
)
_YOU = (
    (re.compile(r"\byou(?:'|’)re\b|\byou are\b", re.I), "I'm"),
    (re.compile(r"\byou(?:'|’)ve\b", re.I), "I've"),
    (re.compile(r"\byou(?:'|’)d\b", re.I), "I'd"),
    (re.compile(r"\byou(?:'|’)ll\b", re.I), "I'll"),
    (re.compile(r"\byourself\b", re.I), "myself"),
    (re.compile(r"\byours\b", re.I), "mine"),
    (re.compile(r"\byour\b", re.I), "my"),
)
_SELF_BEFORE_END = re.compile(r"\byou(?=\s*(?:[,.;:!?)]|$|each\b|and\b|at\b|in\b|by\b))", re.I)
_ASKING = re.compile(r"^(?:recommend|suggest|tell|show|give|propose|explain|remind)\b", re.I)
_ENDINGS = (" and", " or", " to", " for", " with", " of", " in", " by", " that", " the", " a", ",")


def opening(briefing: Briefing, phrases: Phrases, seed: int) -> str:
    """One or two sentences that name the wish and state no value that the persona holds."""
    secret = _secrets(briefing, phrases)
    domains = _domains(briefing)
    for text in _candidates(briefing.intent or "", domains, phrases, seed):
        if not reveals(text, secret):
            return text
    return pick(phrases.generic.openings, seed)


def _candidates(intent: str, domains: Sequence[str], phrases: Phrases, seed: int) -> Iterable[str]:
    full, *shorter = _acts(intent) or [""]
    if full:
        yield _framed(full, phrases, seed)
    if len(domains) > 1:
        yield _several(domains, phrases, seed)
    for act in shorter:
        yield _framed(act, phrases, seed)
    for domain in domains:
        known = phrases.domains.get(domain)
        options = known.openings if known else ()
        first = seed % max(1, len(options))
        yield from (*options[first:], *options[:first])
    yield from phrases.generic.openings


def _acts(intent: str) -> list[str]:
    """What the user wants to do, in the infinitive, from the fullest wording to the shortest."""
    full = _first_person(_core(intent))
    if len(full.split()) < 2:
        return []
    shorter = [full]
    for mark in (": ", ", ", " and ", " with ", " that ", " for "):
        head = _trim(full.split(mark)[0])
        if 3 <= len(head.split()) < len(shorter[-1].split()):
            shorter.append(head)
    return shorter


def _core(intent: str) -> str:
    text = " ".join(intent.replace(STOP_TOKEN, " ").split())[: 2 * _LONGEST]
    text = _SLOT.sub(lambda m: _with_article(m[1].strip()), _ASIDE.sub("", text))
    text = re.split(r"(?<=[.!?])\s", text)[0].rstrip(".!? ")
    text = _WISH.sub("", _LEAD.sub("", text))
    text = _NEED.sub(lambda m: f"I {m[1].lower().removesuffix('s')} ", text)
    heads = [_without_tail(part) for part in _NEXT_VERB.split(text)]
    text = " and ".join(head for head in heads if head)
    return text if len(text) <= _LONGEST else _trim(text[:_LONGEST].rsplit(" ", 1)[0])


def _without_tail(part: str) -> str:
    head = _TAIL.sub("", part)
    if head == part or len(head.split()) < 2:
        return part.strip()
    return _trim(head)


def _with_article(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def _trim(text: str) -> str:
    text = text.strip(" ,;:")
    while text.lower().endswith(_ENDINGS):
        text = text[: text.rindex(" ")].strip(" ,;:") if " " in text else ""
    return text


def _first_person(text: str) -> str:
    if not text.startswith("I ") and (text[1:2].islower() or text[1:2] == " "):
        text = text[:1].lower() + text[1:]
    for pattern, replacement in _YOU:
        text = pattern.sub(replacement, text)
    text = re.sub(r"\bboth of you\b", "both of us", text)
    text = _ME_BEFORE.sub(lambda m: f"{m[1]} me", text)
    text = _SELF_BEFORE_END.sub("me", text)
    return re.sub(r"\byou\b", "I", text)


def _framed(act: str, phrases: Phrases, seed: int) -> str:
    frame = pick(phrases.user["asks" if _ASKING.match(act) else "wishes"], seed, act)
    text = _asked_for(act) or fill(frame, act=act)
    if text.endswith("?"):
        return text
    invite = pick(("", *phrases.user["invites"]), seed, "invite", act)
    return f"{text}. {invite}".strip()


def _asked_for(act: str) -> str:
    """Intents that are sentences already, or that speak of asking: the asking itself."""
    if act.startswith("I "):
        return act
    if act.startswith("ask for "):
        return f"I'd like {act.removeprefix('ask for ')}"
    if act.startswith("ask "):
        return f"I'd like to know {act.removeprefix('ask ')}"
    return ""


def _several(domains: Sequence[str], phrases: Phrases, seed: int) -> str:
    things = [phrases.domains[d].thing for d in domains if d in phrases.domains]
    if len(things) < len(domains):
        things.append(phrases.generic.thing)
    return fill(pick(phrases.user["several"], seed), things=join_list(things))


def _domains(briefing: Briefing) -> list[str]:
    return list(dict.fromkeys(a.domain for a in briefing.affinities or ()))


def _secrets(briefing: Briefing, phrases: Phrases) -> TokenIndex[str]:
    values = (v for a in briefing.affinities or () for v in a.values)
    return TokenIndex((v, v) for v in values if not phrases.is_nothing(v))


def reveals(text: str, secret: TokenIndex[str]) -> bool:
    """Whether a value stands in `text` as whole words, whatever its case."""
    return tokens_of(text) in secret
