"""Nasty answers of judges: what is read from them, and what is refused."""

from __future__ import annotations

import json
import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.assets import Anchor, Scale
from core.parse import parse_judgement
from core.types import JudgementStatus as S


def rating(*labels: str, low: int = 1) -> Scale:
    anchors = tuple(Anchor(value=i, label=w, text=w) for i, w in enumerate(labels, low))
    return Scale(kind="rating", low=low, high=low + len(labels) - 1, anchors=anchors)


FOUR = rating("poor", "basic", "strong", "exceptional")
FIVE = rating("artificial", "mostly artificial", "mixed", "nearly natural", "natural")
VERDICT = Scale(
    kind="verdict",
    low=0,
    high=1,
    anchors=(Anchor(value=0, label="no", text="-"), Anchor(value=1, label="yes", text="-")),
)
DEEP = '{"a":' * 3000

OK = [
    # JSON, and JSON in wrappings
    (FIVE, '{"evidence": [1, 3], "rationale": "Fine.", "value": 4}', 4),
    (FIVE, 'Here it is:\n\n{"value": 4, "rationale": "x"}\n\nHope this helps!', 4),
    (FIVE, '```json\n{"value": 4, "rationale": "x", "evidence": []}\n```', 4),
    (FIVE, '```\n{"value": 4}\n```', 4),
    (FIVE, '\ufeff{"value": 4}', 4),
    (FIVE, '[{"value": 4, "rationale": "x"}]', 4),
    (FIVE, '{"judgement": {"value": 4, "rationale": "x"}}', 4),
    (FIVE, '{"value": 4}\n{"value": 4}', 4),
    (FIVE, '{"Value": 4, "Rationale": "x"}', 4),
    (FIVE, '{"score": 4, "rationale": "x"}', 4),
    (FIVE, '{"value": 4, "value": 4}', 4),
    (FIVE, '{"value": 4.0}', 4),
    (FIVE, '{"value": "4"}', 4),
    (FIVE, '{"value": "4/5"}', 4),
    (FIVE, '{"value": "four"}', 4),
    (FIVE, '{"value": "4 (nearly natural)"}', 4),
    (FIVE, '{"value": "Nearly natural"}', 4),
    (FIVE, '{"value": 4, "rationale": "not a 2/5, no {curly} either"}', 4),
    (FIVE, '{"value": 4, "rationale": "line one\nline two"}', 4),
    (FIVE, '{"note": {}} {"value": 4}', 4),
    (FIVE, 'The form was {"value": <number>} and so {"value": 4}', 4),
    (VERDICT, '{"value": true}', 1),
    (VERDICT, '{"value": false}', 0),
    (VERDICT, '{"value": "Yes"}', 1),
    (VERDICT, '{"verdict": "no"}', 0),
    (VERDICT, '{"value": 1}', 1),
    (VERDICT, '{"value": 0}', 0),
    # broken JSON
    (FIVE, '{"value": 4, "rationale": "x",}', 4),
    (FIVE, '{"value": 4, "evidence": [1, 2,],}', 4),
    (FIVE, "{'value': 4, 'rationale': 'x'}", 4),
    (FIVE, "{'value': '4', 'rationale': 'x'}", 4),
    (FIVE, '{value: 4, rationale: "x"}', 4),
    (FIVE, "{“value”: 4, “rationale”: “It fits.”}", 4),
    (FIVE, '{"rationale": "He said "yes" to it", "value": 4}', 4),
    (FIVE, '{"value": 4, "rationale": "The assistant ask', 4),
    (FIVE, '{"evidence": [1], "value": 4,', 4),
    (FIVE, '{\n  "value": 4\n', 4),
    (FIVE, '{"value": ４, "rationale": "full width"}', 4),
    (VERDICT, "{'value': True, 'rationale': 'x'}", 1),
    # reasoning around it
    (FIVE, '<think>Maybe {"value": 2}? Score: 1</think>{"value": 4}', 4),
    (FIVE, "<thinking>\nScore: 2\n</thinking>\nScore: 4", 4),
    (FIVE, "<think>a <think> b</think>Score: 4", 4),
    (FIVE, "Score: 4 <think>or 3?</think>", 4),
    (FIVE, 'so the score is 2</think>\n{"value": 4}', 4),
    (FIVE, '{"value": 4, "rationale": "It wrote </think> in the chat."}', 4),
    # prose with a label
    (FIVE, "Score: 4", 4),
    (FIVE, "Score: 4/5", 4),
    (FIVE, "Score: 4 / 5", 4),
    (FIVE, "Score: 4 out of 5", 4),
    (FIVE, "Score: four", 4),
    (FIVE, "Score: Four out of five.", 4),
    (FIVE, "**Score: 4**", 4),
    (FIVE, "**Score:** 4", 4),
    (FIVE, "### Score: **4**/5", 4),
    (FIVE, "- Naturalness score: 4", 4),
    (FIVE, "Score (1-5): 4", 4),
    (FIVE, "## Score\n4\n\nIt reads well.", 4),
    (FIVE, "Final rating:\n4", 4),
    (FIVE, "My overall rating is 4 out of 5.", 4),
    (FIVE, "Score: 4. The second reply in turn 2 is stiff.", 4),
    (FIVE, "Score: 4 - nearly natural", 4),
    (FIVE, "Score: 4 — it reads well", 4),
    (FIVE, "Score: 4\nJustification: five replies, three of them short.", 4),
    (FIVE, "I looked at 5 turns.\nScore: 4", 4),
    (FIVE, "Score: 4\n…\nFinal score: 4", 4),
    (FIVE, "Rating: nearly natural", 4),
    (FIVE, "<score>4</score>", 4),
    (FIVE, "Answer: see below\nScore: 4", 4),
    (FIVE, "Score: ٤", 4),
    (FIVE, "Score: ४/५", 4),
    (FIVE, "Score：４", 4),
    (FOUR, "Personalization Score: 3", 3),
    (FOUR, "Personalisation score: 3/4", 3),
    (VERDICT, "VERDICT: yes", 1),
    (VERDICT, "VERDICT:  True", 1),
    (VERDICT, "**VERDICT:** False\n\n**EXPLANATION:** the seat is open", 0),
    (VERDICT, "Verdict: No. The seat is open.", 0),
    (VERDICT, "Verdict: no, the seat is not settled", 0),
    (VERDICT, "Verdict: Yes, all of it", 1),
    (VERDICT, "<verdict>yes</verdict>", 1),
    # the value alone
    (FIVE, "4", 4),
    (FIVE, "4.", 4),
    (FIVE, "  **4**  ", 4),
    (FIVE, "(4)", 4),
    (FIVE, '"4"', 4),
    (FIVE, "4/5", 4),
    (FIVE, "four", 4),
    (FIVE, "```\n4\n```", 4),
    (FIVE, "```text\n4\n```", 4),
    (FIVE, "4\n\nEach reply reads like a person's.", 4),
    (FIVE, "۴", 4),
    (FIVE, "４／５", 4),
    (VERDICT, "True.", 1),
    (VERDICT, "“No”", 0),
    (VERDICT, "Yes.\nEvery part is settled.", 1),
    (VERDICT, "1", 1),
]

