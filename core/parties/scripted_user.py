"""The scripted user: an agenda-based user simulator that needs no model.

It knows its briefing. It opens without stating a preference, answers what it is asked, corrects
what is wrong, volunteers what nobody asks for, and ends when everything that matters is settled
and the assistant has said that the task is done. It never ends otherwise: an assistant that
confirms nothing is asked again, in other words, until the turns run out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from core.context import Briefing
from core.parties import STOP_TOKEN
from core.parties.lexicon import Lexicon, Mention, TokenIndex, tokens_of, words_of
from core.parties.opening import opening
from core.parties.reading import Scope, Sign, about, agrees, asked, has, negated, read
from core.parties.wording import fill, rotate, say_items, sentence, spoken, statement
from core.ports import OnDelta
from core.types import Affinity, AffinityRef, Message, Role

_SAYS = 3  # values of one affinity that are named at once
_CORRECTS = 2  # times that one point is corrected; after that the user only refuses to be done
_LATE = 4  # own messages after which the user also volunteers when it is asked something


@dataclass(frozen=True, slots=True)
class Agenda:
    """What one persona wants in one task: what it holds, and what of it matters now."""

    held: Mapping[AffinityRef, tuple[str, ...]]
    relevant: tuple[AffinityRef, ...]
    scope: Scope
    own: Lexicon
    said: TokenIndex[AffinityRef]  # the values as this user says them


def agenda_of(briefing: Briefing, lexicon: Lexicon) -> Agenda:
    """The agenda of a briefing; without affinities it is empty, and the talk is short."""
    return _agenda(briefing.affinities or (), briefing.relevant or (), lexicon)


@lru_cache(maxsize=1024)
def _agenda(
    affinities: tuple[Affinity, ...], relevant: tuple[AffinityRef, ...], lexicon: Lexicon
) -> Agenda:
    words = lexicon.phrases
    held = {a.ref: tuple(v for v in a.values if not words.is_nothing(v)) for a in affinities}
    said = {r: [s for v in of[:_SAYS] if (s := spoken(lexicon, r, v))] for r, of in held.items()}
    matters = tuple(dict.fromkeys(r for r in relevant if any(map(words_of, said.get(r, ())))))
    vocabulary: dict[str, dict[str, dict[str, int]]] = {}
    for ref, values in held.items():
        vocabulary.setdefault(ref.domain, {})[ref.name] = dict.fromkeys(values, 1)
    index = TokenIndex((text, ref) for ref, texts in said.items() for text in texts)
    return Agenda(held, matters, Scope(tuple(held)), Lexicon(vocabulary, words), index)


@dataclass(slots=True)
class _State:
    """What has happened so far, recomputed from the history at every turn."""

    turn: int
    last: str
    stated: set[AffinityRef] = field(default_factory=set)
    applied: set[AffinityRef] = field(default_factory=set)
    corrected: dict[AffinityRef, int] = field(default_factory=dict)
    asked: list[AffinityRef] = field(default_factory=list)
    nudges: int = 0


class ScriptedUser:
    """Plays one persona in one task. The same briefing, history and seed give the same words."""

    prompt_id = "scripted/user@1"

    def __init__(self, briefing: Briefing, *, lexicon: Lexicon, seed: int) -> None:
        self._briefing = briefing
        self._lexicon = lexicon
        self._phrases = lexicon.phrases
        self._seed = seed
        self._agenda = agenda_of(briefing, lexicon)

    def speak(self, history: Sequence[Message], *, on_delta: OnDelta | None = None) -> str:
        """The next message; it ends with `STOP_TOKEN` when the user is done."""
        if not any(m.role is Role.USER for m in history):
            text = opening(self._briefing, self._phrases, self._seed)
        else:
            text = self._next(self._look(history))
        if on_delta is not None:
            on_delta(text)
        return text

    # --- what has happened ---

    def _look(self, history: Sequence[Message]) -> _State:
        state = _State(turn=0, last="")
        for message in history:
            if message.role is Role.USER:
                state.turn += 1
                self._hear_own(message.content, state)
            else:
                self._hear_assistant(message.content, state)
                state.last = message.content
        return state

    def _hear_own(self, text: str, state: _State) -> None:
        mentioned = self._mentioned(text)
        mentioned |= {r for found in self._agenda.said.find_all(tokens_of(text)) for r in found}
        for ref in self._agenda.relevant:
            if ref in mentioned or about(text, ref):
                state.stated.add(ref)
        for ref in self._wrong(state.last):
            state.corrected[ref] = state.corrected.get(ref, 0) + 1
        if has(text, Sign.INDIFFERENCE):
            state.stated.update(state.asked)
        if not mentioned:
            state.nudges += 1

    def _hear_assistant(self, text: str, state: _State) -> None:
        state.applied |= self._mentioned(text)
        state.asked = self._asked(text, state)

    def _mentioned(self, text: str) -> set[AffinityRef]:
        """What the text mentions a held value of, and does not speak against."""
        return {
            AffinityRef(domain, m.affinity)
            for domain in self._agenda.scope.domains
            for m in self._agenda.own.find(domain, text)
            if not negated(text, m)
        }

    def _asked(self, text: str, state: _State) -> list[AffinityRef]:
        open_first = [r for r in self._agenda.relevant if r not in state.stated]
        return asked(text, self._agenda.scope, self._lexicon, open_first)

    def _settled(self, ref: AffinityRef, state: _State) -> bool:
        return ref in state.stated or ref in state.applied

    # --- what is wrong ---

    def _wrong(self, text: str) -> dict[AffinityRef, list[str]]:
        """Values that the assistant takes for this person's and that are not."""
        wrong: dict[AffinityRef, list[str]] = {}
        right = self._mentioned(text)
        for domain in self._agenda.scope.domains:
            for mention in self._lexicon.find(domain, text):
                ref = AffinityRef(domain, mention.affinity)
                if ref not in right and self._is_wrong(ref, mention, text):
                    values = wrong.setdefault(ref, [])
                    if mention.value not in values:
                        values.append(mention.value)
        return wrong

    def _is_wrong(self, ref: AffinityRef, mention: Mention, text: str) -> bool:
        held = self._agenda.held.get(ref)
        if not held or self._known_elsewhere(mention.value):
            return False
        signs = next((s.signs for s in read(text) if mention.position in s), frozenset())
        if Sign.CLAIM not in signs:
            of = self._phrases.affinity(ref.domain, ref.name)
            asks = Sign.QUESTION in signs and Sign.OFFER not in signs
            if of.open or asks or ref not in self._agenda.relevant:
                return False
        return not negated(text, mention)

    def _known_elsewhere(self, value: str) -> bool:
        """A word of any affinity of this persona is not foreign to it."""
        return any(agrees(value, held) for held in self._agenda.held.values())

    # --- what to say ---

    def _next(self, state: _State) -> str:
        wrong = self._wrong(state.last)
        fresh = {r: v for r, v in wrong.items() if state.corrected.get(r, 0) < _CORRECTS}
        parts: list[str] = []
        said: list[AffinityRef] = []
        if fresh:
            parts += self._corrections(fresh, state, said)
        parts += self._answers(state, said)
        if not parts and self._is_done(state, wrong):
            return f"{self._pick('thanks', state)} {STOP_TOKEN}"
        parts += self._volunteered(state, said, room=2 - len(parts))
        if not fresh and not state.asked:
            parts = self._with_assent(parts, state)
        return " ".join(parts) or self._nudge(wrong, state)

    def _is_done(self, state: _State, wrong: Mapping[AffinityRef, object]) -> bool:
        open_points = [r for r in self._agenda.relevant if not self._settled(r, state)]
        return not open_points and not wrong and has(state.last, Sign.DONE)

    def _corrections(
        self, wrong: Mapping[AffinityRef, list[str]], state: _State, said: list[AffinityRef]
    ) -> list[str]:
        ref, values = next(iter(wrong.items()))
        said.append(ref)
        claimed = has(state.last, Sign.CLAIM)
        frame = self._pick("correct_claim" if claimed else "correct", state)
        items = say_items(self._lexicon, ref, values[:2], "my")
        return [fill(frame, wrong=items), self._state(ref, state)]

    def _answers(self, state: _State, said: list[AffinityRef]) -> list[str]:
        answers: list[str] = []
        for ref in state.asked[:2]:
            if ref in said:
                continue
            said.append(ref)
            answers.append(self._answer(ref, state))
        return answers

    def _answer(self, ref: AffinityRef, state: _State) -> str:
        if not self._agenda.held.get(ref):
            of = self._phrases.affinity(ref.domain, ref.name)
            return fill(self._pick("no_preference", state), about=of.about)
        if ref in state.stated:
            return sentence(fill(self._pick("again", state), say=self._clause(ref, state)))
        return self._state(ref, state)

    def _volunteered(self, state: _State, said: list[AffinityRef], room: int) -> list[str]:
        if state.asked and state.turn < _LATE:
            return []
        open_points = [
            r for r in self._agenda.relevant if r not in said and not self._settled(r, state)
        ]
        parts: list[str] = []
        for ref in open_points[: max(0, room)]:
            said.append(ref)
            if len(said) == 1:
                parts.append(self._state(ref, state))
            else:
                frame = self._pick("more", state)
                parts.append(sentence(fill(frame, say=self._clause(ref, state))))
        return parts

    def _with_assent(self, parts: list[str], state: _State) -> list[str]:
        """Say yes to what was proposed, where something was."""
        offered = has(state.last, Sign.OFFER)
        if not offered or has(state.last, Sign.DONE):
            return parts
        open_left = any(not self._settled(r, state) for r in self._agenda.relevant)
        if parts or open_left:
            return [self._pick("agree", state), *parts]
        return [self._pick("agree", state), self._pick("go_ahead", state)]

    def _nudge(self, wrong: Mapping[AffinityRef, object], state: _State) -> str:
        if wrong:
            return self._pick("check", state)
        nudge = self._pick("nudge", state)
        if self._was_asked_something_else(state):
            return f"{self._pick('no_preference_generic', state)} {nudge}"
        return nudge

    @staticmethod
    def _was_asked_something_else(state: _State) -> bool:
        quiet = {Sign.OFFER, Sign.CLOSER}
        return any(Sign.QUESTION in s.signs and not s.signs & quiet for s in read(state.last))

    def _state(self, ref: AffinityRef, state: _State) -> str:
        return sentence(self._clause(ref, state))

    def _clause(self, ref: AffinityRef, state: _State) -> str:
        values = self._agenda.held[ref][:_SAYS]
        return statement(self._lexicon, ref, values, self._seed, state.turn)

    def _pick(self, key: str, state: _State) -> str:
        return rotate(self._phrases.user[key], state.turn, self._seed, key)
