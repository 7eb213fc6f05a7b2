"""What the scripted judge counts: facts about one dialogue, each with the turn it stands in.

Everything is text-based and whole-word: a value counts as *applied* when an assistant message
mentions it before any user message has, as *asked* when a question is about its affinity, as
*unsupported* when it is claimed or taken for granted and neither the persona nor the user backs
it. Turns count from 1: the n-th user message and the assistant's answer to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from core.context import Briefing
from core.parties.lexicon import Lexicon, Mention, words_of
from core.parties.reading import Scope, Sentence, Sign, agrees, asked, negated, read
from core.parties.scripted_user import Agenda, agenda_of
from core.types import AffinityRef, Message, Role


@dataclass(frozen=True, slots=True)
class Turn:
    """One user message and the assistant's answer; either may be missing at the ends."""

    number: int
    user: str
    assistant: str


@dataclass(slots=True)
class Evidence:
    """The counted facts of one dialogue. Each list holds turn numbers unless it says otherwise."""

    relevant: tuple[AffinityRef, ...] = ()
    applied: dict[AffinityRef, int] = field(default_factory=dict)  # before it was told
    told: dict[AffinityRef, int] = field(default_factory=dict)  # by the user, first time
    used: dict[AffinityRef, int] = field(default_factory=dict)  # after it was told
    asked_known: dict[AffinityRef, int] = field(default_factory=dict)  # though it could be known
    asked_again: dict[AffinityRef, int] = field(default_factory=dict)  # though it was told
    asked_open: dict[AffinityRef, int] = field(default_factory=dict)  # which could not be known
    claims: dict[str, int] = field(default_factory=dict)  # unsupported value -> turn
    guesses: dict[str, int] = field(default_factory=dict)  # foreign value applied, not claimed
    decided: list[int] = field(default_factory=list)
    done: list[int] = field(default_factory=list)
    moment: list[int] = field(default_factory=list)  # the situation or the country shows

    @property
    def share(self) -> float:
        """Share of what matters that the assistant applied before it was told."""
        return len(self.applied) / len(self.relevant) if self.relevant else 0.0

    def settled(self, ref: AffinityRef) -> int | None:
        """The turn in which a point was first told or rightly applied."""
        turns = [t[ref] for t in (self.applied, self.told) if ref in t]
        return min(turns) if turns else None


def turns_of(messages: Sequence[Message]) -> list[Turn]:
    """The messages as turns; an assistant message before any user message belongs to turn 1."""
    turns: list[Turn] = []
    users = 0
    for message in messages:
        if message.role is Role.USER:
            users += 1
            turns.append(Turn(users, message.content, ""))
        elif not turns:
            turns.append(Turn(1, "", message.content))
        else:
            last = turns[-1]
            turns[-1] = Turn(last.number, last.user, f"{last.assistant}\n{message.content}".strip())
    return turns


def collect(messages: Sequence[Message], briefing: Briefing, lexicon: Lexicon) -> Evidence:
    """Count the facts of a dialogue in the light of what the judge was given."""
    return _Collector(briefing, lexicon).run(turns_of(messages))


def knowable(briefing: Briefing, lexicon: Lexicon) -> frozenset[AffinityRef]:
    """Affinities of which an interaction summary in the briefing names a held value."""
    own = agenda_of(briefing, lexicon).own
    summaries = briefing.interactions or {}
    return frozenset(
        AffinityRef(domain, m.affinity)
        for domain, text in summaries.items()
        for m in own.find(domain, text)
    )


def stated_in(text: str, briefing: Briefing, lexicon: Lexicon) -> set[AffinityRef]:
    """Affinities of which `text` names a held value in the value's own words."""
    agenda = agenda_of(briefing, lexicon)
    return {
        AffinityRef(domain, m.affinity)
        for domain in agenda.scope.domains
        for m in agenda.own.find(domain, text)
        if words_of(text[m.position : m.end]) == words_of(m.value)
    }


