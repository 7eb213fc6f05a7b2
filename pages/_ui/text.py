"""Numbers, names and untrusted text as a reader should see them.

Escaping happens here and at the last moment: functions return plain text unless their name
says otherwise, and whoever draws it passes it through `escape_md` or `escape_chart`.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from functools import cache

from core.compare import ArmEstimate, Comparison, Difference, rubric_ends
from core.numerals import decimals_for as decimals_for
from core.numerals import number as number
from core.types import ContextSetting, JudgementStatus, Part, StopReason

UNCHECKED = "not yet checked by people"
_NBSP = "\u00a0"
_JOINER = "\u2060"  # invisible; keeps renderers from seeing a link, an icon or an arrow

# --- untrusted text -----------------------------------------------------------------------------

_MARKDOWN = re.compile(r"[\\`*_{}\[\]#+\-=|~<>&$:^]")
_LIST_NUMBER = re.compile(r"^(\s*\d{1,9})([.)])")
_LINK = re.compile(r"(?<=https:)(?=//)|(?<=http:)(?=//)|(?<=www)(?=\.)|(?<=\S)(?=@\S)", re.I)
_SHORTCODE = re.compile(r"(?<=:)(?=[\w+-]+:)")
_ARROW = re.compile(r"((?:^|(?<=\s))[<>~-])(?=(?:->|[=>-])(?:\s|$))")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def escape_md(text: str, *, one_line: bool = False) -> str:
    """Make `text` inert in Streamlit's markdown: it is shown as it is written.

    No emphasis, heading, list, link, image, HTML, formula, emoji, icon, colour or arrow comes
    of it. Line breaks and indentation stay, or with `one_line` become single spaces. Control
    and direction characters are dropped.
    """
    lines = plain_lines(text)
    if one_line:
        return _escape_line(" ".join(" ".join(lines).split()))
    return "  \n".join(_escape_line(line) for line in lines)


def escape_chart(text: str) -> str:
    """Make `text` inert in a chart: Plotly reads a little HTML, and formulas between dollars."""
    clean = " ".join(_CONTROL.sub("", text).split())
    return html.escape(clean, quote=False).replace("$", "&#36;")


def escape_html(text: str) -> str:
    """Make `text` inert in a document of ours, in an attribute too; line breaks stay."""
    return html.escape("\n".join(plain_lines(text)), quote=True)


def plain_lines(text: str) -> list[str]:
    """The lines of `text` without control and direction characters."""
    return _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).split("\n")


def _escape_line(line: str) -> str:
    for pattern in (_LINK, _SHORTCODE):
        line = pattern.sub(_JOINER, line)
    line = _ARROW.sub(rf"\1{_JOINER}", line)
    numbered = _LIST_NUMBER.match(line)
    escaped = _MARKDOWN.sub(lambda found: f"&#{ord(found[0])};", line)
    if numbered:
        at = numbered.end(1)
        escaped = f"{line[:at]}&#{ord(line[at])};{escaped[at + 1 :]}"
    body = escaped.lstrip(" \t")
    indent = escaped[: len(escaped) - len(body)].expandtabs(4)
    return "&nbsp;" * len(indent) + body.rstrip(" \t")


# --- numbers ------------------------------------------------------------------------------------


def quantity(value: float, lo: float | None, hi: float | None, *, verdict: bool = False) -> str:
    """An estimate with the digits that its interval supports; a rate as a percentage."""
    scale = 100 if verdict else 1
    ends = (None, None) if lo is None or hi is None else (lo * scale, hi * scale)
    decimals = decimals_for(*ends, otherwise=0 if verdict else 1)
    return number(value * scale, decimals) + (f"{_NBSP}%" if verdict else "")


def interval(lo: float | None, hi: float | None, *, verdict: bool = False) -> str:
    """`2.41 to 2.79`, `49 to 81 %`, or `no interval`."""
    if lo is None or hi is None:
        return "no interval"
    scale = 100 if verdict else 1
    decimals = decimals_for(lo * scale, hi * scale, otherwise=0 if verdict else 1)
    unit = f"{_NBSP}%" if verdict else ""
    return f"{number(lo * scale, decimals)} to {number(hi * scale, decimals)}{unit}"


def p_value(p: float | None) -> str:
    """`p = 0.035`, `p < 0.001`, or nothing."""
    if p is None:
        return ""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def count(n: int) -> str:
    """`12,345`."""
    return f"{n:,}"


def plural(n: int, noun: str, many: str | None = None) -> str:
    """`1 dialogue`, `12,345 dialogues`."""
    return f"{count(n)} {noun if n == 1 else many or noun + 's'}"


def percent(share: float, decimals: int = 0) -> str:
    return f"{number(100 * share, decimals)}{_NBSP}%"


def money(usd: float | None) -> str:
    """`1.20 USD`; an unknown price is not 0."""
    if usd is None:
        return "unknown"
    if 0 < usd < 0.01:
        return "under 0.01 USD"
    return f"{usd:,.2f} USD"


# --- times --------------------------------------------------------------------------------------

_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def when(moment: datetime, zone: tzinfo = UTC) -> str:
    """`3 Dec 2026, 14:05`, in `zone`."""
    local = moment.astimezone(zone)
    return f"{local.day} {_MONTHS[local.month - 1]} {local.year}, {local:%H:%M}"


def duration(seconds: float) -> str:
    """`0.4 s`, `42 s`, `2 min 5 s`, `1 h 12 min`, `2 d 3 h`."""
    if seconds < 9.95:
        return f"{max(seconds, 0):.1f} s"
    whole = round(seconds)
    for size, unit, small, part in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min")):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // small} {part}"
    return f"{whole // 60} min {whole % 60} s" if whole >= 60 else f"{whole} s"


# --- names --------------------------------------------------------------------------------------

STOP_REASONS: Mapping[StopReason, str] = {
    StopReason.USER_DONE: "User finished",
    StopReason.TURN_LIMIT: "Turn limit",
    StopReason.MODEL_ERROR: "Model error",
    StopReason.REFUSED: "Model refused",
    StopReason.CONTEXT_OVERFLOW: "Too long for the model",
    StopReason.BUDGET: "Budget spent",
    StopReason.CANCELLED: "Cancelled",
}

STATUSES: Mapping[JudgementStatus, str] = {
    JudgementStatus.OK: "Scored",
    JudgementStatus.UNPARSABLE: "Answer not understood",
    JudgementStatus.OUT_OF_RANGE: "Value outside the scale",
    JudgementStatus.REFUSED: "Judge refused",
    JudgementStatus.TRUNCATED: "Answer cut off",
    JudgementStatus.EMPTY: "Empty answer",
    JudgementStatus.MODEL_ERROR: "Model error",
}

PARTS: Mapping[Part, str] = {
    Part.DEMOGRAPHICS: "demographics",
    Part.INTERACTIONS: "interaction summaries",
    Part.SITUATION: "situation",
}


def stop_reason_label(reason: StopReason | str) -> str:
    return STOP_REASONS.get(StopReason(reason), str(reason))


def status_label(status: JudgementStatus | str) -> str:
    return STATUSES.get(JudgementStatus(status), str(status))


def context_label(setting: ContextSetting | str) -> str:
    """`Nothing`, `Demographics and situation`; takes a setting or its own short label."""
    known = setting if isinstance(setting, ContextSetting) else _setting(setting)
    words = [PARTS[part] for part in Part if part in known]
    if not words:
        return "Nothing"
    listed = " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
    return listed[0].upper() + listed[1:]


def _setting(label: str) -> ContextSetting:
    short = {"none": ContextSetting.of(), "all": ContextSetting.of(*Part)}
    return short[label] if label in short else ContextSetting.of(*label.split("+"))


@cache
def _rubric_words() -> Mapping[str, tuple[str, str]]:
    from core.assets import list_rubrics

    return {r.dimension: (r.title, " ".join(r.question.split())) for r in list_rubrics()}


def dimension_name(dimension: str) -> str:
    """`Personalisation`: the title of its rubric, or the name itself in words."""
    if dimension in _rubric_words():
        return _rubric_words()[dimension][0]
    words = dimension.replace("_", " ").strip()
    return words[:1].upper() + words[1:]


def dimension_label(dimension: str) -> str:
    """`Personalisation 1–4`: the name with the ends of its scale; a verdict has none."""
    ends = rubric_ends().get(dimension)
    if ends is None or ends.verdict:
        return dimension_name(dimension)
    return f"{dimension_name(dimension)} {ends.low}–{ends.high}"


def dimension_question(dimension: str) -> str:
    """The question that the dimension's rubric asks, or its name."""
    words = _rubric_words().get(dimension)
    return words[1] if words else dimension_name(dimension)


