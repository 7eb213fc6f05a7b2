"""The parts of the page Compare: the sentence, the charts, the table, the way to dialogues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from core.comparison import MULTI_DOMAIN, Comparison
from core.export_tables import defused
from core.ports import Study
from core.published import load_published
from pages._ui import charts, frame, text
from pages._ui.published_chart import published_chart

_CONFIG: dict[str, Any] = {
    "displaylogo": False,
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"],
    "toImageButtonOptions": {"format": "svg", "scale": 2},
}
_COLUMNS = (
    "arm", "dimension", "estimate", "lo", "hi", "n", "n_personas", "n_unscored", "method",
    "instrument",
)  # fmt: skip


def nothing_yet() -> None:
    """The empty state: how to get something to compare."""
    st.info(
        "There is nothing to compare yet. Run the sample study on the page Home, launch a few "
        "dialogues with different arms, or run a study from the terminal.",
        icon=":material/bar_chart:",
    )
    for name, label in (("home", "Run the sample study"), ("launch", "Launch a dialogue")):
        st.page_link(frame.path(name), label=label, icon=":material/arrow_forward:")


def dark() -> bool:
    """Whether the reader looks at a dark page."""
    return st.context.theme.type == "dark"


def say(study: Study, part: Comparison) -> None:
    """The finding in a sentence, the question it answers, and what the numbers are not."""
    if study.spec is not None and study.spec.question:
        st.caption(text.escape_md(study.spec.question))
    st.markdown(text.escape_md(text.what_is_estimated(part)))
    for warning in dict.fromkeys(w for row in part.rows for w in row.warnings):
        st.caption(f":material/info: {text.escape_md(warning)}")


def show_arms(study: Study, part: Comparison) -> None:
    ends = part.ends[part.rows[0].dimension]
    figure = charts.intervals_chart(part.rows, arms=part.arms, ends=ends, dark=dark())
    _draw(study, figure, "compare.arms", "Estimate of each arm with its interval")
    if part.differences:
        figure = charts.differences_chart(part.differences, arms=part.arms, ends=ends, dark=dark())
        _draw(study, figure, "compare.differences", "Difference of each arm to the baseline")
        for row in part.differences:
            st.caption(text.escape_md(text.what_is_estimated(row)))


def show_published(part: Comparison) -> None:
    """A switch for what others published on this dimension, apart from the study's own."""
    dimension = part.rows[0].dimension
    table = load_published()
    if dimension not in table.dimensions:
        return
    label = f"Show published results of {table.title} (not ours)"
    if not st.toggle(label, key="compare.published"):
        return
    figure = published_chart(table, dimension, ends=part.ends[dimension], dark=dark())
    st.plotly_chart(
        figure, key="compare.published_chart", theme=None, config=_CONFIG, alt=table.label
    )
    said = (f"{table.label}. {table.source}", f"Judge: {table.judge}.", *table.caveats)
    for line in said:
        st.caption(text.escape_md(line, one_line=True))


def show_distribution(study: Study, part: Comparison) -> None:
    figure = charts.distribution_chart(part.distributions, arms=part.arms, dark=dark())
    _draw(study, figure, "compare.distribution", "How often each value was given, per arm")


def show_domains(study: Study, part: Comparison) -> None:
    if not part.domains:
        st.info("No dialogue with a value tells its domain.", icon=":material/category:")
        return
    ends = part.ends[part.rows[0].dimension]
    figure = charts.domains_chart(part.domains, arms=part.arms, ends=ends, dark=dark())
    _draw(study, figure, "compare.domains", "Estimate of each arm in each domain")
    st.caption(
        "Fewer than 10 personas or 20 dialogues are too few to say. "
        "A dialogue over several domains counts under Multi-domain and in no other row. "
        "Domains were not chosen before looking: read them as hints, not as findings."
    )


def show_numbers(whole: Comparison) -> None:
    """Every dimension and arm as a table, and the same as a file."""
    rows = [{k: getattr(row, k) for k in _COLUMNS} for row in whole.rows]
    shown = pd.DataFrame(rows).assign(
        dimension=[text.dimension_label(r.dimension) for r in whole.rows]
    )
    numbers = {
        name: st.column_config.NumberColumn(format="%.2f") for name in ("estimate", "lo", "hi")
    }
    st.dataframe(shown, hide_index=True, column_config=numbers, key="compare.numbers")
    st.caption(
        "n counts dialogues with a value; unscored ones are counted and in no estimate. Intervals "
        "hold for new personas on these tasks, clustered by persona. Judge means, uncorrected."
    )
    differences = [asdict(d) for d in whole.differences]
    for label, table, name in (
        ("Estimates as CSV", rows, "estimates"),
        ("Differences as CSV", differences, "differences"),
    ):
        st.download_button(
            label,
            _csv(table),
            file_name=f"{name}.csv",
            mime="text/csv",
            key=f"compare.{name}_csv",
            icon=":material/download:",
            disabled=not table,
        )


def _csv(rows: Sequence[dict[str, Any]]) -> bytes:
    safe = [{k: defused(v) if isinstance(v, str) else v for k, v in row.items()} for row in rows]
    return pd.DataFrame(safe).to_csv(index=False).encode()


def _draw(study: Study, figure: go.Figure, key: str, alt: str) -> None:
    """A chart, and below it the way to the dialogues behind a mark that was clicked."""
    picked = st.plotly_chart(
        figure,
        key=key,
        theme=None,
        config=_CONFIG,
        on_select="rerun",
        selection_mode="points",
        alt=alt,
    )
    points = picked["selection"]["points"] if picked else []
    data = next((p["customdata"] for p in points if p.get("customdata")), None)
    if data is not None:
        _way_to_dialogues(study, [None if d in (None, "") else d for d in data], key)


def _way_to_dialogues(study: Study, data: Sequence[Any], key: str) -> None:
    arm, dimension = str(data[0]), str(data[1])
    params: dict[str, str] = {"study": study.id, "arm": arm}
    said = f"Dialogues of {arm}"
    extra = data[3] if len(data) > 3 else None
    if key == "compare.distribution" and extra is not None:
        params |= {"dimension": dimension, "min": str(extra), "max": str(extra)}
        said += f" rated {text.value_label(dimension, int(extra))}"
    elif key == "compare.domains" and extra not in (None, MULTI_DOMAIN):
        params |= {"domain": str(extra), "kind": "single"}
        said += f" in {extra}"
    elif extra == MULTI_DOMAIN:
        params |= {"kind": "multi"}
        said += " over several domains"
    st.page_link(
        frame.path("dialogues"),
        label=text.escape_md(said, one_line=True),
        icon=":material/forum:",
        query_params=params,
    )
