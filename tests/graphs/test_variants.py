import re

import numpy as np
from scipy.sparse import csr_array

from graphveil.graphs.npz import Raw, with_label, with_largest_classes
from graphveil.graphs.splits import GivenSplit
from tests.refusals import check_refused

LABELS = np.array([2, 0, 2, 1, 0, 2, -1])
EDGES = np.array([[0, 1], [1, 3], [2, 5], [4, 6], [1, 4]])


def raw(**change):
    return Raw(**{"edges": EDGES, "labels": LABELS, "other_labels": {"y_other": LABELS + 1}, **change})


def test_a_label_is_chosen_by_name_or_number_and_y_is_the_usual_one():
    for label in (None, "y"):
        assert with_label("some", raw(), label).labels is LABELS
    assert with_label("some", raw(), "y_other").labels.tolist() == (LABELS + 1).tolist()
    for label in (1, "1"):
        assert with_label("some", raw(labels=np.array([[0, 1], [1, 0]])), label).labels.tolist() == [1, 0]


def test_labels_and_classes_that_are_not_there_are_refused():
    def labelled(change, label, allowed):
        return with_label("some", raw(**change), label, allowed)

    check_refused(
        labelled,
        [
            ({}, "traffic", None, "some has no label 'traffic': choose one of y, y_other"),
            ({}, "y_other", ("y",), re.compile("some has no label 'y_other': choose one of y$")),
            ({}, 0, None, "does not have several labels"),
            ({"labels": None}, 0, None, "does not have several labels"),
            ({"labels": np.zeros((7, 2), dtype=int)}, 2, None, "label must lie in 0..1, got 2"),
        ],
    )
    words = "largest_classes must be an integer from 2 to 3"
    check_refused(
        with_largest_classes,
        [
            (raw(labels=None), 2, "needs one label a user"),
            *((raw(), count, words) for count in (1, 4, 2.0, True)),
        ],
    )


def test_the_largest_classes_keep_their_users_edges_and_order():
    features = np.arange(7)[:, None]
    kept = with_largest_classes(raw(features=features), 2)
    assert kept.labels.tolist() == [1, 0, 1, 0, 1]
    assert kept.features.ravel().tolist() == [0, 1, 2, 4, 5]
    assert kept.edges.tolist() == [[0, 1], [2, 4], [1, 3]]
    masks = np.array([[1, 1, 0, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1]], dtype=bool)
    kept = with_largest_classes(raw(features=csr_array(np.eye(7)), given=GivenSplit(*masks)), 2)
    assert kept.features.toarray().argmax(axis=1).tolist() == [0, 1, 2, 4, 5]
    assert kept.given.test.tolist() == [[False, False, False, True, True]]
