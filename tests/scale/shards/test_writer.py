"""What is written is what was given: every graph comes back as it was."""

import json
from dataclasses import replace

import numpy as np
import pytest
from pyarrow import parquet

from graphveil import InputError
from graphveil.graphs import Users, from_arrays, load, with_panel
from graphveil.graphs.links import hold_out_links
from graphveil.scale import load_whole, open_shards, write_shards
from tests.scale.shards.conftest import same_graph, same_users
from tests.together import each


def test_a_small_graph_comes_back_exactly(small, tmp_path):
    def check(partitions):
        graph, users = small
        write_shards(graph, tmp_path / f"{partitions}", partitions=partitions, users=users)
        again, held = load_whole(tmp_path / f"{partitions}")
        assert same_graph(graph, again) and same_users(users, held)

    each([1, 2, 3, 7, 12], check)


@pytest.mark.parametrize("partitioner", ["metis", "stream", "ranges"])
def test_a_town_comes_back_exactly_whatever_divides_it(partitioner, tmp_path):
    graph, users = load("town", users=1200, seed=5)
    shards = write_shards(graph, tmp_path / "s", partitions=5, users=users, partitioner=partitioner)
    again, held = load_whole(tmp_path / "s")
    assert same_graph(graph, again) and same_users(users, held)
    assert shards.manifest.partitioner == partitioner


def test_sparse_features_and_ids_come_back(tmp_path):
    from scipy.sparse import csr_array

    rows = csr_array(np.array([[0, 0.5, 0], [0, 0, 0], [1, 0, 0.25]], dtype=np.float32))
    graph, users = from_arrays(np.array([[0, 1], [1, 2]]), rows, None, range=(0, 1))
    write_shards(graph, tmp_path / "s", partitions=2, users=users, assignment=np.array([1, 0, 1]))
    assert same_users(users, load_whole(tmp_path / "s")[1])
    ids = np.array([10**12, 7, 8])
    graph, _ = from_arrays(np.array([[0, 1]]), None, None, users=3, ids=ids)
    write_shards(graph, tmp_path / "ids", partitions=3)
    again, _ = load_whole(tmp_path / "ids")
    assert again.ids.tolist() == ids.tolist() and again.ids.dtype == np.int64


def test_dense_features_keep_their_type(tmp_path):
    def check(kind):
        rows = np.array([[0, 1], [1, 0], [1, 1]], dtype=kind)
        graph, users = from_arrays(np.array([[0, 1]]), rows, None, range=(0, 1))
        write_shards(graph, tmp_path / kind.__name__, partitions=2, users=users)
        assert same_users(users, load_whole(tmp_path / kind.__name__)[1])

    each([bool, np.uint8, np.int16, np.float32, np.float64], check)


def test_users_are_numbered_by_partition_and_the_cut_counts_entries_into_others(small, tmp_path):
    graph, _ = small
    shards = write_shards(graph, tmp_path / "s", partitions=2, assignment=np.array([1, 0, 1, 0, 0, 1, 1]))
    assert shards.table(0, 1).original.tolist() == [1, 3, 4]
    assert shards.table(1, 2).original.tolist() == [0, 2, 5, 6]
    assert [part.first for part in shards.manifest.partitions] == [0, 3]
    # A path of four users, 0-1-2-3, in two halves: one link of three is cut, at both of its ends.
    graph, _ = from_arrays(np.array([[0, 1], [1, 2], [2, 3]]), None, None)
    shards = write_shards(graph, tmp_path / "path", partitions=2, assignment=np.array([0, 0, 1, 1]))
    assert [part.cut for part in shards.manifest.partitions] == [1, 1]
    assert shards.manifest.cut == pytest.approx(2 / 6)
    assert json.loads((tmp_path / "path/graph.json").read_text())["cut"] == pytest.approx(2 / 6)


