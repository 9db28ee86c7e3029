import numpy as np
import pytest

from graphveil.graphs.metrics import measure
from tests.refusals import check_refused
from tests.together import together

LABELS = np.array([0, 1, 1, 0])
TEST = np.array([True, True, True, False])


def test_accuracy_is_of_predictions_or_of_the_highest_score_and_of_nobody_else():
    assert measure("accuracy", [0, 1, 0, 0], LABELS, TEST, 2) == pytest.approx(2 / 3)
    scores = [[0.9, 0.1], [-3.0, -2.0], [5.0, 1.0], [0.0, 1.0]]
    assert measure("accuracy", scores, LABELS, TEST, 2) == pytest.approx(2 / 3)
    others = [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [np.nan, 0.0]]
    assert measure("accuracy", others, LABELS, TEST, 2) == 1.0


@together(
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


def test_what_cannot_be_measured_is_refused():
    one, several, diverged = (
        "scores must be 4 users x 2 classes",
        "scores must be 4 users x 3 labels, got",
        "the model has diverged",
    )
    nobody, same = np.zeros(4, dtype=bool), np.array([True, False, False, True])
    check_refused(
        lambda metric, outcome, labels, test: measure(
            metric, outcome, labels, test, 2 if labels is LABELS else 3
        ),
        [
            ("accuracy", [0, 1], LABELS, TEST, one),
            ("accuracy", np.zeros((4, 3)), LABELS, TEST, one),
            ("accuracy", ["a"] * 4, LABELS, TEST, one),
            ("accuracy", [0.5] * 4, LABELS, TEST, "predictions must be classes as integers"),
            ("accuracy", [[np.nan, 1.0]] * 4, LABELS, TEST, diverged),
            ("accuracy", [0] * 4, LABELS, nobody, "the test split is empty"),
            ("roc_auc", [0.5] * 4, LABELS, same, "both classes"),
            ("f1", [1, 0, 1, 0], SEVERAL, TEST, several),
            ("f1", np.zeros((4, 2)), SEVERAL, TEST, several),
            ("f1", np.full((4, 3), "a"), SEVERAL, TEST, several),
            ("f1", np.full((4, 3), np.nan), SEVERAL, TEST, diverged),
        ],
    )


SEVERAL = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 1], [1, 1, 1]])
SCORES = np.array([[2.0, 0.5, -1.0], [-3.0, -0.1, 0.0], [0.2, 1.0, 5.0], [np.nan, 0.0, 0.0]])


def test_f1_of_several_labels_counts_all_users_and_labels_at_once():
    # Hits (0, 0), (2, 1), (2, 2); wrong (0, 1), (2, 0); missed (0, 2): 2·3 / (2·3 + 2 + 1).
    assert measure("f1", SCORES, SEVERAL, TEST, 3) == pytest.approx(6 / 9)
    # Predictions count as scores do.
    predicted = np.nan_to_num(SCORES) > 0
    assert measure("f1", predicted, SEVERAL, TEST, 3) == pytest.approx(6 / 9)
    assert measure("f1", predicted.astype(int), SEVERAL, TEST, 3) == pytest.approx(6 / 9)
    # Nobody has a label and nobody is given one.
    nothing = np.zeros((4, 3), dtype=int)
    assert measure("f1", nothing, nothing, TEST, 3) == 0.0


def test_micro_f1_of_one_class_a_user_is_the_accuracy():
    random = np.random.default_rng(0)
    scores, labels = random.standard_normal((50, 4)), random.integers(0, 4, 50)
    everyone = np.ones(50, dtype=bool)
    found, held = (np.eye(4, dtype=bool)[each] for each in (scores.argmax(1), labels))
    counted = 2 * (found & held).sum() / (found.sum() + held.sum())
    assert measure("f1", scores, labels, everyone, 4) == pytest.approx(counted)
    assert measure("accuracy", scores, labels, everyone, 4) == pytest.approx(counted)
