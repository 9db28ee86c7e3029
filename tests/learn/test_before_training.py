"""Hops are multiplied out before training where that is less work, and only there; the scores stay the same."""

import numpy as np
import pytest
import torch
from scipy.sparse import random_array

from graphveil.learn.inputs import before_training
from graphveil.linear import Composition, Polynomial, SparseMatrix
from tests.learn.graphs import small_graph

USERS = 60


def composition(columns, hops, density=0.2, dense=False):
    rng = np.random.default_rng(0)
    links = random_array((USERS, USERS), density=density, format="csr", rng=rng, dtype=np.float32) / USERS
    rows = random_array((USERS, columns), density=0.1, format="csr", rng=rng, dtype=np.float32)
    inner = torch.from_numpy(rows.toarray()) if dense else SparseMatrix.from_scipy(rows)
    return Composition(Polynomial(SparseMatrix.from_scipy(links), [0.0] * hops + [1.0]), inner)


@pytest.mark.parametrize(
    ("given", "epochs", "once"),
    [
        (composition(columns=3, hops=4), 500, True),
        (composition(columns=500, hops=1), 500, False),
        (composition(columns=500, hops=64), 500, True),
        # What is dense is multiplied in each epoch anyway; only too few epochs are not worth it.
        (composition(columns=500, hops=1, dense=True), 500, True),
        (composition(columns=500, hops=1, dense=True), 5, False),
    ],
)
def test_it_is_done_where_it_is_less_work(given, epochs, once):
    ready = before_training(given, epochs, hidden=16)
    assert isinstance(ready, torch.Tensor) is once
    weights = torch.randn(given.shape[1], 16)
    torch.testing.assert_close(ready @ weights, given @ weights, rtol=1e-4, atol=1e-5)


def test_it_is_not_done_beyond_the_memory():
    given = composition(columns=3, hops=4)
    assert before_training(given, 500, 16, max_memory=3 * USERS * 4 / 1e9) is not given
    assert before_training(given, 500, 16, max_memory=2 * USERS * 4 / 1e9) is given


def test_what_has_no_hops_stays():
    rows = torch.from_numpy(small_graph()[1])
    assert before_training(rows, 500, 16) is rows
