import itertools
import math

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix

from graphveil import InputError, SeededBits, mechanism
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


def test_every_multibit_row_has_exactly_the_norm():
    reports = mechanism("multibit", epsilon=8.0, dims=16, range=(0, 1)).randomize(ROWS, SeededBits(0))
    np.testing.assert_allclose(np.linalg.norm(dense(report_input(reports)), axis=1), 0.5, rtol=1e-6)


def test_a_given_norm_is_used():
    reports = mechanism("multibit", epsilon=1.0, dims=16, range=(0, 1)).randomize(ROWS, SeededBits(0))
    np.testing.assert_allclose(np.linalg.norm(dense(report_input(reports, 0.75)), axis=1), 3.0, rtol=1e-6)


def test_the_scale_does_not_depend_on_the_private_rows():
    built = mechanism("piecewise", epsilon=1.0, dims=16, range=(0, 1))
    ones, zeros = (built.randomize(np.full((5, 16), value), SeededBits(1)) for value in (1.0, 0.0))
    for reports in (ones, zeros):
        entries = dense(report_input(reports))
        decoded = reports.estimate()
        ratio = entries[entries != 0] / decoded.values[decoded.values != 0]
        np.testing.assert_allclose(ratio, 0.5 / (built.spread * math.sqrt(built.shape.length)), rtol=1e-5)


def test_sampled_reports_stay_sparse_and_whole_ones_are_dense():
    sampled = mechanism("multibit", epsilon=1.0, dims=16, range=(0, 1)).randomize(ROWS, SeededBits(0))
    whole = mechanism("onebit", epsilon=1.0, dims=16, range=(0, 1)).randomize(ROWS, SeededBits(0))
    assert isinstance(report_input(sampled), SparseMatrix)
    assert isinstance(report_input(whole), torch.Tensor)


def test_a_dense_matrix_above_the_allowed_memory_is_refused_with_its_size():
    whole = mechanism("onebit", epsilon=1.0, dims=16, range=(0, 1)).randomize(ROWS, SeededBits(0))
    with pytest.raises(InputError, match=r"300 x 16 numbers, 0\.0 GB, above the 1e-06 GB allowed"):
        report_input(whole, max_memory=1e-6)


def test_raw_features_keep_their_form():
    assert isinstance(raw_input(csr_matrix(ROWS)), SparseMatrix)
    np.testing.assert_array_equal(dense(raw_input(csr_matrix(ROWS))), ROWS)
    np.testing.assert_array_equal(dense(raw_input(ROWS)), ROWS)


def test_without_a_limit_it_is_what_the_machine_has(monkeypatch):
    monkeypatch.setattr("graphveil.learn.inputs.available_gigabytes", lambda: 1e-6)
    whole = mechanism("laplace", epsilon=1.0, dims=16, range=(0, 1)).randomize(ROWS, SeededBits(0))
    with pytest.raises(InputError, match=r"above the 1e-06 GB that this machine has left"):
        report_input(whole)