def test_edges_are_plain_columns_and_public_files_hold_no_label_of_a_test_user_and_no_feature(
    small, tmp_path
):
    write_shards(small[0], tmp_path / "s", partitions=2, partitioner="ranges")
    file = parquet.ParquetFile(tmp_path / "s/part-0000/edges.parquet")
    assert [(field.name, str(field.type)) for field in file.schema_arrow] == [
        ("source", "int32"),
        ("target", "int32"),
    ]
    column = file.metadata.row_group(0).column(0)
    assert column.compression == "UNCOMPRESSED" and not column.has_dictionary_page
    assert {"PLAIN"} <= set(column.encodings) <= {"PLAIN", "RLE"}
    pairs = list(zip(*file.read().to_pydict().values(), strict=True))
    # Users 0, 1 and 2 of the ring; the repeat and the self-loop are gone.
    assert pairs == [(0, 1), (0, 4), (1, 0), (1, 2), (1, 5), (2, 1), (2, 3)]
    write_shards(small[0], tmp_path / "one", partitions=1, users=small[1])
    table = parquet.read_table(tmp_path / "one/part-0000/users.parquet")
    assert table.column_names == ["original", "degree", "label", "split", "id"]
    assert table.column("label").to_pylist() == [0, 1, 2, 0, -1, -1, -1]
    assert table.column("split").to_pylist() == [1, 1, 1, 2, 3, 3, 0]


def test_without_users_nothing_of_theirs_is_written(small, tmp_path):
    shards = write_shards(small[0], tmp_path / "s", partitions=2)
    assert not (tmp_path / "s/users").exists() and not shards.simulated
    graph, users = load_whole(tmp_path / "s")
    assert same_graph(small[0], graph)
    assert users.raw.features is None and np.array_equal(users.raw.labels, small[0].labels)


def test_nothing_but_the_format_and_the_source_is_written(small, tmp_path):
    source = {"name": "mine", "seed": 8}
    write_shards(small[0], tmp_path / "s", partitions=1, users=small[1], seed=3, source=source)
    found = sorted(str(file.relative_to(tmp_path / "s")) for file in (tmp_path / "s").rglob("*.*"))
    assert found == [
        "graph.json",
        "part-0000/edges.parquet",
        "part-0000/users.parquet",
        "users/part-0000.parquet",
    ]
    assert open_shards(tmp_path / "s").manifest.source == {"partition_seed": 3, **source}


def test_the_same_graph_and_seed_write_the_same_bytes(tmp_path):
    graph, users = load("town", users=400)
    for name in "ab":
        write_shards(graph, tmp_path / name, partitions=3, users=users, seed=4)
    files = [file.relative_to(tmp_path / "a") for file in (tmp_path / "a").rglob("*.*")]
    assert len(files) == 10
    assert all((tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes() for file in files)


def refused(words, tmp_path, graph, **options):
    with pytest.raises(InputError, match=words):
        write_shards(graph, tmp_path / "s", **{"partitions": 2, **options})
    assert not (tmp_path / "s").exists()


def test_graphs_with_several_labels_volunteers_held_out_links_or_levels_are_refused(tmp_path):
    graph, _ = load("town-labels", users=400)
    refused(
        "several labels each, and a sharded graph has one class a user: choose one label", tmp_path, graph
    )
    graph, users = load("town", users=400)
    refused("has 3 volunteers", tmp_path, with_panel(graph, users, 3, 0))
    refused("held out or weighted", tmp_path, hold_out_links(graph, users, 0)[0])
    refused("held out or weighted", tmp_path, replace(graph, weights=np.ones(len(graph.indices))))
    refused("without levels", tmp_path, graph, users=users.with_levels(np.ones(400, dtype=int)))
    refused("the graph has 400 users, these are 3", tmp_path, graph, users=Users(None, np.zeros(3, int)))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"partitions": 0}, "partitions must be an integer from 1 to 9999, got 0"),
        ({"partitioner": "kmeans"}, "kmeans"),
        ({"assignment": np.zeros(3, int)}, "assignment must be 7 integers, one a user"),
        ({"assignment": np.full(7, 2)}, r"assignment must name partitions 0\.\.1, got 2\.\.2"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_written(small, options, words, tmp_path):
    refused(words, tmp_path, small[0], **options)


def test_a_folder_that_holds_something_is_not_written_into(small, tmp_path):
    (tmp_path / "s").mkdir()
    (tmp_path / "s/mine.txt").write_text("keep")
    with pytest.raises(InputError, match="holds something: name a new folder"):
        write_shards(small[0], tmp_path / "s", partitions=2)
    assert [file.name for file in (tmp_path / "s").iterdir()] == ["mine.txt"]
