import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from core.compare import ArmEstimate, Comparison, Difference
from core.types import ContextSetting, JudgementStatus, Part, StopReason
from pages._ui import text
from pages._ui.text import escape_chart, escape_md, what_is_estimated

MARKDOWN = MarkdownIt("gfm-like", {"linkify": False, "html": True})
NBSP, JOINER = "\u00a0", "\u2060"

# --- untrusted text --------------------------------------------------------------------------


def rendered(markdown: str) -> str:
    """The tags and the text that a markdown reader makes of it."""
    return MARKDOWN.render(markdown)


def words(html: str) -> str:
    plain = re.sub(r"<[^>]*>", "", html)
    for entity, sign in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&amp;", "&")):
        plain = plain.replace(entity, sign)
    return " ".join(plain.replace(JOINER, "").replace(NBSP, " ").split())


HOSTILE = [
    "**bold** _it_ `code` ~~s~~",
    "# heading",
    "1. one\n2) two",
    "- a\n* b\n+ c",
    "> quote",
    "a\n===\nb\n---",
    "***",
    "[link](http://x.y) ![img](http://x.y/a.png) <http://a.b>",
    "<b>x</b><script>alert(1)</script><img src=x onerror=alert(1)>",
    "&amp; &lt; &#36;",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "    indented\n\ttab",
    "```\ncode\n```",
    "[^1]: foot\n[^1]",
    "\\* back \\\\ slash",
    "- [x] done",
    "line one\nline two\n\nnew paragraph",
]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_markdown_is_shown_as_it_is_written(hostile):
    html = rendered(escape_md(hostile))
    assert set(re.findall(r"</?(\w+)", html)) <= {"p", "br"}
    assert words(html) == " ".join(hostile.split())


@given(
    st.text(
        alphabet=st.characters(codec="utf-8", exclude_categories=["C", "Z"])
        | st.sampled_from(" \n`*_[]()<>#-+.1!|~\\&:$=")
    )
)
@settings(deadline=None, max_examples=150)
def test_no_text_at_all_becomes_markup(anything):
    html = rendered(escape_md(anything))
    assert set(re.findall(r"</?(\w+)", html)) <= {"p", "br"}
    assert words(html) == " ".join(anything.split())


@pytest.mark.parametrize("sign", list("\\`*_{}[]#+-=|~<>&$:^"))
def test_no_sign_with_a_meaning_is_left_bare(sign):
    escaped = escape_md(f"a {sign} b {sign} c")
    assert sign not in re.sub(r"&#\d+;", "", escaped)


@pytest.mark.parametrize(
    ("written", "pattern"),
    [
        (":smile:", r":[\w+-]+:"),
        (":material_home:", r":material_\w+:"),
        (":streamlit:", r":streamlit:"),
        ("see https://example.com", r"https?://"),
        ("www.example.com", r"www\."),
        ("me@example.com", r"\w@\w"),
        ("a -> b", r"\s->\s"),
        ("a <-> b", r"\s<->\s"),
        ("a -- b", r"\s--\s"),
        ("a >= b", r"\s>=\s"),
    ],
)
def test_what_streamlit_looks_for_after_reading_markdown_is_broken_up(written, pattern):
    shown = re.sub(r"&#(\d+);", lambda found: chr(int(found[1])), escape_md(written))
    assert re.search(pattern, written)
    assert not re.search(pattern, shown)
    assert shown.replace(JOINER, "") == written


def test_a_time_keeps_its_colon_whole():
    assert JOINER not in escape_md("at 10:30 or 11:45")


def test_one_line_joins_lines():
    assert escape_md("a\n\n  b\tc", one_line=True) == "a b c"


def test_control_and_direction_characters_are_dropped():
    assert escape_md("a\x00b\u202ec\x1b") == "abc"
    assert escape_chart("a\x00b\u202ec\n d") == "abc d"


def test_chart_text_has_no_markup_and_no_formula():
    assert escape_chart("<b>x</b> $y$ & z") == "&lt;b&gt;x&lt;/b&gt; &#36;y&#36; &amp; z"


# --- numbers ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lo", "hi", "decimals"),
    [
        (0.31, 0.61, 2),
        (2.41, 2.79, 2),
        (49, 81, 0),
        (4.3, 29.0, 0),
        (1.1, 5.2, 1),
        (-0.82, 0.82, 1),
        (0.001, 0.003, 4),
        (0.04, 0.7, 2),  # one decimal would turn the lower end into 0
        (-0.7, -0.04, 2),
    ],
)
def test_decimals_follow_the_width_of_the_interval(lo, hi, decimals):
    assert text.decimals_for(lo, hi) == decimals


