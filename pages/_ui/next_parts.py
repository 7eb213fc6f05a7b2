"""What to review next, below a corrected estimate: how many, how long, and the button for it."""

from __future__ import annotations

import secrets

import streamlit as st

from core import review_designs
from core.clock import new_id, now
from core.correcting import Correction
from core.errors import StudyError
from core.next_review import Next, next_review
from core.review_designs import Wish
from core.review_queue import TYPICAL_SECONDS
from core.review_types import Method, ReviewDesign
from pages._ui import asked, desk_query, errors, frame, text, wiring


def show(found: Correction) -> None:
    """Say what halves the widest interval, and offer to draw it."""
    design = found.design
    st.subheader("What to review next", anchor=False)
    rows = len(wiring.reviews().list_items(design.id))
    plan = next_review(found, frame=rows)
    person = asked.name("compare.author", "so that what you draw carries it")
    seconds = _pace(design, person)
    st.markdown(text.escape_md(next_words(plan, found, seconds)))
    left, middle, right = st.columns(3)
    if found.drawn > found.labelled:
        with left:
            st.page_link(
                frame.path("desk"),
                label=f"Label what is drawn ({found.drawn - found.labelled:,} left)",
                icon=":material/rate_review:",
                query_params={"design": design.root_id},
            )
    if plan is not None and plan.budget is not None:
        middle.button(
            f"Draw {text.count(plan.budget - found.drawn)} more",
            key="compare.extend",
            type="primary",
            icon=":material/casino:",
            disabled=not person,
            on_click=_extend,
            args=(design, plan.budget, person),
        )
    if plan is not None and plan.pairs is not None:
        right.button(
            f"Draw {text.count(plan.pairs)} dialogues in pairs",
            key="compare.pairs",
            icon=":material/compare_arrows:",
            disabled=not person,
            help="Whole scenarios with every arm: only these correct a difference of two arms.",
            on_click=_draw_pairs,
            args=(design, plan.pairs, person),
        )
    said = st.session_state.pop("compare.drawn", "")
    if said:
        st.success(text.escape_md(said, one_line=True), icon=":material/casino:")


def next_words(plan: Next | None, found: Correction, seconds: float) -> str:
    """The advice in a sentence or two, as plain text."""
    if plan is None:
        left = found.drawn - found.labelled
        if left:
            minutes = max(1, round(left * (1 + found.design.overlap) * seconds / 60))
            return (
                f"Label the {text.count(left)} drawn dialogues that are left first, about "
                f"{text.plural(minutes, 'minute')}: there is no interval to halve yet."
            )
        return "Everything that can be drawn is labelled; only more dialogues would tell more."
    time = text.plural(plan.minutes(seconds), "minute")
    if not plan.reachable:
        return (
            f"The least sure is {plan.about} (±{plan.half_width:.2f}). Not even labels of all "
            "dialogues halve that: it needs more personas. "
            f"Labelling all that is left, {text.count(plan.label)}, takes about {time}."
        )
    drawn = f" ({text.count(plan.open)} of them are drawn already)" if plan.open else ""
    return (
        f"Label these {text.count(plan.label)} next{drawn} to halve the interval of {plan.about}, "
        f"from ±{plan.half_width:.2f} to about ±{plan.goal:.2f}: about {time} at your pace."
    )


def _pace(design: ReviewDesign, person: str) -> float:
    if not person:
        return TYPICAL_SECONDS
    try:
        return desk_query.queue_of(design, person).standing().seconds
    except StudyError:  # the design names its annotators, and this is none of them
        return TYPICAL_SECONDS


def _extend(design: ReviewDesign, budget: int, person: str) -> None:
    with errors.shown():
        review_designs.extend(design, budget, person, wiring.reviews(), now=now, new_id=new_id)
        _said(f"{design.name} now has {budget:,} dialogues; label them at the Desk.")


def _draw_pairs(design: ReviewDesign, budget: int, person: str) -> None:
    wish = Wish(
        name=f"{design.name}, pairs"[:80],
        study_id=design.study_id,
        rubrics=design.rubrics,
        budget=budget,
        seed=secrets.randbelow(2**31),
        author=person,
        arms=design.arms,
        method=Method.PAIRS,
        overlap=design.overlap,
        annotators=design.annotators,
    )
    with errors.shown():
        drawn = review_designs.store_draw(wish, wiring.reviews(), now=now, new_id=new_id)
        _said(f"{drawn.name} is drawn; label it at the Desk.")


def _said(words: str) -> None:
    st.session_state["compare.drawn"] = words
