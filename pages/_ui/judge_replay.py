"""A new version of a rubric on the labelled dialogues first: what it costs, and what flips."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.assets import Rubric
from core.labels import Label, standing
from core.models.price_list import token_price
from core.parties.make import SCRIPTED_JUDGE
from core.rubric_replay import Replay, change_words, plan_replay, replay, what_changed
from core.types import ModelSpec
from pages._ui import comparison_query, errors, frame, text, wiring
from pages._ui.model_picker import Picker

_DONE = "judges.replayed"


def show(old: Rubric, new: Rubric, *, saved: bool) -> None:
    """Which labels stay valid, what asking the judge again costs, and the ratings that flipped.

    A draft that is not `saved` is told the price only: ratings name the version they are by.
    """
    st.subheader(f"Labelled dialogues first: {old.ref} to {new.ref}", anchor=False)
    labels = _labels(old)
    if not labels:
        st.caption("Nobody has labelled this dimension; there is nothing to replay.")
        return
    st.markdown(text.escape_md(labels_words(labels, old, new), one_line=True))
    ids = sorted({label.dialogue_id for label in labels})
    default = wiring.settings().judge_model
    choice = Picker(
        "judges.replay_judge", "Judge to ask again", (SCRIPTED_JUDGE,), default
    ).choose()
    if choice.spec is None or choice.complaint:
        return
    with errors.shown():
        plan = plan_replay(ids, new, choice.spec, wiring.store(), token_price)
        cost = "price not known" if plan.cost_usd is None else f"about {text.money(plan.cost_usd)}"
        st.markdown(
            text.escape_md(
                f"{text.plural(len(plan.dialogues), 'labelled dialogue')} of "
                f"{text.count(len(ids))} to rate by {new.ref}: "
                f"{text.plural(plan.calls, 'call')}, {cost}.",
                one_line=True,
            )
        )
    if not saved:
        st.caption("Save the version to ask the judge.")
        return
    if st.button(
        "Rate the labelled dialogues again", key="judges.replay", icon=":material/replay:"
    ):
        _ask(ids, old, new, choice.spec)
    kept = st.session_state.get(_DONE)
    if kept is not None and kept[:3] == (old.hash, new.hash, choice.spec):
        _show_found(kept[3])


def _labels(rubric: Rubric) -> list[Label]:
    store = wiring.reviews()
    return [
        label
        for study in comparison_query.studies()
        for label in standing(store.study_annotations(study.id))
        if label.dimension == rubric.dimension
    ]


def labels_words(labels: list[Label], old: Rubric, new: Rubric) -> str:
    """How many labels still count by the new version, and why; plain text."""
    change = what_changed(old, new)
    mine = sum(label.rubric == old.ref for label in labels)
    kept = 0 if change.stale else mine
    older = len(labels) - mine
    words = f"{text.count(kept)} of {text.plural(mine, 'label')} by {old.ref} still count. "
    words += change_words(change)
    if older:
        words += f" {text.plural(older, 'label')} by other versions are not among them."
    return words


def _ask(ids: list[str], old: Rubric, new: Rubric, spec: ModelSpec) -> None:
    st.session_state.pop(_DONE, None)
    with errors.shown(), frame.busy("The judge is reading …"):
        found = replay(ids, old, new, spec, wiring.store(), wiring.model())
        st.session_state[_DONE] = (old.hash, new.hash, spec, found)


def _show_found(found: Replay) -> None:
    st.markdown(
        text.escape_md(
            f"{text.plural(len(found.flips), 'rating')} flipped, {text.count(found.same)} are the "
            f"same; {text.count(found.missing)} lack a rating by one version. Only what flipped "
            "is worth a look.",
            one_line=True,
        )
    )
    if not found.flips:
        return
    rows = [
        {"dialogue": f.dialogue_id, "turn": f.turn, "old": f.old, "new": f.new} for f in found.flips
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True, key="judges.flips")
    for flip in found.flips[:20]:
        st.page_link(
            frame.path("dialogues"),
            label=text.escape_md(f"{flip.old} to {flip.new}: {flip.dialogue_id}", one_line=True),
            icon=":material/forum:",
            query_params={"dialogue": flip.dialogue_id},
        )
