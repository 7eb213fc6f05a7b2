"""Agreement in plain words: what a reader should take from each result.

Functions return plain text (whoever draws it escapes it), with no grades such as
"substantial": those were never calibrated for this. Names of dimensions come as they should
stand inside a sentence, in lower case.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.agreement import Agreement
from core.numerals import NBSP, decimals_for, number
from core.stats.agreement import JudgeAgreement
from core.stats.alt_test import AltTest
from core.stats.annotators import AnnotatorAgreement, Rater
from core.stats.bias import Effect, Moves, PositionBias, RevealFirst
from core.stats.components import Components
from core.stats.intervals import FEW_CLUSTERS
from core.stats.pairwise import PairChoice, Strengths
from core.stats.types import Estimate

SETTINGS = {
    "experts": "experts",
    "trained": "trained annotators",
    "crowd": "annotators from a crowd",
}
TOO_FEW = "too few personas to say how sure this is"


def how_often(share: float, *, short: bool = False) -> str:
    """`9 times in 10`, `19 times in 20`, `once in 10`, `never`; short: `9 in 10`."""
    if share <= 0 or share >= 1:
        return "never" if share <= 0 else "every time"
    if not 0.025 <= share <= 0.975:
        rare = min(share, 1 - share)
        times = f"once in {round(1 / rare):,}"
        return times if share < 0.5 else f"all but {times}"
    k, of = _fraction(share)
    if short:
        return f"{k} in {of}"
    return f"once in {of}" if k == 1 else f"{k} times in {of}"


def _fraction(share: float) -> tuple[int, int]:
    """The share in quarters, tenths or twentieths: the coarsest that is near enough."""
    quarters, tenths = round(4 * share), round(10 * share)
    if quarters in (1, 3) and abs(share - quarters / 4) <= 0.0125:
        return quarters, 4
    if 0 < tenths < 10 and abs(share - tenths / 10) <= 0.025:
        return tenths, 10
    return round(20 * share), 20


# --- people ---------------------------------------------------------------------------------


def people_words(found: AnnotatorAgreement, name: str) -> str:
    """How often two people agree, the coefficient with its range, and what labels differ by."""
    if found.within_one is None:
        first = f"Two people give the same answer about {name} {how_often(found.exact.est)}."
    else:
        near = how_often(found.within_one.est, short=True)
        first = (
            f"Two people give the same {name} rating {how_often(found.exact.est)}, "
            f"within one point {near}."
        )
    return " ".join([first, *_alpha(found), *_spread(found.components)])


def severity_words(name: str, rater: Rater | None) -> str:
    """How an annotator's labels lie beside the others'; empty where they share too little."""
    if rater is None or rater.severity is None:
        return ""
    found = rater.severity
    if found.n_clusters < FEW_CLUSTERS:
        return f"{name}: {TOO_FEW}."
    if _resolved(found):
        word = "more" if found.est > 0 else "less"
        size, reach = _points(found)
        return f"{name} gives {size} {word} than the others on the same dialogues ({reach})."
    return f"{name} is not clearly stricter or more lenient than the others ({_both(found)})."


def change_words(name: str, change: Effect | None) -> str:
    """Whether an annotator has moved over time; empty where it is not known or not resolved."""
    if change is None or not _resolved(change):
        return ""
    word = "lenient" if change.est > 0 else "strict"
    size, reach = _points(change)
    return f"{name} became {size} more {word} in the later half of their labels ({reach})."


def _alpha(found: AnnotatorAgreement) -> list[str]:
    dialogues = _plural(found.n_items, "dialogue")
    if found.alpha is None:
        return [f"There is no alpha, because all labels of {dialogues} are the same."]
    return [
        f"Krippendorff's alpha is {_coefficient(found.alpha)}, "
        f"from {dialogues} with two or more labels."
    ]


def _spread(parts: Components | None) -> list[str]:
    if parts is None or parts.item + parts.rater + parts.noise <= 0:
        return []
    whole = parts.item + parts.rater + parts.noise
    item, rater, rest = (
        f"{100 * part / whole:.0f}{NBSP}%" for part in (parts.item, parts.rater, parts.noise)
    )
    return [
        f"Of the spread of labels {item} comes from the dialogue, {rater} from the annotator, "
        f"{rest} from chance."
    ]


# --- the judge ------------------------------------------------------------------------------


def judge_words(found: JudgeAgreement, *, values: Sequence[str] | None = None) -> str:
    """How often judge and people agree, the judge's bias, the coefficient, and the floor.

    `values` are the words for the categories, in their order; numbers unless given.
    """
    words = list(values or _value_words(found))
    parts = _verdicts(found, words) if found.verdict else [_ratings(found)]
    parts.append(bias_words(found.bias, verdict=found.verdict))
    if found.kappa is None:
        parts.append(f"There is no kappa: {found.reasons['kappa']}.")
    else:
        parts.append(f"Quadratic kappa is {_coefficient(found.kappa)}.")
    always = words[found.categories.index(found.constant.value)]
    right = how_often(found.constant.exact)
    parts.append(f"A judge that always says {always} would agree with people {right}.")
    return " ".join([*parts, *(f"{_capital(note)}." for note in found.warnings)])


def bias_words(bias: Estimate, *, verdict: bool = False) -> str:
    """How far the judge lies above or below people on average, or that it is not resolved."""
    if bias.n_clusters < FEW_CLUSTERS:
        size, _ = _points(bias, verdict=verdict)
        side = "higher" if bias.est > 0 else "lower"
        return f"It scores {size} {side} than people on average; {TOO_FEW}."
    if not _resolved(bias):
        return f"Its bias is not resolved: {_both(bias, verdict=verdict)}."
    size, reach = _points(bias, verdict=verdict)
    if verdict:
        word = "more" if bias.est > 0 else "less"
        return f"It says yes {word} often than people do, by {size} ({reach})."
    side = "higher" if bias.est > 0 else "lower"
    return f"It scores {size} {side} than people on average ({reach})."


def alt_words(
    found: AltTest, *, setting: str, bias: Estimate | None = None, values: Sequence[str] = ()
) -> str:
    """Whether the judge may stand in for an annotator, and that this says nothing about bias.

    `values` are the words for a verdict's answers, so that a constant judge can be named.
    """
    if found.outcome == "withheld":
        value = found.constant_passes[-1]
        always = values[int(value)] if values else f"{value:g}"
        return (
            "Whether the judge may stand in for a person cannot be told from these dialogues: "
            f"a judge that always says {always} would pass too."
        )
    of, who = len(found.annotators), f"(setting: {SETTINGS[setting]})"
    if not found.n_beaten:
        return f"Is not shown to fit the group as well as any of {of} annotators does {who}."
    fits = f"Fits the group as well as {found.n_beaten} of {of} annotators do {who}"
    end = "." if found.passed else ", which is too few to stand in for one of them."
    return f"{fits}{end}{_still(found, bias, bool(values))}"


def _still(found: AltTest, bias: Estimate | None, verdict: bool) -> str:
    if bias is None or not found.passed or not _resolved(bias):
        return ""
    size, _ = _points(bias, verdict=verdict)
    side = "generous" if bias.est > 0 else "strict"
    return f" Still {size} too {side}, so averages are corrected."


def _verdicts(found: JudgeAgreement, words: Sequence[str]) -> list[str]:
    parts: list[str] = []
    for value, rate in ((words[-1], found.ppv), (words[0], found.npv)):
        if rate is not None:
            who = f"When the judge says {value}, people agree" if not parts else (
                f"When it says {value},"
            )  # fmt: skip
            parts.append(f"{who} {how_often(rate.est, short=bool(parts))}.")
    return parts


def _ratings(found: JudgeAgreement) -> str:
    near = how_often(found.within_one.est, short=True)
    return (
        f"Judge and people give the same rating {how_often(found.exact.est)}, "
        f"within one point {near}."
    )


def _value_words(found: JudgeAgreement) -> list[str]:
    verdict = found.categories == (0.0, 1.0)
    return ["no", "yes"] if verdict else [f"{value:g}" for value in found.categories]


# --- the reveal -----------------------------------------------------------------------------


def moves_words(name: str, moves: Moves) -> str:
    """What one person (or `People`) did after the reveal."""
    labels = f"{moves.changed:,} of {_plural(moves.n, 'label')}"
    if not moves.changed:
        return f"After the reveal {name} changed none of {_plural(moves.n, 'label')}."
    towards = "all" if moves.towards == moves.changed else f"{moves.towards:,}"
    said = f"After the reveal {name} changed {labels}, {towards} towards the judge."
    if moves.adopted is not None:
        often = how_often(moves.adopted.est)
        said += f" Where they had differed, they took over the judge's value {often}."
    if moves.leans:
        said += " That is more often than not, so only their blind labels say what they think."
    return said


def in_sight_words(found: RevealFirst) -> str:
    """What the sight of the judge does to agreement with it."""
    shown, blind = (how_often(e.est) for e in (found.shown, found.blind))
    said = f"With the judge in sight people agree with it {shown}, blind {blind}"
    ends = (100 * found.lo, 100 * found.hi)
    if found.lo <= 0 <= found.hi:
        return f"{said}; the difference is not resolved."
    said += f" (difference {100 * found.difference:.0f} points, {ends[0]:.0f} to {ends[1]:.0f})."
    if found.adopted is not None and found.adopted > 0:
        taken = how_often(min(found.adopted, 1.0))
        said += f" What would have been a disagreement is taken from the screen {taken}."
    return said


# --- biases of the judge --------------------------------------------------------------------


def effect_words(effect: Effect, cause: str) -> str:
    """What a cause (`Doubling the length`) is worth to the judge and not to people."""
    if not _resolved(effect):
        return f"{cause}: not resolved, {_both(effect)} against what people give."
    size, _ = _points(effect)
    if effect.est > 0:
        return f"{cause} buys {size} that people do not give."
    return f"{cause} costs {size} that people do not take."


def position_words(found: PositionBias) -> str:
    """Whether a judge of pairs prefers a place."""
    said = f"The judge chooses the same in both orders {how_often(found.consistent.est)}."
    flips = found.first_both + found.second_both
    if not flips:
        return said
    p = "p < 0.001" if (found.p or 0) < 0.001 else f"p = {found.p:.3f}"
    return (
        f"{said} Of {_plural(flips, 'choice')} that turned with the order, "
        f"{found.first_both:,} went to the side that stood first ({p})."
    )


def choice_words(pair: PairChoice) -> str:
    """`B preferred to A in 59 of 100 (ties split)`: the side that is ahead comes first."""
    if not pair.n:
        return f"{pair.a} and {pair.b} have not met."
    share = (pair.wins + pair.ties / 2) / pair.n
    first, second = (pair.a, pair.b) if share >= 0.5 else (pair.b, pair.a)
    said = f"{first} preferred to {second} in {100 * max(share, 1 - share):.0f} of 100 (ties split)"
    return f"{said}, from {_plural(pair.n, 'choice')}."


def ladder_words(found: Strengths) -> str:
    """Who stands first, how surely, and whether a ladder is the right picture at all."""
    if found.cyclic:
        return "Majorities go round in a circle, so read the table of pairs and not the ladder."
    top = [side.side for side, band in zip(found.sides, found.bands, strict=True) if band == 0]
    if len(top) == len(found.sides):
        return "No side is resolved from the one on top."
    if len(top) > 1:
        return f"{', '.join(top[:-1])} and {top[-1]} stand first; which of them is not resolved."
    return f"{top[0]} stands first (first in {100 * found.sides[0].best:.0f} of 100 draws)."


# --- what it rests on -----------------------------------------------------------------------


def basis_words(found: Agreement) -> str:
    """What labels the numbers rest on, and which were left out."""
    if not found.n_labels:
        said = "There is no blind label of a randomly drawn dialogue yet."
    else:
        drawn = "" if found.equal_draws else ", weighted by how rarely each was drawn"
        said = (
            f"From {_plural(found.n_labels, 'blind label')} of "
            f"{_plural(found.n_items, 'dialogue')} drawn at random{drawn}: "
            f"{_plural(found.n_personas, 'persona')}, "
            f"{_plural(len(found.annotators), 'annotator')}."
        )
        if found.instrument:
            missing = f", {found.n_unscored:,} unscored" if found.n_unscored else ""
            said += f" Judged by {found.instrument}{missing}."
    if found.left_out:
        parts = (f"{n:,} {why.replace('_', ' ')}" for why, n in sorted(found.left_out.items()))
        said += f" Left out: {', '.join(parts)}."
    return said


# --- numbers --------------------------------------------------------------------------------


def _coefficient(found: Estimate) -> str:
    if found.n_clusters < FEW_CLUSTERS or not found.hi > found.lo:
        return f"{number(found.est, 2)} ({TOO_FEW})"
    digits = max(1, decimals_for(found.lo, found.hi, otherwise=2))
    ends = f"{number(found.lo, digits)} to {number(found.hi, digits)}"
    return f"{number(found.est, digits)} ({ends})"


def _points(found: Estimate | Effect, *, verdict: bool = False) -> tuple[str, str]:
    """The size of a difference without its sign, and its interval: `0.33 points`, `0.1 to 0.5`."""
    scale = 100 if verdict else 1
    ends = sorted((abs(found.lo) * scale, abs(found.hi) * scale))
    signed = (found.lo * scale, found.hi * scale)
    digits = decimals_for(*signed, otherwise=0 if verdict else 2)
    unit = "percentage points" if verdict else "points"
    return (
        f"{number(abs(found.est) * scale, digits)} {unit}",
        f"{number(ends[0], digits)} to {number(ends[1], digits)}",
    )


def _both(found: Estimate | Effect, *, verdict: bool = False) -> str:
    """An interval around 0 in words: `between 0.09 points below and 0.34 above`."""
    scale = 100 if verdict else 1
    digits = decimals_for(found.lo * scale, found.hi * scale, otherwise=0 if verdict else 2)
    below, above = (number(abs(end) * scale, digits) for end in (found.lo, found.hi))
    unit = "percentage points" if verdict else "points"
    return f"between {below} {unit} below and {above} above"


def _resolved(found: Estimate | Effect) -> bool:
    return found.lo > 0 or found.hi < 0


def _plural(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
