"""The scripted judge: a transparent rule for each dimension, as a control for model judges.

It counts what `judge_evidence` finds and turns the counts into a rating by rules that fit on a
page; the rationale names the counts. It understands wording only as whole words, so that it is
no measure of quality. What it can show is whether a pipeline, or a judge, tells assistants of
known quality apart.

For `grounding` and `context_fairness` the briefing must hold, as interactions, demographics and
situation, what the *assistant* was given (None where it was not): both are relative to that.
For the other dimensions it holds what the rubric's inputs name. Without affinities the judge
knows no right values, and rates by what is left: questions, claims and completion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from core.context import Briefing
from core.parties import judge_surface as surface
from core.parties.judge_evidence import Evidence, collect, knowable, stated_in, turns_of
from core.parties.lexicon import Lexicon
from core.parties.reading import Sign, has
from core.parties.wording import join_list
from core.types import AffinityRef, Message, Role

RULE_VERSION = "scripted-judge-1"
"""Changes whenever a rule or the phrase file changes what a rating would be."""


_MANY = 4  # questions about known facts that tire a person


@dataclass(frozen=True, slots=True)
class ScriptedRating:
    """A value on the rubric's scale (a verdict is 1 or 0), why, and the turns that show it."""

    value: int
    rationale: str
    evidence: tuple[int, ...]


def rate(
    dimension: str, messages: Sequence[Message], briefing: Briefing, lexicon: Lexicon
) -> ScriptedRating:
    """Rate one dialogue, or a prefix of one, on one dimension.

    The same input gives the same rating. Raises `KeyError` for an unknown dimension.
    """
    return _RULES[dimension](messages, briefing, lexicon)


def _turns(*groups: Mapping[Any, int] | Sequence[int]) -> tuple[int, ...]:
    found: set[int] = set()
    for group in groups:
        found.update(group.values() if isinstance(group, Mapping) else group)
    return tuple(sorted(found))


def _names(refs: Sequence[AffinityRef]) -> str:
    return join_list([ref.name for ref in refs[:3]])


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _clip(value: int, low: int, high: int) -> int:
    return max(low, min(high, value))


# --- personalisation ----------------------------------------------------------------------------


def _personalization(
    messages: Sequence[Message], briefing: Briefing, lexicon: Lexicon
) -> ScriptedRating:
    evidence = collect(messages, briefing, lexicon)
    return _rated_by_use(evidence)


def _rated_by_use(evidence: Evidence) -> ScriptedRating:
    """1, and one more each for: what was told is used; half of what matters is applied unasked;
    three quarters are, the moment shows, and nothing is amiss. One less each for: an invented
    fact; many known facts asked for, or one that was told; deciding alone."""
    share = evidence.share
    asked = {**evidence.asked_known, **evidence.asked_again}
    tiresome = bool(evidence.asked_again) or len(evidence.asked_known) >= _MANY
    amiss = bool(evidence.claims) + tiresome + bool(evidence.decided)
    value = 1 + _uses_what_is_told(evidence) + (share >= 0.5)
    value += share >= 0.75 and not amiss and bool(evidence.moment)
    return ScriptedRating(
        _clip(value - amiss, 1, 4),
        _use_rationale(evidence),
        _turns(evidence.applied, asked, evidence.claims, evidence.decided),
    )


def _uses_what_is_told(evidence: Evidence) -> bool:
    told = [ref for ref in evidence.relevant if ref in evidence.told]
    if not told:
        return bool(evidence.applied)
    return sum(ref in evidence.used for ref in told) * 2 >= len(told)


def _use_rationale(evidence: Evidence) -> str:
    applied = [r for r in evidence.relevant if r in evidence.applied]
    text = f"{len(applied)} of {len(evidence.relevant)} relevant affinities applied before told"
    text += f" ({_names(applied)})." if applied else "."
    asked = len(evidence.asked_known) + len(evidence.asked_again)
    notes = [_count(asked, "known fact") + " asked for"] if asked else []
    if evidence.claims:
        notes.append(f"{_count(len(evidence.claims), 'unsupported claim')} ({_some(evidence)})")
    if evidence.decided:
        notes.append(f"decided without asking in {_count(len(evidence.decided), 'turn')}")
    told = [ref for ref in evidence.relevant if ref in evidence.told]
    used = sum(ref in evidence.used for ref in told)
    if told:
        notes.append(f"{used} of {len(told)} told ones used")
    return f"{text} {_sentence(notes)}".strip()


