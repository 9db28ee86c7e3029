from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphveil import InputError
from graphveil.graphs import from_arrays, symmetric_csr
from graphveil.graphs.graph import MAX_NODES
from tests.refusals import check_refused
from tests.together import together

SQUARE = [[0, 1], [1, 2], [2, 3], [3, 0]]


def square(**more):
    return from_arrays(SQUARE, np.eye(4), [0, 1, 0, 1], range=(0, 1), **more)[0]


def neighbours(indptr, indices):
    return [indices[start:stop].tolist() for start, stop in pairwise(indptr)]


@together(
    ("edges", "users", "lists"),
    [
        pytest.param([[2, 0], [0, 1]], 3, [[1, 2], [0], [0]], id="in both directions and sorted"),
        pytest.param([[0, 1], [1, 0], [0, 1], [1, 1]], 2, [[1], [0]], id="without self-loops and repeats"),
        pytest.param([[0, 1]] * 256, 2, [[1], [0]], id="repeated more often than a byte counts"),
        pytest.param([[1, 3]], 5, [[], [3], [], [1], []], id="users without neighbours stay"),
        pytest.param([], 3, [[]] * 3, id="no edges"),
        pytest.param(np.empty((0, 2), dtype=np.int64), 3, [[]] * 3, id="an empty array"),
        pytest.param(np.empty((2, 0)), 3, [[]] * 3, id="an empty array that is transposed"),
    ],
)
def test_edges_are_stored_as_sorted_lists_of_both_directions(edges, users, lists):
    indptr, indices = symmetric_csr(edges, users)
    assert neighbours(indptr, indices) == lists
    assert (indptr.dtype, indices.dtype) == (np.int64, np.int32)


@given(
    nodes=st.integers(1, 12),
    data=st.data(),
    kind=st.sampled_from([np.int32, np.int64, np.uint16]),
)
def test_the_csr_holds_exactly_the_pairs(nodes, data, kind):
    user = st.integers(0, nodes - 1)
    pairs = data.draw(st.lists(st.tuples(user, user), max_size=40))
    indptr, indices = symmetric_csr(np.array(pairs, dtype=kind).reshape(-1, 2), nodes)
    expected = {(a, b) for a, b in pairs if a != b} | {(b, a) for a, b in pairs if a != b}
    lists = neighbours(indptr, indices)
    assert {(user, other) for user, others in enumerate(lists) for other in others} == expected
    assert all(others == sorted(set(others)) for others in lists)


def test_bad_edges_are_refused():
    check_refused(
        symmetric_csr,
        [
            ([[0, 4]], 4, "edges must name users 0..3, got 0..4"),
            ([[-1, 2]], 4, "edges must name users 0..3, got -1..2"),
            ([[0.5, 1.0]], 4, "edges must be pairs of integers"),
            ([[0, 1, 2]], 4, "edges must be pairs of integers"),
            ([[0, 1, 2], [1, 2, 3]], 4, "transpose it"),
            ([[0, 1]], MAX_NODES + 1, "at most"),
        ],
    )


def test_a_graph_counts_and_lists_its_edges_and_cannot_be_written_to():
    graph = square()
    assert (graph.node_count, graph.edge_count, graph.degrees.tolist()) == (4, 4, [2, 2, 2, 2])
    assert graph.edge_list().T.tolist() == [[0, 1], [0, 3], [1, 0], [1, 2], [2, 1], [2, 3], [3, 0], [3, 2]]
    assert graph.pairs().tolist() == [[0, 1], [0, 3], [1, 2], [2, 3]]
    other = graph.with_edges(np.array([[0, 2]]))
    assert (other.edge_count, other.labels is graph.labels) == (1, True)
    assert graph.edge_count == 4
    for array in (graph.indptr, graph.indices, graph.labels, graph.train, graph.validation, graph.test):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_what_does_not_fit_together_is_refused():
    tested = "must not carry labels of test users"
    check_refused(
        lambda graph, change: replace(graph(), **change),
        [
            (square, {"labels": np.array([0, 1, 0, 1])}, tested),
            (several, {"labels": np.zeros((4, 2), dtype=np.int64)}, tested),
            (square, {"metric": "f2"}, "metric must be one of accuracy, roc_auc, f1, got 'f2'"),
            (square, {"metric": "roc_auc", "class_count": 3}, "roc_auc compares two classes, not 3"),
            (square, {"feature_names": ("a",)}, "feature_names must name all 4 features, got 1"),
        ],
    )


def test_the_repr_says_what_it_is():
    assert repr(square()) == "Graph(mine, 4 users, 4 edges, 4 features, 2 classes, 2/1/1)"
    assert repr(several()) == "Graph(mine, 4 users, 4 edges, 4 features, 2 labels, 2/1/1)"
    assert several().without_labels().labels.tolist() == [[-1, -1]] * 4


def several(**more):
    labels = np.array([[0, 1], [1, 1], [0, 0], [1, 0]])
    return from_arrays(SQUARE, np.eye(4), labels, range=(0, 1), **more)[0]


@pytest.mark.parametrize("metric", ["accuracy", "roc_auc"])
def test_several_labels_a_user_are_measured_by_f1_alone(metric):
    with pytest.raises(InputError, match=rf"f1 measures, not {metric}.*label=0\.\.1"):
        several(metric=metric)
