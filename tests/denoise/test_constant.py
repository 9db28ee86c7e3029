import numpy as np

from graphveil.denoise import with_constant
from graphveil.mechanisms import Estimate


def test_one_more_column_is_1_for_everybody():
    estimate = Estimate((2, 2), np.array([0, 1, 1]), np.array([1], np.int32), np.array([3.0]), 0.0, True)
    found = with_constant(estimate)
    assert found.dense().tolist() == [[0.0, 3.0, 1.0], [0.0, 0.0, 1.0]]


def test_a_dense_estimate_gets_the_column_too():
    estimate = Estimate((2, 1), np.array([0, 1, 2]), None, np.array([3.0, 4.0]), 0.0, True)
    assert with_constant(estimate).dense().tolist() == [[3.0, 1.0], [4.0, 1.0]]
