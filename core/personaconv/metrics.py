"""How well answers match what happened, with intervals over users.

Figures come from scikit-learn and scipy. Intervals draw whole users again, 1,000 times with a
seed: each metric also exists as a function of sums over answers, so that all draws are one
product; the tests hold both to the same value. An answer that could not be read counts as a wrong
label, as a fixed penalty, or as a text that matches nothing.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.personaconv.answers import Answer
from core.personaconv.text_metrics import TEXT_METRICS, text_scores
from core.personaconv.types import Task
from core.stats.resample import counted, resampled, summed
from core.stats.types import FloatArray, IntArray

BOOT = 1000
SEED = 7
PENALTY_QUANTILE = 0.95


@dataclass(frozen=True, slots=True)
class Scored:
    """One answer beside what happened."""

    instance_id: str
    member: str
    domain: str
    answer: Answer
    label: str | None = None
    score: float | None = None
    text: str | None = None
    sbert: float | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """One metric with its interval, None where there is none. `better` is "high" or "low"."""

    metric: str
    value: float | None
    lo: float | None
    hi: float | None
    better: str


@dataclass(frozen=True, slots=True)
class Metric:
    """A function of sums over answers: `parts` gives what is summed, `of` the value of sums."""

    name: str
    better: str
    of: Callable[[FloatArray], FloatArray]


def _ratio(top: FloatArray, bottom: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        found: FloatArray = np.where(bottom > 0, top / np.where(bottom > 0, bottom, 1), 0.0)
    return found


# --- labels: sums are true positives, false negatives, false positives, true negatives ----------


def _f1(s: FloatArray) -> FloatArray:
    return _ratio(2 * s[..., 0], 2 * s[..., 0] + s[..., 1] + s[..., 2])


def _f1_negative(s: FloatArray) -> FloatArray:
    return _ratio(2 * s[..., 3], 2 * s[..., 3] + s[..., 1] + s[..., 2])


def _recalls(s: FloatArray) -> FloatArray:
    """Balanced accuracy; of one class alone, that class' recall."""
    positive, negative = s[..., 0] + s[..., 1], s[..., 2] + s[..., 3]
    total = _ratio(s[..., 0], positive) + _ratio(s[..., 3], negative)
    return _ratio(total, (positive > 0).astype(float) + (negative > 0))


def _mcc(s: FloatArray) -> FloatArray:
    tp, fn, fp, tn = (s[..., k] for k in range(4))
    below = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return _ratio(tp * tn - fp * fn, np.sqrt(np.maximum(below, 0)))


LABEL_METRICS = (
    Metric("accuracy", "high", lambda s: _ratio(s[..., 0] + s[..., 3], s.sum(axis=-1))),
    Metric("f1", "high", _f1),
    Metric("f1_macro", "high", lambda s: (_f1(s) + _f1_negative(s)) / 2),
    Metric(
        "f1_weighted",
        "high",
        lambda s: _ratio(
            _f1(s) * (s[..., 0] + s[..., 1]) + _f1_negative(s) * (s[..., 2] + s[..., 3]),
            s.sum(axis=-1),
        ),
    ),
    Metric("mcc", "high", _mcc),
    Metric("balanced_accuracy", "high", _recalls),
)


def _label_values(gold: IntArray, given: IntArray) -> dict[str, float]:
    """The same by scikit-learn."""
    from sklearn import metrics

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of one class alone; the value is 0 as documented
        f1 = {
            name: metrics.f1_score(gold, given, zero_division=0, **options)
            for name, options in (
                ("f1", {}),
                ("f1_macro", {"average": "macro", "labels": [0, 1]}),
                ("f1_weighted", {"average": "weighted", "labels": [0, 1]}),
            )
        }
        rest = {
            "accuracy": metrics.accuracy_score(gold, given),
            "mcc": metrics.matthews_corrcoef(gold, given),
            "balanced_accuracy": metrics.balanced_accuracy_score(gold, given),
        }
    return {name: float(value) for name, value in (f1 | rest).items()}


# --- scores: sums are n and those of errors and of ranks ----------------------------------------


def _root(s: FloatArray, column: int) -> FloatArray:
    return np.sqrt(np.maximum(_ratio(s[..., column], s[..., 0]), 0))


def _correlation(s: FloatArray) -> FloatArray:
    n, x, y, xx, yy, xy = (s[..., k] for k in (0, 5, 6, 7, 8, 9))
    below = np.maximum(n * xx - x * x, 0) * np.maximum(n * yy - y * y, 0)
    return _ratio(n * xy - x * y, np.sqrt(below))


