"""What pushes a judge where it does not push people: length, and kinship with the assistant.

From blind labels of dialogues drawn at random: the residual, judge minus people, is regressed
on the length of what the assistant said and on whether judge and assistant are of one family.
The residual takes out what the dialogue is worth.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.agreement_rows import blind_labels, of_instrument
from core.errors import StudyError
from core.numerals import number
from core.ports import Store
from core.stats.bias import Effect, ResidualBias, doublings, residual_bias
from core.stats.types import Degenerate, TooFewClusters, TooFewLabels
from core.types import Dialogue, Role

if TYPE_CHECKING:
    import pandas as pd

LENGTH, OWN = "doubling the length", "own family"
_FAMILIES = (
    ("claude", "anthropic"), ("gpt", "openai"), ("o1", "openai"), ("o3", "openai"),
    ("o4", "openai"), ("gemini", "google"), ("gemma", "google"), ("llama", "meta"),
    ("mistral", "mistral"), ("mixtral", "mistral"), ("qwen", "qwen"), ("deepseek", "deepseek"),
    ("command", "cohere"), ("nova", "amazon"), ("grok", "xai"), ("phi", "microsoft"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Said:
    """What of a dialogue may push a judge: letters of the assistant, and the assistant's model."""

    letters: int
    model: str


@dataclass(frozen=True, slots=True)
class JudgeBias:
    """Effects on judge minus people of one instrument; `left_out` says what could not be told."""

    instrument: str
    found: ResidualBias
    left_out: tuple[str, ...] = ()


def family_of(model: str) -> str:
    """Whose model it is, from its name; the name itself where that tells nothing."""
    words = re.split(r"[^a-z0-9]+", model.lower())
    for word in reversed(words):
        for start, family in _FAMILIES:
            if word.startswith(start):
                return family
    return model.lower()


def said_by(dialogue: Dialogue) -> Said:
    letters = sum(len(m.content) for m in dialogue.messages if m.role is Role.ASSISTANT)
    return Said(letters, dialogue.arm.assistant.model)


def said_in(dialogue_ids: set[str], store: Store) -> dict[str, Said]:
    """What was said in each of these dialogues."""
    return {i: said_by(store.get_dialogue(i)) for i in sorted(dialogue_ids)}


def judge_bias(
    annotations: pd.DataFrame,
    said: Mapping[str, Said],
    *,
    dimension: str,
    judge: str,
    instrument_id: str | None = None,
) -> JudgeBias:
    """Regress what the judge gives above people on length and kinship, clustered by persona.

    `annotations` has the columns of `core.agreement_rows.COLUMNS`; `judge` is the judge's model.
    A factor that does not vary is left out and named. Raises `StudyError` where labels are too
    few or nothing varies, and `MixedInstruments` when several judged and none is named.
    """
    part, instrument = of_instrument(annotations, dimension, instrument_id)
    labels = blind_labels(part)
    ids = [labels.items[i].dialogue_id for i in labels.item]
    usable = np.array([i in said and said[i].letters > 0 for i in ids], dtype=bool)
    usable &= ~np.isnan(labels.judge)
    if not usable.any():
        raise StudyError("No blind label has a value of this judge beside it; review some first.")
    kept = [said[i] for i, ok in zip(ids, usable, strict=True) if ok]
    own = np.array([family_of(s.model) == family_of(judge) for s in kept], dtype=np.float64)
    factors = {LENGTH: doublings([s.letters for s in kept]), OWN: own}
    varying = {name: x for name, x in factors.items() if np.ptp(x) > 0}
    if not varying:
        raise StudyError("All reviewed dialogues are alike in length and in whose model spoke.")
    try:
        found = residual_bias(
            (labels.judge - labels.value)[usable],
            np.column_stack(list(varying.values())),
            names=list(varying),
            cluster=labels.persona[usable],
            weights=labels.shared_weight[usable],
        )
    except (TooFewClusters, TooFewLabels, Degenerate) as error:
        raise StudyError(f"The bias of this judge cannot be told: {error}.") from None
    return JudgeBias(instrument, found, tuple(sorted(set(factors) - set(varying))))


def bias_sentences(bias: JudgeBias) -> list[str]:
    """What each factor buys that people do not give; plain text."""
    lines = [_effect(effect) for effect in bias.found.effects]
    basis = f"{bias.found.n:,} labels, {bias.found.n_clusters} personas"
    rest = [f"Nothing is known of {name}: it does not vary here." for name in bias.left_out]
    return [*(f"{line} ({basis})." for line in lines), *rest]


def _effect(effect: Effect) -> str:
    lo, hi = number(effect.lo, 2, sign=True), number(effect.hi, 2, sign=True)
    what = {LENGTH: "Doubling the length", OWN: "Being of the judge's own family"}[effect.name]
    size = f"{number(abs(effect.est), 2)} points"
    if effect.lo > 0 or effect.hi < 0:
        verb, people = ("buys", "give") if effect.est > 0 else ("costs", "take")
        return f"{what} {verb} {size} that people do not {people}: {lo} to {hi}"
    return f"{what} is not shown to move the judge away from people: {lo} to {hi}"