def _sentence(notes: Sequence[str]) -> str:
    text = join_list(list(notes))
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _some(evidence: Evidence) -> str:
    return ", ".join(f"“{value[:60]}”" for value in list(evidence.claims)[:2])


def _per_turn(messages: Sequence[Message], briefing: Briefing, lexicon: Lexicon) -> ScriptedRating:
    """The last turn in the light of those before it."""
    turns = turns_of(messages)
    last = turns[-1].number if turns else 0
    whole = collect(messages, briefing, lexicon)
    here = _only(whole, last)
    bad = bool(here.claims) + bool(here.asked_known or here.asked_again) + bool(here.decided)
    value = 2 + bool(here.applied) + (len(here.applied) >= 2 and not bad)
    if not here.applied and here.used:
        value = 2
    return ScriptedRating(
        _clip(value - bad, 1, 4),
        f"In turn {last}: {_turn_rationale(here)}",
        (last,) if last else (),
    )


def _only(evidence: Evidence, turn: int) -> Evidence:
    def here(of: Mapping[AffinityRef, int]) -> dict[AffinityRef, int]:
        return {ref: t for ref, t in of.items() if t == turn}

    return replace(
        evidence,
        applied=here(evidence.applied),
        used=here(evidence.used),
        asked_known=here(evidence.asked_known),
        asked_again=here(evidence.asked_again),
        asked_open=here(evidence.asked_open),
        claims={v: t for v, t in evidence.claims.items() if t == turn},
        guesses={v: t for v, t in evidence.guesses.items() if t == turn},
        decided=[t for t in evidence.decided if t == turn],
        done=[t for t in evidence.done if t == turn],
        moment=[t for t in evidence.moment if t == turn],
    )


def _turn_rationale(here: Evidence) -> str:
    notes = [f"{_count(len(here.applied), 'relevant affinity value')} applied before told"]
    asked = len(here.asked_known) + len(here.asked_again)
    if asked:
        notes.append(f"{_count(asked, 'known fact')} asked for")
    if here.claims:
        notes.append(_count(len(here.claims), "unsupported claim"))
    if here.decided:
        notes.append("decided without asking")
    return join_list(notes) + "."


# --- given what it could know -------------------------------------------------------------------


def _context_fairness(
    messages: Sequence[Message], briefing: Briefing, lexicon: Lexicon
) -> ScriptedRating:
    """Used what it could know, asked for what it could not, made nothing up, left the choice."""
    evidence = collect(messages, briefing, lexicon)
    known = _known_to_assistant(evidence, briefing, lexicon)
    unknown = [ref for ref in evidence.relevant if ref not in known]
    hits = sum(ref in evidence.applied for ref in known)
    asked = sum(ref in evidence.asked_open for ref in unknown)
    due = len(known) + len(unknown)
    share = (hits + asked) / due if due else 1.0
    value = 2 + (share >= 0.5) + (share >= 0.75)
    faults = {**evidence.asked_known, **evidence.asked_again}
    value -= bool(evidence.claims) + (len(faults) >= 2) + bool(evidence.decided) + (share < 0.25)
    text = (
        f"{hits} of {len(known)} relevant affinities that it could know were applied unasked, and "
        f"{asked} of {len(unknown)} that it could not know were asked for."
    )
    notes = [_count(len(faults), "question") + " about what was given or told"] if faults else []
    if evidence.claims:
        notes.append(f"{_count(len(evidence.claims), 'unsupported claim')} ({_some(evidence)})")
    if evidence.decided:
        notes.append("decided without asking")
    turns = _turns(evidence.applied, evidence.asked_open, faults, evidence.claims, evidence.decided)
    return ScriptedRating(_clip(value, 1, 4), f"{text} {_sentence(notes)}".strip(), turns)


