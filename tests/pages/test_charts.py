import json
import re

import pytest

from core.compare import MULTI_DOMAIN, ArmEstimate, Difference, Distribution, DomainEstimate, Ends
from pages._ui.charts import (
    differences_chart,
    distribution_chart,
    domains_chart,
    intervals_chart,
)
from pages._ui.colours import ARM_COLOURS, DARK, LIGHT, arm_colour

ARMS = ["attentive", "forgetful", "gpt"]
RATING, VERDICT = Ends(1, 4), Ends(0, 1, verdict=True)
HOSTILE = "<b>x</b> $y$ %{x} <a href='http://x.y'>z</a>"


def common(arm, dimension):
    return {
        "arm": arm, "dimension": dimension, "instrument": f"scripted/judge · {dimension}@1",
        "instrument_id": "i1",
    }  # fmt: skip


def estimate(arm, value=2.5, *, dimension="personalization", **fields):
    defaults = {
        "estimate": value, "lo": value - 0.2, "hi": value + 0.2, "n": 480, "n_personas": 50,
        "n_unscored": 0, "method": "uncorrected judge mean, CR1 t interval by persona",
    }  # fmt: skip
    return ArmEstimate(**(common(arm, dimension) | defaults | fields))


def difference(arm, value=0.4, *, dimension="personalization", half=0.2, **fields):
    defaults = {
        "baseline": "attentive", "estimate": value, "lo": value - half, "hi": value + half,
        "p": 0.01, "n": 470, "n_personas": 50, "wins": 200, "losses": 100, "ties": 170,
        "superiority": 0.6,
    }  # fmt: skip
    return Difference(**(common(arm, dimension) | defaults | fields))


def distribution(arm, counts=(10, 20, 40, 25), unscored=5, *, dimension="personalization", low=1):
    numbered = tuple((low + i, n) for i, n in enumerate(counts))
    return Distribution(**common(arm, dimension), counts=numbered, n_unscored=unscored)


def domain(arm, name, value=2.5, *, too_few=False, dimension="personalization"):
    ends = (None, None) if too_few else (value - 0.3, value + 0.3)
    return DomainEstimate(
        **common(arm, dimension), domain=name, estimate=value, lo=ends[0], hi=ends[1],
        n=8 if too_few else 40, n_personas=12, too_few=too_few,
    )  # fmt: skip


def every_chart(arms=ARMS, *, dark=False):
    domains = [domain(arm, name) for arm in arms for name in ("Books", "Flights")]
    return {
        "intervals": intervals_chart(
            [estimate(a) for a in arms], arms=arms, ends=RATING, dark=dark
        ),
        "differences": differences_chart(
            [difference(a) for a in arms[1:]], arms=arms, ends=RATING, dark=dark
        ),
        "distribution": distribution_chart([distribution(a) for a in arms], arms=arms, dark=dark),
        "domains": domains_chart(domains, arms=arms, ends=RATING, dark=dark),
    }


CHARTS = list(every_chart())


def drawn(figure):
    return figure.to_dict()


def marks(figure):
    return [t for t in drawn(figure)["data"] if t.get("customdata") is not None]


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for child in value.values():
            yield from strings(child)
    elif isinstance(value, list | tuple):
        for child in value:
            yield from strings(child)


# --- all charts ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CHARTS)
@pytest.mark.parametrize("dark", [False, True])
def test_charts_have_no_ground_of_their_own_and_the_text_colour_of_the_page(name, dark):
    layout = drawn(every_chart(dark=dark)[name])["layout"]
    assert layout["paper_bgcolor"] == layout["plot_bgcolor"] == "rgba(0,0,0,0)"
    assert layout["font"]["color"] == (DARK if dark else LIGHT).text
    assert layout["title"]["font"]["color"] == (DARK if dark else LIGHT).text


@pytest.mark.parametrize("name", CHARTS)
@pytest.mark.parametrize("arms", [ARMS, [f"arm {i}" for i in range(12)]], ids=["3", "12"])
def test_no_letter_is_smaller_than_twelve_pixels(name, arms):
    figure = json.loads(every_chart(arms)[name].to_json())

    def sizes(value, key=""):
        if isinstance(value, dict):
            for child_key, child in value.items():
                if child_key == "size" and "font" in key:
                    yield child
                yield from sizes(child, child_key)
        elif isinstance(value, list):
            for child in value:
                yield from sizes(child, key)

    layout = {k: v for k, v in figure["layout"].items() if k != "template"}
    found = list(sizes({"layout": layout, "data": figure["data"]}))
    found += [int(n) for s in strings(layout) for n in re.findall(r"font-size:(\d+)px", s)]
    assert len(found) > 3
    assert min(found) >= 12