class _Collector:
    def __init__(self, briefing: Briefing, lexicon: Lexicon) -> None:
        self._briefing = briefing
        self._lexicon = lexicon
        self._agenda: Agenda = agenda_of(briefing, lexicon)
        self._scope: Scope = self._agenda.scope
        self._knowable = knowable(briefing, lexicon)
        self._evidence = Evidence(relevant=self._agenda.relevant)
        self._said: dict[str, int] = {}  # values in user messages, folded -> first turn

    def run(self, turns: Sequence[Turn]) -> Evidence:
        for turn in turns:
            self._hear_user(turn)
            if turn.assistant:
                self._hear_assistant(turn)
        return self._evidence

    def _own(self, text: str) -> Iterator[tuple[AffinityRef, Mention]]:
        for domain in self._scope.domains:
            for mention in self._agenda.own.find(domain, text):
                if not negated(text, mention):
                    yield AffinityRef(domain, mention.affinity), mention

    def _foreign(self, text: str) -> Iterator[tuple[AffinityRef, Mention]]:
        """Values of these domains that this persona does not hold anywhere."""
        for domain in self._scope.domains:
            for mention in self._lexicon.find(domain, text):
                held = self._agenda.held.values()
                if not any(agrees(mention.value, values) for values in held):
                    yield AffinityRef(domain, mention.affinity), mention

    # --- the user ---

    def _hear_user(self, turn: Turn) -> None:
        for ref, _ in self._own(turn.user):
            self._evidence.told.setdefault(ref, turn.number)
        for domain in self._scope.domains:
            for mention in self._lexicon.find(domain, turn.user):
                if not negated(turn.user, mention):
                    self._said.setdefault(mention.value.casefold(), turn.number)

    # --- the assistant ---

    def _hear_assistant(self, turn: Turn) -> None:
        evidence, text = self._evidence, turn.assistant
        sentences = read(text)
        signs = {sign for s in sentences for sign in s.signs}
        self._hear_questions(turn)
        self._hear_applied(turn, sentences)
        self._hear_invented(turn, sentences)
        if Sign.DECIDED in signs and not signs & {Sign.OFFER, Sign.QUESTION}:
            evidence.decided.append(turn.number)
        if Sign.DONE in signs:
            evidence.done.append(turn.number)
        if self._shows_moment(text):
            evidence.moment.append(turn.number)

    def _hear_questions(self, turn: Turn) -> None:
        evidence = self._evidence
        for ref in asked(turn.assistant, self._scope, self._lexicon, evidence.relevant):
            if ref in evidence.told:
                evidence.asked_again.setdefault(ref, turn.number)
            elif ref in self._knowable:
                evidence.asked_known.setdefault(ref, turn.number)
            else:
                evidence.asked_open.setdefault(ref, turn.number)

    def _hear_applied(self, turn: Turn, sentences: Sequence[Sentence]) -> None:
        evidence = self._evidence
        listed = self._listed_options(turn.assistant, sentences)
        for ref, mention in self._own(turn.assistant):
            if ref not in evidence.relevant or (ref, _at(sentences, mention)) in listed:
                continue
            if ref in evidence.told:
                evidence.used.setdefault(ref, turn.number)
            else:
                evidence.applied.setdefault(ref, turn.number)

    def _listed_options(
        self, text: str, sentences: Sequence[Sentence]
    ) -> set[tuple[AffinityRef, int]]:
        """Affinities of which a question names a foreign value too: a list to choose from."""
        return {
            (ref, _at(sentences, mention))
            for ref, mention in self._foreign(text)
            if _signs(sentences, mention) & {Sign.QUESTION}
        }

    def _hear_invented(self, turn: Turn, sentences: Sequence[Sentence]) -> None:
        evidence, text = self._evidence, turn.assistant
        for ref, mention in self._foreign(text):
            signs = _signs(sentences, mention)
            if mention.value.casefold() in self._said or negated(text, mention):
                continue
            if Sign.CLAIM in signs:
                evidence.claims.setdefault(mention.value, turn.number)
            elif self._is_choice(ref, signs):
                evidence.guesses.setdefault(mention.value, turn.number)

    def _is_choice(self, ref: AffinityRef, signs: frozenset[Sign]) -> bool:
        """A value that shapes the outcome; open affinities may rightly be extended."""
        if Sign.QUESTION in signs and Sign.OFFER not in signs:
            return False
        of = self._lexicon.phrases.affinity(ref.domain, ref.name)
        return not of.open and bool(self._agenda.held.get(ref))

    def _shows_moment(self, text: str) -> bool:
        folded = text.casefold()
        return any(word in folded for word in _moment_words(self._briefing))


def _at(sentences: Sequence[Sentence], mention: Mention) -> int:
    return next((i for i, s in enumerate(sentences) if mention.position in s), -1)


def _signs(sentences: Sequence[Sentence], mention: Mention) -> frozenset[Sign]:
    at = _at(sentences, mention)
    return sentences[at].signs if at >= 0 else frozenset()


def _moment_words(briefing: Briefing) -> list[str]:
    situation: Mapping[str, str] = briefing.situation or {}
    country = (briefing.demographics or {}).get("reside_country", "")
    words = [situation.get("Location", "").split(",")[0], situation.get("Device", "")]
    words += [situation.get("Day of the Week", ""), country.split(" of Great Britain")[0]]
    return [w.strip().casefold() for w in words if len(w.strip()) > 2]
