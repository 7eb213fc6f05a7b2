import json
import re
from functools import cache

import numpy as np
import pytest

from core.agreement import agreement
from core.comparison import Ends
from core.stats.bias import reveal_first
from pages._ui import agreement_charts as charts
from pages._ui.colours import DARK, LIGHT, arm_colour, contrast, text_on
from tests.support.annotations import annotations

RATING, VERDICT = Ends(1, 5), Ends(0, 1, verdict=True)
HOSTILE = "<b>x</b> $y$ %{x} <a href='http://x.y'>z</a>"
ARMS = ["attentive", "forgetful"]


def rows(names=("ana", "ben", "cleo")):
    """The published table; the second person follows the judge, the third moves away."""
    table = annotations()
    table["persona_id"] = "p" + (table.index % 12).astype(str)
    ben, cleo = table["annotator"] == "ben", table["annotator"] == "cleo"
    table.loc[ben, "value_after_reveal"] = table.loc[ben, "judge_value"]
    far = cleo & (table["value_before_reveal"] < table["judge_value"])
    table.loc[far, "value_after_reveal"] = 1.0
    return table.replace({"annotator": dict(zip(("ana", "ben", "cleo"), names, strict=True))})


@cache
def found(names=("ana", "ben", "cleo")):
    return agreement(rows(names), dimension="naturalness", ends=RATING, boot=20)


def pull(shown=72, blind=60):
    agrees = [1] * shown + [0] * (80 - shown) + [1] * blind + [0] * (80 - blind)
    return reveal_first(agrees, [True] * 80 + [False] * 80)


@cache
def every_chart(names=("ana", "ben", "cleo"), *, dark=False):
    part = found(names)
    return {
        "confusion": charts.confusion_chart(
            part.judge.confusion, dimension="naturalness_assistant", ends=RATING, dark=dark
        ),
        "pairs": charts.pairs_chart(part.people.pairs, names=part.names, dark=dark),
        "severity": charts.severity_chart(part.annotators, ends=RATING, dark=dark),
        "bias": charts.bias_chart(part.bias_by_arm, arms=ARMS, ends=RATING, dark=dark),
        "anchoring": charts.anchoring_chart(part.anchoring, dark=dark),
        "in_sight": charts.in_sight_chart(pull(), dark=dark),
        "drift": charts.drift_chart(part.annotators, ends=RATING, dark=dark),
    }


CHARTS = list(every_chart())
NAMED = ["pairs", "severity", "anchoring", "drift"]


def drawn(figure):
    return figure.to_dict()


def notes(figure):
    return [note["text"] for note in drawn(figure)["layout"]["annotations"]]


def labels(figure):
    return [label.split("<br>")[0] for label in drawn(figure)["layout"]["yaxis"]["ticktext"]]


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for child in value.values():
            yield from strings(child)
    elif isinstance(value, list | tuple):
        for child in value:
            yield from strings(child)


# --- all charts -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", CHARTS)
@pytest.mark.parametrize("dark", [False, True])
def test_charts_have_no_ground_of_their_own_and_the_text_colour_of_the_page(name, dark):
    layout = drawn(every_chart(dark=dark)[name])["layout"]
    assert layout["paper_bgcolor"] == layout["plot_bgcolor"] == "rgba(0,0,0,0)"
    assert layout["font"]["color"] == (DARK if dark else LIGHT).text


@pytest.mark.parametrize("name", CHARTS)
def test_no_letter_is_smaller_than_twelve_pixels(name):
    figure = json.loads(every_chart()[name].to_json())
    figure["layout"].pop("template", None)
    sizes = [int(n) for n in re.findall(r'font"?: ?{[^}]*"size": ?(\d+)', json.dumps(figure))]
    sizes += [int(n) for n in re.findall(r"font-size:(\d+)px", json.dumps(figure))]
    assert len(sizes) > 3
    assert min(sizes) >= 12


@pytest.mark.parametrize("name", CHARTS)
def test_every_mark_has_a_hover_and_something_to_click_on(name):
    for trace in drawn(every_chart()[name])["data"]:
        assert trace["hoverinfo"] == "text"
        assert len(trace["hovertext"]) == len(trace["customdata"])


@pytest.mark.parametrize("name", NAMED)
def test_untrusted_names_are_text_in_every_place(name):
    figure = drawn(every_chart((HOSTILE, "ben", "cleo"))[name])
    figure["layout"].pop("template", None)
    shown = [
        s for trace in figure["data"] for k, v in trace.items() if k != "customdata"
        for s in strings(v)
    ]  # fmt: skip
    shown += list(strings(figure["layout"]))
    assert any("&lt;b&gt;x" in words for words in shown)
    for words in shown:
        assert "<a" not in words
        assert "<b>x" not in words
        assert "$" not in words


@pytest.mark.parametrize("name", CHARTS)
def test_labels_are_never_cut(name):
    assert drawn(every_chart()[name])["layout"]["yaxis"]["automargin"] is True


