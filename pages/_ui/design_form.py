"""Drawing dialogues for review: a new design, or more of one that is there."""

from __future__ import annotations

import secrets

import streamlit as st

from core import review_designs
from core.clock import new_id, now
from core.errors import AppError
from core.ports import Study
from core.review_designs import FLOOR, OVERLAP, Drawn, Wish, half_width, rubrics_of
from core.review_types import Method, ReviewDesign, Stratum
from pages._ui import comparison_query, errors, state, text, wiring

_SD = {True: 0.5, False: 1.0}  # of a verdict at worst; of a rating as a rule
_METHODS = {
    Method.RANDOM: "Simple random: every dialogue has the same chance",
    Method.STRATIFIED: "Random within strata: each stratum has its share",
    Method.PAIRS: "Whole scenarios, with every arm: best for differences between arms",
    Method.ACTIVE: "More often where the judge errs: needs labels of a random design",
}
_STRATA = {Stratum.ARM: "arm", Stratum.DOMAIN: "domain", Stratum.JUDGE: "the judge's value"}


def show(person: str) -> None:
    """Draw the form of a new design, with what it would buy."""
    studies = comparison_query.studies()
    with st.expander("New design", key="desk.new", expanded=not wiring.reviews().list_designs()):
        if not studies:
            st.caption("There are no dialogues to draw from; run a study first.")
            return
        by_id = {study.id: study for study in studies}
        study = by_id[
            st.selectbox(
                "Study", list(by_id), key="desk.study", format_func=lambda i: by_id[i].name
            )
        ]
        wish = _fields(study, person)
        if wish is not None:
            _offer(wish, person)


def _fields(study: Study, person: str) -> Wish | None:
    dimensions = comparison_query.dimensions(study)
    if not dimensions:
        st.caption("No dialogue of this study has been judged yet; a design corrects a judge.")
        return None
    primary = study.spec.primary if study.spec is not None else dimensions[0]
    chosen = st.multiselect(
        "Dimensions, each asked of every drawn dialogue",
        dimensions,
        default=[primary if primary in dimensions else dimensions[0]],
        key=f"desk.dimensions.{study.id}",
        format_func=text.dimension_label,
    )
    method = st.radio(
        "How they are drawn", list(_METHODS), key="desk.method", format_func=lambda m: _METHODS[m]
    )
    by = Stratum.NONE
    if method is Method.STRATIFIED:
        by = st.selectbox("Strata", list(_STRATA), key="desk.by", format_func=lambda s: _STRATA[s])
    left, middle, right = st.columns(3)
    budget = left.number_input("Dialogues", 2, 100_000, 40, key="desk.budget")
    overlap = middle.number_input(
        "Labelled by two people, %", 0, 100, round(100 * OVERLAP), key="desk.overlap",
        help="So that one can tell how far people agree. 15 to 20 % is enough.",
    )  # fmt: skip
    people = right.text_input(
        "Annotators, with commas between", key="desk.people", placeholder="anybody"
    )
    name = st.text_input("Name", value=f"{study.name}, first look", key="desk.name", max_chars=80)
    if not chosen:
        st.caption("Choose at least one dimension.")
        return None
    return Wish(
        name=name.strip() or study.name,
        study_id=study.id,
        rubrics=rubrics_of(chosen),
        budget=int(budget),
        seed=_seed(study.id),
        author=person,
        method=method,
        by=by,
        overlap=overlap / 100,
        floor=FLOOR,
        annotators=tuple(
            dict.fromkeys(p for p in (" ".join(w.split()) for w in people.split(",")) if p)
        ),
    )


def _seed(study_id: str) -> int:
    """One number for as long as the form is open, so that what is shown is what is drawn."""
    key = f"desk.seed.{study_id}"
    return int(st.session_state.setdefault(key, secrets.randbelow(2**31)))


def _offer(wish: Wish, person: str) -> None:
    try:
        drawn = review_designs.draw(wish, wiring.reviews())
    except AppError as error:
        st.warning(text.escape_md(str(error)), icon=":material/casino:")
        return
    st.caption(_buys(wish, drawn))
    if len(drawn.strata) > 1:
        parts = (f"{name} {taken} of {size}" for name, (size, taken) in drawn.strata.items())
        st.caption(text.escape_md(" · ".join(parts), one_line=True))
    st.button(
        "Draw",
        key="desk.draw",
        type="primary",
        icon=":material/casino:",
        disabled=not person,
        help=None if person else "Say who you are first",
        on_click=_draw,
        args=(wish,),
    )


def _buys(wish: Wish, drawn: Drawn) -> str:
    from core.compare import rubric_ends

    dimension = next(iter(wish.rubrics))
    ends = rubric_ends().get(dimension)
    width = half_width(drawn.selected, len(drawn.items), sd=_SD[bool(ends and ends.verdict)])
    minutes = max(1, round(drawn.labels * 1.5))
    return (
        f"{text.plural(drawn.selected, 'dialogue')} of {text.count(len(drawn.items))}, "
        f"{text.plural(drawn.labels, 'review')}: about {text.plural(minutes, 'minute')} in all. "
        f"People's own mean over all arms would then be known to about ±{width:.2f}; with the "
        "judge's help to less."
    )


def _draw(wish: Wish) -> None:
    with errors.shown():
        design = review_designs.store_draw(wish, wiring.reviews(), now=now, new_id=new_id)
        st.session_state.pop(f"desk.seed.{wish.study_id}", None)
        state.put(design=design.root_id)


def extension(design: ReviewDesign, person: str) -> None:
    """Draw the way to more of a design: what was drawn and labelled stays."""
    key = f"desk.budget.{design.root_id}"
    st.number_input("Dialogues in all", 3, 100_000, design.budget + 20, key=key)
    st.button(
        "Draw more",
        key=f"desk.extend.{design.root_id}",
        disabled=not person,
        on_click=_extend,
        args=(design, key, person),
    )


def _extend(design: ReviewDesign, key: str, person: str) -> None:
    with errors.shown():
        review_designs.extend(
            design, int(st.session_state[key]), person, wiring.reviews(), now=now, new_id=new_id
        )