REFUSED = [
    # two values
    (FIVE, '{"value": 4}\n{"value": 3}', S.UNPARSABLE),
    (FIVE, '{"value": 4, "value": 3}', S.UNPARSABLE),
    (FIVE, '{"value": 4}\nScore: 3', S.UNPARSABLE),
    (FIVE, '{"a": {"value": 4}, "b": {"value": 2}}', S.UNPARSABLE),
    (FIVE, "Score: 4\nScore: 3", S.UNPARSABLE),
    (FIVE, "Score: 4 or 5", S.UNPARSABLE),
    (FIVE, "4 or 5", S.UNPARSABLE),
    (FIVE, "4-5", S.UNPARSABLE),
    (FIVE, "Score: 3–4", S.UNPARSABLE),
    (FIVE, "Score: 3 - 4", S.UNPARSABLE),
    (FIVE, "Score: between 3 and 4", S.UNPARSABLE),
    (FIVE, "Score: 3, leaning towards 4", S.UNPARSABLE),
    (FIVE, "Score: 4 or 5\nScore: 4", S.UNPARSABLE),
    (FIVE, "~~3~~ 4", S.UNPARSABLE),
    (FIVE, "1\n2\n3\n4\n5", S.UNPARSABLE),
    (FIVE, '{"value": "4 or 5"}', S.UNPARSABLE),
    (FIVE, '{"value": [4, 5]}', S.UNPARSABLE),
    (FIVE, '{"value": [4]}', S.UNPARSABLE),
    (FIVE, "{'value': 4, 'x': 'y', 'value': 5}", S.UNPARSABLE),
    (FIVE, "Score: 4 (artificial)", S.UNPARSABLE),
    (VERDICT, "Verdict: yes\nVerdict: no", S.UNPARSABLE),
    (VERDICT, "VERDICT: True/False", S.UNPARSABLE),
    (VERDICT, "VERDICT: yes and no", S.UNPARSABLE),
    (VERDICT, "Verdict: yes, but the seat is open", S.UNPARSABLE),
    (VERDICT, "Verdict: no, except for the time it is a yes", S.UNPARSABLE),
    (VERDICT, "Verdict: partly", S.UNPARSABLE),
    (VERDICT, "Verdict: not true", S.UNPARSABLE),
    # not on this scale
    (FIVE, "Score: 2.5", S.UNPARSABLE),
    (FIVE, "2,5", S.UNPARSABLE),
    (FIVE, "Score: 3.5/5", S.UNPARSABLE),
    (FIVE, '{"value": 2.5}', S.UNPARSABLE),
    (FIVE, '{"value": "2.5"}', S.UNPARSABLE),
    (FIVE, "Score: 3½", S.UNPARSABLE),
    (FIVE, "Score: 3²", S.UNPARSABLE),
    (FIVE, "4/10", S.UNPARSABLE),
    (FIVE, "Score: 4/10", S.UNPARSABLE),
    (FIVE, "Score: 80%", S.UNPARSABLE),
    (FOUR, "Score: 3/5", S.UNPARSABLE),
    (VERDICT, "1/1", S.UNPARSABLE),
    (FIVE, '{"value": true}', S.UNPARSABLE),
    (FIVE, "Score: yes", S.UNPARSABLE),
    (FIVE, '{"value": null, "rationale": "x"}', S.UNPARSABLE),
    (FIVE, '{"value": NaN}', S.UNPARSABLE),
    (FIVE, '{"value": 1e999}', S.UNPARSABLE),
    (FIVE, '{"value": ""}', S.UNPARSABLE),
    (FIVE, '{"value": {}}', S.UNPARSABLE),
    (FIVE, f'{{"value": {"4" * 5000}}}', S.UNPARSABLE),
    (FIVE, "Score: " + "4" * 5000, S.UNPARSABLE),
    (FIVE, '{"value": 6}', S.OUT_OF_RANGE),
    (FIVE, '{"value": 0}', S.OUT_OF_RANGE),
    (FIVE, '{"value": -1}', S.OUT_OF_RANGE),
    (FIVE, "Score: 7", S.OUT_OF_RANGE),
    (FIVE, "Score: ten", S.OUT_OF_RANGE),
    (FIVE, "10", S.OUT_OF_RANGE),
    (FOUR, "5", S.OUT_OF_RANGE),
    (FOUR, '{"value": "5"}', S.OUT_OF_RANGE),
    (VERDICT, '{"value": 2}', S.OUT_OF_RANGE),
    # merely mentioned
    (FIVE, "The assistant asked 4 questions.", S.UNPARSABLE),
    (FIVE, "In turn 4 the reply is stiff.", S.UNPARSABLE),
    (FIVE, "I would place this somewhere near the top.", S.UNPARSABLE),
    (FIVE, "1. The person asks.\n2. The assistant answers.", S.UNPARSABLE),
    (FIVE, "1.\nThe person asks.", S.UNPARSABLE),
    (FIVE, "Evidence turns:\n1\n3", S.UNPARSABLE),
    (FIVE, '{"rationale": "It is a 4.", "evidence": [4]}', S.UNPARSABLE),
    (FIVE, '{"confidence_score": 4}', S.UNPARSABLE),
    (FIVE, "Score: one of the best", S.UNPARSABLE),
    (FIVE, '"evidence": [4], "value"', S.UNPARSABLE),
    (VERDICT, "It is true that the person left.", S.UNPARSABLE),
    (VERDICT, "No problem, happy to help. Please send the conversation.", S.UNPARSABLE),
    (VERDICT, "Yes, I can rate this. Where is the conversation?", S.UNPARSABLE),
    (VERDICT, "True or false: the seat was booked.", S.UNPARSABLE),
    # no answer
    (FIVE, "I can't assist with that.", S.REFUSED),
    (FIVE, "I'm sorry, but I can’t help with rating this 4/5.", S.REFUSED),
    (FIVE, "I cannot rate this conversation.", S.REFUSED),
    (FIVE, "Unfortunately, I'm unable to judge people.", S.REFUSED),
    (FIVE, "As an AI language model, I am not able to rate this.", S.REFUSED),
    (VERDICT, "No, I can't decide this.", S.UNPARSABLE),
    (FIVE, '{"value": null, "rationale": "I cannot tell."}', S.UNPARSABLE),
    (FIVE, "", S.EMPTY),
    (FIVE, " \n\t ", S.EMPTY),
    (FIVE, "<think>Long thoughts, score: 4</think>", S.EMPTY),
    # cut off
    (FIVE, "<think>Long thoughts, score: 4", S.TRUNCATED),
    (FIVE, '{"evidence": [1, 3], "rationale": "The assistant ask', S.TRUNCATED),
    (FIVE, '{"rationale": "x", "value": 4', S.TRUNCATED),  # could have become 4.5
    (FIVE, '{"rationale": "x", "value": ', S.TRUNCATED),
    (FIVE, '```json\n{"evi', S.TRUNCATED),
    (FIVE, DEEP, S.TRUNCATED),
]


