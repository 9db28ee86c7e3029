"""Estimates: a sparse matrix plus a constant."""

from __future__ import annotations

import numpy as np
import pytest

from graphveil.channels.sampling import SeededBits
from graphveil.mechanisms import Estimate, mechanism
from tests.mechanisms.support import EVERYTHING, private, small
from tests.together import together


def named():
    return Estimate(
        (2, 3), np.array([0, 1, 3]), np.array([2, 0, 1], dtype=np.int32), np.array([5.0, 6, 7]), 0.5, True
    )


def test_the_offset_is_everywhere():
    assert named().dense().tolist() == [[0.5, 0.5, 5.5], [6.5, 7.5, 0.5]]


def test_scipy_gets_the_sparse_part_alone():
    assert named().to_scipy().toarray().tolist() == [[0, 0, 5], [6, 7, 0]]


def test_rows_that_report_everything_need_no_indices():
    estimate = Estimate((2, 2), np.array([0, 2, 4]), None, np.array([1.0, 2, 3, 4]), 1.0, False)
    assert estimate.dense().tolist() == [[2, 3], [4, 5]]
    assert estimate.to_scipy().toarray().tolist() == [[1, 2], [3, 4]]


@together("name", EVERYTHING)
def test_both_forms_agree_for_every_mechanism(name):
    found = small(name)
    estimate = found.randomize(private(name), SeededBits(0)).estimate()
    assert estimate.shape == (4, found.shape.dimensions)
    assert estimate.unbiased == found.unbiased
    assert np.allclose(estimate.to_scipy().toarray() + estimate.offset, estimate.dense(), rtol=1e-12)


def test_repr_says_what_it_is():
    assert repr(named()) == "Estimate(2 x 3, 3 entries, unbiased)"


@pytest.mark.parametrize("name", ["multibit", "onebit"])
def test_the_first_dimensions_are_those_of_the_whole(name: str) -> None:
    built = mechanism(name, epsilon=4.0, dims=9, range=(-1, 1))
    rows = np.random.default_rng(0).uniform(-1, 1, (20, 9))
    whole = built.estimate(built.randomize(rows, SeededBits(1)))
    for count in (1, 4, 9, 20):
        part = whole.first(count)
        assert np.array_equal(part.dense(), whole.dense()[:, :count])
        assert part.indptr[-1] == len(part.values)
