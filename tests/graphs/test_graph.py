from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphveil import InputError
from graphveil.graphs import from_arrays, symmetric_csr
from graphveil.graphs.graph import MAX_NODES

SQUARE = [[0, 1], [1, 2], [2, 3], [3, 0]]


def square(**more):
    return from_arrays(SQUARE, np.eye(4), [0, 1, 0, 1], range=(0, 1), **more)[0]


def neighbours(indptr, indices):
    return [indices[start:stop].tolist() for start, stop in pairwise(indptr)]


def test_edges_are_stored_in_both_directions_and_sorted():
    indptr, indices = symmetric_csr([[2, 0], [0, 1]], 3)
    assert neighbours(indptr, indices) == [[1, 2], [0], [0]]
    assert (indptr.dtype, indices.dtype) == (np.int64, np.int32)


def test_self_loops_and_repeats_are_dropped():
    assert neighbours(*symmetric_csr([[0, 1], [1, 0], [0, 1], [1, 1]], 2)) == [[1], [0]]


def test_an_edge_that_is_repeated_more_often_than_a_byte_counts_stays_one_edge():
    assert neighbours(*symmetric_csr([[0, 1]] * 256, 2)) == [[1], [0]]


def test_users_without_neighbours_stay():
    assert neighbours(*symmetric_csr([[1, 3]], 5)) == [[], [3], [], [1], []]


@pytest.mark.parametrize("edges", [[], np.empty((0, 2), dtype=np.int64), np.empty((2, 0))])
def test_a_graph_may_have_no_edges(edges):
    indptr, indices = symmetric_csr(edges, 3)
    assert (indptr.tolist(), indices.size) == ([0, 0, 0, 0], 0)


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


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        ([[0, 4]], r"edges must name users 0\.\.3, got 0\.\.4"),
        ([[-1, 2]], r"edges must name users 0\.\.3, got -1\.\.2"),
        ([[0.5, 1.0]], "edges must be pairs of integers"),
        ([[0, 1, 2]], "edges must be pairs of integers"),
        ([[0, 1, 2], [1, 2, 3]], "transpose it"),
    ],
)
def test_bad_edges_are_refused(edges, words):
    with pytest.raises(InputError, match=words):
        symmetric_csr(edges, 4)


def test_more_users_than_an_index_can_name_are_refused():
    with pytest.raises(InputError, match="at most"):
        symmetric_csr([[0, 1]], MAX_NODES + 1)


def test_counts():
    graph = square()
    assert (graph.node_count, graph.edge_count, graph.degrees.tolist()) == (4, 4, [2, 2, 2, 2])


def test_the_edge_list_has_both_directions_and_pairs_one():
    graph = square()
    assert graph.edge_list().T.tolist() == [[0, 1], [0, 3], [1, 0], [1, 2], [2, 1], [2, 3], [3, 0], [3, 2]]
    assert graph.pairs().tolist() == [[0, 1], [0, 3], [1, 2], [2, 3]]


def test_other_edges_leave_the_rest_alone():
    graph = square()
    other = graph.with_edges(np.array([[0, 2]]))
    assert (other.edge_count, other.labels is graph.labels) == (1, True)
    assert graph.edge_count == 4


def test_the_server_cannot_change_what_it_knows():
    graph = square()
    for array in (graph.indptr, graph.indices, graph.labels, graph.train, graph.validation, graph.test):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_a_graph_with_labels_of_test_users_is_refused():
    graph = square()
    with pytest.raises(InputError, match="must not carry labels of test users"):
        replace(graph, labels=np.array([0, 1, 0, 1]))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"metric": "f2"}, "metric must be one of accuracy, roc_auc, f1, got 'f2'"),
        ({"metric": "roc_auc", "class_count": 3}, "roc_auc compares two classes, not 3"),
        ({"feature_names": ("a",)}, "feature_names must name all 4 features, got 1"),
    ],
)
def test_what_does_not_fit_together_is_refused(change, words):
    with pytest.raises(InputError, match=words):
        replace(square(), **change)


def test_the_repr_says_what_it_is():
    assert repr(square()) == "Graph(mine, 4 users, 4 edges, 4 features, 2 classes, 2/1/1)"


def several(**more):
    labels = np.array([[0, 1], [1, 1], [0, 0], [1, 0]])
    return from_arrays(SQUARE, np.eye(4), labels, range=(0, 1), **more)[0]


def test_the_repr_counts_labels_where_users_have_several():
    assert repr(several()) == "Graph(mine, 4 users, 4 edges, 4 features, 2 labels, 2/1/1)"


@pytest.mark.parametrize("metric", ["accuracy", "roc_auc"])
def test_several_labels_a_user_are_measured_by_f1_alone(metric):
    with pytest.raises(InputError, match=rf"f1 measures, not {metric}.*label=0\.\.1"):
        several(metric=metric)


def test_a_graph_with_several_labels_of_a_test_user_is_refused():
    with pytest.raises(InputError, match="must not carry labels of test users"):
        replace(several(), labels=np.zeros((4, 2), dtype=np.int64))


def test_without_labels_none_of_several_is_left():
    assert several().without_labels().labels.tolist() == [[-1, -1]] * 4