@pytest.mark.parametrize(("lo", "hi"), [(None, None), (1.0, None), (2.0, 2.0)])
def test_without_a_width_the_callers_decimals_hold(lo, hi):
    assert text.decimals_for(lo, hi, otherwise=3) == 3


def test_numbers_have_a_real_minus_and_no_minus_before_zero():
    assert text.number(-1.25, 2) == "−1.25"
    assert text.number(-0.004, 2) == "0.00"
    assert text.number(0.5, 1, sign=True) == "+0.5"
    assert text.number(12345.6, 0) == "12,346"


def test_quantities_and_intervals_share_their_digits():
    assert text.quantity(2.6049, 2.41, 2.79) == "2.60"
    assert text.interval(2.41, 2.79) == "2.41 to 2.79"
    assert text.quantity(0.6667, 0.4906, 0.806, verdict=True) == f"67{NBSP}%"
    assert text.interval(0.4906, 0.806, verdict=True) == f"49 to 81{NBSP}%"
    assert text.interval(None, None) == "no interval"


@pytest.mark.parametrize(
    ("p", "shown"), [(0.0352, "p = 0.035"), (0.0004, "p < 0.001"), (1.0, "p = 1.000"), (None, "")]
)
def test_p_values(p, shown):
    assert text.p_value(p) == shown


def test_counts_plurals_shares_and_money():
    assert text.count(1234567) == "1,234,567"
    assert text.plural(1, "dialogue") == "1 dialogue"
    assert text.plural(0, "dialogue") == "0 dialogues"
    assert text.plural(2, "study", "studies") == "2 studies"
    assert text.percent(0.5) == f"50{NBSP}%"
    assert [text.money(m) for m in (None, 0.0, 0.004, 1.2, 1234.5)] == [
        "unknown",
        "0.00 USD",
        "under 0.01 USD",
        "1.20 USD",
        "1,234.50 USD",
    ]


def test_a_moment_is_shown_in_the_zone_asked_for():
    moment = datetime(2026, 12, 3, 14, 5, tzinfo=UTC)
    assert text.when(moment) == "3 Dec 2026, 14:05"
    assert text.when(moment, timezone(timedelta(hours=10))) == "4 Dec 2026, 00:05"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.04, "0.0 s"),
        (0.44, "0.4 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (125, "2 min 5 s"),
        (4320, "1 h 12 min"),
        (86_400 * 2 + 3 * 3_600 + 59, "2 d 3 h"),
    ],
)
def test_durations(seconds, shown):
    assert text.duration(seconds) == shown


# --- names -----------------------------------------------------------------------------------


def test_dimensions_are_named_by_their_rubrics():
    assert text.dimension_label("personalization") == "Personalisation 1–4"
    assert text.dimension_label("task_completion") == "Task completion"
    assert text.dimension_label("coherence_user") == "Coherence of the user 1–5"
    assert text.dimension_label("my_own_thing") == "My own thing"
    assert text.dimension_question("my_own_thing") == "My own thing"
    assert text.dimension_question("personalization").endswith("?")


def test_every_stop_reason_and_status_has_a_label_of_its_own():
    reasons = [text.stop_reason_label(reason) for reason in StopReason]
    statuses = [text.status_label(status) for status in JudgementStatus]
    assert len(set(reasons)) == len(StopReason)
    assert len(set(statuses)) == len(JudgementStatus)
    assert text.stop_reason_label("user_done") == "User finished"


@pytest.mark.parametrize(
    ("parts", "shown"),
    [
        ([], "Nothing"),
        ([Part.INTERACTIONS], "Interaction summaries"),
        ([Part.SITUATION, Part.DEMOGRAPHICS], "Demographics and situation"),
        (list(Part), "Demographics, interaction summaries and situation"),
    ],
)
def test_context_settings_are_named_from_the_setting_and_from_its_label(parts, shown):
    setting = ContextSetting.of(*parts)
    assert text.context_label(setting) == shown
    assert text.context_label(setting.label) == shown


def test_values_of_verdicts_are_words():
    assert text.value_label("task_completion", 1) == "yes"
    assert text.value_label("task_completion", 0) == "no"
    assert text.value_label("personalization", 3) == "3"
    assert text.value_label("personalization", None) == "unscored"


# --- sentences -------------------------------------------------------------------------------


