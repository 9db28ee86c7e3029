"""Row groups of whole users."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphveil.scale.edges import edge_blocks, taking, whole_rows, write_edges


@given(st.lists(st.integers(0, 9), max_size=30), st.integers(1, 12))
def test_rows_come_once_and_in_order_and_few_entries_at_a_time(lengths, most):
    pointers = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
    found = list(whole_rows(pointers, most))
    assert [row for begin, end in found for row in range(begin, end)] == list(range(len(lengths)))
    assert all(end == begin + 1 or pointers[end] - pointers[begin] <= most for begin, end in found)


@given(st.lists(st.integers(0, 5), max_size=12), st.integers(1, 8))
def test_blocks_are_what_was_written(tmp_path_factory, lengths, group):
    file = tmp_path_factory.mktemp("edges") / "edges.parquet"
    pointers = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
    targets = np.arange(pointers[-1], dtype=np.int32)
    write_edges(file, 100, pointers, taking(iter([targets])), group)
    blocks = list(edge_blocks(file, pointers, 1000))
    assert [row for begin, end, _ in blocks for row in range(begin, end)] == list(range(len(lengths)))
    assert all(np.array_equal(each, targets[pointers[begin] : pointers[end]]) for begin, end, each in blocks)