@pytest.mark.parametrize(("scale", "text", "value"), OK)
def test_value_is_read_when_the_answer_states_one(scale: Scale, text: str, value: int) -> None:
    parsed = parse_judgement(text, scale)

    assert (parsed.status, parsed.value) == (S.OK, value)


@pytest.mark.parametrize(("scale", "text", "status"), REFUSED)
def test_no_value_when_the_answer_leaves_a_doubt(scale: Scale, text: str, status: S) -> None:
    parsed = parse_judgement(text, scale)

    assert (parsed.status, parsed.value) == (status, None)


def test_rationale_and_evidence_come_as_they_were_written_when_json_is_valid() -> None:
    said = "She said “Thaï”, twice. It’s *fine*."
    text = json.dumps(
        {"evidence": [3, "1", "turn 2", 3, True, 0, -4], "rationale": said, "value": 2}
    )

    parsed = parse_judgement(f"Well:\n{text}", FOUR)

    assert parsed.rationale == said
    assert parsed.evidence == (1, 2, 3)


def test_rationale_survives_when_the_json_is_cut_off() -> None:
    parsed = parse_judgement('{"evidence": [2], "value": 3, "rationale": "It asks ag', FOUR)

    assert (parsed.value, parsed.rationale, parsed.evidence) == (3, "It asks ag", (2,))


