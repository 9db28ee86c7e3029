"""Any graph, divided in any way, in memory or by an external sort, comes back as it was."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from graphveil.graphs import from_arrays
from graphveil.scale import load_whole, write_shards
from graphveil.scale.edges import edge_blocks, taking, whole_rows, write_edges
from graphveil.scale.link_database import LinkDatabase
from graphveil.scale.partitioners import Layout
from graphveil.scale.shard_writer import in_shard_order
from tests.scale.shards.conftest import same_graph


@st.composite
def graphs(draw):
    """Users, pairs of them in any order with repeats and self-loops, and the partition of each."""
    users = draw(st.integers(1, 12))
    user = st.integers(0, users - 1)
    pairs = draw(st.lists(st.tuples(user, user), max_size=40))
    partitions = draw(st.integers(1, 5))
    assignment = draw(st.lists(st.integers(0, partitions - 1), min_size=users, max_size=users))
    return users, np.array(pairs, dtype=np.int64).reshape(-1, 2), partitions, np.array(assignment)


@given(graphs())
def test_a_graph_comes_back_from_any_partitions(tmp_path_factory, drawn):
    users, pairs, partitions, assignment = drawn
    graph, _ = from_arrays(pairs, None, None, users=users, name="any")
    folder = tmp_path_factory.mktemp("any") / "shards"
    shards = write_shards(graph, folder, partitions=partitions, assignment=assignment)
    assert same_graph(graph, load_whole(folder)[0])
    # The cut, counted a second time.
    sources = np.repeat(np.arange(users), graph.degrees)
    crossing = assignment[sources] != assignment[graph.indices]
    assert [part.cut for part in shards.manifest.partitions] == [
        int(crossing[assignment[sources] == partition].sum()) for partition in range(partitions)
    ]


@settings(max_examples=20)
@given(graphs(), st.integers(1, 20))
def test_links_in_a_database_come_out_as_in_memory(tmp_path_factory, drawn, step):
    users, pairs, partitions, assignment = drawn
    graph, _ = from_arrays(pairs, None, None, users=users)
    layout = Layout.of(assignment, partitions)
    chunks = [pairs[begin : begin + step] for begin in range(0, len(pairs), step)]
    with LinkDatabase(tmp_path_factory.mktemp("sort") / "links", 0.1) as database:
        database.add("pairs", ((chunk[:, 0], chunk[:, 1]) for chunk in chunks))
        found = database.sort(users)
        assert np.array_equal(found.indptr, graph.indptr)
        assert np.array_equal(found.targets(0, found.entries), graph.indices)
        expected = np.concatenate(list(in_shard_order(graph, layout)))
        assert np.concatenate([np.empty(0), *database.in_shard_order(layout)]).tolist() == expected.tolist()
    assert not database.folder.exists()


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
