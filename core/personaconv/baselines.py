"""What a model has to beat: rules that know no language. They run without any model.

Those of the crowd know only replies of the training part; those of the member only earlier
replies that `P-Conv` shows as well.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from core.personaconv.answers import Answer, Status
from core.personaconv.prompting import Case, shown_history
from core.personaconv.selection import DEAD_ZONE, label_of, parent_text
from core.personaconv.types import Pair, TargetRef, Task

MAJORITY = "majority"
DOMAIN_MAJORITY = "domain-majority"
COPY_DEMO = "copy-demo"
SIGN_MEDIAN = "sign-median"
HISTORY_MEAN = "history-mean"
ECHO = "echo-parent"
NEAREST = "nearest-reply"
BASELINES: dict[Task, tuple[str, ...]] = {
    Task.SENTIMENT: (MAJORITY, DOMAIN_MAJORITY, COPY_DEMO),
    Task.IMPACT: (MAJORITY, DOMAIN_MAJORITY, SIGN_MEDIAN, HISTORY_MEAN, COPY_DEMO),
    Task.REPLY: (ECHO, NEAREST, COPY_DEMO),
}


@dataclass(frozen=True, slots=True)
class Crowd:
    """What is known of how replies are received: of all, and by domain."""

    label: str = "positive"
    median: float = 0.0
    size: float = 0.0
    labels: dict[str, str] = field(default_factory=dict)
    medians: dict[str, float] = field(default_factory=dict)


def know_crowd(training: Iterable[TargetRef], dead_zone: int = DEAD_ZONE) -> Crowd:
    """Learn from scores of the training part alone."""
    scores: dict[str, list[float]] = {}
    for target in training:
        if target.score is not None:
            scores.setdefault(target.domain, []).append(target.score)
    everything = [s for found in scores.values() for s in found]
    if not everything:
        return Crowd()
    return Crowd(
        _majority(everything, dead_zone),
        statistics.median(everything),
        statistics.median(map(abs, everything)),
        {d: _majority(found, dead_zone) for d, found in scores.items()},
        {d: statistics.median(found) for d, found in scores.items()},
    )


def _majority(scores: Sequence[float], dead_zone: int) -> str:
    labels = [label_of(s, dead_zone) for s in scores]
    return "negative" if labels.count("negative") > labels.count("positive") else "positive"


def baseline_answer(name: str, case: Case, crowd: Crowd) -> Answer:
    """What one baseline says of an instance. Without a history it falls back on the crowd."""
    if case.instance.task is Task.REPLY:
        return _text(name, case)
    domain = case.instance.domain
    if case.instance.task is Task.SENTIMENT:
        label = crowd.labels.get(domain, crowd.label) if name == DOMAIN_MAJORITY else crowd.label
        if name == COPY_DEMO:
            shown = (label_of(p.score) for p in shown_history(case))
            label = next((found for found in shown if found), label)
        return Answer(Status.EXACT, label=label)
    return Answer(Status.EXACT, score=float(round(_score(name, case, crowd))))


def _score(name: str, case: Case, crowd: Crowd) -> float:
    domain = case.instance.domain
    by_domain = crowd.medians.get(domain, crowd.median)
    if name == MAJORITY:
        return crowd.median
    if name == SIGN_MEDIAN:
        sign = 1 if crowd.labels.get(domain, crowd.label) == "positive" else -1
        return sign * crowd.size
    seen = [p.score for p in shown_history(case) if p.score is not None]
    if name == HISTORY_MEAN and seen:
        return statistics.fmean(seen)
    if name == COPY_DEMO and seen:
        return seen[0]
    return by_domain


def _text(name: str, case: Case) -> Answer:
    parent = parent_text(case.thread, case.target.parent)
    shown = shown_history(case)
    text = parent
    if name == COPY_DEMO and shown:
        text = shown[0].text
    elif name == NEAREST and shown:
        text = _nearest(parent, shown).text
    return Answer(Status.EXACT, text=text) if text.strip() else Answer(Status.INVALID)


def _nearest(parent: str, pairs: Sequence[Pair]) -> Pair:
    """The earlier reply to the message with most words in common; of equals the newest."""
    words = set(parent.casefold().split())

    def likeness(pair: Pair) -> float:
        theirs = set(pair.parent_text.casefold().split())
        return len(words & theirs) / max(len(words | theirs), 1)

    return max(pairs, key=likeness)
