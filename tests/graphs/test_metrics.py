import numpy as np
import pytest

from graphveil import InputError
from graphveil.graphs.metrics import measure

LABELS = np.array([0, 1, 1, 0])
TEST = np.array([True, True, True, False])


def test_accuracy_of_predictions():
    assert measure("accuracy", [0, 1, 0, 0], LABELS, TEST, 2) == pytest.approx(2 / 3)


def test_accuracy_of_scores_takes_the_highest():
    scores = [[0.9, 0.1], [-3.0, -2.0], [5.0, 1.0], [0.0, 1.0]]
    assert measure("accuracy", scores, LABELS, TEST, 2) == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([0.1, 0.2, 0.3, 9.0], 1.0),
        ([0.3, 0.2, 0.1, 9.0], 0.0),
        ([0.2, 0.2, 0.3, 9.0], 0.75),
        ([[0.0, 0.1], [0.0, 0.2], [5.0, 5.3], [0, 9]], 1.0),
    ],
)
def test_roc_auc_is_the_share_of_pairs_in_order(scores, expected):
    assert measure("roc_auc", scores, LABELS, TEST, 2) == expected


@pytest.mark.parametrize(
    ("metric", "outcome", "test", "words"),
    [
        ("accuracy", [0, 1], TEST, "scores must be 4 users x 2 classes"),
        ("accuracy", np.zeros((4, 3)), TEST, "scores must be 4 users x 2 classes"),
        ("accuracy", ["a"] * 4, TEST, "scores must be 4 users x 2 classes"),
        ("accuracy", [0.5] * 4, TEST, "predictions must be classes as integers"),
        ("accuracy", [[np.nan, 1.0]] * 4, TEST, "the model has diverged"),
        ("accuracy", [0] * 4, np.zeros(4, dtype=bool), "the test split is empty"),
        ("roc_auc", [0.5] * 4, np.array([True, False, False, True]), "both classes"),
    ],
)
def test_what_cannot_be_measured_is_refused(metric, outcome, test, words):
    with pytest.raises(InputError, match=words):
        measure(metric, outcome, LABELS, test, 2)


def test_scores_of_others_may_be_anything():
    assert measure("accuracy", [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [np.nan, 0.0]], LABELS, TEST, 2) == 1.0