def estimate(**fields):
    defaults = {
        "arm": "all", "dimension": "personalization",
        "instrument": "scripted/judge · personalization@1", "instrument_id": "i1",
        "estimate": 2.6, "lo": 2.41, "hi": 2.79, "n": 480, "n_personas": 50, "n_unscored": 0,
        "method": "uncorrected judge mean",
    }  # fmt: skip
    return ArmEstimate(**(defaults | fields))


def difference(**fields):
    defaults = {
        "arm": "interaction summaries", "baseline": "nothing", "dimension": "personalization",
        "instrument": "scripted/judge · personalization@1", "instrument_id": "i1",
        "estimate": 0.46, "lo": 0.31, "hi": 0.61, "p": 0.001, "n": 480, "n_personas": 50,
        "wins": 200, "losses": 80, "ties": 200, "superiority": 0.62, "arm_mean": 2.6,
        "baseline_mean": 2.14,
    }  # fmt: skip
    return Difference(**(defaults | fields))


def test_a_resolved_difference_says_which_is_higher_by_how_much_and_from_what():
    assert what_is_estimated(difference()).replace(NBSP, " ") == (
        "Personalisation is higher with interaction summaries than with nothing: 2.60 against "
        "2.14 (difference 0.46, 95 % interval 0.31 to 0.61; 480 scenarios with both, 50 personas; "
        "judged by scripted/judge, not yet checked by people)."
    )


def test_a_lower_arm_is_called_lower():
    said = what_is_estimated(difference(estimate=-0.46, lo=-0.61, hi=-0.31))
    assert "is lower with interaction summaries than with nothing" in said
    assert "−0.61 to −0.31" in said


def test_an_unresolved_difference_is_a_range_and_never_equal():
    said = what_is_estimated(difference(estimate=0.1, lo=-0.12, hi=0.32))
    assert "not resolved" in said
    assert "between 0.12 worse and 0.32 better" in said
    assert "equal" not in said
    assert "higher" not in said


def test_a_verdict_is_told_in_per_cent_and_points():
    said = what_is_estimated(
        difference(
            dimension="task_completion", estimate=0.1667, lo=0.043, hi=0.29, arm_mean=0.8333,
            baseline_mean=0.6667,
        )
    ).replace(NBSP, " ")  # fmt: skip
    assert "83 % against 67 %" in said
    assert "difference 17 points, 95 % interval 4 to 29;" in said


def test_too_few_personas_or_too_many_unscored_forbid_a_ranking_in_words():
    few = what_is_estimated(difference(lo=None, hi=None, n_personas=5))
    assert "too few personas to say how sure this is" in few
    unranked = what_is_estimated(difference(ranked=False))
    assert "is not ranked" in unranked
    assert not any(word in few + unranked for word in ("higher", "lower"))


def test_a_difference_without_pairs_says_so():
    said = what_is_estimated(difference(estimate=None, arm_mean=None, baseline_mean=None, n=0))
    assert said == (
        "Personalisation: no scenario has a value with both interaction summaries and nothing yet."
    )


def test_an_estimate_names_its_interval_its_numbers_and_its_judge():
    assert what_is_estimated(estimate(n_unscored=3)).replace(NBSP, " ") == (
        "Personalisation with all: 2.60 (95 % interval 2.41 to 2.79; 480 dialogues, 50 personas, "
        "3 unscored; judged by scripted/judge, not yet checked by people)."
    )
    assert what_is_estimated(estimate(estimate=None)).endswith("no dialogue has a value yet.")


def test_a_comparison_leads_with_its_clearest_difference_and_counts_the_resolved():
    rows = (estimate(arm="nothing"), estimate(arm="big"), estimate(arm="small"))
    found = Comparison(
        arms=("nothing", "big", "small"),
        baseline="nothing",
        rows=rows,
        differences=(difference(arm="small", estimate=0.1, lo=-0.1, hi=0.3), difference(arm="big")),
    )
    said = what_is_estimated(found)
    assert said.startswith("Personalisation is higher with big than with nothing")
    assert said.endswith("Resolved: 1 of 2 differences to nothing.")


def test_a_comparison_of_two_instruments_has_a_sentence_for_each():
    rows = (estimate(), estimate(instrument="other/judge · x@1", instrument_id="i2"))
    said = what_is_estimated(Comparison(arms=("all",), baseline="all", rows=rows)).split("\n")
    assert ["other/judge" in line for line in said] == [False, True]