def test_rationale_is_kept_when_the_value_is_unusable() -> None:
    parsed = parse_judgement('{"value": 2.5, "rationale": "Half way.", "evidence": [1]}', FOUR)

    assert (parsed.value, parsed.rationale, parsed.evidence) == (None, "Half way.", (1,))


@pytest.mark.parametrize(
    ("text", "rationale"),
    [
        ("Score: 3\nJustification: It **knew** the seat.", "It **knew** the seat."),
        ("VERDICT: 3", ""),
        ("It fits the person well.\n\nScore: 3", "It fits the person well.\n\nScore: 3"),
    ],
)
def test_rationale_of_prose_is_what_stands_under_such_a_word_or_all_of_it(
    text: str, rationale: str
) -> None:
    assert parse_judgement(text, FOUR).rationale == rationale


@pytest.mark.parametrize(
    ("evidence", "turns"),
    [('"1, 3 and 4"', (1, 3, 4)), ("null", ()), ("2", ()), ('["2 A", "#3", "x", 1.5]', (2, 3))],
)
def test_evidence_is_read_when_written_in_other_ways(evidence: str, turns: tuple[int]) -> None:
    assert parse_judgement(f'{{"value": 3, "evidence": {evidence}}}', FOUR).evidence == turns


@pytest.mark.parametrize("scale", [FOUR, FIVE, VERDICT])
@settings(deadline=None)
@given(text=st.text(max_size=300))
def test_any_text_gives_a_value_of_the_scale_or_none(scale: Scale, text: str) -> None:
    parsed = parse_judgement(text, scale)

    assert (parsed.value in scale.values) == (parsed.status is S.OK)
    assert parsed.value is None or isinstance(parsed.value, int)


PIECES = st.lists(
    st.sampled_from(
        ["{", "}", '"value"', ":", " ", "3", "2.5", "4", "or", "Score", "\n", "/", "5", "yes", "no"]
        + ["<think>", "</think>", "```", "**", ",", "[", "]", "'", "I can't", "٣", "three", "-"]
    ),
    max_size=30,
).map("".join)


@settings(deadline=None)
@given(text=PIECES)
def test_any_pile_of_pieces_gives_a_value_of_the_scale_or_none(text: str) -> None:
    parsed = parse_judgement(text, FOUR)

    assert (parsed.value in FOUR.values) == (parsed.status is S.OK)


def without_digits(text: str) -> str:
    return "".join(c for c in text if unicodedata.category(c) != "Nd")


PROSE = st.text(max_size=200).map(without_digits)


@settings(deadline=None)
@given(before=PROSE, after=PROSE, value=st.integers(1, 5), rationale=st.text(max_size=100))
def test_json_comes_back_whole_when_prose_without_digits_stands_around_it(
    before: str, after: str, value: int, rationale: str
) -> None:
    text = json.dumps({"evidence": [1, 2], "rationale": rationale, "value": value})

    parsed = parse_judgement(f"{before}\n{text}\n{after}", FIVE)

    assert (parsed.status, parsed.value) == (S.OK, value)
    assert (parsed.rationale, parsed.evidence) == (rationale, (1, 2))


@pytest.mark.parametrize(
    "piece",
    ["{", '{"value":', "<think>", "</think>", "Score: ", "Score:\n", "\n", "(", "- ", "3 ", ". "]
    + ['"', "{\n", '"rationale": "', "is ", "\t", '"value": 3\n', "I ", "<score>", "3 - ", "**"],
)
def test_a_long_answer_is_read_in_little_time_when_it_repeats_one_piece(piece: str) -> None:
    started = time.process_time()

    parse_judgement(piece * (30_000 // len(piece)), FIVE)

    assert time.process_time() - started < 2
