import itertools
import math

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix

from graphveil import InputError, SeededBits, mechanism
from graphveil.learn import tensor
from graphveil.learn.inputs import raw_input, report_input
from graphveil.linear.sparse import SparseMatrix
from tests.together import each

ROWS = (np.random.default_rng(0).random((300, 16)) < 0.5).astype(float)


def dense(inputs):
    return (inputs.to_dense() if isinstance(inputs, SparseMatrix) else inputs).numpy()


@pytest.mark.statistical
def test_rows_have_the_public_norm_in_expectation():
    # 300 rows; the mean square of a row is within 25% of its expectation (more than 6 standard errors).
    def check(case):
        name, epsilon = case
        built = mechanism(name, epsilon=epsilon, dims=16, range=(0, 1))
        norms = (dense(report_input(built.blind().randomize(ROWS, SeededBits(0)))) ** 2).sum(axis=1)
        assert math.sqrt(norms.mean()) == pytest.approx(math.sqrt(16) / 8, rel=0.25)

    names = ("multibit", "piecewise", "square-wave", "hds", "laplace", "onebit")
    each(itertools.product(names, (1.0, 8.0)), check)


def reported(name):
    return mechanism(name, epsilon=1.0, dims=16, range=(0, 1)).randomize(ROWS, SeededBits(0))


def test_every_multibit_row_has_exactly_the_norm_or_another_that_is_given():
    for norm, expected in (((), 0.5), ((0.75,), 3.0)):
        inputs = dense(report_input(reported("multibit"), *norm))
        np.testing.assert_allclose(np.linalg.norm(inputs, axis=1), expected, rtol=1e-6)


def test_the_scale_does_not_depend_on_the_private_rows():
    built = mechanism("piecewise", epsilon=1.0, dims=16, range=(0, 1))
    ones, zeros = (built.randomize(np.full((5, 16), value), SeededBits(1)) for value in (1.0, 0.0))
    for reports in (ones, zeros):
        entries = dense(report_input(reports))
        decoded = reports.estimate()
        ratio = entries[entries != 0] / decoded.values[decoded.values != 0]
        np.testing.assert_allclose(ratio, 0.5 / (built.spread * math.sqrt(built.shape.length)), rtol=1e-5)


def test_sampled_reports_and_raw_features_stay_sparse_and_whole_ones_are_dense():
    assert isinstance(report_input(reported("multibit")), SparseMatrix)
    assert isinstance(report_input(reported("onebit")), torch.Tensor)
    assert isinstance(raw_input(csr_matrix(ROWS)), SparseMatrix)
    np.testing.assert_array_equal(dense(raw_input(csr_matrix(ROWS))), ROWS)
    np.testing.assert_array_equal(dense(raw_input(ROWS)), ROWS)


def test_a_dense_matrix_above_the_allowed_memory_is_refused_with_its_size(monkeypatch):
    with pytest.raises(InputError, match=r"300 x 16 numbers, 0\.0 GB, above the 1e-06 GB allowed"):
        report_input(reported("onebit"), max_memory=1e-6)
    # Without a limit it is what the machine has.
    monkeypatch.setattr("graphveil.learn.inputs.available_gigabytes", lambda: 1e-6)
    with pytest.raises(InputError, match=r"above the 1e-06 GB that this machine has left"):
        report_input(reported("laplace"))


def test_a_tensor_has_the_shape_and_type_of_its_array_and_is_a_copy():
    array = np.array([[True], [False]])
    found = tensor(array)
    array[0] = False
    assert found.dtype == torch.bool and found.tolist() == [[True], [False]]