def test_nothing_to_draw_is_an_empty_chart():
    for figure in (
        charts.pairs_chart([], names=[]),
        charts.severity_chart([], ends=RATING),
        charts.bias_chart({}, arms=ARMS, ends=RATING),
        charts.drift_chart([], ends=RATING),
    ):
        assert list(drawn(figure)["data"]) == []
        assert drawn(figure)["layout"]["height"] > 100


def test_a_title_can_be_given():
    figure = charts.pairs_chart(found().people.pairs, names=["a", "b", "c"], title="a & b agree")
    assert drawn(figure)["layout"]["title"]["text"] == "a &amp; b agree"


# --- confusion ------------------------------------------------------------------------------

TABLE = np.array([[14, 3], [6, 27]])


def test_cells_hold_their_counts_and_lead_to_their_dialogues():
    figure = charts.confusion_chart(TABLE, dimension="task_completion", ends=VERDICT)
    (cells,) = drawn(figure)["data"]
    assert notes(figure) == ["14", "3", "6", "27"]
    assert cells["customdata"] == [[[0, 0], [0, 1]], [[1, 0], [1, 1]]]
    assert cells["z"] == [[14 / 17, 3 / 17], [6 / 33, 27 / 33]]
    assert "41 of 50 the same" in drawn(figure)["layout"]["title"]["subtitle"]["text"]


def test_rows_are_people_columns_are_the_judge_and_verdicts_have_names():
    layout = drawn(charts.confusion_chart(TABLE, dimension="task_completion", ends=VERDICT))[
        "layout"
    ]
    assert layout["yaxis"]["title"]["text"] == "people said"
    assert layout["yaxis"]["title"]["font"]["color"] == LIGHT.human
    assert layout["xaxis"]["title"]["text"] == "the judge said"
    assert list(layout["xaxis"]["ticktext"]) == list(layout["yaxis"]["ticktext"]) == ["no", "yes"]
    # The first row is drawn at the top.
    assert layout["yaxis"]["range"][0] > layout["yaxis"]["range"][1]


def test_cells_where_both_say_the_same_are_framed():
    shapes = drawn(every_chart()["confusion"])["layout"]["shapes"]
    assert [(round(s["x0"]), round(s["y0"])) for s in shapes] == [(i, i) for i in range(5)]


def test_counts_can_be_read_on_every_shade():
    for dark in (False, True):
        figure = every_chart(dark=dark)["confusion"]
        for note in drawn(figure)["layout"]["annotations"]:
            assert note["font"]["color"] in ("#000000", "#ffffff")
    assert contrast(text_on("#0b4f4a"), "#0b4f4a") >= 4.5


def test_an_empty_row_has_no_share():
    figure = charts.confusion_chart(
        np.array([[0, 0], [1, 3]]), dimension="task_completion", ends=VERDICT
    )
    assert drawn(figure)["data"][0]["z"] == [[0, 0], [0.25, 0.75]]


def test_two_people_can_stand_where_people_and_judge_do():
    figure = charts.confusion_chart(
        TABLE, dimension="task_completion", ends=VERDICT, sides=("ana", "ben")
    )
    layout = drawn(figure)["layout"]
    assert (layout["yaxis"]["title"]["text"], layout["xaxis"]["title"]["text"]) == (
        "ana said", "ben said",
    )  # fmt: skip


# --- dots -----------------------------------------------------------------------------------


def test_pairs_stand_in_the_order_of_their_agreement_with_intervals():
    part = found()
    figure = charts.pairs_chart(part.people.pairs, names=part.names)
    shares = [trace["x"][0] for trace in drawn(figure)["data"]]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == pytest.approx(100 * max(p.exact.est for p in part.people.pairs))
    for trace in drawn(figure)["data"]:
        assert trace["marker"]["color"] == LIGHT.human
        assert trace["error_x"]["array"][0] > 0 < trace["error_x"]["arrayminus"][0]
    assert drawn(figure)["data"][0]["customdata"] == [["ana", "cleo"]]
    assert labels(figure)[0] == "ana and cleo"


def test_a_pair_tells_its_kappa_and_difference_on_hover():
    hover = drawn(every_chart()["pairs"])["data"][0]["hovertext"][0]
    assert "60 dialogues" in hover
    assert "within one point: " in hover
    assert "ana minus cleo: +0.23" in hover
    assert "kappa 0." in hover


def test_severity_that_is_not_resolved_is_hollow():
    figure = every_chart()["severity"]
    symbols = {t["customdata"][0][0]: t["marker"]["symbol"] for t in drawn(figure)["data"]}
    assert symbols["ana"] == "circle-open"
    assert symbols["ben"] == symbols["cleo"] == "circle"
    assert "stricter" in drawn(figure)["layout"]["xaxis"]["title"]["text"]
    assert notes(figure) == ["0.00", "+0.35", "−0.35"]
    low, high = drawn(figure)["layout"]["xaxis"]["range"]
    assert low == -high


