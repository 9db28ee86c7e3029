"""Metrics: how well test users were classified."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.checks import check_array
from graphveil.errors import InputError
from graphveil.graphs.graph import Mask, Metric


def measure(metric: Metric, outcome: Any, labels: NDArray[np.int64], test: Mask, classes: int) -> float:
    """Return the metric over the test users, in 0..1.

    Parameters
    ----------
    outcome
        Scores, (users, classes) float, or predicted classes, (users,) int; for roc_auc also one score a user,
        the higher the likelier class 1. Where users have several labels each, scores (users, labels): a label
        is predicted where its score is above 0, that is where a sigmoid is above one half.
    labels
        (users,) or (users, labels) int64.
    test
        (users,) bool: the users who count.
    classes
        The number of classes.
    """
    if not test.any():
        raise InputError("the test split is empty: there is nobody to evaluate on")
    several = labels.ndim == 2
    shapes = [(len(labels), classes)] if several else [(len(labels),), (len(labels), classes)]
    wanted = "labels" if several else "classes, or predictions one number a user"
    array = check_array(outcome, "scores", f"{len(labels)} users x {classes} {wanted}", "biuf", *shapes)[test]
    _check_finite(array)
    if several:
        return micro_f1(array > 0, labels[test] > 0)
    # Of one class a user, each mistake is one wrong class and one missing: micro-F1 is the accuracy.
    return _roc_auc(array, labels[test]) if metric == "roc_auc" else _accuracy(array, labels[test])


def _check_finite(scores: NDArray[Any]) -> None:
    if not np.isfinite(scores).all():
        raise InputError("scores must be finite, got some that are NaN or infinite: the model has diverged")


def micro_f1(predicted: Mask, held: Mask) -> float:
    """2·TP / (2·TP + FP + FN), counted over all users and labels at once (both users x labels).

    It is 0 where nobody has a label and nobody is given one.

    >>> micro_f1(np.array([[True, False], [True, True]]), np.array([[True, True], [False, True]]))
    0.6666666666666666
    """
    right, all_of_both = int((predicted & held).sum()), int(predicted.sum()) + int(held.sum())
    return 2 * right / all_of_both if all_of_both else 0.0


@dataclass(frozen=True)
class ClassScore:
    """Counts of the test users of one class, or of one of several labels.

    So many ``have`` it, so many were ``predicted`` to, and so many of both are ``right``.

    >>> score = ClassScore(number=0, have=4, predicted=2, right=1)
    >>> score.precision, score.recall, round(score.f1, 3)
    (0.5, 0.25, 0.333)
    """

    number: int
    have: int
    predicted: int
    right: int

    @property
    def precision(self) -> float:
        """Of those who were predicted to have it, the share that has; 0 where nobody was."""
        return self.right / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Of those who have it, the share that was found; 0 where nobody has."""
        return self.right / self.have if self.have else 0.0

    @property
    def f1(self) -> float:
        """2·right / (have + predicted)."""
        return 2 * self.right / (self.have + self.predicted) if self.have + self.predicted else 0.0


def confusion_counts(
    predicted: NDArray[np.int64], labels: NDArray[np.int64], test: Mask, classes: int
) -> NDArray[np.int64]:
    """Count the test users of each class (rows) that were predicted each class (columns): (classes, classes) int64.

    Parameters
    ----------
    predicted, labels
        The predicted and the true class of each user: (users,) int64.
    test
        (users,) bool: the users who count.
    classes
        The number of classes.

    >>> everybody = np.ones(3, dtype=bool)
    >>> confusion_counts(np.array([0, 1, 1]), np.array([0, 0, 1]), everybody, 2).tolist()
    [[1, 1], [0, 1]]
    """
    both = labels[test] * classes + predicted[test]
    return np.bincount(both, minlength=classes * classes).reshape(classes, classes).astype(np.int64)


def class_scores(
    predicted: NDArray[np.int64], labels: NDArray[np.int64], test: Mask, classes: int
) -> tuple[ClassScore, ...]:
    """Return the counts of all classes, or of all labels.

    Parameters
    ----------
    predicted, labels
        (users,) int64 classes; or (users, labels) of 0 and 1, where users have several labels each.
    test
        (users,) bool: the users who count.
    classes
        The number of classes or labels.
    """
    if labels.ndim == 1:
        predicted, labels = (np.arange(classes) == array[:, None] for array in (predicted, labels))
    given, held = predicted[test] > 0, labels[test] > 0
    counts = zip(held.sum(axis=0), given.sum(axis=0), (held & given).sum(axis=0), strict=True)
    return tuple(ClassScore(number, *map(int, each)) for number, each in enumerate(counts))


def _accuracy(outcome: NDArray[Any], labels: NDArray[np.int64]) -> float:
    """The share of right predictions."""
    if outcome.ndim == 2:
        outcome = outcome.argmax(axis=1)
    elif outcome.dtype.kind not in "iu":
        raise InputError("predictions must be classes as integers: give scores as users x classes instead")
    return float((outcome == labels).mean())


def _roc_auc(outcome: NDArray[Any], labels: NDArray[np.int64]) -> float:
    """The chance that a random user of class 1 scores above a random one of class 0, ties counted half."""
    if len(np.unique(labels)) < 2:
        raise InputError("roc_auc needs test users of both classes: take another split or accuracy")
    scores = outcome[:, 1] - outcome[:, 0] if outcome.ndim == 2 else outcome
    return area_under_curve(scores, labels == 1)


def area_under_curve(scores: Any, wanted: Mask) -> float:
    """The chance that one of those that are wanted scores above one of the others, ties counted half."""
    from sklearn.metrics import roc_auc_score

    array = np.asarray(scores)
    if array.shape != wanted.shape:
        raise InputError(f"scores must be {len(wanted)} numbers, got an array of shape {array.shape}")
    _check_finite(array)
    if wanted.all() or not wanted.any():
        raise InputError("roc_auc compares two kinds, and there is one only: take another split")
    return float(roc_auc_score(wanted, array))