def _known_to_assistant(
    evidence: Evidence, briefing: Briefing, lexicon: Lexicon
) -> list[AffinityRef]:
    known = knowable(briefing, lexicon)
    return [ref for ref in evidence.relevant if ref in known]


def _grounding(messages: Sequence[Message], briefing: Briefing, lexicon: Lexicon) -> ScriptedRating:
    """5 without invention; 4 with a guess; 3, 2, 1 with one, two, more unsupported claims."""
    evidence = collect(messages, briefing, lexicon)
    claims, guesses = len(evidence.claims), len(evidence.guesses)
    value = 5 - (claims + 1 if claims else min(guesses, 2))
    text = f"{_count(claims, 'unsupported claim')} about the person"
    text += f" ({_some(evidence)})" if claims else ""
    text += f"; {_count(guesses, 'assumed value')} that nothing supports."
    return ScriptedRating(_clip(value, 1, 5), text, _turns(evidence.claims, evidence.guesses))


# --- completion and the first message -----------------------------------------------------------


def _task_completion(
    messages: Sequence[Message], briefing: Briefing, lexicon: Lexicon
) -> ScriptedRating:
    evidence = collect(messages, briefing, lexicon)
    settled = {ref: evidence.settled(ref) for ref in evidence.relevant}
    missing = [ref for ref, turn in settled.items() if turn is None]
    last = max([turn for turn in settled.values() if turn is not None], default=0)
    done = [turn for turn in evidence.done if turn >= last]
    yes = bool(done) and not missing
    if yes:
        why = f"The assistant said that it was done in turn {done[0]}, after all "
        why += f"{_count(len(settled), 'relevant point')} had been settled."
    elif not evidence.done:
        why = "The assistant never said that the task was done."
    elif missing:
        why = f"{_count(len(missing), 'relevant point')} not settled: {_names(missing)}."
    else:
        why = f"Nothing was said to be done after the last point was settled in turn {last}."
    return ScriptedRating(int(yes), why, tuple(done[:1]) if yes else _turns(evidence.done))


def _first_message(
    messages: Sequence[Message], briefing: Briefing, lexicon: Lexicon
) -> ScriptedRating:
    first = next((m.content for m in messages if m.role is Role.USER), "")
    told = sorted({ref.name for ref in stated_in(first, briefing, lexicon)})
    worded = has(first, Sign.PREFERENCE)
    yes = bool(told) or worded
    if told:
        why = f"The first message states a value of {join_list(told[:3])}."
    elif worded:
        why = "The first message is worded as a preference."
    else:
        why = "The first message states no value that the persona holds and no preference."
    return ScriptedRating(int(yes), why, (1,) if first else ())


# --- the surface --------------------------------------------------------------------------------


def _surface(
    rule: Callable[[Sequence[Message], Role, Briefing, Lexicon], surface.Faults], side: Role
) -> Callable[[Sequence[Message], Briefing, Lexicon], ScriptedRating]:
    def rated(messages: Sequence[Message], briefing: Briefing, lexicon: Lexicon) -> ScriptedRating:
        faults = rule(messages, side, briefing, lexicon)
        return ScriptedRating(_clip(5 - faults.points, 1, 5), faults.text(), faults.turns())

    return rated


_Rule = Callable[[Sequence[Message], Briefing, Lexicon], ScriptedRating]

_RULES: Mapping[str, _Rule] = {
    "task_completion": _task_completion,
    "personalization": _personalization,
    "naturalness_user": _surface(surface.naturalness, Role.USER),
    "naturalness_assistant": _surface(surface.naturalness, Role.ASSISTANT),
    "coherence_user": _surface(surface.coherence, Role.USER),
    "coherence_assistant": _surface(surface.coherence, Role.ASSISTANT),
    "first_message_explicitness": _first_message,
    "personalization_per_turn": _per_turn,
    "grounding": _grounding,
    "context_fairness": _context_fairness,
}

DIMENSIONS = tuple(_RULES)
"""The dimensions that `rate` knows."""
