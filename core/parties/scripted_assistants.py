"""The scripted assistants: four known qualities, for first runs, tests and checks of judges.

Each sees only what its context setting reveals and what was said. `attentive` applies what it
can know and asks for the rest; `forgetful` ignores its context and asks for everything, one by
one; `inventive` takes for granted what nothing supports; `pushy` decides without asking. All of
them hear corrections, do the task in the end (actions are simulated) and say so.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.context import Briefing
from core.errors import StudyError
from core.parties.assistant_base import ScriptedAssistant
from core.parties.hearing import Heard, Known, read_summary
from core.parties.lexicon import Lexicon
from core.parties.moment import moment_line
from core.parties.wording import fill, join_list, pick, say_items
from core.types import AffinityRef

SCRIPTED_ASSISTANTS = (
    "scripted/attentive",
    "scripted/forgetful",
    "scripted/inventive",
    "scripted/pushy",
)

_PATIENCE = 9  # turns after which nothing more is asked
_COMMON = 6  # a "generic" choice is one of that many most frequent values


class Attentive(ScriptedAssistant):
    """Applies what its context reveals, asks only for the rest, and lets the user decide."""

    name = "attentive"

    def _reply(self, heard: Heard) -> str:
        known = self._known(heard)
        if not heard.scope.refs:
            return self._lost(heard)
        if heard.turn == 1:
            return self._first(known, heard)
        if heard.done:
            return self._changed(known, heard)
        return self._later(known, heard)

    def _lost(self, heard: Heard) -> str:
        if heard.turn == 1:
            return self._pick("unclear", heard)
        return f"{self._pick('noted_plain', heard)} {self._finish({}, heard)}"

    def _known(self, heard: Heard) -> Known:
        """What the context reveals, as far as the user has not said otherwise."""
        known = {r: v for r, v in self._from_context(heard).items() if r not in heard.stated}
        for ref, refused in heard.refused.items():
            left = [v for v in known.get(ref, []) if v not in refused]
            known[ref] = left
        return {r: v for r, v in (known | heard.stated).items() if v}

    def _from_context(self, heard: Heard) -> Known:
        known: Known = {}
        for domain, summary in (self._briefing.interactions or {}).items():
            for ref, values in read_summary(domain, summary, heard.scope, self._lexicon):
                known[ref] = list(values)
        return known

    def _first(self, known: Known, heard: Heard) -> str:
        parts = [moment_line(self._briefing, heard.scope.domains, self._phrases, self._seed)]
        if known:
            key = "propose"
            parts.append(fill(self._pick(key, heard), acts=self._acts(known, heard, done=False)))
        else:
            parts.append(fill(self._pick("start", heard), topic=self._topics(heard)))
        return " ".join(p for p in [*parts, *self._questions(known, heard)] if p)

    def _topics(self, heard: Heard) -> str:
        topics = [self._phrases.topic(d) for d in heard.scope.domains]
        return join_list(list(dict.fromkeys(topics)))

    def _questions(self, known: Known, heard: Heard) -> list[str]:
        """At most two things that are not known and worth asking; else a chance to object."""
        wanted = [r for r in self._to_ask(heard) if r not in known and heard.open(r)][:2]
        if not wanted:
            return [self._pick("confirm", heard)]
        questions = [self._ask(wanted[0], heard)]
        for ref in wanted[1:]:
            same = ref.domain == wanted[0].domain
            more = self._bare_question(ref) if same else self._ask(ref, heard)
            questions.append(f"And {more[:1].lower()}{more[1:]}")
        return questions

    def _to_ask(self, heard: Heard) -> list[AffinityRef]:
        """What is worth asking: the first few of each domain."""
        most = 4 if len(heard.scope.domains) < 2 else 2
        return [ref for domain in heard.scope.domains for ref in self._early(domain, heard)[:most]]

    def _early(self, domain: str, heard: Heard) -> list[AffinityRef]:
        of_domain = [r for r in heard.scope.refs if r.domain == domain]
        return [r for r in of_domain if self._phrases.affinity(r.domain, r.name).early]

    def _later(self, known: Known, heard: Heard) -> str:
        left = [r for r in self._to_ask(heard) if r not in known and heard.open(r)]
        noted = self._noted(heard)
        if left and heard.turn < _PATIENCE:
            first = noted or self._pick("noted_plain", heard)
            return " ".join([first, *self._questions(known, heard)])
        return f"{noted} {self._finish(known, heard)}".strip()


class Forgetful(ScriptedAssistant):
    """Uses nothing of its context and asks for everything, one thing at a time."""

    name = "forgetful"

    def _reply(self, heard: Heard) -> str:
        if heard.done:
            return self._changed(heard.stated, heard)
        left = [r for r in self._to_ask(heard) if heard.open(r)]
        if heard.turn == 1:
            topic = join_list([self._phrases.topic(d) for d in heard.scope.domains])
            if not left:
                return self._pick("unclear", heard)
            return f"{fill(self._pick('start', heard), topic=topic)} {self._ask(left[0], heard)}"
        noted = self._noted(heard) or self._pick("noted_plain", heard)
        if left and heard.turn < _PATIENCE:
            return f"{noted} {self._ask(left[0], heard)}"
        return f"{noted} {self._finish(heard.stated, heard)}"

    def _to_ask(self, heard: Heard) -> list[AffinityRef]:
        most = 6 if len(heard.scope.domains) < 2 else 2
        return [
            ref
            for domain in heard.scope.domains
            for ref in [r for r in heard.scope.refs if r.domain == domain][:most]
        ]


class Inventive(ScriptedAssistant):
    """Pretends to know the user: its claims come from the data set, by chance."""

    name = "inventive"

    def _reply(self, heard: Heard) -> str:
        invented = self._invented(heard)
        known = {r: v for r, v in invented.items() if r not in heard.stated} | heard.stated
        known = {r: v for r, v in known.items() if not self._is_refused(r, v, heard)}
        if not heard.scope.refs:
            return self._pick("unclear", heard) if heard.turn == 1 else self._finish({}, heard)
        if heard.done:
            return self._changed(known, heard)
        if heard.turn == 1:
            return self._first(invented, heard)
        if heard.turn == 2:
            return self._second(known, heard)
        return f"{self._noted(heard)} {self._finish(known, heard)}".strip()

    def _first(self, invented: Known, heard: Heard) -> str:
        if not invented:  # the data set holds nothing but what the context says
            topic = self._phrases.topic(heard.scope.domains[0])
            question = self._ask(heard.scope.refs[0], heard)
            return f"{fill(self._pick('start', heard), topic=topic)} {question}"
        ref, values = next(iter(invented.items()))
        two = dict(list(invented.items())[:2])
        acts = self._acts(two, heard, done=False)
        text = fill(self._pick("invented", heard), claim=self._claim(ref, values), acts=acts)
        return f"{text} {self._pick('confirm', heard)}"

    def _second(self, known: Known, heard: Heard) -> str:
        more = [r for r in self._invented(heard) if r not in heard.stated][2:3]
        noted = self._noted(heard) or self._pick("noted_plain", heard)
        if not more:
            return f"{noted} {self._finish(known, heard)}"
        claim = self._claim(more[0], known.get(more[0], ["that"]))
        text = fill(self._pick("invented_more", heard), claim=claim)
        return f"{noted} {text} {self._pick('confirm', heard)}"

    def _claim(self, ref: AffinityRef, values: Sequence[str]) -> str:
        of = self._phrases.affinity(ref.domain, ref.name)
        return fill(of.claim, item=say_items(self._lexicon, ref, values))

    def _invented(self, heard: Heard) -> Known:
        """One value each of three affinities of the first domains, none of it from the context."""
        refs = [r for d in heard.scope.domains for r in self._of(d, heard)[:3]][:6]
        invented: Known = {}
        for number, ref in enumerate(refs):
            values = self._foreign_values(ref)
            if values and len(invented) < 3:
                invented[ref] = [pick(values, self._seed, number, ref.name)]
        return invented

    def _foreign_values(self, ref: AffinityRef) -> list[str]:
        """Values that the context does not mention: of the data set, else of the phrase file."""
        context = "\n".join((self._briefing.interactions or {}).values()).casefold()
        known = self._lexicon.values(ref.domain, ref.name)[:200]
        common = tuple(self._phrases.affinity(ref.domain, ref.name).values)
        foreign = [v for v in known if v.casefold() not in context]
        return foreign or [v for v in common if v.casefold() not in context]

    def _of(self, domain: str, heard: Heard) -> list[AffinityRef]:
        return [r for r in heard.scope.refs if r.domain == domain]

    @staticmethod
    def _is_refused(ref: AffinityRef, values: Sequence[str], heard: Heard) -> bool:
        return ref not in heard.stated and set(values) <= set(heard.refused.get(ref, ()))


class Pushy(ScriptedAssistant):
    """Decides on common choices without asking, and gives way only when it is told to."""

    name = "pushy"

    def _reply(self, heard: Heard) -> str:
        chosen = self._chosen(heard)
        if heard.turn == 1:
            acts = self._acts(chosen, heard, done=True)
            return fill(self._pick("pushed", heard), acts=acts)
        if heard.new:
            return fill(self._pick("grudging", heard), items=self._items(heard.new))
        known = {r: v for r, v in chosen.items() if r not in heard.refused} | heard.stated
        acts = self._acts(known, heard, done=True)
        return f"{self._pick('pushed_more', heard)} {fill(self._pick('done', heard), acts=acts)}"

    def _chosen(self, heard: Heard) -> Known:
        most = 3 if len(heard.scope.domains) < 2 else 1
        chosen: Known = {}
        for domain in heard.scope.domains:
            for ref in [r for r in heard.scope.refs if r.domain == domain][:most]:
                values = self._lexicon.values(ref.domain, ref.name)[:_COMMON]
                if values:
                    chosen[ref] = [pick(values, self._seed, ref.name)]
        return chosen


def make_scripted_assistant(
    model: str, briefing: Briefing, *, lexicon: Lexicon, seed: int
) -> ScriptedAssistant:
    """The scripted assistant that a study names. Raises `StudyError` for an unknown name."""
    kinds = {f"scripted/{kind.name}": kind for kind in (Attentive, Forgetful, Inventive, Pushy)}
    if model not in kinds:
        names = join_list(SCRIPTED_ASSISTANTS, "or")
        raise StudyError(f"There is no scripted assistant '{model[:60]}'; use {names}.")
    return kinds[model](briefing, lexicon=lexicon, seed=seed)