SCORE_METRICS = (
    Metric("rmse", "low", lambda s: _root(s, 1)),
    Metric("mae", "low", lambda s: _ratio(s[..., 2], s[..., 0])),
    Metric("rmse_log", "low", lambda s: _root(s, 3)),
    Metric("mae_log", "low", lambda s: _ratio(s[..., 4], s[..., 0])),
    Metric("spearman", "high", _correlation),
)


def signed_log(values: FloatArray) -> FloatArray:
    """Size on a logarithmic scale, with the sign kept."""
    found: FloatArray = np.sign(values) * np.log1p(np.abs(values))
    return found


def penalty(gold: FloatArray) -> FloatArray:
    """What an unreadable answer counts as: the wrong sign, as large as scores get here."""
    size = float(np.quantile(np.abs(gold), PENALTY_QUANTILE)) if len(gold) else 0.0
    found: FloatArray = np.where(gold > 0, -1.0, 1.0) * max(size, 1.0)
    return found


def _score_values(gold: FloatArray, given: FloatArray) -> dict[str, float]:
    from scipy.stats import spearmanr
    from sklearn import metrics

    logs = signed_log(gold), signed_log(given)
    flat = len(set(gold.tolist())) < 2 or len(set(given.tolist())) < 2
    return {
        "rmse": float(metrics.root_mean_squared_error(gold, given)),
        "mae": float(metrics.mean_absolute_error(gold, given)),
        "median_ae": float(metrics.median_absolute_error(gold, given)),
        "rmse_log": float(metrics.root_mean_squared_error(*logs)),
        "mae_log": float(metrics.mean_absolute_error(*logs)),
        "spearman": 0.0 if flat else float(spearmanr(gold, given).statistic),
    }


# --- tables -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Table:
    """Answers of one task as numbers: what is summed by metric, and the metrics themselves."""

    task: Task
    parts: FloatArray
    metrics: tuple[Metric, ...]
    values: Mapping[str, float]
    member: IntArray
    n_members: int
    errors: FloatArray | None = None  # absolute, for the median


def _means(names: Sequence[str]) -> tuple[Metric, ...]:
    return tuple(
        Metric(name, "high", lambda s, k=k: _ratio(s[..., k], s[..., 0]))  # type: ignore[misc]
        for k, name in enumerate(names, 1)
    )


def table(task: Task, rows: Sequence[Scored], *, library: bool = True) -> Table:
    """The numbers behind the metrics. `rows` may not be empty.

    Without `library` values come from the sums, which give the same in a fraction of the time.
    """
    _, member = np.unique([r.member for r in rows], return_inverse=True)
    n_members = int(member.max()) + 1
    make = {Task.SENTIMENT: _labels, Task.IMPACT: _scores, Task.REPLY: _texts}[task]
    parts, metrics, values, errors = make(rows, library)
    if not values:
        total = parts.sum(axis=0)[None]
        values = {m.name: float(m.of(total)[0]) for m in metrics}
        if errors is not None:
            values["median_ae"] = float(np.median(errors))
    return Table(task, parts, metrics, values, member, n_members, errors)


_Made = tuple[FloatArray, tuple[Metric, ...], dict[str, float], FloatArray | None]


def _labels(rows: Sequence[Scored], library: bool) -> _Made:
    gold = np.array([r.label == "positive" for r in rows]).astype(np.intp)
    given = np.array(
        [
            (r.answer.label == "positive") if r.answer.status.valid else r.label != "positive"
            for r in rows
        ]
    ).astype(np.intp)
    parts = np.column_stack(
        [gold & given, gold & (1 - given), (1 - gold) & given, (1 - gold) & (1 - given)]
    ).astype(float)
    return parts, LABEL_METRICS, _label_values(gold, given) if library else {}, None


def _scores(rows: Sequence[Scored], library: bool) -> _Made:
    from scipy.stats import rankdata

    gold = np.array([r.score for r in rows], dtype=float)
    valid = np.array([r.answer.status.valid for r in rows])
    said = np.array([r.answer.score if r.answer.score is not None else 0.0 for r in rows])
    given = np.where(valid, said, penalty(gold))
    error, log_error = given - gold, signed_log(given) - signed_log(gold)
    x, y = rankdata(gold), rankdata(given)
    x, y = x - x.mean(), y - y.mean()
    columns = [np.ones(len(gold)), error**2, abs(error), log_error**2, abs(log_error)]
    parts = np.column_stack([*columns, x, y, x * x, y * y, x * y])
    return parts, SCORE_METRICS, _score_values(gold, given) if library else {}, np.abs(error)