_NEUTRAL = frozenset({"first_message_explicitness"})  # more of it is neither better nor worse


def directions(dimension: str) -> tuple[str, str]:
    """The words for less and for more of a dimension: `worse` and `better`, as a rule."""
    return ("lower", "higher") if dimension in _NEUTRAL else ("worse", "better")


def value_label(dimension: str, value: int | None) -> str:
    """A judgement's value: `3`, `yes`, `no`, or `unscored`."""
    if value is None:
        return "unscored"
    ends = rubric_ends().get(dimension)
    return ("yes" if value else "no") if ends is not None and ends.verdict else str(value)


# --- sentences ----------------------------------------------------------------------------------


def what_is_estimated(item: ArmEstimate | Difference | Comparison) -> str:
    """Say in plain words what a number is, from what, and how sure. Plain text: escape it.

    Of a comparison, one sentence per dimension and instrument: its clearest difference.
    """
    if isinstance(item, ArmEstimate):
        return _of_arm(item)
    if isinstance(item, Difference):
        return _of_difference(item)
    seen = dict.fromkeys((row.dimension, row.instrument_id) for row in item.rows)
    return "\n".join(_headline(item.select(*key)) for key in seen)


def _headline(part: Comparison) -> str:
    if not part.differences:
        return " ".join(_of_arm(row) for row in part.rows)
    resolved = [d for d in part.differences if d.resolved and d.ranked]
    first = max(resolved or part.differences, key=lambda d: abs(d.estimate or 0))
    if len(part.differences) == 1:
        return _of_difference(first)
    tally = f"{len(resolved)} of {len(part.differences)} differences to {part.baseline}"
    return f"{_of_difference(first)} Resolved: {tally}."


