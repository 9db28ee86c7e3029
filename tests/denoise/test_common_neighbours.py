"""Common neighbours along links, against all pairs."""

from __future__ import annotations

import numpy as np
import pytest

from graphveil.denoise.links import common_neighbours
from graphveil.graphs import symmetric_csr


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_counts_are_those_of_all_pairs(seed, both):
    random = np.random.default_rng(seed)
    pointers, neighbours = symmetric_csr(random.integers(0, 40, (120, 2)), 40)
    answering = random.integers(0, 2, 40)
    dense = np.zeros((40, 40), dtype=int)
    dense[np.repeat(np.arange(40), np.diff(pointers)), neighbours] = 1
    paths = dense @ dense
    common, totals = common_neighbours(pointers, neighbours, answering, both)
    larger, smaller = np.nonzero(np.tril(dense, -1))
    assert np.array_equal(common, paths[larger, smaller])
    rows, columns = np.tril_indices(40, -1)
    answers = answering[rows] + (answering[columns] if both else 0)
    expected = np.bincount(paths[rows, columns], weights=answers, minlength=len(totals))
    assert np.array_equal(totals[1:], expected[1:])


def test_hardly_a_link_has_nothing_in_common_and_the_busiest_users_do_not_run_over_the_counts():
    for pairs in (np.empty((0, 2), dtype=int), np.array([[0, 1]])):
        common, totals = common_neighbours(*symmetric_csr(pairs, 3), np.ones(3, dtype=int), False)
        assert common.tolist() == [0] * len(pairs) and not totals[1:].any()
    # All 30 know each other: 28 in common for each pair.
    pairs = np.stack(np.triu_indices(30, 1), axis=1)
    common, totals = common_neighbours(*symmetric_csr(pairs, 30), np.ones(30, dtype=int), False)
    assert set(common.tolist()) == {28} and totals[28] == 435 and len(totals) >= 29
