"""Judging: one rubric, one judge, one target, one call, one judgement.

A model judge gets one re-ask when its answer cannot be used, and then a status without a
value. Nothing that was not read is ever a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from core.assets import Rubric, Scale, dialogue_text, sections_text
from core.context import Briefing, Section, assistant_briefing, judge_briefing
from core.errors import StudyError
from core.judge_call import MAX_TOKENS, Answer, Call, answer_schema, judge_prompt, temperature_of
from core.parse import Parsed
from core.ports import Calls, ChatMessage
from core.types import (
    ContextSetting,
    Dialogue,
    Instrument,
    Judgement,
    JudgementStatus,
    Message,
    ModelSpec,
    Part,
    Role,
    Scenario,
    Target,
    digest,
)

if TYPE_CHECKING:
    from core.parties.lexicon import Lexicon

SCRIPTED_JUDGE = "scripted/judge"
_NO_CONTEXT = ContextSetting()

_SUBJECTS = {
    Target.DIALOGUE: "Rate the conversation as a whole.",
    Target.USER: "Rate the person's messages (U), all together.",
    Target.ASSISTANT: "Rate the assistant's messages (A), all together.",
    Target.TURN: "Rate the assistant's reply (A) in turn {turn} only. It is the last one shown.",
}
_FIRST_MESSAGE = "Rate the person's first message. It is the only one shown."

Rated = tuple[str, str, int | None]  # instrument, dimension, turn: what is rated only once


@dataclass(frozen=True, slots=True)
class Question:
    """One target to be rated. It may be put at any time and from any thread."""

    key: Rated
    put: Callable[[], Judgement]


def questions(  # noqa: PLR0913 -- all that one measurement depends on, and nothing more
    dialogue: Dialogue,
    scenario: Scenario | None,
    rubric: Rubric,
    *,
    spec: ModelSpec,
    calls: Calls,
    lexicon: Lexicon | None,
    now: Callable[[], datetime],
) -> list[Question]:
    """What rating a dialogue by a rubric asks: one question, or one for each answered turn.

    Put side by side or one after another, they send and log the same. Empty for a dialogue
    whose stop reason forbids judging. `scenario` may be None (imported dialogues) where the
    rubric needs no inputs; `lexicon` serves the scripted judge only. Raises `StudyError` where
    these are missing or a scripted judge is unknown. To put a question raises
    `ModelMisconfigured`, `Cancelled` and what the limits raise, because a run has to stop then;
    every other failure of a model is a judgement with a status and no value.
    """
    if not dialogue.stop_reason.judged:
        return []
    _refuse_missing_scenario(scenario, rubric)
    instrument = instrument_of(spec, rubric)

    def put(turn: int | None) -> Judgement:
        if spec.scripted:
            answer = _scripted(dialogue, scenario, rubric, lexicon, turn)
        else:
            prompt = prompt_for(
                dialogue.messages, scenario, rubric, context=dialogue.arm.context, turn=turn
            )
            party = f"judge:{rubric.name}" + (f":{turn}" if turn else "")
            answer = Call(spec, calls, party, dialogue.seed).rate(prompt, rubric.scale)
        return _judgement(dialogue, rubric, instrument, turn, answer, now())

    return [
        Question((instrument.id, rubric.dimension, turn), partial(put, turn))
        for turn in _targets(dialogue.messages, rubric)
    ]


def keys(dialogue: Dialogue, rubric: Rubric, spec: ModelSpec) -> list[Rated]:
    """What `questions` would ask about."""
    instrument = instrument_of(spec, rubric)
    targets = _targets(dialogue.messages, rubric)
    return [(instrument.id, rubric.dimension, turn) for turn in targets]


def rated_by(judgements: Iterable[Judgement]) -> frozenset[Rated]:
    """What was rated; a judge that could not be reached has not rated."""
    return frozenset(
        (j.instrument.id, j.dimension, j.turn)
        for j in judgements
        if j.status is not JudgementStatus.MODEL_ERROR
    )


def instrument_of(spec: ModelSpec, rubric: Rubric) -> Instrument:
    """The measuring device that this judge and rubric make. Raises `StudyError` if unknown.

    Its prompt hash covers every word that goes out but the dialogue and what belongs to it.
    """
    if not spec.scripted:
        params = {"max_tokens": MAX_TOKENS, **spec.params, "temperature": temperature_of(spec)}
        return Instrument(spec.model, rubric.ref, _prompt_hash(rubric), params)
    if spec.model != SCRIPTED_JUDGE:
        raise StudyError(f"There is no scripted judge '{spec.model}'; use {SCRIPTED_JUDGE}.")
    from core.parties.scripted_judge import RULE_VERSION

    return Instrument(spec.model, rubric.ref, RULE_VERSION)


def prompt_for(
    messages: Sequence[Message],
    scenario: Scenario | None,
    rubric: Rubric,
    *,
    context: ContextSetting = _NO_CONTEXT,
    turn: int | None = None,
) -> tuple[ChatMessage, ...]:
    """Word for word what a model judge is told; `messages` may be empty, to show the rest.

    `context` is the setting of the dialogue's arm. `turn` is what a rubric for turns rates;
    without it, the last answered one.
    """
    _refuse_missing_scenario(scenario, rubric)
    if rubric.target is Target.TURN and turn is None:
        turn = max(_answered(messages), default=1)
    return _render(
        rubric,
        subject=_subject(rubric, turn),
        inputs=_inputs(scenario, rubric, context),
        transcript=dialogue_text(_read_by(rubric, messages, turn), numbered=True),
    )


# --- what is rated ----------------------------------------------------------------------------


def _refuse_missing_scenario(scenario: Scenario | None, rubric: Rubric) -> None:
    if scenario is None and rubric.needs_scenario:
        raise StudyError(
            f"The rubric {rubric.ref} needs to know the persona and the task, and this dialogue "
            "names none; use a rubric that reads the dialogue only."
        )


def _targets(messages: Sequence[Message], rubric: Rubric) -> list[int | None]:
    return list(_answered(messages)) if rubric.target is Target.TURN else [None]


def _numbered(messages: Sequence[Message]) -> Iterator[tuple[int, Message]]:
    turn = 0
    for message in messages:
        turn += message.role is Role.USER
        yield max(turn, 1), message


def _answered(messages: Sequence[Message]) -> list[int]:
    """Numbers of the turns in which the assistant said something."""
    return sorted({n for n, m in _numbered(messages) if m.role is Role.ASSISTANT})


def _read_by(rubric: Rubric, messages: Sequence[Message], turn: int | None) -> list[Message]:
    if rubric.reads == "first_message":
        return [m for m in messages if m.role is Role.USER][:1]
    return [m for n, m in _numbered(messages) if turn is None or n <= turn]


def _subject(rubric: Rubric, turn: int | None) -> str:
    if rubric.reads == "first_message":
        return _FIRST_MESSAGE
    return _SUBJECTS[rubric.target].format(turn=turn)


# --- what a model judge is told ---------------------------------------------------------------


def _render(
    rubric: Rubric, *, subject: str, inputs: str, transcript: str
) -> tuple[ChatMessage, ...]:
    return judge_prompt().render(
        "rate",
        question=rubric.question,
        subject=subject,
        criteria=_listed(f"{c.name}: {c.text}" for c in rubric.criteria),
        scale=_listed(f"{_word(rubric.scale, a.value)}: {a.text}" for a in rubric.scale.anchors),
        notes=_listed(rubric.notes),
        examples=_examples(rubric),
        inputs=inputs,
        transcript=transcript,
        answer_form=_answer_form(rubric.scale),
    )


def _word(scale: Scale, value: int) -> str:
    label = scale.label(value)
    return label if scale.kind == "verdict" else f"{value} ({label})"


def _listed(items: Iterator[str] | Sequence[str]) -> str:
    return "\n".join(f"- {item}" for item in items) or "None."


def _examples(rubric: Rubric) -> str:
    return _listed(
        f"({e.domain}) {e.shows}\n  Value: {_word(rubric.scale, e.value)}. {e.why}"
        for e in rubric.examples
    )


def _answer_form(scale: Scale) -> str:
    values = '"yes" or "no"' if scale.kind == "verdict" else f"one of {_joined(scale.values)}"
    return f'{{"evidence": [turn numbers], "rationale": "your reasons", "value": {values}}}'


def _joined(values: range) -> str:
    return ", ".join(map(str, values))


def _inputs(scenario: Scenario | None, rubric: Rubric, context: ContextSetting) -> str:
    """The rubric's inputs, and apart from them what the assistant had been given."""
    if scenario is None or not rubric.needs_scenario:
        return "None. The transcript is all there is."
    own = sections_text(judge_briefing(scenario, rubric.inputs).sections())
    if not rubric.given_to_assistant:
        return own
    given = sections_text(assistant_briefing(scenario, context).sections())
    told = f"GIVEN TO THE ASSISTANT BEFORE THE CONVERSATION\n\n{given}"
    return f"NOT GIVEN TO THE ASSISTANT\n\n{own}\n\n{told}" if rubric.inputs else told


