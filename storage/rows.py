"""Rows to core values and back, one pair of functions per noun. Only here and in
`dataset_rows` are both shapes known.

A `*_values` function returns the columns of one insert; a `*_of` function takes any row with
the columns it names, so that selects may join.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from core.ports import Study
from core.study_file import StudySpec
from core.types import (
    Arm,
    ContextSetting,
    Dialogue,
    DialogueSummary,
    Instrument,
    Judgement,
    JudgementStatus,
    Message,
    ModelCall,
    ModelSpec,
    Override,
    OverrideReason,
    Role,
    ScenarioRef,
    StopReason,
    StudyState,
    Target,
    TaskKind,
    WorkUnit,
    digest,
)
from storage.columns import number_in
from storage.database import AnyRow

Values = dict[str, Any]

# --- arms, studies, units ----------------------------------------------------------------------


def spec_of(body: Mapping[str, Any]) -> ModelSpec:
    """A model from the JSON of `ModelSpec.to_dict`."""
    return ModelSpec(body["model"], body["api_base"], body["params"])


def arm_id(arm: Arm) -> str:
    """The key of an arm: the digest of its content."""
    return digest(arm.to_dict())


def arm_values(arm: Arm) -> Values:
    """The columns of an arm."""
    return {
        "id": arm_id(arm),
        "name": arm.name,
        "model": arm.assistant.model,
        "context": arm.setting or arm.context.label,
        "body": arm.to_dict(),
    }


def arm_of(body: Mapping[str, Any]) -> Arm:
    """An arm from the JSON of `Arm.to_dict`."""
    context = ContextSetting.of(*body["context"])
    return Arm(body["name"], spec_of(body), context, body["prompt"], body.get("setting", ""))


def study_values(study: Study) -> Values:
    """The columns of a study that has not started."""
    return {
        "id": study.id,
        "name": study.name,
        "kind": study.kind,
        "state": str(study.state),
        "message": "",
        "changes": 1,
        "created_at": study.created_at,
        "spec": study.spec and study.spec.model_dump(mode="json"),
    }


def study_of(row: AnyRow) -> Study:
    """A study with its validated specification."""
    return Study(
        id=row.id,
        name=row.name,
        spec=None if row.spec is None else StudySpec.model_validate(row.spec),
        state=StudyState(row.state),
        created_at=row.created_at,
        kind=row.kind,
    )


def unit_values(unit: WorkUnit) -> Values:
    """The columns of a unit that nobody has claimed."""
    return {
        "id": unit.id,
        "study_id": unit.study_id,
        "dataset": unit.scenario.dataset,
        "persona_id": unit.scenario.persona_id,
        "task_id": unit.scenario.task_id,
        "kind": str(unit.scenario.kind),
        "domains": list(unit.scenario.domains),
        "arm_id": arm_id(unit.arm),
        "repetition": unit.repetition,
        "seed": unit.seed,
        "attempt": 1,
        "lease_until": 0.0,
        "lease_seconds": 0.0,
    }


def unit_of(row: AnyRow, arm: Arm) -> WorkUnit:
    """A work unit; its row names the arm, which is given."""
    return WorkUnit(row.study_id, scenario_ref_of(row), arm, row.repetition, row.seed)


def scenario_ref_of(row: AnyRow) -> ScenarioRef:
    """The scenario that a unit is about."""
    return ScenarioRef(
        row.dataset, row.persona_id, row.task_id, TaskKind(row.kind), tuple(row.domains)
    )


# --- dialogues and calls -----------------------------------------------------------------------


def dialogue_values(dialogue: Dialogue) -> Values:
    """The light columns of a dialogue."""
    return {
        "id": dialogue.id,
        "study_id": dialogue.study_id,
        "unit_id": dialogue.unit_id,
        "attempt": dialogue.attempt,
        "dataset": dialogue.dataset,
        "persona_id": dialogue.persona_id,
        "persona_number": number_in(dialogue.persona_id),
        "task_id": dialogue.task_id,
        "task_number": number_in(dialogue.task_id),
        "kind": str(dialogue.kind),
        "domains": list(dialogue.domains),
        "intent": dialogue.intent,
        "arm_id": arm_id(dialogue.arm),
        "repetition": dialogue.repetition,
        "seed": dialogue.seed,
        "turns": dialogue.turns,
        "stop_reason": str(dialogue.stop_reason),
        "stop_detail": dialogue.stop_detail,
        "created_at": dialogue.created_at,
        "seconds": dialogue.seconds,
        "author": dialogue.author,
        "parent_id": dialogue.parent_id,
        "parent_message": dialogue.parent_message,
    }


def body_values(dialogue: Dialogue) -> Values:
    """The heavy columns of a dialogue."""
    return {
        "dialogue_id": dialogue.id,
        "user_agent": dialogue.user_agent.to_dict(),
        "prompts": dict(dialogue.prompts),
        "roles": "".join(m.role[0] for m in dialogue.messages),
        "stamps": _stamps(dialogue.messages),
        "messages": [m.content for m in dialogue.messages],
    }


def _stamps(messages: Sequence[Message]) -> list[tuple[str | None, str | None]] | None:
    """When and by whom each message was written; None when nothing is known of any."""
    if all(m.at is None and m.author is None for m in messages):
        return None
    return [(m.at.isoformat() if m.at else None, m.author) for m in messages]


_ROLES = {role[0]: role for role in Role}


def _messages_of(row: AnyRow) -> tuple[Message, ...]:
    stamps = row.stamps or [(None, None)] * len(row.messages)
    return tuple(
        Message(_ROLES[role], content, datetime.fromisoformat(at) if at else None, author)
        for role, content, (at, author) in zip(row.roles, row.messages, stamps, strict=True)
    )


def dialogue_of(row: AnyRow) -> Dialogue:
    """From a row of dialogue joined with its body; `arm` is the arm's JSON."""
    return Dialogue(
        id=row.id,
        study_id=row.study_id,
        unit_id=row.unit_id,
        attempt=row.attempt,
        dataset=row.dataset,
        persona_id=row.persona_id,
        task_id=row.task_id,
        kind=TaskKind(row.kind),
        domains=tuple(row.domains),
        intent=row.intent,
        arm=arm_of(row.arm),
        user_agent=spec_of(row.user_agent),
        repetition=row.repetition,
        seed=row.seed,
        messages=_messages_of(row),
        stop_reason=StopReason(row.stop_reason),
        stop_detail=row.stop_detail,
        prompts=row.prompts,
        created_at=row.created_at,
        seconds=row.seconds,
        author=row.author,
        parent_id=row.parent_id,
        parent_message=row.parent_message,
    )


