import numpy as np
import pytest
from scipy.sparse import csr_array

from graphveil import InputError
from graphveil.graphs.npz import Raw, with_label, with_largest_classes
from graphveil.graphs.splits import GivenSplit

LABELS = np.array([2, 0, 2, 1, 0, 2, -1])
EDGES = np.array([[0, 1], [1, 3], [2, 5], [4, 6], [1, 4]])


def raw(**change):
    return Raw(**{"edges": EDGES, "labels": LABELS, "other_labels": {"y_other": LABELS + 1}, **change})


@pytest.mark.parametrize("label", [None, "y"])
def test_the_usual_label_is_y(label):
    assert with_label("some", raw(), label).labels is LABELS


def test_another_label_is_chosen_by_name():
    assert with_label("some", raw(), "y_other").labels.tolist() == (LABELS + 1).tolist()


@pytest.mark.parametrize("label", [1, "1"])
def test_one_of_several_labels_is_chosen_by_number(label):
    several = raw(labels=np.array([[0, 1], [1, 0]]))
    assert with_label("some", several, label).labels.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("change", "label", "allowed", "words"),
    [
        ({}, "traffic", None, "some has no label 'traffic': choose one of y, y_other"),
        ({}, "y_other", ("y",), "some has no label 'y_other': choose one of y$"),
        ({}, 0, None, "does not have several labels"),
        ({"labels": None}, 0, None, "does not have several labels"),
        ({"labels": np.zeros((7, 2), dtype=int)}, 2, None, r"label must lie in 0\.\.1, got 2"),
    ],
)
def test_a_label_that_is_not_there_is_refused(change, label, allowed, words):
    with pytest.raises(InputError, match=words):
        with_label("some", raw(**change), label, allowed)


def test_the_largest_classes_keep_their_users_edges_and_order():
    features = np.arange(7)[:, None]
    kept = with_largest_classes(raw(features=features), 2)
    assert kept.labels.tolist() == [1, 0, 1, 0, 1]
    assert kept.features.ravel().tolist() == [0, 1, 2, 4, 5]
    assert kept.edges.tolist() == [[0, 1], [2, 4], [1, 3]]


def test_the_largest_classes_of_sparse_features_and_masks():
    masks = np.array([[1, 1, 0, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1]], dtype=bool)
    kept = with_largest_classes(raw(features=csr_array(np.eye(7)), given=GivenSplit(*masks)), 2)
    assert kept.features.toarray().argmax(axis=1).tolist() == [0, 1, 2, 4, 5]
    assert kept.given.test.tolist() == [[False, False, False, True, True]]


@pytest.mark.parametrize("count", [1, 4, 2.0, True])
def test_a_number_of_classes_that_cannot_be_is_refused(count):
    with pytest.raises(InputError, match="largest_classes must be an integer from 2 to 3"):
        with_largest_classes(raw(), count)


def test_the_largest_classes_need_labels():
    with pytest.raises(InputError, match="needs one label a user"):
        with_largest_classes(raw(labels=None), 2)
