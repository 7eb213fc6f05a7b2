"""Metrics have the values of the specification, and unreadable answers never help."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from core.personaconv.answers import Answer, Status
from core.personaconv.metrics import (
    OtherInstances,
    Scored,
    figures,
    paired,
    penalty,
    table,
)
from core.personaconv.text_metrics import bleu, meteor, text_scores, tokens, unicode_rouge_l
from core.personaconv.types import Task

INVALID = Answer(Status.INVALID)


def labels(gold: str, given: str) -> list[Scored]:
    """One letter per answer: p or n, and `-` for one that could not be read."""
    word = {"p": "positive", "n": "negative"}
    return [
        Scored(
            f"i{k}",
            f"m{k % 5}",
            "books",
            Answer(Status.EXACT, label=word[said]) if said in word else INVALID,
            label=word[true],
        )
        for k, (true, said) in enumerate(zip(gold, given, strict=True))
    ]


def scores(gold: list[float], given: list[float | None]) -> list[Scored]:
    return [
        Scored(
            f"i{k}",
            f"m{k % 5}",
            "books",
            INVALID if said is None else Answer(Status.EXACT, score=said),
            score=true,
        )
        for k, (true, said) in enumerate(zip(gold, given, strict=True))
    ]


def texts(*pairs: tuple[str, str]) -> list[Scored]:
    return [
        Scored(
            f"i{k}",
            f"m{k}",
            "books",
            Answer(Status.EXACT, text=said) if said else INVALID,
            text=true,
        )
        for k, (true, said) in enumerate(pairs)
    ]


def values(task: Task, rows: list[Scored]) -> dict[str, float | None]:
    return {f.metric: f.value for f in figures(task, rows, boot=50)}


# --- acceptance test 5: the golden values --------------------------------------------------------


def test_golden_values_of_labels() -> None:
    found = values(Task.SENTIMENT, labels("pppppppppnnn", "ppppppppnnnp"))
    assert found["accuracy"] == pytest.approx(0.833333, abs=1e-6)
    assert found["f1"] == pytest.approx(0.888889, abs=1e-6)
    assert found["f1_weighted"] == pytest.approx(0.833333, abs=1e-6)
    assert found["f1_macro"] == pytest.approx(0.777778, abs=1e-6)
    assert found["mcc"] == pytest.approx(0.555556, abs=1e-6)


def test_golden_values_of_scores() -> None:
    found = values(Task.IMPACT, scores([77, -20, 5, 400], [50, -10, 7, 100]))
    assert found["rmse"] == pytest.approx(150.692568, abs=1e-6)
    assert found["mae"] == 84.75


REFERENCE = "thanks, that's a great point about data privacy and i'll add a section on it"
CANDIDATE = "great point about privacy, i will add sections on it"


def test_golden_values_of_texts() -> None:
    assert len(tokens(REFERENCE)) == 18
    found = text_scores(REFERENCE, CANDIDATE)
    assert found.rouge1 == pytest.approx(0.666667, abs=1e-6)
    assert found.rougeL == pytest.approx(0.666667, abs=1e-6)
    assert found.bleu == pytest.approx(0.07191, abs=1e-5)
    nothing = text_scores(REFERENCE, "lol")
    assert (nothing.rouge1, nothing.rougeL, nothing.bleu, nothing.meteor_exact_stem) == (0, 0, 0, 0)


def test_a_candidate_without_overlap_lowers_the_mean() -> None:
    one = values(Task.REPLY, texts((REFERENCE, CANDIDATE)))
    two = values(Task.REPLY, texts((REFERENCE, CANDIDATE), (REFERENCE, "lol")))
    for name in ("rouge1", "rougeL", "bleu", "meteor_exact_stem"):
        assert two[name] == pytest.approx((one[name] or 0) / 2)


def test_equal_texts_of_any_script_match() -> None:
    assert unicode_rouge_l("今天天气很好", "今天天气很好") == 1
    assert unicode_rouge_l("Größe zählt", "größe zählt") == 1
    assert meteor("it runs well today", "it runs well today") > 0.99
    assert bleu("it runs well today", "") == 0


# --- acceptance test: unreadable answers (defect V20) --------------------------------------------


def worse(task: Task, better: list[Scored], worse: list[Scored]) -> None:
    good = {f.metric: f for f in figures(task, better, boot=20)}
    for figure in figures(task, worse, boot=20):
        assert figure.value is not None
        assert good[figure.metric].value is not None
        if figure.better == "high":
            assert figure.value <= (good[figure.metric].value or 0) + 1e-12, figure.metric
        else:
            assert figure.value >= (good[figure.metric].value or 0) - 1e-12, figure.metric


@pytest.mark.parametrize("seed", range(5))
def test_answering_nonsense_every_fifth_time_never_looks_better(seed: int) -> None:
    rng = random.Random(seed)
    gold = "".join(rng.choices("pn", (5, 1), k=200))
    said = "".join(g if rng.random() < 0.8 else "pn"[g == "p"] for g in gold)
    nonsense = "".join("-" if rng.random() < 0.2 else s for s in said)
    worse(Task.SENTIMENT, labels(gold, said), labels(gold, nonsense))
    true = [float(round(rng.gauss(0, 1) * math.exp(rng.gauss(2, 1)))) for _ in range(200)]
    guess: list[float | None] = [t * 0.5 + rng.gauss(0, 3) for t in true]
    gaps = [None if rng.random() < 0.2 else g for g in guess]
    worse(Task.IMPACT, scores(true, guess), scores(true, gaps))
    pairs = [(REFERENCE, CANDIDATE), (CANDIDATE, REFERENCE)] * 20
    cut = [(a, "" if rng.random() < 0.2 else b) for a, b in pairs]
    worse(Task.REPLY, texts(*pairs), texts(*cut))


def test_coverage_is_said_with_its_interval() -> None:
    figure = figures(Task.SENTIMENT, labels("pppnnn", "pp-nn-"), boot=200)[0]
    assert (figure.metric, figure.value) == ("coverage", pytest.approx(4 / 6))
    assert figure.lo is not None
    assert figure.lo < 4 / 6 < (figure.hi or 0)


def test_the_penalty_is_the_wrong_sign_and_large() -> None:
    gold = np.array([1.0, 2.0, -3.0, 0.0, 500.0])
    found = penalty(gold)
    assert (np.sign(found) == [-1, -1, 1, 1, -1]).all()
    assert (np.abs(found) > 300).all()


# --- intervals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("task", [Task.SENTIMENT, Task.IMPACT, Task.REPLY])
def test_sums_give_the_same_values_as_the_libraries(task: Task) -> None:
    rng = random.Random(4)
    gold = "".join(rng.choices("pn", k=90))
    rows = {
        Task.SENTIMENT: labels(gold, "".join(rng.choices("pn-", k=90))),
        Task.IMPACT: scores(
            [float(rng.randint(-50, 90)) for _ in gold],
            [rng.choice([None, float(rng.randint(-40, 60))]) for _ in gold],
        ),
        Task.REPLY: texts((REFERENCE, CANDIDATE), ("a b c", "b c d"), ("x", "")),
    }[task]
    data = table(task, rows)
    assert table(task, rows, library=False).values == pytest.approx(dict(data.values))
    for metric in data.metrics:
        summed = float(metric.of(data.parts.sum(axis=0)[None])[0])
        assert summed == pytest.approx(data.values[metric.name]), metric.name


def test_one_class_alone_has_values_and_no_warning() -> None:
    found = values(Task.SENTIMENT, labels("pppp", "pppp"))
    assert (found["accuracy"], found["f1"], found["mcc"]) == (1, 1, 0)


def test_an_interval_draws_whole_users() -> None:
    """Ten answers of each user are alike: they are worth one each."""
    clustered, loose = [], []
    for k in range(300):
        label = "positive" if (k // 10) % 3 else "negative"
        answer = Answer(Status.EXACT, label="positive")
        clustered.append(Scored(f"i{k}", f"m{k // 10}", "books", answer, label=label))
        loose.append(Scored(f"i{k}", f"m{k}", "books", answer, label=label))

    def width(rows: list[Scored]) -> float:
        figure = next(f for f in figures(Task.SENTIMENT, rows) if f.metric == "accuracy")
        return (figure.hi or 0) - (figure.lo or 0)

    assert width(clustered) > 2.5 * width(loose)


def test_differences_are_paired_and_refused_between_other_instances() -> None:
    """Acceptance test 9: runs with different lists are not compared."""
    gold = "ppppppnnnnnn" * 5
    good, bad = labels(gold, gold), labels(gold, "p" * 60)
    found = {p.metric: p for p in paired(Task.SENTIMENT, good, bad)}
    assert found["accuracy"].difference == pytest.approx(0.5)
    assert (found["accuracy"].lo or 0) > 0.3
    assert found["accuracy"].n == 60
    same = {p.metric: p for p in paired(Task.SENTIMENT, good, good)}
    assert (same["accuracy"].lo, same["accuracy"].hi) == (0, 0)
    with pytest.raises(OtherInstances):
        paired(Task.SENTIMENT, good, bad[:-1])
    with pytest.raises(OtherInstances):
        paired(Task.SENTIMENT, good, bad[::-1])


def test_no_answers_have_no_figures() -> None:
    assert figures(Task.REPLY, []) == []
    assert paired(Task.REPLY, [], []) == []
