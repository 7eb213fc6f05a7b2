"""Judges against people: has a new instrument moved away from them, and what pushes a judge."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pandas as pd
import streamlit as st

from core.errors import StudyError
from core.instruments import drift_from_people
from core.judge_bias import bias_sentences, judge_bias, said_in
from core.labels import annotation_rows
from core.ports import Study
from core.stats.drift import Drift
from core.stats.types import StatsError
from pages._ui import text, wiring


def show(study: Study, dimension: str, known: dict[str, str], pair: tuple[str, str, float]) -> None:
    """Draw what blind labels say of two instruments (`pair`: old, new, margin) and of each.

    With one instrument `pair` names it twice, and only what pushes it is shown.
    """
    st.subheader("Against people", anchor=False)
    rows = annotation_rows(study.id, dimension, wiring.reviews())
    if rows.empty:
        st.caption("Nobody has labelled this dimension blind; draw dialogues at the Desk.")
        return
    old, new, margin = pair
    if old != new:
        _say(lambda: drift_words(drift_from_people(rows, dimension, old, new, margin=margin)))
    st.markdown("**What moves it away from people**")
    for instrument_id in dict.fromkeys((old, new)):
        _say(partial(_bias, rows, dimension, instrument_id, known[instrument_id]))


def _bias(rows: pd.DataFrame, dimension: str, instrument_id: str, label: str) -> str:
    said = said_in({str(i) for i in rows["dialogue_id"]}, wiring.store())
    judge = label.partition(" · ")[0]
    found = judge_bias(rows, said, dimension=dimension, judge=judge, instrument_id=instrument_id)
    return f"{label}: {' '.join(bias_sentences(found))}"


def _say(words: Callable[[], str]) -> None:
    try:
        st.markdown(text.escape_md(words(), one_line=True))
    except (StudyError, StatsError) as error:
        st.caption(text.escape_md(str(error), one_line=True))


def drift_words(found: Drift) -> str:
    """How far each instrument is from people on the same dialogues; plain text."""
    old, new = found.bias_old, found.bias_new
    change = found.abs_error.estimate
    nearer = "further from" if change.est > 0 else "nearer to"
    shown = change.lo > 0 or change.hi < 0
    verdict = f"the new one is {nearer} them" if shown else "neither is shown to be nearer to them"
    return (
        f"Judge minus people: old {old.est:+.2f} (95 % interval {old.lo:+.2f} to {old.hi:+.2f}), "
        f"new {new.est:+.2f} ({new.lo:+.2f} to {new.hi:+.2f}), on {text.plural(old.n, 'dialogue')} "
        f"labelled blind, {text.plural(old.n_clusters, 'persona')}; {verdict} "
        f"(shift between the two: {found.verdict})."
    ).replace("-", "\u2212")