def _texts(rows: Sequence[Scored], _library: bool) -> _Made:
    found = [text_scores(r.text or "", r.answer.text or "") for r in rows]
    columns = [[getattr(f, name) for f in found] for name in TEXT_METRICS]
    names = list(TEXT_METRICS)
    if all(r.sbert is not None for r in rows):
        names.append("sbert")
        columns.append([r.sbert if r.answer.status.valid else 0.0 for r in rows])
    scores = np.array(columns, dtype=float).T
    values = {name: float(v) for name, v in zip(names, scores.mean(axis=0), strict=True)}
    return np.column_stack([np.ones(len(rows)), scores]), _means(names), values, None


# --- figures ------------------------------------------------------------------------------------


def coverage(rows: Sequence[Scored]) -> float:
    """The share of answers that could be read."""
    return sum(r.answer.status.valid for r in rows) / len(rows) if rows else math.nan


def figures(
    task: Task, rows: Sequence[Scored], *, boot: int = BOOT, library: bool = True
) -> list[Figure]:
    """Every metric of these answers with its interval over users; coverage is the first."""
    if not rows:
        return []
    data = table(task, rows, library=library)
    found = [_coverage_figure(rows, data, boot)]
    sums = summed(data.parts, data.member, data.n_members)
    for metric in data.metrics:
        lo, hi = _ends(sums, metric.of, data.n_members, boot)
        found.append(Figure(metric.name, data.values[metric.name], lo, hi, metric.better))
    if data.errors is not None:
        lo, hi = _median_ends(data.errors, data.member, data.n_members, boot)
        found.append(Figure("median_ae", data.values["median_ae"], lo, hi, "low"))
    return found


def _coverage_figure(rows: Sequence[Scored], data: Table, boot: int) -> Figure:
    valid = np.array([r.answer.status.valid for r in rows], dtype=float)
    parts = np.column_stack([np.ones(len(rows)), valid])
    sums = summed(parts, data.member, data.n_members)
    lo, hi = _ends(sums, lambda s: _ratio(s[..., 1], s[..., 0]), data.n_members, boot)
    return Figure("coverage", coverage(rows), lo, hi, "high")


def _ends(
    sums: FloatArray, of: Callable[[FloatArray], FloatArray], n_members: int, boot: int
) -> tuple[float | None, float | None]:
    if n_members < 2:
        return None, None
    found = resampled(sums, of, boot=boot, seed=SEED, unit="users")
    return (None, None) if math.isnan(found.lo) else (found.lo, found.hi)


def _median_ends(
    errors: FloatArray, member: IntArray, n_members: int, boot: int
) -> tuple[float | None, float | None]:
    if n_members < 2:
        return None, None
    order = np.argsort(errors, kind="stable")
    sorted_errors, code = errors[order], member[order]
    medians = [
        sorted_errors[np.searchsorted(weights, weights[-1] / 2)]
        for draw in counted(n_members, boot, SEED)
        for weights in [np.cumsum(draw[code])]
    ]
    lo, hi = (float(q) for q in np.quantile(medians, (0.025, 0.975)))
    return lo, hi


@dataclass(frozen=True, slots=True)
class Paired:
    """A metric of one run minus that of another over the same instances."""

    metric: str
    difference: float
    lo: float | None
    hi: float | None
    better: str
    n: int
    n_members: int


class OtherInstances(ValueError):
    """Two runs that answer different instances, or in another order, cannot be compared."""


def paired(
    task: Task, rows: Sequence[Scored], baseline: Sequence[Scored], *, boot: int = BOOT
) -> list[Paired]:
    """Differences to a baseline, drawing the same users for both.

    Raises `OtherInstances` unless both answer the same instances in the same order.
    """
    if [r.instance_id for r in rows] != [r.instance_id for r in baseline]:
        raise OtherInstances("two runs with different lists of instances are not compared")
    if not rows:
        return []
    ours, theirs = table(task, rows, library=False), table(task, baseline, library=False)
    width = ours.parts.shape[1]
    sums = summed(np.hstack([ours.parts, theirs.parts]), ours.member, ours.n_members)
    found = []
    for metric in ours.metrics:
        if metric.name not in theirs.values:
            continue

        def of(s: FloatArray, metric: Metric = metric) -> FloatArray:
            return metric.of(s[..., :width]) - metric.of(s[..., width:])

        lo, hi = _ends(sums, of, ours.n_members, boot)
        difference = ours.values[metric.name] - theirs.values[metric.name]
        n, members = len(rows), ours.n_members
        found.append(Paired(metric.name, difference, lo, hi, metric.better, n, members))
    return found
