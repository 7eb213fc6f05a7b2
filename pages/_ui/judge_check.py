"""One click that says whether a judge is fit to use: the controls, passed or failed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from core.known_groups import CONTROLS, PERSONAS, JudgeCheck, check_judge
from core.known_groups_words import bounds_of, verdict_words
from core.parties.make import SCRIPTED_JUDGE
from core.sample import SAMPLE_NAME
from core.types import ModelSpec
from pages._ui import frame, text, wiring
from pages._ui.model_picker import Picker

_KEPT = "judges.check"
_NAMES = {
    "attentive": "attentive: uses all that it is told",
    "forgetful": "forgetful: asks for everything",
    "inventive": "inventive: states what nothing supports",
    "length": "probe: forgetful, with empty words added",
    "restating": "probe: forgetful, repeating the person",
    "order": "probe: forgetful, facts in another order",
}


def show() -> None:
    """Draw the choice of a judge, the button, and what the last check found."""
    st.markdown(
        "Scripted assistants of known quality talk to the scripted user about the sample; the "
        "judge rates them blind. A judge that cannot tell them apart is not fit to use."
    )
    left, right = st.columns((2, 3))
    with left:
        default = wiring.settings().judge_model
        choice = Picker("judges.judge", "Judge", (SCRIPTED_JUDGE,), default).choose()
    with right:
        sample = wiring.store().find_dataset(SAMPLE_NAME)
        most = sample.personas if sample is not None else PERSONAS
        personas = st.slider("Personas", 8, most, min(PERSONAS, most), key="judges.personas")
        probes = st.toggle("Also probe length, repeating and order", key="judges.probes")
    calls = personas * (6 if probes else 3)
    ready = choice.spec is not None and not choice.complaint
    pressed = st.button(
        "Check this judge",
        key="judges.run_check",
        type="primary",
        icon=":material/rule:",
        disabled=not ready,
    )
    if choice.spec is not None and not choice.spec.scripted:
        st.caption(f"About {calls} calls to the judge; answers that were paid for are kept.")
    if pressed and choice.spec is not None:
        _run(choice.spec, personas, probes=probes)
    found = st.session_state.get(_KEPT)
    if found is not None:
        _show(found)


def _run(spec: ModelSpec, personas: int, *, probes: bool) -> None:
    st.session_state.pop(_KEPT, None)
    with frame.busy(f"{text.escape_md(spec.model, one_line=True)} is reading …"):
        bar = st.progress(0.0)
        st.session_state[_KEPT] = check_judge(
            spec,
            wiring.store(),
            wiring.model(),
            personas=personas,
            probes=probes,
            on_progress=lambda done, of: bar.progress(done / of),
        )
        bar.empty()


def _show(found: JudgeCheck) -> None:
    said = text.escape_md(verdict_words(found), one_line=True)
    (st.success if found.passed else st.error)(
        said, icon=":material/check_circle:" if found.passed else ":material/cancel:"
    )
    for check in found.checks:
        icon = ":material/check:" if check.passed else ":material/close:"
        word = "passed" if check.passed else "failed"
        name = text.escape_md(check.name, one_line=True)
        st.markdown(f"{icon} **{word}: {name}**  \n{text.escape_md(check.said, one_line=True)}")
    st.dataframe(_means(found), hide_index=True, key="judges.means")


def _means(found: JudgeCheck) -> pd.DataFrame:
    rows = []
    for name in (*CONTROLS, *(n for n in found.values if n not in CONTROLS)):
        values = found.values[name]
        lo, hi = bounds_of(values, (found.low, found.high))
        scored = values[~np.isnan(values)]
        rows.append(
            {
                "rated": _NAMES[name],
                "mean": float(scored.mean()) if len(scored) else None,
                "at least": lo,
                "at most": hi,
                "scored": len(scored),
                "unscored": len(values) - len(scored),
            }
        )
    return pd.DataFrame(rows).round(2)
