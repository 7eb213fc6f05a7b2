"""The tab Corrected of the page Compare: the headline numbers, and what they rest on."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from core.compare import rubric_ends
from core.comparison import Comparison, Ends
from core.correcting import Correction, correct, designs_for
from core.ports import Study
from core.settings import Settings
from core.stats.corrected import Target
from pages._ui import comparison_parts, next_parts, text, wiring
from pages._ui.corrected_chart import corrected_chart, gaps_chart
from pages._ui.corrected_words import arm_words, basis_words, gap_words

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
    next_parts.show(found)


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