def dialogue_summary_of(row: AnyRow) -> DialogueSummary:
    """From a row of dialogue joined with its arm and its study's name."""
    return DialogueSummary(
        id=row.id,
        study_id=row.study_id,
        study=row.study,
        dataset=row.dataset,
        persona_id=row.persona_id,
        task_id=row.task_id,
        kind=TaskKind(row.kind),
        domains=tuple(row.domains),
        intent=row.intent,
        arm=row.arm,
        model=row.model,
        context=row.context,
        repetition=row.repetition,
        turns=row.turns,
        stop_reason=StopReason(row.stop_reason),
        created_at=row.created_at,
    )


def call_values(call: ModelCall) -> Values:
    """The columns of a model call; its `seq` is called `number` there."""
    return {
        "scope": call.scope,
        "party": call.party,
        "number": call.seq,
        "request_hash": call.request_hash,
        "model": call.model,
        "study_id": call.study_id,
        "finish_reason": call.finish_reason,
        "tokens_in": call.tokens_in,
        "tokens_out": call.tokens_out,
        "cost_usd": call.cost_usd,
        "seconds": call.seconds,
        "attempts": call.attempts,
        "cached": call.cached,
        "at": call.at,
        "error": call.error,
        "reply": call.reply,
    }


def call_of(row: AnyRow) -> ModelCall:
    """A model call."""
    return ModelCall(
        scope=row.scope,
        party=row.party,
        seq=row.number,
        request_hash=row.request_hash,
        model=row.model,
        reply=row.reply,
        finish_reason=row.finish_reason,
        tokens_in=row.tokens_in,
        tokens_out=row.tokens_out,
        cost_usd=row.cost_usd,
        seconds=row.seconds,
        attempts=row.attempts,
        at=row.at,
        study_id=row.study_id,
        error=row.error,
        cached=row.cached,
    )


# --- judgements --------------------------------------------------------------------------------


def instrument_values(instrument: Instrument) -> Values:
    """The columns of an instrument."""
    return {
        "id": instrument.id,
        "judge": instrument.judge,
        "rubric": instrument.rubric,
        "prompt_hash": instrument.prompt_hash,
        "params": dict(instrument.params),
    }


def judgement_values(judgement: Judgement) -> Values:
    """The columns of a judgement."""
    return {
        "id": judgement.id,
        "dialogue_id": judgement.dialogue_id,
        "study_id": judgement.study_id,
        "instrument_id": judgement.instrument.id,
        "dimension": judgement.dimension,
        "target": str(judgement.target),
        "turn": judgement.turn,
        "status": str(judgement.status),
        "value": judgement.value,
        "created_at": judgement.created_at,
        "evidence": list(judgement.evidence),
        "rationale": judgement.rationale,
        "raw": judgement.raw,
    }


def judgement_of(row: AnyRow) -> Judgement:
    """From a row of judgement joined with its instrument."""
    return Judgement(
        id=row.id,
        dialogue_id=row.dialogue_id,
        study_id=row.study_id,
        dimension=row.dimension,
        target=Target(row.target),
        turn=row.turn,
        status=JudgementStatus(row.status),
        value=row.value,
        rationale=row.rationale,
        evidence=tuple(row.evidence),
        raw=row.raw,
        instrument=Instrument(row.judge, row.rubric, row.prompt_hash, row.params),
        created_at=row.created_at,
    )


def override_values(override: Override) -> Values:
    """The columns of an override."""
    return {
        "id": override.id,
        "judgement_id": override.judgement_id,
        "dialogue_id": override.dialogue_id,
        "value": override.value,
        "supersedes": override.supersedes,
        "reason_kind": str(override.reason_kind),
        "author": override.author,
        "created_at": override.created_at,
        "reason": override.reason,
    }


def override_of(row: AnyRow) -> Override:
    """An override."""
    return Override(
        id=row.id,
        judgement_id=row.judgement_id,
        dialogue_id=row.dialogue_id,
        value=row.value,
        reason_kind=OverrideReason(row.reason_kind),
        reason=row.reason,
        author=row.author,
        created_at=row.created_at,
        supersedes=row.supersedes,
    )
