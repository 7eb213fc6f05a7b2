import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.stats.aggregate import aggregate_labels
from core.stats.types import ShapeError

# Sixty items, four annotators each, item by item.
VOTES = np.array(
    [
        int(c)
        for c in "00010001000111111011000111110010001011110111111111001011111111010011000000000000"
        "11111011001011101111100111110000011011011101111111111111100011111100111100011111"
        "11110100111100110000000011111111111110011111110111111011110111110110101100001101"
    ]
)
ITEM, RATER = np.repeat(np.arange(60), 4), np.tile(np.arange(4), 60)


def found(**more):
    return aggregate_labels(ITEM, RATER, VOTES, n_classes=2, method="dawid_skene", **more)


def close(value):
    return pytest.approx(value, abs=1e-5)


def test_the_model_finds_the_published_shares_and_tables():
    model = found()
    assert model.converged
    assert model.prior == close([0.379498, 0.620502])
    assert model.posterior[:, 1].sum() == close(37.230123)
    assert model.confusion[:, 1, 1] == close([0.984892, 0.825853, 0.756419, 0.929633])
    assert model.confusion[:, 0, 0] == close([0.897568, 0.813202, 0.655755, 0.631546])


def test_every_step_makes_the_labels_more_likely():
    steps = [found(max_iter=n).loglik for n in (1, 2, 5, 20, 100)]
    assert steps == sorted(steps)
    assert not found(max_iter=2).converged


def test_the_mean_is_the_share_of_labels():
    shares = aggregate_labels([0, 0, 0, 1], [0, 1, 2, 0], [1, 1, 0, 2], n_classes=3)
    assert shares.posterior[0] == pytest.approx([1 / 3, 2 / 3, 0])
    assert shares.posterior[1].tolist() == [0, 0, 1]
    assert shares.converged


def test_an_item_that_nobody_labelled_has_the_shares_of_the_others():
    shares = aggregate_labels([0, 2], [0, 0], [1, 1], n_classes=2, method="dawid_skene")
    assert shares.posterior[1] == pytest.approx([0, 1])


def test_an_annotator_who_never_met_a_class_has_equal_shares_there():
    shares = aggregate_labels([0, 0], [0, 1], [1, 1], n_classes=2)
    assert shares.confusion[0].tolist() == [[0.5, 0.5], [0, 1]]


@pytest.mark.parametrize(
    ("item", "rater", "label", "n_classes"),
    [
        ([0, 1], [0], [0, 1], 2),
        ([0], [0], [2], 2),
        ([0], [0], [-1], 2),
        ([0], [0], [0.5], 2),
        ([], [], [], 2),
        ([0], [0], [0], 1),
    ],
)
def test_labels_that_are_no_labels_are_refused(item, rater, label, n_classes):
    with pytest.raises(ShapeError):
        aggregate_labels(item, rater, label, n_classes=n_classes)


def test_no_step_at_all_is_refused():
    with pytest.raises(ShapeError):
        found(max_iter=0)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 4))
def test_probabilities_add_up_to_one_whatever_the_labels(seed, n_classes):
    rng = np.random.default_rng(seed)
    rows = rng.integers(1, 60)
    item, rater = rng.integers(0, 12, rows), rng.integers(0, 4, rows)
    model = aggregate_labels(
        item,
        rater,
        rng.integers(0, n_classes, rows),
        n_classes=n_classes,
        method="dawid_skene",
        max_iter=30,
    )
    assert model.posterior.sum(axis=1) == pytest.approx(1)
    assert model.confusion.sum(axis=2) == pytest.approx(1)
    assert model.prior.sum() == pytest.approx(1)