@pytest.mark.parametrize("name", CHARTS)
def test_labels_are_never_cut(name):
    layout = drawn(every_chart()[name])["layout"]
    assert layout["yaxis"]["automargin"] is True


@pytest.mark.parametrize("name", CHARTS)
def test_a_longest_name_is_shown_whole(name):
    longest = "eighty letters make a name that goes on and on over several lines to its end....end"
    layout = drawn(every_chart(["attentive", longest[:80]])[name])
    shown = " ".join(strings(layout)).replace("<br>", " ")
    assert longest[:80] in shown


@pytest.mark.parametrize("name", CHARTS)
@pytest.mark.parametrize("count", [2, 12])
def test_untrusted_names_are_text_in_every_place(name, count):
    arms = [HOSTILE, *(f"arm {i}" for i in range(count - 1))]
    figure = drawn(every_chart(arms)[name])
    figure["layout"].pop("template", None)
    shown = [
        s
        for t in figure["data"]
        for k, v in t.items()
        if k not in ("customdata", "legendgroup")
        for s in strings(v)
    ]
    shown += list(strings(figure["layout"]))
    for words in shown:
        assert "<a" not in words
        assert "<b>x" not in words
        assert "$" not in words
    assert not any("template" in key for t in figure["data"] for key in t)


@pytest.mark.parametrize("name", CHARTS)
def test_charts_say_that_nobody_has_checked_the_judge(name):
    layout = drawn(every_chart()[name])["layout"]
    assert "not yet corrected by people" in layout["title"]["subtitle"]["text"]


@pytest.mark.parametrize("name", CHARTS)
def test_every_mark_has_a_hover_and_leads_to_its_dialogues(name):
    for trace in marks(every_chart()[name]):
        assert trace["hoverinfo"] == "text"
        if trace["type"] == "heatmap":
            continue
        assert len(trace["hovertext"]) == len(trace["customdata"]) == len(trace["x"])
        for data in trace["customdata"]:
            assert data[0] in ARMS
            assert data[1:3] == ["personalization", "i1"]


@pytest.mark.parametrize("draw", [intervals_chart, differences_chart, domains_chart])
def test_nothing_to_draw_is_an_empty_chart(draw):
    assert drawn(draw([], arms=ARMS, ends=RATING))["layout"]["height"] > 100


def test_nothing_to_distribute_is_an_empty_chart():
    assert list(drawn(distribution_chart([], arms=ARMS))["data"]) == []


def test_a_title_can_be_given():
    figure = intervals_chart([estimate("gpt")], arms=ARMS, ends=RATING, title="gpt & co win")
    assert drawn(figure)["layout"]["title"]["text"] == "gpt &amp; co win"


# --- intervals -------------------------------------------------------------------------------


def test_arms_stand_in_the_studys_order_with_their_own_colour():
    figure = intervals_chart([estimate("gpt"), estimate("attentive")], arms=ARMS, ends=RATING)
    first, second = marks(figure)
    assert [first["customdata"][0][0], second["customdata"][0][0]] == ["attentive", "gpt"]
    assert first["y"][0] < second["y"][0]
    assert second["marker"]["color"] == arm_colour(2) == ARM_COLOURS[2]
    top, bottom = drawn(figure)["layout"]["yaxis"]["range"][::-1]
    assert top == 0 < first["y"][0] < second["y"][0] < bottom


def test_an_interval_is_drawn_from_end_to_end():
    (mark,) = marks(intervals_chart([estimate("gpt", 2.5)], arms=ARMS, ends=RATING))
    assert mark["error_x"]["array"] == [pytest.approx(0.2)]
    assert mark["error_x"]["arrayminus"] == [pytest.approx(0.2)]


def test_without_an_interval_the_persona_means_are_drawn():
    row = estimate("gpt", lo=None, hi=None, dots=(2.0, 2.5, 3.0), n_personas=3)
    figure = intervals_chart([row], arms=ARMS, ends=RATING)
    dots, mark = drawn(figure)["data"]
    assert list(dots["x"]) == [2.0, 2.5, 3.0]
    assert mark["error_x"] == {"visible": False}