def test_severity_of_few_personas_has_a_dot_and_no_interval():
    table = rows()
    table["persona_id"] = "p" + (table.index % 4).astype(str)
    part = agreement(table, dimension="naturalness", ends=RATING, boot=20)
    figure = charts.severity_chart(part.annotators, ends=RATING)
    assert all("no interval" in note for note in notes(figure))
    assert all(trace["error_x"]["visible"] is False for trace in drawn(figure)["data"])


def test_arms_keep_their_colour_when_the_judge_is_compared_between_them():
    part = found()
    figure = charts.bias_chart(
        part.bias_by_arm, arms=["pushy", "attentive", "forgetful"], ends=RATING
    )
    colours = {t["customdata"][0][0]: t["marker"]["color"] for t in drawn(figure)["data"]}
    assert colours == {"attentive": arm_colour(1), "forgetful": arm_colour(2)}


def test_a_verdicts_bias_is_in_percentage_points():
    part = found()
    figure = charts.bias_chart(part.bias_by_arm, arms=ARMS, ends=VERDICT)
    assert "percentage points" in drawn(figure)["layout"]["xaxis"]["title"]["text"]
    assert drawn(figure)["data"][0]["x"][0] == pytest.approx(
        100 * part.bias_by_arm["attentive"].est
    )


# --- anchoring ------------------------------------------------------------------------------


def test_moves_add_up_to_all_labels_and_everybody_comes_first():
    figure = every_chart()["anchoring"]
    data = drawn(figure)["data"]
    assert [t["name"] for t in data] == ["kept", "moved towards the judge", "moved elsewhere"]
    for place in range(4):
        assert sum(t["x"][place] for t in data) == pytest.approx(100)
    assert labels(figure) == ["Everybody", "ana", "ben", "cleo"]
    assert data[0]["x"][1] == 100


def test_what_moves_to_the_judge_is_grey_what_stays_blue_and_the_rest_hatched():
    kept, towards, other = drawn(every_chart()["anchoring"])["data"]
    assert kept["marker"]["color"] == LIGHT.human
    assert towards["marker"]["color"] == LIGHT.judge
    assert other["marker"]["pattern"]["shape"] == "/"
    assert towards["customdata"][2] == ["ben", "moved towards the judge"]


def test_somebody_who_follows_the_judge_is_named_as_one():
    ticks = drawn(every_chart()["anchoring"])["layout"]["yaxis"]["ticktext"]
    assert [("follows" in tick) for tick in ticks] == [False, False, True, False]


def test_one_annotator_is_not_shown_twice():
    table = rows()
    part = agreement(
        table[table["annotator"] == "ben"], dimension="naturalness", ends=RATING, boot=20
    )
    assert labels(charts.anchoring_chart(part.anchoring)) == ["ben"]


def test_in_sight_is_a_grey_square_and_blind_a_blue_circle():
    seen, blind = drawn(every_chart()["in_sight"])["data"]
    assert (seen["x"], seen["marker"]["symbol"], seen["marker"]["color"]) == (
        [90.0], "square", LIGHT.judge,
    )  # fmt: skip
    assert (blind["x"], blind["marker"]["symbol"], blind["marker"]["color"]) == (
        [75.0], "circle", LIGHT.human,
    )  # fmt: skip


# --- drift ----------------------------------------------------------------------------------


def test_each_annotator_has_a_strip_where_higher_is_more_lenient():
    table = rows()
    late = (table["annotator"] == "ana") & (table["dialogue_id"] >= "d30")
    table.loc[late, "value_before_reveal"] = 5.0
    part = agreement(table, dimension="naturalness", ends=RATING, boot=20)
    figure = charts.drift_chart(part.annotators, ends=RATING)
    ana, ben, _ = drawn(figure)["data"]
    # The axis runs down: a smaller number is higher on the page.
    assert ana["y"][-1] < ana["y"][0]
    assert list(ana["x"]) == [5, 15, 25, 35, 45, 55]
    assert ana["customdata"][5] == ["ana", 5]
    top, bottom = max(ana["y"]), min(ben["y"])
    assert top < bottom
    assert "labels given so far" in drawn(figure)["layout"]["xaxis"]["title"]["text"]
    assert "1 Dec 2026, 09:00 to 1 Dec 2026, 09:09" in ana["hovertext"][0]


def test_the_upper_end_of_a_drift_interval_points_up():
    part = found()
    figure = charts.drift_chart(part.annotators, ends=RATING)
    block, trace = part.annotators[0].blocks[0], drawn(figure)["data"][0]
    up, down = trace["error_y"]["arrayminus"][0], trace["error_y"]["array"][0]
    assert up / down == pytest.approx((block.hi - block.mean) / (block.mean - block.lo))


def test_an_annotator_with_few_labels_has_no_strip():
    table = rows()
    table = table[(table["annotator"] != "ben") | (table["dialogue_id"] < "d09")]
    part = agreement(table, dimension="naturalness", ends=RATING, boot=20)
    assert labels(charts.drift_chart(part.annotators, ends=RATING)) == ["ana", "cleo"]
