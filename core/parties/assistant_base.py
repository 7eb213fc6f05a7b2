"""What the scripted assistants share: the wording of proposals, results and small talk."""

from __future__ import annotations

from collections.abc import Sequence

from core.context import Briefing
from core.parties.hearing import Heard, Hearing, Known
from core.parties.lexicon import Lexicon
from core.parties.phrases import Act
from core.parties.reading import Sign, has, read
from core.parties.wording import (
    adjunct,
    distinct,
    fill,
    join_list,
    join_phrases,
    pick,
    rotate,
    say_items,
)
from core.ports import OnDelta
from core.types import AffinityRef, Message

_SAYS = 2  # values of one affinity that are proposed at once
_HEARD = 3  # and that are repeated of what the user said
_ITEMS_SINGLE, _ITEMS_MULTI = 5, 2  # appendices of one act


class ScriptedAssistant:
    """The hearing and the wording that all four share; each has its own `_reply`."""

    name = ""

    def __init__(self, briefing: Briefing, *, lexicon: Lexicon, seed: int) -> None:
        self._briefing = briefing
        self._lexicon = lexicon
        self._phrases = lexicon.phrases
        self._seed = seed
        self._hearing = Hearing(briefing, lexicon)

    @property
    def prompt_id(self) -> str:
        return f"scripted/{self.name}@1"

    def speak(self, history: Sequence[Message], *, on_delta: OnDelta | None = None) -> str:
        heard = self._hearing.hear(history)
        text = self._farewell(heard) or self._reply(heard)
        if on_delta is not None:
            on_delta(text)
        return text

    def _reply(self, heard: Heard) -> str:
        raise NotImplementedError

    def _farewell(self, heard: Heard) -> str:
        if not (heard.done and has(heard.last, Sign.THANKS)) or heard.new or heard.corrected:
            return ""
        if any(Sign.QUESTION in s.signs for s in read(heard.last)):
            return ""
        return self._pick("farewell", heard)

    def _pick(self, key: str, heard: Heard) -> str:
        return rotate(self._phrases.assistant[key], heard.turn, self._seed, self.name, key)

    def _ask(self, ref: AffinityRef, heard: Heard) -> str:
        question = self._bare_question(ref)
        if len(heard.scope.domains) < 2:
            return question
        return f"As for {self._phrases.topic(ref.domain)}, {question[:1].lower()}{question[1:]}"

    def _bare_question(self, ref: AffinityRef) -> str:
        of = self._phrases.affinity(ref.domain, ref.name)
        return pick(of.ask, self._seed, self.name)

    def _items(self, known: Known, most: int = 3) -> str:
        said = [
            say_items(self._lexicon, ref, distinct(values)[:_HEARD])
            for ref, values in list(known.items())[:most]
        ]
        return "; ".join(said) if len(said) > 1 else said[0]

    def _act(self, domain: str, heard: Heard) -> Act:
        opening = f" {' '.join(heard.opening[:2000].casefold().split())} "
        acts = self._phrases.acts(domain)
        return next((a for a in acts if any(w in opening for w in a.when)), acts[-1])

    def _acts(self, known: Known, heard: Heard, *, done: bool) -> str:
        """ "book the flight with Alta and in a window seat", one act for each domain."""
        domains = heard.scope.domains or ("",)
        acts = [self._one_act(d, known, heard, done=done) for d in domains]
        acts = list(dict.fromkeys(acts))
        if len(acts) > 1 and any("," in act or " and " in act for act in acts):
            return f"{'; '.join(acts[:-1])}; and {acts[-1]}"
        return join_list(acts)

    def _one_act(self, domain: str, known: Known, heard: Heard, *, done: bool) -> str:
        act = self._act(domain, heard)
        most = _ITEMS_SINGLE if len(heard.scope.domains) < 2 else _ITEMS_MULTI
        refs = [r for r in heard.scope.refs if r.domain == domain and known.get(r)]
        others = [r for r in refs if r not in heard.stated][:most]
        shown = [r for r in refs if r in heard.stated or r in others]
        values = {r: distinct(known[r])[: _HEARD if r in heard.stated else _SAYS] for r in shown}
        parts = [adjunct(self._lexicon, r, values[r]) for r in shown]
        head = act.done if done else act.do
        if act.plain and parts:
            items = [say_items(self._lexicon, r, values[r]) for r in shown]
            return f"{head} ({'; '.join(items)})"
        return f"{head} {join_phrases(parts)}" if parts else head

    def _finish(self, known: Known, heard: Heard) -> str:
        text = fill(self._pick("done", heard), acts=self._acts(known, heard, done=True))
        return f"{text} {self._pick('closing', heard)}"

    def _noted(self, heard: Heard) -> str:
        if not heard.new:
            if heard.pending and has(heard.last, Sign.INDIFFERENCE):
                return self._pick("free_choice", heard)
            return ""
        key = "sorry" if heard.corrected else "noted"
        return fill(self._pick(key, heard), items=self._items(heard.new))

    def _changed(self, known: Known, heard: Heard) -> str:
        """What to say once the task is done and something else is wanted."""
        if heard.new:
            text = fill(self._pick("updated", heard), items=self._items(heard.new))
            return f"{text} {self._pick('closing', heard)}"
        return self._finish(known, heard)