@lru_cache(maxsize=256)
def _prompt_hash(rubric: Rubric) -> str:
    prompt = judge_prompt()
    sent = _render(rubric, subject=_subject(rubric, None), inputs="", transcript="")
    texts = [m.content for m in sent]
    return f"{prompt.ref}:{digest(prompt.hash, rubric.hash, texts, answer_schema(rubric.scale))}"


# --- answers ----------------------------------------------------------------------------------


def _scripted(
    dialogue: Dialogue,
    scenario: Scenario | None,
    rubric: Rubric,
    lexicon: Lexicon | None,
    turn: int | None,
) -> Answer:
    from core.parties.scripted_judge import rate

    if lexicon is None:
        raise StudyError("The scripted judge needs the words of the dataset, and there is none.")
    messages = _read_by(rubric, dialogue.messages, turn)
    briefing = _scripted_briefing(dialogue, scenario, rubric)
    rating = rate(rubric.dimension, messages, briefing, lexicon)
    if rating.value not in rubric.scale.values:
        raise StudyError(f"The scripted judge rates by another scale than {rubric.ref} has.")
    parsed = Parsed(JudgementStatus.OK, rating.value, rating.rationale, rating.evidence)
    return Answer(parsed)


def _scripted_briefing(dialogue: Dialogue, scenario: Scenario | None, rubric: Rubric) -> Briefing:
    """What the rules need. For a rubric about what the assistant was given, the parts that it
    was not given are left out; affinities are given to no assistant and always there."""
    if scenario is None:
        return Briefing(dialogue.kind)
    parts = dialogue.arm.context.parts if rubric.given_to_assistant else frozenset(Part)
    known = (Section.AFFINITIES, Section.RELEVANT, Section.INTENT, Section.GOAL)
    return judge_briefing(scenario, (*known, *(Section(str(p)) for p in parts)))


def _judgement(
    dialogue: Dialogue,
    rubric: Rubric,
    instrument: Instrument,
    turn: int | None,
    answer: Answer,
    at: datetime,
) -> Judgement:
    parsed = answer.parsed
    turns = {n for n, _ in _numbered(dialogue.messages)}
    # A judge that could not be reached is asked again later: that is another judgement.
    moment = at if parsed.status is JudgementStatus.MODEL_ERROR else None
    return Judgement(
        id=digest(dialogue.id, instrument.id, rubric.dimension, turn, moment),
        dialogue_id=dialogue.id,
        study_id=dialogue.study_id,
        dimension=rubric.dimension,
        target=rubric.target,
        turn=turn,
        status=parsed.status,
        value=parsed.value,
        rationale=parsed.rationale,
        evidence=tuple(e for e in parsed.evidence if e in turns),
        raw=answer.raw,
        instrument=instrument,
        created_at=at,
    )
