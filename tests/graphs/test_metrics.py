import numpy as np
import pytest

from graphveil import InputError
from graphveil.graphs.metrics import measure
from tests.together import together

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


@together(
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


SEVERAL = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 1], [1, 1, 1]])
SCORES = np.array([[2.0, 0.5, -1.0], [-3.0, -0.1, 0.0], [0.2, 1.0, 5.0], [np.nan, 0.0, 0.0]])


def test_f1_of_several_labels_counts_all_users_and_labels_at_once():
    # Hits (0, 0), (2, 1), (2, 2); wrong (0, 1), (2, 0); missed (0, 2): 2·3 / (2·3 + 2 + 1).
    assert measure("f1", SCORES, SEVERAL, TEST, 3) == pytest.approx(6 / 9)


def test_predictions_of_several_labels_count_as_scores_do():
    predicted = np.nan_to_num(SCORES) > 0
    assert measure("f1", predicted, SEVERAL, TEST, 3) == pytest.approx(6 / 9)
    assert measure("f1", predicted.astype(int), SEVERAL, TEST, 3) == pytest.approx(6 / 9)


def test_f1_is_nothing_where_nobody_has_a_label_and_nobody_is_given_one():
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


@pytest.mark.parametrize("outcome", [[1, 0, 1, 0], np.zeros((4, 2)), np.full((4, 3), "a")])
def test_several_labels_need_a_score_each(outcome):
    with pytest.raises(InputError, match="scores must be 4 users x 3 labels, got"):
        measure("f1", outcome, SEVERAL, TEST, 3)


def test_scores_of_several_labels_must_be_finite():
    with pytest.raises(InputError, match="the model has diverged"):
        measure("f1", np.full((4, 3), np.nan), SEVERAL, TEST, 3)
