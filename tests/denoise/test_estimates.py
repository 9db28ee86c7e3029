"""Estimates that are made of others, or of what is certain."""

import numpy as np
import pytest
from scipy.sparse import coo_matrix, csr_matrix

from graphveil.denoise import certain_estimate, forgetful_mean, with_constant
from graphveil.graphs import from_arrays
from graphveil.mechanisms import Estimate

ROWS = np.array([[0.0, 2.0], [0.0, 0.0], [-1.0, 0.5]])


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix, coo_matrix])
def test_a_certain_estimate_is_the_matrix_itself(kind):
    estimate = certain_estimate(kind(ROWS))
    assert estimate.dense().tolist() == ROWS.tolist()
    assert (estimate.offset, estimate.unbiased) == (0.0, True)


def test_only_what_is_not_0_is_kept_and_the_matrix_stays_as_it_is():
    given = csr_matrix((np.array([0.0, 3.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    assert certain_estimate(given).values.tolist() == [3.0]
    assert given.nnz == 2


def test_one_more_column_is_1_for_everybody():
    sparse = Estimate((2, 2), np.array([0, 1, 1]), np.array([1], np.int32), np.array([3.0]), 0.0, True)
    assert with_constant(sparse).dense().tolist() == [[0.0, 3.0, 1.0], [0.0, 0.0, 1.0]]
    dense = Estimate((2, 1), np.array([0, 1, 2]), None, np.array([3.0, 4.0]), 0.0, True)
    assert with_constant(dense).dense().tolist() == [[3.0, 1.0], [4.0, 1.0]]


@pytest.mark.parametrize(
    ("edges", "values", "first"),
    [
        pytest.param(
            [[0, 1], [0, 2]], [100.0, 4.0, 8.0], 5.0, id="of neighbours without oneself, shrunk by one"
        ),
        pytest.param([[0, 1]], [0.0, -5.0], -4.0, id="negative ones shrink towards zero"),
        pytest.param([[0, 1]], [0.0, 2.0], 0.0, id="up to two it is forgotten"),
        pytest.param([[1, 2]], [9.0, 9.0, 9.0], 0.0, id="without neighbours"),
    ],
)
def test_a_forgetful_mean(edges, values, first):
    users = len(values)
    graph, _ = from_arrays(np.array(edges), np.zeros((users, 1)), None, range=(0, 1))
    estimate = Estimate((users, 1), np.arange(users + 1), None, np.array(values), 0.0, True)
    found = forgetful_mean(estimate, graph)
    assert found.toarray()[0, 0] == first
    # What is forgotten is not stored.
    assert found.nnz == (found.toarray() != 0).sum()
