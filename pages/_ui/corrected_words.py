"""Corrected estimates in sentences, as plain text: whoever shows them escapes them."""

from __future__ import annotations

from core.comparison import Ends
from core.correcting import LOW_COMPLETION, CorrectedArm, CorrectedGap, Correction, method_of
from pages._ui import text
from pages._ui.dot_rows import limits, resolved


def arm_words(row: CorrectedArm, found: Correction, ends: Ends) -> str:
    """What people would say of one arm, how sure that is, and what the judge said."""
    name = f"{text.dimension_name(found.dimension)} with {row.arm}"
    if row.found is None:
        return f"{name}: {_why(row)}."
    head = row.found.headline
    lo, hi = limits(head)
    said = text.quantity(head.est, lo, hi, verdict=ends.verdict)
    by = {
        "corrected": "corrected by people",
        "human_only": "by people alone, too few labels to correct the judge",
    }[method_of(row.found)]
    naive = row.found.naive
    judge = text.quantity(naive.est, *limits(naive), verdict=ends.verdict)
    labels = f"{text.count(row.n_labels)} of {text.plural(row.n_rows, 'dialogue')} labelled"
    reach = text.interval(lo, hi, verdict=ends.verdict)
    words = (
        f"{name}: {said} ({by}; 95 % interval {reach}; {labels}, "
        f"{text.plural(row.n_personas, 'persona')}). The judge alone says {judge}."
    )
    return f"{words} {_missing(row, ends)}".strip()


def _why(row: CorrectedArm) -> str:
    if row.n_labels < 2:
        return f"{text.plural(row.n_labels, 'label')} so far, too few to say"
    return f"too few to say ({row.why_not})"


def _missing(row: CorrectedArm, ends: Ends) -> str:
    if row.bounds is None:
        return ""
    low, high = row.bounds.low, row.bounds.high
    scale = 100 if ends.verdict else 1
    return (
        f"{text.count(row.n_unscored)} dialogues have no value of the judge: its mean lies between "
        f"{low * scale:.2f} and {high * scale:.2f}, whatever they are."
    )


def gap_words(gap: CorrectedGap, dimension: str, ends: Ends) -> str:
    """The difference of an arm to the baseline, or why it is not corrected."""
    name = text.dimension_name(dimension)
    if gap.found is None:
        return f"Differences to {gap.baseline}: {gap.why_not}."
    head = gap.found.headline
    lo, hi = limits(head)
    said = text.quantity(abs(head.est), lo, hi, verdict=ends.verdict)
    reach = text.interval(lo, hi, verdict=ends.verdict)
    if not resolved(head):
        return f"{name} is not resolved between {gap.arm} and {gap.baseline} ({reach})."
    word = "higher" if head.est > 0 else "lower"
    return (
        f"{name} is {said} {word} with {gap.arm} than with {gap.baseline} (95 % interval {reach}; "
        f"{text.plural(gap.n_pairs, 'pair')})."
    )


def basis_words(found: Correction, instrument: str) -> str:
    """What the numbers rest on: the draw, how much of it is done, what was left out."""
    about = "new personas" if found.target == "superpop" else "these dialogues alone"
    words = (
        f"Estimated for {about}. {found.labelled:,} of {found.drawn:,} drawn dialogues are "
        f"labelled, blind and at random; judged by {instrument}."
    )
    if found.labelled and found.completion < LOW_COMPLETION:
        words += " The rest is taken to be like what is done, because work goes in random order."
    if found.left_out:
        parts = ", ".join(f"{n:,} {why}" for why, n in sorted(found.left_out.items()))
        words += f" Left out: {parts}."
    return words