def test_the_axis_shows_the_whole_scale_and_its_unit():
    axis = drawn(intervals_chart([estimate("gpt")], arms=ARMS, ends=RATING))["layout"]["xaxis"]
    assert axis["range"][0] < 1 < 4 < axis["range"][1]
    assert axis["title"]["text"] == "Personalisation: mean rating, 1 to 4"


def test_a_verdict_is_drawn_in_per_cent():
    row = estimate("gpt", 0.5, dimension="task_completion")
    figure = intervals_chart([row], arms=ARMS, ends=VERDICT)
    (mark,) = marks(figure)
    axis = drawn(figure)["layout"]["xaxis"]
    assert mark["x"] == [50]
    assert mark["error_x"]["array"] == [pytest.approx(20)]
    assert axis["ticksuffix"] == " %"
    assert axis["range"] == [-4, 104]


def test_n_stands_under_each_name_with_the_unscored():
    rows = [estimate("gpt", n=1480, n_unscored=12)]
    (label,) = drawn(intervals_chart(rows, arms=ARMS, ends=RATING))["layout"]["yaxis"]["ticktext"]
    assert label.startswith("gpt<br>")
    assert "1,480 dialogues, 50 personas, 12 unscored" in label


def test_the_value_is_written_at_its_mark():
    (note,) = drawn(intervals_chart([estimate("gpt", 2.6)], arms=ARMS, ends=RATING))["layout"][
        "annotations"
    ]
    assert (note["x"], note["text"]) == (2.6, "2.60")


def test_an_arm_without_values_keeps_its_row_and_has_no_mark():
    row = estimate("gpt", estimate=None, lo=None, hi=None, n=0, n_personas=0)
    figure = intervals_chart([estimate("attentive"), row], arms=ARMS, ends=RATING)
    assert len(marks(figure)) == 1
    assert len(drawn(figure)["layout"]["yaxis"]["ticktext"]) == 2


# --- differences -----------------------------------------------------------------------------


def test_differences_stand_against_a_line_at_zero_that_is_on_the_axis():
    figure = differences_chart([difference("gpt", 0.4)], arms=ARMS, ends=RATING)
    layout = drawn(figure)["layout"]
    (line,) = layout["shapes"]
    assert (line["x0"], line["x1"]) == (0, 0)
    low, high = layout["xaxis"]["range"]
    assert low < 0 < 0.6 < high
    assert "rating points" in layout["xaxis"]["title"]["text"]
    assert "attentive" in layout["title"]["text"]


def test_an_unresolved_difference_is_hollow_and_says_so():
    rows = [difference("forgetful", 0.1), difference("gpt", 0.4)]
    figure = differences_chart(rows, arms=ARMS, ends=RATING)
    unresolved, resolved = marks(figure)
    assert unresolved["marker"]["symbol"] == "circle-open"
    assert resolved["marker"]["symbol"] == "circle"
    notes = [note["text"] for note in drawn(figure)["layout"]["annotations"]]
    assert notes == ["+0.10, not resolved", "+0.40"]


def test_a_difference_tells_wins_losses_and_p_on_hover():
    (mark,) = marks(differences_chart([difference("gpt")], arms=ARMS, ends=RATING))
    (hover,) = mark["hovertext"]
    assert "better in 200, worse in 100, same in 170 scenarios" in hover
    assert "p = 0.010" in hover


def test_a_verdicts_difference_is_in_percentage_points():
    row = difference("gpt", 0.17, half=0.12, dimension="task_completion")
    figure = differences_chart([row], arms=ARMS, ends=VERDICT)
    layout = drawn(figure)["layout"]
    assert "percentage points" in layout["xaxis"]["title"]["text"]
    assert layout["annotations"][0]["text"] == "+17"


def test_a_dimension_without_a_better_side_is_told_as_lower_and_higher():
    row = difference("gpt", dimension="first_message_explicitness")
    axis = drawn(differences_chart([row], arms=ARMS, ends=VERDICT))["layout"]["xaxis"]
    assert axis["title"]["text"].startswith("← lower")


# --- distribution ----------------------------------------------------------------------------


