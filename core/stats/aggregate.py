"""Several labels of one item made one: by their mean, or by a model of each annotator.

The model (Dawid and Skene 1979) gives every annotator a table of what they say for each true
class. Use it to find a lenient annotator and to order adjudication. Its answers never enter a
correction when the judge was one of the raters: the same evidence would count twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from core.stats.types import FloatArray, IntArray, ShapeError


@dataclass(frozen=True, slots=True)
class Aggregated:
    """Items, annotators and classes by their number from 0.

    `posterior[i, k]` is the probability that item i is of class k (for `mean`: the share of its
    labels), `confusion[r, k, l]` how often annotator r says l when it is k, `prior` the shares
    of the classes. An item nobody labelled has the prior; an annotator who never met a class
    has equal shares there.
    """

    posterior: FloatArray
    confusion: FloatArray
    prior: FloatArray
    loglik: float
    converged: bool
    iterations: int


def aggregate_labels(  # noqa: PLR0913 - the published signature
    item: ArrayLike,
    rater: ArrayLike,
    label: ArrayLike,
    *,
    n_classes: int,
    method: Literal["mean", "dawid_skene"] = "mean",
    tol: float = 1e-10,
    max_iter: int = 5000,
) -> Aggregated:
    """Aggregate labels, one per row: who (`rater`) said what (`label`) about which `item`.

    All three are whole numbers from 0. `dawid_skene` goes on until no posterior moves by more
    than `tol`, or `max_iter`; it wants 50 items with 3 labels each. Raises `ShapeError`.
    """
    if n_classes < 2:
        raise ShapeError("there must be at least 2 classes")
    votes = _Votes(_codes("item", item), _codes("rater", rater), _codes("label", label), n_classes)
    if not len(votes.item) == len(votes.rater) == len(votes.label):
        raise ShapeError("item, rater and label must have the same length")
    if votes.label.max() >= n_classes:
        raise ShapeError(f"labels must lie between 0 and {n_classes - 1}")
    posterior = _shares(votes)
    if method == "mean":
        prior, confusion = _tables(votes, posterior)
        loglik = _classes(votes, prior, confusion)[1]
        return Aggregated(posterior, confusion, prior, loglik, converged=True, iterations=0)
    return _dawid_skene(votes, posterior, tol, max_iter)


@dataclass(frozen=True, slots=True)
class _Votes:
    item: IntArray
    rater: IntArray
    label: IntArray
    n_classes: int

    @property
    def n_items(self) -> int:
        return int(self.item.max()) + 1

    @property
    def n_raters(self) -> int:
        return int(self.rater.max()) + 1


def _codes(name: str, values: ArrayLike) -> IntArray:
    codes = np.asarray(values)
    if codes.ndim != 1 or len(codes) == 0:
        raise ShapeError(f"{name} must be a list of at least one number")
    if not np.issubdtype(codes.dtype, np.integer) or codes.min() < 0:
        raise ShapeError(f"{name} must hold whole numbers from 0")
    return codes.astype(np.intp)


def _shares(votes: _Votes) -> FloatArray:
    count = np.zeros((votes.n_items, votes.n_classes))
    np.add.at(count, (votes.item, votes.label), 1.0)
    total = count.sum(axis=1, keepdims=True)
    everywhere = count.sum(axis=0) / count.sum()
    found: FloatArray = np.where(total > 0, count / np.maximum(total, 1), everywhere)
    return found


def _dawid_skene(votes: _Votes, posterior: FloatArray, tol: float, max_iter: int) -> Aggregated:
    converged, done = False, 0
    while not converged and done < max_iter:
        prior, confusion = _tables(votes, posterior)
        moved, loglik = _classes(votes, prior, confusion)
        converged = bool(np.abs(moved - posterior).max() <= tol)
        posterior, done = moved, done + 1
    if done == 0:
        raise ShapeError("max_iter must be at least 1")
    return Aggregated(posterior, confusion, prior, loglik, converged, done)


def _tables(votes: _Votes, posterior: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Shares of the classes and each annotator's table, given the classes of the items."""
    seen = np.unique(votes.item)
    prior: FloatArray = posterior[seen].mean(axis=0)
    count = np.zeros((votes.n_raters, votes.n_classes, votes.n_classes))
    # First by what was said, then turned: what is, what was said.
    np.add.at(count, (votes.rater, votes.label), posterior[votes.item])
    count = count.transpose(0, 2, 1)
    total = count.sum(axis=2, keepdims=True)
    table = np.where(total > 0, count / np.where(total > 0, total, 1.0), 1 / votes.n_classes)
    return prior, table


def _classes(votes: _Votes, prior: FloatArray, confusion: FloatArray) -> tuple[FloatArray, float]:
    """Classes of the items, given the tables; and the log likelihood of all labels."""
    with np.errstate(divide="ignore"):
        # A class that is impossible has log 0 = -inf, and no probability in the end.
        log = np.tile(np.log(prior), (votes.n_items, 1))
        np.add.at(log, votes.item, np.log(confusion[votes.rater, :, votes.label]))
    top = log.max(axis=1, keepdims=True)
    likely = np.exp(log - top)
    total = likely.sum(axis=1, keepdims=True)
    return likely / total, float((np.log(total) + top).sum())
