"""Any graph, divided in any way, in memory or by an external sort, comes back as it was."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphveil.graphs import from_arrays
from graphveil.scale import load_whole, write_shards
from graphveil.scale.sorting import sorted_links
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


@given(graphs(), st.integers(1, 30), st.integers(1, 20))
def test_an_external_sort_is_a_sort(tmp_path_factory, drawn, most, step):
    users, pairs, _, _ = drawn
    graph, _ = from_arrays(pairs, None, None, users=users)
    chunks = [pairs[begin : begin + step] for begin in range(0, len(pairs), step)]
    folder = tmp_path_factory.mktemp("sort")
    found = sorted_links(iter(chunks), users, folder, most)
    assert np.array_equal(found.indptr, graph.indptr)
    assert np.array_equal(found.targets(0, found.entries), graph.indices)
    assert [file.name for file in folder.iterdir()] == ["links"]
