"""The tab Corrected of the page Compare: the headline numbers, and what they rest on."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from core.compare import rubric_ends
from core.comparison import Comparison, Ends
from core.correcting import (
    LOW_COMPLETION,
    CorrectedArm,
    CorrectedGap,
    Correction,
    correct,
    designs_for,
    method_of,
)
from core.ports import Study
from core.settings import Settings
from core.stats.corrected import Target
from pages._ui import comparison_parts, text, wiring
from pages._ui.corrected_chart import corrected_chart, gaps_chart
from pages._ui.dot_rows import limits, resolved

_TARGETS: dict[str, Target] = {
    "Personas like these": "superpop",
    "These dialogues only": "finite",
}
_CONFIG = {"displaylogo": False}


class _Asked(NamedTuple):
    settings: Settings
    revision: str
    design_id: str
    dimension: str
    instrument_id: str
    arms: tuple[str, ...]
    baseline: str
    target: Target


def show(study: Study, part: Comparison) -> None:
    """Draw corrected estimates, or how one comes to have them."""
    first = part.rows[0]
    designs = designs_for(study, first.dimension, wiring.reviews())
    if not designs:
        st.info(
            "These are the judge's own numbers, and nobody has checked them. Label some dialogues "
            "of a random draw blind, and this tab says what people would say of all of them.",
            icon=":material/balance:",
        )
        st.page_link("pages/desk.py", label="Draw dialogues", icon=":material/casino:")
        return
    by_id = {design.id: design for design in designs}
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    chosen = left.selectbox(
        "Labels of", list(by_id), key="compare.design", format_func=lambda i: by_id[i].name
    )
    said = right.segmented_control(
        "Estimated for", list(_TARGETS), default=next(iter(_TARGETS)), key="compare.target"
    )
    target = _TARGETS[said or next(iter(_TARGETS))]
    found = _correction(
        _Asked(
            wiring.settings(), wiring.store().revision(), chosen, first.dimension,
            first.instrument_id, part.arms, part.baseline, target,
        )
    )  # fmt: skip
    _draw(found, first.instrument)


@st.cache_data(show_spinner="Correcting …", max_entries=32)
def _correction(asked: _Asked) -> Correction:
    store = wiring.reviews()
    return correct(
        store.get_design(asked.design_id),
        asked.dimension,
        asked.instrument_id,
        store,
        arms=asked.arms,
        baseline=asked.baseline,
        target=asked.target,
    )


def _draw(found: Correction, instrument: str) -> None:
    ends = rubric_ends().get(found.dimension) or Ends(0, 1)
    for row in found.arms:
        st.markdown(text.escape_md(arm_words(row, found, ends)))
    st.caption(text.escape_md(basis_words(found, instrument)))
    if any(row.found is not None for row in found.arms):
        dark = comparison_parts.dark()
        figure = corrected_chart(found.arms, dimension=found.dimension, ends=ends, dark=dark)
        st.plotly_chart(
            figure, key="compare.corrected", theme=None, config=_CONFIG,
            alt="Each arm: corrected, people alone, judge alone",
        )  # fmt: skip
    for words in dict.fromkeys(gap_words(gap, found.dimension, ends) for gap in found.gaps):
        st.markdown(text.escape_md(words))
    if any(gap.found is not None for gap in found.gaps):
        figure = gaps_chart(
            found.gaps, dimension=found.dimension, ends=ends, dark=comparison_parts.dark()
        )
        st.plotly_chart(
            figure, key="compare.gaps", theme=None, config=_CONFIG,
            alt="Corrected difference of each arm to the baseline",
        )  # fmt: skip


# --- words ----------------------------------------------------------------------------------------


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
