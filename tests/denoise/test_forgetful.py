import numpy as np

from graphveil.denoise import forgetful_mean
from graphveil.graphs import from_arrays
from graphveil.mechanisms import Estimate


def mean_of(edges, values):
    graph, _ = from_arrays(np.array(edges), np.zeros((len(values), 1)), None, range=(0, 1))
    users = len(values)
    estimate = Estimate((users, 1), np.arange(users + 1), None, np.array(values, dtype=float), 0.0, True)
    return forgetful_mean(estimate, graph)


def test_the_mean_is_over_neighbours_without_oneself_and_shrunk_by_one():
    assert mean_of([[0, 1], [0, 2]], [100.0, 4.0, 8.0]).toarray()[0, 0] == 5.0


def test_negative_means_shrink_towards_zero():
    assert mean_of([[0, 1]], [0.0, -5.0]).toarray()[0, 0] == -4.0


def test_a_mean_up_to_two_is_forgotten_and_not_stored():
    assert mean_of([[0, 1]], [0.0, 2.0]).nnz == 0


def test_a_user_without_neighbours_has_a_row_of_zeros():
    assert mean_of([[0, 1]], [9.0, 9.0, 9.0]).toarray()[2, 0] == 0.0