def test_shares_of_each_arm_add_up_to_a_hundred():
    rows = [distribution("attentive"), distribution("gpt", (0, 0, 3, 0), 0)]
    data = drawn(distribution_chart(rows, arms=ARMS))["data"]
    assert [trace["name"] for trace in data] == ["1", "2", "3", "4", "unscored"]
    for place in range(2):
        assert sum(trace["x"][place] for trace in data) == pytest.approx(100)


def test_the_unscored_are_hatched_and_left_out_of_the_chart_when_there_are_none():
    with_gap = drawn(distribution_chart([distribution("gpt")], arms=ARMS))["data"][-1]
    assert with_gap["marker"]["pattern"]["shape"] == "/"
    whole = drawn(distribution_chart([distribution("gpt", unscored=0)], arms=ARMS))["data"]
    assert "unscored" not in [trace["name"] for trace in whole]


def test_a_bar_leads_to_the_dialogues_with_its_value():
    data = drawn(distribution_chart([distribution("gpt")], arms=ARMS))["data"]
    assert [trace["customdata"][0][3] for trace in data] == [1, 2, 3, 4, None]


def test_the_values_of_a_verdict_are_named():
    row = distribution("gpt", (4, 6), 0, dimension="task_completion", low=0)
    assert [t["name"] for t in drawn(distribution_chart([row], arms=ARMS))["data"]] == ["no", "yes"]


# --- domains ---------------------------------------------------------------------------------


def test_few_arms_are_dots_with_intervals_and_multi_domain_comes_last():
    rows = [domain(a, d) for a in ARMS for d in (MULTI_DOMAIN, "Books", "Travel")]
    figure = domains_chart(rows, arms=ARMS, ends=RATING)
    labels = drawn(figure)["layout"]["yaxis"]["ticktext"]
    assert [label.split("  ")[0] for label in labels] == ["Books", "Travel", MULTI_DOMAIN]
    assert {trace["type"] for trace in drawn(figure)["data"]} == {"scatter"}
    assert "n = 120" in labels[0]


def test_many_arms_are_a_table_whose_cells_hold_their_values():
    arms = [f"arm {i}" for i in range(5)]
    rows = [domain(arm, "Books", 1 + i / 2) for i, arm in enumerate(arms)]
    rows += [domain(arms[0], "Travel", 3.3)]
    figure = domains_chart(rows, arms=arms, ends=RATING)
    (table,) = drawn(figure)["data"]
    assert table["type"] == "heatmap"
    assert (table["zmin"], table["zmax"]) == (1, 4)
    assert [line[0] for line in table["z"]] == [1.0, 1.5, 2.0, 2.5, 3.0]
    assert [line[1] for line in table["z"]] == [3.3, None, None, None, None]
    assert table["customdata"][0][1] == ["arm 0", "personalization", "i1", "Travel"]
    texts = [note["text"] for note in drawn(figure)["layout"]["annotations"]]
    assert texts == ["1.0", "3.3", "1.5", "2.0", "2.5", "3.0"]


def test_too_few_is_faint_among_dots_and_in_brackets_in_the_table():
    rows = [domain("gpt", "Books", too_few=True), domain("gpt", "Travel")]
    firm, faint = drawn(domains_chart(rows, arms=ARMS, ends=RATING))["data"]
    assert (firm["opacity"], firm["customdata"][0][3]) == (1, "Travel")
    assert (faint["opacity"], faint["customdata"][0][3]) == (0.35, "Books")
    arms = [f"arm {i}" for i in range(5)]
    table = domains_chart(
        [domain(arm, "Books", too_few=arm == "arm 1") for arm in arms], arms=arms, ends=RATING
    )
    assert [n["text"] for n in drawn(table)["layout"]["annotations"]] == [
        "2.5", "(2.5)", "2.5", "2.5", "2.5",
    ]  # fmt: skip
    assert drawn(table)["data"][0]["z"][1] == [None]


def test_every_arm_is_in_the_legend_once_even_when_all_of_it_is_too_few():
    rows = [domain("attentive", "Books"), domain("attentive", "Travel", too_few=True)]
    rows += [domain("gpt", "Books", too_few=True)]
    data = drawn(domains_chart(rows, arms=ARMS, ends=RATING))["data"]
    named = [trace["name"] for trace in data if trace["showlegend"]]
    assert named == ["attentive", "gpt"]


def test_charts_can_be_written_as_json():
    for figure in every_chart().values():
        assert json.loads(figure.to_json())["layout"]["height"] > 100
