"""One question to a model judge: what is sent, its one re-ask, and what the answer amounts to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from core.assets import Prompt, Scale, load_prompt
from core.errors import EmptyReply, ModelError, ModelMisconfigured, ModelRefused
from core.parse import Parsed, parse_judgement
from core.ports import Calls, ChatMessage, ChatRequest
from core.types import JudgementStatus, ModelSpec

JUDGE_PROMPT = "judge@1"
MAX_TOKENS = 4000
TEMPERATURE = 0.0
_QUOTED = 2000  # characters of an unusable answer that are shown to its judge again
_CUT = ("length", "max_tokens")
_PROBLEMS = {
    JudgementStatus.UNPARSABLE: "it did not state exactly one value of the scale.",
    JudgementStatus.OUT_OF_RANGE: "its value is not on the scale.",
    JudgementStatus.TRUNCATED: "it broke off before it was complete.",
    JudgementStatus.EMPTY: "it was empty.",
}


def judge_prompt() -> Prompt:
    return load_prompt(JUDGE_PROMPT)


def answer_schema(scale: Scale) -> dict[str, Any]:
    """The JSON schema of an answer; reasons come before the value that follows from them."""
    value: dict[str, Any] = {"type": "integer", "enum": list(scale.values)}
    if scale.kind == "verdict":
        value = {"type": "string", "enum": ["yes", "no"]}
    return {
        "type": "object",
        "properties": {
            "evidence": {"type": "array", "items": {"type": "integer"}},
            "rationale": {"type": "string"},
            "value": value,
        },
        "required": ["evidence", "rationale", "value"],
        "additionalProperties": False,
    }


@dataclass(frozen=True, slots=True)
class Answer:
    parsed: Parsed
    raw: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """One question to a model judge, with its one re-ask."""

    spec: ModelSpec
    calls: Calls
    party: str
    seed: int

    def rate(self, messages: tuple[ChatMessage, ...], scale: Scale) -> Answer:
        answer = self._ask(messages, scale)
        problem = _PROBLEMS.get(answer.parsed.status)
        if problem is None:
            return answer
        quoted = answer.raw[:_QUOTED]
        again = judge_prompt().render("reask", problem=problem, answer=quoted)[-1].content
        system, user = messages
        asked = ChatMessage(user.role, f"{user.content}\n\n{again}")
        return self._ask((system, asked), scale)

    def _ask(self, messages: tuple[ChatMessage, ...], scale: Scale) -> Answer:
        try:
            reply = self.calls.reply(self.party, self._request(messages, scale))
        except ModelMisconfigured:
            raise
        except EmptyReply:
            return Answer(Parsed(JudgementStatus.EMPTY))
        except ModelRefused as error:
            return Answer(Parsed(JudgementStatus.REFUSED, rationale=str(error)))
        except ModelError as error:
            return Answer(Parsed(JudgementStatus.MODEL_ERROR, rationale=str(error)))
        parsed = parse_judgement(reply.text, scale)
        cut = reply.finish_reason in _CUT
        if cut and (parsed.value is None or _could_go_on(reply.text, parsed, scale)):
            parsed = replace(parsed, status=JudgementStatus.TRUNCATED, value=None)
        return Answer(parsed, reply.text)

    def _request(self, messages: tuple[ChatMessage, ...], scale: Scale) -> ChatRequest:
        """The protocol's defaults, the study's own parameters before them (as for parties)."""
        params = {k: v for k, v in self.spec.params.items() if k != "temperature"}
        tokens = params.pop("max_tokens", MAX_TOKENS)
        seed = params.pop("seed", None)
        return ChatRequest(
            spec=ModelSpec(self.spec.model, self.spec.api_base, params),
            messages=messages,
            temperature=temperature_of(self.spec),
            max_tokens=int(tokens),
            seed=self.seed if seed is True else seed,
            schema=answer_schema(scale),
        )


def temperature_of(spec: ModelSpec) -> float | None:
    """As a float, so that 0 and 0.0 are one instrument; None is sent as nothing."""
    value = spec.params.get("temperature", TEMPERATURE)
    return None if value is None else float(value)


def _could_go_on(text: str, parsed: Parsed, scale: Scale) -> bool:
    """Whether an answer that was cut off may have meant more: `3` could have become `3.5`."""
    return parse_judgement(f"{text}.5", scale).value != parsed.value