def _of_arm(row: ArmEstimate) -> str:
    name = f"{dimension_name(row.dimension)} with {row.arm}"
    if row.estimate is None:
        return f"{name}: no dialogue has a value yet."
    verdict = _is_verdict(row.dimension)
    shown = quantity(row.estimate, row.lo, row.hi, verdict=verdict)
    return f"{name}: {shown} ({_range(row.lo, row.hi, verdict)}; {_basis(row)})."


def _of_difference(row: Difference) -> str:
    name = dimension_name(row.dimension)
    if row.estimate is None or row.arm_mean is None or row.baseline_mean is None:
        return f"{name}: no scenario has a value with both {row.arm} and {row.baseline} yet."
    if not row.ranked:
        return f"{name} is not ranked, because too many dialogues are unscored: {_both(row)}."
    if row.lo is None or row.hi is None:
        return f"{name}: {_both(row)}; too few personas to say how sure this is."
    if not row.resolved:
        return f"{name} is not resolved between {row.arm} and {row.baseline}: {_span(row)}."
    word = "higher" if row.estimate > 0 else "lower"
    verdict = _is_verdict(row.dimension)
    means = _means(row)
    reach = _range(row.lo, row.hi, verdict).removesuffix(f"{_NBSP}%")
    return (
        f"{name} is {word} with {row.arm} than with {row.baseline}: {means[0]} against {means[1]} "
        f"(difference {_points(row.estimate, row, verdict)}, {reach}; {_basis(row)})."
    )


def _span(row: Difference) -> str:
    lo, hi = row.lo or 0.0, row.hi or 0.0
    worse, better = directions(row.dimension)
    verdict = _is_verdict(row.dimension)
    means = _means(row)
    return (
        f"{row.arm} is between {_points(-lo, row, verdict)} {worse} and "
        f"{_points(hi, row, verdict)} {better} "
        f"({means[0]} against {means[1]}, 95{_NBSP}% interval; {_basis(row)})"
    )


def _both(row: Difference) -> str:
    ours, theirs = _means(row)
    return f"{ours} with {row.arm}, {theirs} with {row.baseline} ({_basis(row)})"


def _means(row: Difference) -> tuple[str, str]:
    verdict = _is_verdict(row.dimension)
    ours, theirs = row.arm_mean or 0.0, row.baseline_mean or 0.0
    # Both with the digits that the difference supports, so that a reader can subtract them.
    return quantity(ours, row.lo, row.hi, verdict=verdict), quantity(
        theirs, row.lo, row.hi, verdict=verdict
    )


def _points(value: float, row: Difference, verdict: bool) -> str:
    text = quantity(value, row.lo, row.hi, verdict=verdict)
    return text.replace(f"{_NBSP}%", " points")


def _range(lo: float | None, hi: float | None, verdict: bool) -> str:
    if lo is None or hi is None:
        return "too few personas for an interval"
    return f"95{_NBSP}% interval {interval(lo, hi, verdict=verdict)}"


def _basis(row: ArmEstimate | Difference) -> str:
    judge = row.instrument.partition(" · ")[0]
    checked = f"judged by {judge}, {UNCHECKED}"
    personas = plural(row.n_personas, "persona")
    if isinstance(row, Difference):
        return f"{plural(row.n, 'scenario')} with both, {personas}; {checked}"
    missing = f", {count(row.n_unscored)} unscored" if row.n_unscored else ""
    return f"{plural(row.n, 'dialogue')}, {personas}{missing}; {checked}"


def _is_verdict(dimension: str) -> bool:
    ends = rubric_ends().get(dimension)
    return ends is not None and ends.verdict
