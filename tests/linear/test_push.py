import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from graphveil.linear.kernels import Push
from graphveil.linear.sparse import Columns, entries_of
from tests.denoise.pagerank_graphs import allowed, exact, graphs, sparse_estimate


def as_dense(columns: Columns, users):
    dense = np.zeros((users, len(columns.pointers) - 1))
    dense[columns.owners, np.repeat(np.arange(dense.shape[1]), np.diff(columns.pointers))] = columns.values
    return dense


@pytest.mark.parametrize("graph", graphs())
@settings(max_examples=15)
@given(r=st.floats(0, 1), alpha=st.floats(0.05, 0.9), exponent=st.floats(-6, -1))
@example(r=0.0, alpha=0.5, exponent=-3)
@example(r=1.0, alpha=0.5, exponent=-3)
@example(r=0.5, alpha=0.05, exponent=-9)
def test_it_is_the_inverse_within_the_threshold(graph, r, alpha, exponent):
    r_max, (_, rows) = 10.0**exponent, sparse_estimate(60, 7)
    got = as_dense(Push(graph, alpha, r, r_max)(entries_of(rows)), 60)
    error = np.abs(got - exact(graph, alpha, r, rows))
    assert (error <= allowed(graph, r, r_max, got)).all()


def test_users_without_neighbours_keep_their_rows_exactly():
    graph = graphs()[0]
    _, rows = sparse_estimate(60, 7, share=1.0)
    got = as_dense(Push(graph, 0.3, 0.7, 0.5)(entries_of(rows)), 60)
    alone = graph.degrees == 0
    assert alone.any() and np.array_equal(got[alone], rows[alone])


def test_a_large_threshold_touches_few_entries_in_rising_order():
    graph = graphs()[0]
    _, rows = sparse_estimate(60, 40, share=0.05)
    few, many = (len(Push(graph, 0.3, 0.5, r_max)(entries_of(rows)).values) for r_max in (0.2, 1e-9))
    assert few < 0.1 * rows.size < many
    _, rows = sparse_estimate(60, 5, share=0.02)
    columns = Push(graphs()[0], 0.3, 0.5, 0.05)(entries_of(rows))
    parts = np.split(columns.owners, columns.pointers[1:-1])
    assert all((np.diff(part) > 0).all() for part in parts) and columns.pointers[-1] == len(columns.values)
    columns = Push(graphs()[0], 0.3, 0.5, 0.05)(entries_of(np.zeros((60, 3))))
    assert columns.pointers.tolist() == [0, 0, 0, 0] and len(columns.values) == 0


def test_the_number_of_threads_changes_nothing_and_is_torch_s():
    _, rows = sparse_estimate(60, 23)
    one, three, more = (
        Push(graphs()[0], 0.1, 0.5, 1e-4, threads=threads)(entries_of(rows)) for threads in (1, 3, 40)
    )
    for other in (three, more):
        assert all(np.array_equal(mine, its) for mine, its in zip(one, other, strict=True))
    assert Push(graphs()[0], 0.1, 0.5, 1e-4).threads == torch.get_num_threads()
